"""The company of any root, drawn from the root itself.

The shares are those of the real registry (`rfb-open-data.md`, section 11), and facts that
belong together are drawn together: a law office is a law firm by name, nature and activity,
nobody joins a company before it was founded, only sole traders are MEI. Months of millions of
rows are made with these functions, so each fact costs one index.

Every name has FICTICIA, FICTICIO or DA FICCAO in it.
"""

from datetime import date

from balcao.fiction import natures, tables
from balcao.fiction.calendar import DAYS, LAST, LAST_DAY, number_of, year_end
from balcao.fiction.codes import TRADES
from balcao.fiction.decks import CAPITAL_CARDS, COUNTRY_CARDS, PROPER_NAME_CARDS
from balcao.fiction.dice import deck, draws
from balcao.fiction.digits import cnpj, impossible_cpf
from balcao.fiction.natures import SOLE_TRADER
from balcao.fiction.origin import Origin, origin_of
from balcao.fiction.people import name_of
from balcao.fiction.places import UF_NAMES
from balcao.fiction.records import CompanyFiction, PartnerFiction, Simples
from balcao.fiction.sandbox import COMPANIES, ROOT_OF_1000_PARTNERS

# Of 1 024 sole traders 640 start with their root, as the newer ones do, and 240 end with
# their owner's CPF, as the older ones do (`rfb-open-data.md`, section 4.1).
_ROOT_FIRST = 640
_CPF_LAST = 640 + 240


def legal_name(root: str, origin: Origin) -> str:
    """The legal name of a root, out of its draws 6 to 12."""
    d = origin.draws
    if origin.nature.code == natures.SOLE_TRADER:
        return _sole_trader(root, d)
    return origin.nature.name.format(
        trade=TRADES[origin.activity],
        proper=PROPER_NAME_CARDS[d[12] & 4095],
        person=name_of(d[7], d[8], d[9]),
        place=origin.place.name,
        year=2008 + 4 * (d[6] % 5),
    )


def _sole_trader(root: str, d: tuple[int, ...]) -> str:
    person = name_of(d[7], d[8], d[9])
    form = d[6] & 1023
    if form < _ROOT_FIRST:
        return f"{root[:2]}.{root[2:5]}.{root[5:]} {person}"
    if form < _CPF_LAST:
        cpf = impossible_cpf((d[10] << 16 | d[11]) % 1_000_000_000)
        return f"{person} {_written_cpf(cpf, d[6] >> 10)}"
    return person


def _written_cpf(cpf: str, form: int) -> str:
    """Mostly bare digits; the other spellings occur and have to be masked as well."""
    if form == 0:
        return f"{cpf[:3]}.{cpf[3:6]}.{cpf[6:9]}-{cpf[9:]}"
    if form == 1:
        return f"{cpf[:3]} {cpf[3:6]} {cpf[6:9]} {cpf[9:]}"
    if form == 2:
        return f"{cpf[:9]}-{cpf[9:]}"
    if form == 3 and cpf[0] == "0":
        return cpf[1:]
    return cpf


def federative_entity(origin: Origin) -> str:
    """The entity responsible for a public body (natures 1xxx); empty for all others."""
    place = origin.place
    if origin.nature.code == natures.MUNICIPALITY:
        return f"{place.name} - {place.uf}"
    if origin.nature.code == natures.PUBLIC_BODY:
        return "UNIAO" if origin.draws[22] & 1 else UF_NAMES.get(place.uf, "UNIAO")
    return ""


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


# Nobody opted before there was something to opt for.
_SIMPLES_BEGAN = number_of(date(2007, 7, 1))
_MEI_BEGAN = number_of(date(2009, 7, 1))

# Of 65 536 companies alive that ever opted, those that left, at the end of their first year.
_LEFT_ALIVE = 1311


def company_of(root: str) -> CompanyFiction:
    """The company of a root (8 characters `[0-9A-Z]`). Every root has one."""
    if (fixed := COMPANIES.get(root)) is not None:
        return fixed
    origin = origin_of(root)
    d = origin.draws
    nature = origin.nature
    count = nature.partner_counts[d[19] & 4095]
    if root == ROOT_OF_1000_PARTNERS:
        count = 1000
    return CompanyFiction(
        root,
        legal_name(root, origin),
        nature.code,
        nature.responsible,
        CAPITAL_CARDS[d[14] & 4095],
        nature.sizes[d[13] & 4095],
        federative_entity(origin),
        partners_of(root, origin, count) if count else (),
        _simples(origin) if d[16] < nature.simples_share else None,
    )


def _simples(origin: Origin) -> Simples | None:
    """The options, which end with the company: a closed one is neither in Simples nor MEI."""
    d = origin.draws
    closed = origin.status == "08"
    first = max(origin.founded, _SIMPLES_BEGAN)
    if closed and origin.ended <= first:
        return None
    opted = not closed and d[23] >= _LEFT_ALIVE
    left_on = None if opted else DAYS[origin.ended] if closed else year_end(first)
    mei_first = max(origin.founded, _MEI_BEGAN)
    if d[18] >= origin.nature.mei_share or (closed and origin.ended <= mei_first):
        return Simples(opted, DAYS[first], left_on, False, None, None)
    left_mei_on = None if opted else max(DAYS[mei_first], left_on or LAST_DAY)
    return Simples(opted, DAYS[first], left_on, opted, DAYS[mei_first], left_mei_on)
