"""The statement's lines: each a number, what part of all it is, and the list that sums to it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from balcao.accounts.statement import Grouped
from balcao.core.writing import NOTHING, day
from balcao.storage.contract import ConsumptionRow
from balcao.storage.totals import Dimension, Total
from balcao.web import asking, drawing, vocabulary
from balcao.web.statement.asked import GROUPS, REFERENCE, StatementAsked


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


def lines_of(asked: StatementAsked, groups: Sequence[Grouped]) -> Sequence[StatementLine]:
    """Of totals; of days the newest first, else those of most credits."""
    dimension = GROUPS[asked.group][1]
    compared = "day" not in asked.dimensions
    all_credits = sum(each.total.credits for each in groups)
    found = [
        _line(
            label_of(asked, dimension, each.total),
            each.total,
            all_credits,
            each.credits_before if compared else None,
            asked.list_of(**_narrowed(asked, dimension, each.total)),
        )
        for each in groups
    ]
    return found if compared else sorted(found, key=lambda line: line.day or "", reverse=True)


def lines_by_reference(
    asked: StatementAsked, rows: Sequence[ConsumptionRow]
) -> Sequence[StatementLine]:
    """The same by reference, of the ledger's own lines."""
    requests, credits = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for row in rows:
        what = (row.day if asked.by_day else "", row.reference or "")
        requests[what] += row.requests
        credits[what] += row.credits
    found = []
    for (when, reference), spent in credits.most_common():
        narrowed = {"referencia": reference} | ({"de": when, "ate": when} if when else {})
        total = Total(requests[when, reference], spent, day=when or None)
        href = asked.list_of(**narrowed) if reference else None
        found.append(_line(reference or NOTHING, total, credits.total(), None, href))
    return sorted(found, key=lambda line: line.day or "", reverse=True)


def _line(
    label: str, total: Total, all_credits: int, before: int | None, href: str | None
) -> StatementLine:
    share = total.credits / all_credits
    bar = drawing.share_bar(share)
    return StatementLine(label, total.day, total.requests, total.credits, share, bar, before, href)


def label_of(asked: StatementAsked, dimension: Dimension, total: Total) -> str:
    """What a total is called by."""
    match dimension:
        case "operation":
            return vocabulary.short(total.operation or "")
        case "key":
            return asked.names.keys.get(total.key or None, f"chave {total.key}")
        case "user":
            through_none = "por chave, ou sem registro"
            return asked.names.users.get(total.user or 0, through_none if not total.user else
                                         f"usuário {total.user}")  # fmt: skip
        case "uf":
            return total.uf or NOTHING
        case "client":
            return total.client or NOTHING
        case "origin":
            return vocabulary.ORIGINS[total.origin] if total.origin else NOTHING
        case _:
            return day(total.day)


def _narrowed(asked: StatementAsked, dimension: Dimension, total: Total) -> dict[str, str]:
    """The fields by which the list of requests is this total's."""
    fields = {"de": total.day, "ate": total.day} if total.day else {}
    match dimension:
        case "operation":
            return fields | {"operacao": total.operation or ""}
        case "key":
            return fields | {"chave": str(total.key) if total.key else asking.WEB}
        case "user":
            return fields | {"pessoa": str(total.user) if total.user else asking.NONE}
        case "uf":
            return fields | {"uf": total.uf or asking.NONE}
        case "client":
            return fields | {"cliente": total.client or asking.NONE}
        case "origin":
            return fields | {"origem": total.origin or ""}
        case _:
            return fields


def heading(asked: StatementAsked) -> str:
    """What the lines are of."""
    return "Referência" if asked.group == REFERENCE else GROUPS[asked.group][0]
