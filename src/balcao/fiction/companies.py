"""The company of any root, drawn from the root itself.

The shares are those of the real registry (`rfb-open-data.md`, section 11), and facts that
belong together are drawn together: a law office is a law firm by name, nature and activity,
nobody joins a company before it was founded, only sole traders are MEI. Months of millions of
rows are made with these functions, so each fact costs one index.
"""

from datetime import date

from balcao.fiction.calendar import DAYS, LAST_DAY, number_of, year_end
from balcao.fiction.decks import CAPITAL_CARDS
from balcao.fiction.names import federative_entity, legal_name
from balcao.fiction.origin import Origin, origin_of
from balcao.fiction.partners import partners_of
from balcao.fiction.records import CompanyFiction, Simples
from balcao.fiction.sandbox import COMPANIES, ROOT_OF_1000_PARTNERS

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
