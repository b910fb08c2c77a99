"""The statement's lines: each a sum, its share, and a link to the requests that add up to it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from balcao.accounts.statement import Grouped
from balcao.core.writing import NOTHING, day
from balcao.storage.contract import ConsumptionRow
from balcao.storage.totals import Dimension, Total
from balcao.web.kit import drawing, filters
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


# Further lines are shown as one sum; the files have all.
LINES_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines that are shown; `rest` counts the other lines, their requests and credits."""

    shown: Sequence[StatementLine]
    rest: tuple[int, int, int] | None


def lines_of(asked: StatementQuery, groups: Sequence[Grouped]) -> Lines:
    """Return the lines of totals: days newest first, else by most credits."""
    dimension = GROUPS[asked.group][1]
    compared = "day" not in asked.dimensions
    if not compared:
        groups = sorted(groups, key=lambda each: each.total.day or "", reverse=True)
    all_credits = sum(each.total.credits for each in groups)
    shown = [
        _line(
            label_of(asked, dimension, each.total),
            each.total,
            all_credits,
            each.credits_before if compared else None,
            asked.list_of(**_narrowed(asked, dimension, each.total)),
        )
        for each in groups[:LINES_SHOWN]
    ]
    return Lines(shown, _rest([each.total for each in groups[LINES_SHOWN:]]))


def lines_by_reference(asked: StatementQuery, rows: Sequence[ConsumptionRow]) -> Lines:
    """Return the lines by reference, from the ledger's own entries."""
    requests, credits = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for row in rows:
        what = (row.day if asked.by_day else "", row.reference or "")
        requests[what] += row.requests
        credits[what] += row.credits
    found = [
        (reference, Total(requests[when, reference], spent, day=when or None))
        for (when, reference), spent in credits.most_common()
    ]
    found.sort(key=lambda each: each[1].day or "", reverse=True)
    shown = []
    for reference, total in found[:LINES_SHOWN]:
        narrowed = {"referencia": reference}
        if total.day:
            narrowed |= {"de": total.day, "ate": total.day}
        href = asked.list_of(**narrowed) if reference else None
        shown.append(
            _line(reference or vocabulary.NO_REFERENCE, total, credits.total(), None, href)
        )
    return Lines(shown, _rest([total for _, total in found[LINES_SHOWN:]]))


def _rest(totals: Sequence[Total]) -> tuple[int, int, int] | None:
    if not totals:
        return None
    requests = sum(total.requests for total in totals)
    return len(totals), requests, sum(total.credits for total in totals)


def _line(
    label: str, total: Total, all_credits: int, before: int | None, href: str | None
) -> StatementLine:
    share = total.credits / all_credits
    bar = drawing.share_bar(share)
    return StatementLine(label, total.day, total.requests, total.credits, share, bar, before, href)


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
