"""State registrations of companies and of rural producers, derived from the document.

Companies that sell or make goods are registered with their own state and sometimes with others;
most service companies are not. A company that is not active has no active registration. Dates are
those of the establishment, so that no registration is older than its company.
"""

from datetime import date

from msgspec.structs import replace

from balcao.core.state_registrations import completed, length
from balcao.fiction.calendar import LAST_DAY
from balcao.fiction.days import day_reached
from balcao.fiction.decks import NUMBER_CARDS, STREET_CARDS, STREET_TYPE_CARDS
from balcao.fiction.dice import deck, draws
from balcao.fiction.establishments import establishment_of
from balcao.fiction.natures import RURAL
from balcao.fiction.people import person_of
from balcao.fiction.places import BY_UF, UF_NAMES
from balcao.fiction.records import AddressFiction, Establishment, RegistrationFiction
from balcao.fiction.root_facts import root_facts
from balcao.fiction.sandbox.promises import (
    ADDRESS_IN_ANOTHER_UF,
    BARRED_AS_RECIPIENT,
    BLOCKED_AS_ISSUER,
    BLOCKED_AS_RECIPIENT,
    IE_NORMAL,
    NOT_A_TAXPAYER,
    RURAL_PRODUCER,
    TAX_SUBSTITUTE,
    UNRESTRICTED,
    Row,
)
from balcao.fiction.sandbox.registrations import REGISTRATION_ROWS

# Prefixes of a state's numbers.
NUMBER_PREFIXES = {
    "AC": "01", "AL": "24", "AM": "0", "AP": "03", "BA": "", "CE": "06", "DF": "07", "ES": "08",
    "GO": "10", "MA": "12", "MG": "0", "MS": "28", "MT": "0013", "PA": "15", "PB": "16", "PE": "0",
    "PI": "19", "PR": "90", "RJ": "", "RN": "20", "RO": "0000000", "RR": "24", "RS": "096",
    "SC": "25", "SE": "27", "SP": "1", "TO": "29",
}  # fmt: skip

_UFS = tuple(UF_NAMES)

# Divisions of the CNAE subject to ICMS: farming, mining, industry, energy, trade, meals.
_DIVISIONS_WITH_ICMS = frozenset({*range(1, 34), 35, 45, 46, 47, 56})
_CONSTRUCTION = frozenset({41, 42, 43})
# Transport between towns and telephony are, too; workshops and sales agents are not.
_CLASSES_WITH_ICMS = frozenset({"49299", "49302", "61906"})
_CLASSES_WITHOUT_ICMS = frozenset({"45200", "46184", "46192"})
_ACTIVITY_NOT_INFORMED = "88888"

# Shares of 65 536.
_REGISTERED_WITH_ICMS = 61604
_REGISTERED_IN_CONSTRUCTION = 13107
_REGISTERED_WITHOUT_ICMS = 3277
_INACTIVE = 2621  # of the registrations of active companies
_IN_MORE_UFS = 2949  # of the active companies that are registered at home
_SUBSTITUTE = 45875  # of the registrations elsewhere; the others: address in another UF
_BLOCKED_WHEN_INACTIVE = 32768

_SITUATION_CARDS = deck(
    [
        (UNRESTRICTED, 95.5),
        (BLOCKED_AS_RECIPIENT, 2.5),
        (BARRED_AS_RECIPIENT, 1.3),
        (BLOCKED_AS_ISSUER, 0.7),
    ]
)
_MORE_UFS_CARDS = deck([(1, 6.0), (2, 2.5), (3, 1.0), (5, 0.5)])

# People: a third are producers in one UF; a few in two, or with two farms in their own.
_PRODUCER_IN_TWO = 2621
_PRODUCER_OF_TWO_FARMS = _PRODUCER_IN_TWO + 1311
_PRODUCER = _PRODUCER_OF_TWO_FARMS + 21845
_FARM_CARDS = deck([("SITIO", 5.0), ("FAZENDA", 4.0), ("CHACARA", 1.0)])
_FARMING_BEGINS_AT = 20  # years


def registrations_of(cnpj: str) -> tuple[RegistrationFiction, ...]:
    """Return the state registrations of a CNPJ (14 characters), its own UF's first."""
    home = establishment_of(cnpj)
    if (rows := REGISTRATION_ROWS.get(cnpj)) is None:
        rows = _company_rows(cnpj, home)
    return _registrations(cnpj, rows, home.address)


def registrations_of_person(cpf: str) -> tuple[RegistrationFiction, ...]:
    """Return the state registrations of a CPF (11 digits), its own UF's first."""
    if (rows := REGISTRATION_ROWS.get(cpf)) is None:
        rows = _person_rows(cpf)
    return _registrations(cpf, rows, None)


def _company_rows(cnpj: str, home: Establishment) -> tuple[Row, ...]:
    uf = home.address.municipality.uf
    d = draws(f"{cnpj} registrations")
    share, kind = _taxpayer(home.activity)
    if uf == "EX" or d[0] >= share:  # no state registers companies abroad
        return ()
    if root_facts(cnpj[:8]).nature.code == RURAL:
        kind = RURAL_PRODUCER
    rows = [_company_row(uf, kind, home, (d[1], d[2], d[3]))]
    if home.status == "02" and rows[0].active and d[4] < _IN_MORE_UFS:
        first = d[5]
        for n in range(_MORE_UFS_CARDS[d[6] & 4095]):
            other = _UFS[(first + 5 * n) % len(_UFS)]
            if other != uf:
                kind = TAX_SUBSTITUTE if d[7 + n] < _SUBSTITUTE else ADDRESS_IN_ANOTHER_UF
                rows.append(_company_row(other, kind, home, d[12 + 3 * n : 15 + 3 * n]))
    return tuple(rows)


def _taxpayer(activity: str) -> tuple[int, int]:
    """Return the share of an activity's companies that are registered, and the type."""
    division, activity_class = int(activity[:2]), activity[:5]
    if division in _CONSTRUCTION:
        return _REGISTERED_IN_CONSTRUCTION, NOT_A_TAXPAYER
    pays = division in _DIVISIONS_WITH_ICMS and activity_class not in _CLASSES_WITHOUT_ICMS
    if pays or activity_class in _CLASSES_WITH_ICMS or activity_class == _ACTIVITY_NOT_INFORMED:
        return _REGISTERED_WITH_ICMS, IE_NORMAL
    return _REGISTERED_WITHOUT_ICMS, IE_NORMAL


def _company_row(uf: str, kind: int, home: Establishment, d: tuple[int, ...]) -> Row:
    if home.status != "02":
        active, since = False, home.status_date
    else:
        active = d[0] >= _INACTIVE
        since = home.opened if active else _between(home.opened, LAST_DAY, d[1])
    if active:
        situation = _SITUATION_CARDS[d[2] & 4095]
    else:
        situation = BLOCKED_AS_RECIPIENT if d[2] < _BLOCKED_WHEN_INACTIVE else UNRESTRICTED
    return Row(uf, kind, situation, active, since)


def _person_rows(cpf: str) -> tuple[Row, ...]:
    d = draws(f"{cpf} registrations")
    if d[0] >= _PRODUCER:
        return ()
    person = person_of(cpf)
    uf = person.home.uf
    # For people born on 29 February: the 28th.
    grown_up = person.born.replace(
        year=person.born.year + _FARMING_BEGINS_AT, day=min(person.born.day, 28)
    )
    since = _between(min(grown_up, LAST_DAY), LAST_DAY, d[1])
    rows = [Row(uf, RURAL_PRODUCER, status_date=since)]
    if d[0] < _PRODUCER_IN_TWO:
        other = _UFS[(_UFS.index(uf) + 1 + d[2] % (len(_UFS) - 1)) % len(_UFS)]
        ended = _between(since, LAST_DAY, d[3])
        active = bool(d[4] & 1)
        rows.append(
            Row(other, RURAL_PRODUCER, active=active, status_date=since if active else ended)
        )
    elif d[0] < _PRODUCER_OF_TWO_FARMS:
        rows.append(Row(uf, RURAL_PRODUCER, status_date=_between(since, LAST_DAY, d[3])))
    return tuple(rows)


def _registrations(
    document: str, rows: tuple[Row, ...], home: AddressFiction | None
) -> tuple[RegistrationFiction, ...]:
    ufs = [row.uf for row in rows]
    now = [_as_of_today(row) for row in rows]
    return tuple(
        [_registration(document, row, ufs[:n].count(row.uf), home) for n, row in enumerate(now)]
    )


def _as_of_today(row: Row) -> Row:
    later = row.later
    since = None if later is None else day_reached(later.after_days)
    if later is None or since is None:
        return row
    return replace(row, situation=later.situation, active=later.active, status_date=since)


def _registration(
    document: str, row: Row, ordinal: int, home: AddressFiction | None
) -> RegistrationFiction:
    d = draws(f"{document} registration {row.uf} {ordinal}")
    prefix = NUMBER_PREFIXES[row.uf]
    drawn = d[0] << 32 | d[1] << 16 | d[2]
    size = length(row.uf) - len(prefix)
    address = home if home is not None and home.municipality.uf == row.uf else None
    return RegistrationFiction(
        number=completed(row.uf, f"{prefix}{drawn % 10**size:0{size}d}"),
        uf=row.uf,
        active=row.active,
        type=row.type,
        situation=row.situation,
        status_date=row.status_date,
        address=address or _address(row, d),
    )


def _address(row: Row, d: tuple[int, ...]) -> AddressFiction:
    """Return an address in the UF; a producer's is a farm."""
    places = BY_UF[row.uf]
    place = places[d[3] % len(places)]
    rural = row.type == RURAL_PRODUCER
    return AddressFiction(
        street_type=_FARM_CARDS[d[4] & 4095] if rural else STREET_TYPE_CARDS[d[4] & 4095],
        street=f"{STREET_CARDS[d[5] & 4095]} FICTICIA",
        number="S/N" if rural else NUMBER_CARDS[d[6] & 4095],
        complement=f"KM {1 + d[7] % 40}" if rural else "",
        district="ZONA RURAL" if rural else "CENTRO",
        cep=f"{place.cep_prefix}{d[8]:05d}",
        municipality=place,
    )


def _between(first: date, last: date, draw: int) -> date:
    return date.fromordinal(
        first.toordinal() + (draw * (last.toordinal() - first.toordinal()) >> 16)
    )
