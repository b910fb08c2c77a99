"""Who the fictitious partners of a company are."""

from datetime import date

from balcao.fiction import tables
from balcao.fiction.calendar import DAYS, LAST
from balcao.fiction.decks import COUNTRY_CARDS, PROPER_NAME_CARDS
from balcao.fiction.dice import deck, draws
from balcao.fiction.digits import cnpj, impossible_cpf
from balcao.fiction.names import legal_name
from balcao.fiction.natures import SOLE_TRADER
from balcao.fiction.origin import Origin, origin_of
from balcao.fiction.people import name_of
from balcao.fiction.records import PartnerFiction
from balcao.fiction.sandbox import COMPANIES

_AGE_BANDS = deck(tables.cards("people")["ages"])

# Of 65 536 partners 2.05 % are companies and 0.05 % foreigners, all of them represented, as are
# 0.9 % of the people: 3 % together.
_LEGAL = 1343
_FOREIGN = 1343 + 33
_REPRESENTED = 590

# Seven roots in ten are sole traders: one search in 90 000 finds nothing else in so many.
_CANDIDATES_MAX = 32


def partners_of(root: str, origin: Origin, count: int) -> tuple[PartnerFiction, ...]:
    """The first `count` partners of a root."""
    return tuple([_partner(f"{root} partner {n}", origin) for n in range(count)])


def _partner(seed: str, origin: Origin) -> PartnerFiction:
    d = draws(seed)
    kind = d[0]
    founded = origin.founded
    # Seven in ten came with the foundation.
    entered = DAYS[founded if d[1] < 45875 else founded + (d[2] * (LAST - founded) >> 16)]
    if kind < _FOREIGN:
        return _organisation(d, entered, foreign=kind >= _LEGAL)
    represented = d[9] < _REPRESENTED
    return PartnerFiction(
        kind="2",
        name=name_of(d[3], d[4], d[5]),
        document=impossible_cpf((d[6] << 16 | d[7]) % 1_000_000_000),
        qualification=origin.nature.partner_qualifications[d[8] & 4095],
        entered=entered,
        # Residents abroad: 0.2 %.
        country=COUNTRY_CARDS[d[13] & 4095] if d[14] < 131 else "",
        representative=impossible_cpf((d[10] << 16 | d[11]) % 1_000_000_000) if represented else "",
        representative_name=name_of(d[15], d[16], d[17]) if represented else "",
        representative_qualification="05" if represented else "00",
        age_band=_AGE_BANDS[d[12] & 4095],
    )


def _organisation(d: tuple[int, ...], entered: date, *, foreign: bool) -> PartnerFiction:
    if foreign:
        name, document = f"{PROPER_NAME_CARDS[d[3] & 4095]} FICTION HOLDINGS INC", ""
    else:
        name, document = _legal_person(d[6] << 16 | d[7])
    return PartnerFiction(
        kind="3" if foreign else "1",
        name=name,
        document=document,
        qualification="37" if foreign else "22",
        entered=entered,
        country=COUNTRY_CARDS[d[13] & 4095] if foreign else "",
        representative=impossible_cpf((d[10] << 16 | d[11]) % 1_000_000_000),
        representative_name=name_of(d[15], d[16], d[17]),
        representative_qualification="17" if foreign else "05",
    )


def _legal_person(number: int) -> tuple[str, str]:
    """Name and CNPJ of a company that may be a partner: a sole trader is not one."""
    for _ in range(_CANDIDATES_MAX):
        root = f"{number % 100_000_000:08d}"
        origin = origin_of(root)
        if origin.nature.code != SOLE_TRADER:
            break
        number += 7919
    else:
        root = "90010001"
        origin = origin_of(root)
    fixed = COMPANIES.get(root)
    return fixed.name if fixed else legal_name(root, origin), cnpj(root, origin.head_office_order)
