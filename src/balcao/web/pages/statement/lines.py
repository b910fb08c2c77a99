"""The statement's lines: each a sum, its share, and a link to the requests that add up to it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from balcao.accounts.statement import Grouped
from balcao.core.writing import NOTHING, day
from balcao.storage.contract import ConsumptionRow
from balcao.storage.totals import Dimension, Total
from balcao.web.kit import drawing, filters
from balcao.web.kit.ordering import OrderBy
from balcao.web.kit.words import vocabulary
from balcao.web.pages.statement.query import GROUPS, REFERENCE, StatementQuery


@dataclass(frozen=True, slots=True)
class StatementLine:
    """One line of the table. `before`: credits in the period before; None: not compared."""

    label: str
    day: str | None
    requests: int
    credits: int
    share: float
    bar: Markup
    before: int | None
    href: str | None


@dataclass(frozen=True, slots=True)
class StatementGroup:
    """A sum of charges. `narrowed`: the filters of the list behind it; None: there is no list."""

    label: str
    total: Total
    before: int | None
    narrowed: Mapping[str, str] | None


PAGE, LINES_SHOWN = "pagina", 60

ORDERS: Mapping[str, OrderBy[StatementGroup]] = {
    "dia": OrderBy(lambda group: group.total.day, largest_first=True),
    "nome": OrderBy(lambda group: group.label),
    "consultas": OrderBy(lambda group: group.total.requests, largest_first=True),
    "creditos": OrderBy(lambda group: group.total.credits, largest_first=True),
}


def groups_of(asked: StatementQuery, groups: Sequence[Grouped]) -> Sequence[StatementGroup]:
    """Return the sums of totals, by most credits; the period before is compared unless by day."""
    dimension = GROUPS[asked.group][1]
    compared = "day" not in asked.dimensions
    return [
        StatementGroup(
            label_of(asked, dimension, each.total),
            each.total,
            each.credits_before if compared else None,
            _narrowed(asked, dimension, each.total),
        )
        for each in groups
    ]


def groups_by_reference(
    asked: StatementQuery, rows: Sequence[ConsumptionRow]
) -> Sequence[StatementGroup]:
    """Return the sums by reference, by most credits, from the ledger's own entries."""
    requests, credits = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for row in rows:
        what = (row.day if asked.by_day else "", row.reference or "")
        requests[what] += row.requests
        credits[what] += row.credits
    found = []
    for (when, reference), spent in credits.most_common():
        total = Total(requests[when, reference], spent, day=when or None)
        narrowed = {"referencia": reference} | ({"de": when, "ate": when} if when else {})
        label = reference or vocabulary.NO_REFERENCE
        found.append(StatementGroup(label, total, None, narrowed if reference else None))
    return found


def drawn(
    asked: StatementQuery, groups: Sequence[StatementGroup], at: int
) -> Sequence[StatementLine]:
    """Return the lines of one page, from group `at` (0-based), with shares of the whole."""
    all_credits = sum(group.total.credits for group in groups)
    lines = []
    for group in groups[at : at + LINES_SHOWN]:
        total, share = group.total, group.total.credits / all_credits
        bar, href = drawing.share_bar(share), None
        if group.narrowed is not None:
            href = asked.list_of(**group.narrowed)
        lines.append(
            StatementLine(
                group.label,
                total.day,
                total.requests,
                total.credits,
                share,
                bar,
                group.before,
                href,
            )
        )
    return lines


def label_of(asked: StatementQuery, dimension: Dimension, total: Total) -> str:
    """Return the label of a total."""
    match dimension:
        case "operation":
            return vocabulary.short(total.operation or "")
        case "key":
            return asked.names.keys.get(total.key or None, f"chave {total.key}")
        case "user":
            through_none = "por chave, ou sem registro"
            return asked.names.person(total.user) if total.user else through_none
        case "uf":
            return total.uf or vocabulary.NO_UF
        case "client":
            return total.client or vocabulary.NO_CLIENT
        case "origin":
            return vocabulary.ORIGINS_IN_SUMS[total.origin] if total.origin else NOTHING
        case _:
            return day(total.day)


def _narrowed(asked: StatementQuery, dimension: Dimension, total: Total) -> dict[str, str]:
    """Return the filters of the request list that select the requests of this total."""
    fields = {"de": total.day, "ate": total.day} if total.day else {}
    match dimension:
        case "operation":
            return fields | {"operacao": total.operation or ""}
        case "key":
            return fields | {"chave": str(total.key) if total.key else filters.WEB}
        case "user":
            return fields | {"pessoa": str(total.user) if total.user else filters.NONE}
        case "uf":
            return fields | {"uf": total.uf or filters.NONE}
        case "client":
            return fields | {"cliente": total.client or filters.NONE}
        case "origin":
            return fields | {"origem": total.origin or ""}
        case _:
            return fields


def heading(asked: StatementQuery) -> str:
    """Return the heading of the lines."""
    return "Referência" if asked.group == REFERENCE else GROUPS[asked.group][0]
