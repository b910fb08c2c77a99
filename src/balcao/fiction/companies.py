"""The company of any root, drawn from the root itself.

The shares are those of the real registry (`rfb-open-data.md`, section 11), and facts that
belong together are drawn together: a law office is a law firm by name, nature and activity,
nobody joins a company before it was founded, only sole traders are MEI. Months of millions of
rows are made with these functions, so each fact costs one index.
"""

from datetime import date

from balcao.fiction.calendar import DAYS, LAST, LAST_DAY, next_new_year, number_of, year_end
from balcao.fiction.decks import CAPITAL_CARDS
from balcao.fiction.names import federative_entity, legal_name
from balcao.fiction.origin import Origin, origin_of
from balcao.fiction.partners import partners_of
from balcao.fiction.records import Company, Simples
from balcao.fiction.sandbox import COMPANIES, ROOT_OF_1000_PARTNERS

# Nobody opted before there was something to opt for.
_SIMPLES_BEGAN = number_of(date(2007, 7, 1))
_MEI_BEGAN = number_of(date(2009, 7, 1))

# Shares of 65 536, of those with a row who are not MEI today.
_OPT_LATE = 19661
_STILL_OPTED = 18350
_WAS_MEI = 52429


def company_of(root: str) -> Company:
    """The company of a root (8 characters `[0-9A-Z]`). Every root has one."""
    if (fixed := COMPANIES.get(root)) is not None:
        return fixed
    origin = origin_of(root)
    d = origin.draws
    nature = origin.nature
    count = nature.partner_counts[d[19] & 4095]
    if root == ROOT_OF_1000_PARTNERS:
        count = 1000
    return Company(
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


def _simples(origin: Origin) -> Simples:
    d = origin.draws
    founded = origin.founded
    first = max(founded, _SIMPLES_BEGAN)
    mei_first = max(founded, _MEI_BEGAN)
    if d[18] < origin.nature.mei_share:
        return Simples(True, DAYS[first], None, True, DAYS[mei_first], None)
    # Who does not opt at the foundation has to wait for a new year, and leaves at a year's end.
    late = d[23] < _OPT_LATE and DAYS[first].year < LAST_DAY.year
    opted_on = next_new_year(first) if late else DAYS[first]
    last = year_end(number_of(opted_on) + (d[17] * (LAST - number_of(opted_on)) >> 16))
    opted = d[24] < _STILL_OPTED
    was_mei = d[18] >= _WAS_MEI and origin.nature.mei_share > 0
    return Simples(
        opted,
        opted_on,
        None if opted else last,
        False,
        DAYS[mei_first] if was_mei else None,
        max(last, DAYS[mei_first]) if was_mei else None,
    )
