"""The fictitious company of any root, derived from the root itself.

The shares are those of the real registry (`rfb-open-data.md`, section 11), and related facts are
consistent: a law office is a law firm by name, nature and activity, partners join after the
foundation, only sole traders are MEI. Months of millions of rows are generated with these
functions, so each fact costs one index.

Every name contains FICTICIA, FICTICIO or DA FICCAO.
"""

from datetime import date

from balcao.fiction import natures, tables
from balcao.fiction.calendar import DAYS, LAST, LAST_DAY, number_of, year_end
from balcao.fiction.codes import TRADES
from balcao.fiction.decks import CAPITAL_CARDS, COUNTRY_CARDS, PROPER_NAME_CARDS
from balcao.fiction.dice import deck, draws
from balcao.fiction.digits import cnpj, impossible_cpf
from balcao.fiction.natures import SOLE_TRADER
from balcao.fiction.people import name_of
from balcao.fiction.places import UF_NAMES
from balcao.fiction.records import CompanyFiction, PartnerFiction, Simples
from balcao.fiction.root_facts import RootFacts, root_facts
from balcao.fiction.sandbox import COMPANIES, ROOT_OF_1000_PARTNERS

# Of 1 024 names of sole traders 640 begin with the root, like newer ones, and 240 end with the
# owner's CPF, like older ones (`rfb-open-data.md`, section 4.1).
_ROOT_FIRST = 640
_CPF_LAST = 640 + 240


def legal_name(root: str, facts: RootFacts) -> str:
    """Return the legal name of a root, selected by its random numbers 6 to 12."""
    d = facts.draws
    if facts.nature.code == natures.SOLE_TRADER:
        return _sole_trader(root, d)
    return facts.nature.name.format(
        trade=TRADES[facts.activity],
        proper=PROPER_NAME_CARDS[d[12] & 4095],
        person=name_of(d[7], d[8], d[9]),
        place=facts.place.name,
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
    """Return a CPF as written in names: mostly bare digits, sometimes in other spellings."""
    if form == 0:
        return f"{cpf[:3]}.{cpf[3:6]}.{cpf[6:9]}-{cpf[9:]}"
    if form == 1:
        return f"{cpf[:3]} {cpf[3:6]} {cpf[6:9]} {cpf[9:]}"
    if form == 2:
        return f"{cpf[:9]}-{cpf[9:]}"
    if form == 3 and cpf[0] == "0":
        return cpf[1:]
    return cpf


def federative_entity(facts: RootFacts) -> str:
    """Return the entity responsible for a public body (natures 1xxx), else an empty text."""
    place = facts.place
    if facts.nature.code == natures.MUNICIPALITY:
        return f"{place.name} - {place.uf}"
    if facts.nature.code == natures.PUBLIC_BODY:
        return "UNIAO" if facts.draws[22] & 1 else UF_NAMES.get(place.uf, "UNIAO")
    return ""


_AGE_BANDS = deck(tables.cards("people")["ages"])

# Of 65 536 partners 2.05 % are companies and 0.05 % foreigners. All of these, and 0.9 % of the
# people, have a representative: 3 % together.
_LEGAL = 1343
_FOREIGN = 1343 + 33
_REPRESENTED = 590

# Seven roots in ten are sole traders; with this limit one search in 90 000 finds nothing else.
_CANDIDATES_MAX = 32


def partners_of(root: str, facts: RootFacts, count: int) -> tuple[PartnerFiction, ...]:
    """Return the first `count` partners of a root."""
    return tuple([_partner(f"{root} partner {n}", facts) for n in range(count)])


def _partner(seed: str, facts: RootFacts) -> PartnerFiction:
    d = draws(seed)
    kind = d[0]
    founded = facts.founded
    # Seven in ten entered at the foundation.
    entered = DAYS[founded if d[1] < 45875 else founded + (d[2] * (LAST - founded) >> 16)]
    if kind < _FOREIGN:
        return _organisation(d, entered, foreign=kind >= _LEGAL)
    represented = d[9] < _REPRESENTED
    return PartnerFiction(
        kind="2",
        name=name_of(d[3], d[4], d[5]),
        document=impossible_cpf((d[6] << 16 | d[7]) % 1_000_000_000),
        qualification=facts.nature.partner_qualifications[d[8] & 4095],
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
    """Return name and CNPJ of a company, not a sole trader, that can be a partner."""
    for _ in range(_CANDIDATES_MAX):
        root = f"{number % 100_000_000:08d}"
        facts = root_facts(root)
        if facts.nature.code != SOLE_TRADER:
            break
        number += 7919
    else:
        root = "90010001"
        facts = root_facts(root)
    fixed = COMPANIES.get(root)
    return fixed.name if fixed else legal_name(root, facts), cnpj(root, facts.head_office_order)


# The first days of the two tax regimes.
_SIMPLES_BEGAN = number_of(date(2007, 7, 1))
_MEI_BEGAN = number_of(date(2009, 7, 1))

# Of 65 536 open companies that opted, those that left at the end of their first year.
_LEFT_ALIVE = 1311


def company_of(root: str) -> CompanyFiction:
    """Return the company of a root (8 characters `[0-9A-Z]`). Every root has one."""
    if (fixed := COMPANIES.get(root)) is not None:
        return fixed
    facts = root_facts(root)
    d = facts.draws
    nature = facts.nature
    count = nature.partner_counts[d[19] & 4095]
    if root == ROOT_OF_1000_PARTNERS:
        count = 1000
    return CompanyFiction(
        root,
        legal_name(root, facts),
        nature.code,
        nature.responsible,
        CAPITAL_CARDS[d[14] & 4095],
        nature.sizes[d[13] & 4095],
        federative_entity(facts),
        partners_of(root, facts, count) if count else (),
        _simples(facts) if d[16] < nature.simples_share else None,
    )


def _simples(facts: RootFacts) -> Simples | None:
    """Return the tax options; those of a closed company have ended."""
    d = facts.draws
    closed = facts.status == "08"
    first = max(facts.founded, _SIMPLES_BEGAN)
    if closed and facts.ended <= first:
        return None
    opted = not closed and d[23] >= _LEFT_ALIVE
    left_on = None if opted else DAYS[facts.ended] if closed else year_end(first)
    mei_first = max(facts.founded, _MEI_BEGAN)
    if d[18] >= facts.nature.mei_share or (closed and facts.ended <= mei_first):
        return Simples(opted, DAYS[first], left_on, False, None, None)
    left_mei_on = None if opted else max(DAYS[mei_first], left_on or LAST_DAY)
    return Simples(opted, DAYS[first], left_on, opted, DAYS[mei_first], left_mei_on)
