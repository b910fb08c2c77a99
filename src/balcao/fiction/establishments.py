"""The establishment of any CNPJ, derived from the CNPJ and, for shared facts, its root."""

from balcao.fiction import decks
from balcao.fiction.calendar import DAYS, LAST
from balcao.fiction.codes import TRADES
from balcao.fiction.dice import draws
from balcao.fiction.places import MUNICIPALITY_DECK, Municipality
from balcao.fiction.records import AddressFiction, Establishment, PhoneFiction
from balcao.fiction.root_facts import root_facts
from balcao.fiction.sandbox import ESTABLISHMENTS

# Shares of 65 536, from the fill rates of `rfb-open-data.md`, section 4.2.
_HAS_TRADE_NAME = 23593
_HAS_PHONE = 55706
_HAS_SECOND_PHONE = 5243
_HAS_FAX = 7864
_HAS_EMAIL = 46530
_COUNTRY_WRITTEN = 1638  # 105 instead of nothing
_SPECIAL = 64  # of the active ones
_BRANCH_ELSEWHERE = 19661
_BRANCH_OF_ITS_OWN_TRADE = 13107


def establishment_of(cnpj: str) -> Establishment:
    """Return the establishment of a valid CNPJ (14 characters). Every CNPJ has one."""
    if (fixed := ESTABLISHMENTS.get(cnpj)) is not None:
        return fixed
    facts = root_facts(cnpj[:8])
    d = draws(cnpj)
    status = facts.status
    opened = facts.founded
    place = facts.place
    activity = facts.activity
    head_office = cnpj[8:12] == facts.head_office_order
    if not head_office:
        opened += d[19] * (LAST - opened) >> 16
        # A branch is only active if its company is.
        if status == "02":
            status = decks.STATUS_CARDS[d[20]]
        if d[21] < _BRANCH_ELSEWHERE:
            place = MUNICIPALITY_DECK[d[22]]
        if d[23] < _BRANCH_OF_ITS_OWN_TRADE:
            activity = decks.ACTIVITY_CARDS[d[24] & 4095]
    if status == "02":
        # Most have been active since their first day.
        since = opened if d[25] < 49152 else opened + (d[26] * (LAST - opened) >> 16)
        reason = "00"
    else:
        since = facts.ended if head_office else opened + (d[26] * (LAST - opened) >> 16)
        reason = (
            decks.CLOSING_CARDS[d[27] & 4095] if status == "08" else decks.REASONS_BY_STATUS[status]
        )
    abroad = place.uf == "EX"
    special = d[17] < _SPECIAL and status == "02"
    side_count = decks.SIDE_COUNT_CARDS[d[15]]
    return Establishment(
        cnpj,
        head_office,
        f"{TRADES[activity]} {decks.PROPER_NAME_CARDS[d[1] & 4095]}"
        if d[0] < _HAS_TRADE_NAME
        else "",
        status,
        DAYS[since],
        reason,
        decks.CITY_ABROAD_CARDS[d[28] & 4095] if abroad else "",
        decks.COUNTRY_CARDS[d[29] & 4095] if abroad else "105" if d[18] < _COUNTRY_WRITTEN else "",
        DAYS[opened],
        activity,
        _side_activities(side_count, d[16], activity) if side_count else (),
        AddressFiction(
            decks.STREET_TYPE_CARDS[d[2] & 4095],
            decks.STREET_CARDS[d[3] & 4095],
            decks.NUMBER_CARDS[d[4] & 4095],
            decks.COMPLEMENT_CARDS[d[5]],
            decks.DISTRICT_CARDS[d[7] & 4095],
            "" if abroad else f"{place.cep_prefix}{d[8]:05d}",
            place,
        ),
        () if abroad or d[9] >= _HAS_PHONE else _phones(place, d),
        None if abroad or d[13] >= _HAS_FAX else _phone(place, d[13] << 7 | d[12] & 127),
        _email(d[14], d[30], d[31]) if d[6] < _HAS_EMAIL else "",
        decks.SPECIAL_CARDS[d[29] & 4095] if special else "",
        DAYS[since + (d[30] * (LAST - since) >> 16)] if special else None,
    )


def _side_activities(count: int, draw: int, activity: str) -> tuple[str, ...]:
    start = (draw >> 3) % decks.SIDE_RING_LENGTH
    found = decks.SIDE_RINGS[draw & 7][start : start + count]
    return tuple([code for code in found if code != activity]) if activity in found else found


def _phones(place: Municipality, d: tuple[int, ...]) -> tuple[PhoneFiction, ...]:
    first = _phone(place, d[10] << 7 | d[9] & 127)
    if d[11] >= _HAS_SECOND_PHONE:
        return (first,)
    return (first, _phone(place, d[12] << 7 | d[11] & 127))


def _phone(place: Municipality, number: int) -> PhoneFiction:
    """Return a phone number that begins with 1, which no subscriber in Brazil has."""
    return PhoneFiction(place.area_code, f"1{number:07d}")


def _email(name: int, number: int, domain: int) -> str:
    where = decks.MAIL_DOMAIN_CARDS[domain & 4095]
    address = f"{decks.MAIL_NAME_CARDS[name & 4095]}{number & 1023}@{where}"
    return address if where.isupper() else address.lower()
