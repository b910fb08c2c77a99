"""Credits that were added or removed in a period, with reason and author."""

from collections.abc import Sequence

from balcao.core.access import Account
from balcao.storage.contract import LedgerEntry
from balcao.storage.desk.desk import Desk
from balcao.web.kit.context import PageContext

_READ_AT_ONCE = 200
AT_TERMINAL = "operação, no terminal"


def top_ups_with_authors(
    context: PageContext, account: Account, top_ups: Sequence[LedgerEntry]
) -> Sequence[tuple[LedgerEntry, str]]:
    """Return these top-ups of a period, oldest first, each with the name of its author."""
    if not top_ups:
        return ()
    who = _signatures(context.desk, account.account_id, top_ups[0].at_ms)
    signed = [(entry.at_ms, f"{entry.credits:+d} créditos: {entry.reason}") for entry in top_ups]
    return [(entry, who.get(of, AT_TERMINAL)) for entry, of in zip(top_ups, signed, strict=True)]


def _signatures(desk: Desk, account_id: int, since_ms: int) -> dict[tuple[int, str], str]:
    """Return the authors of top-ups, by the time and the text of the audit log."""
    found: dict[tuple[int, str], str] = {}
    before: int | None = None
    while True:
        page = desk.people.audit(_READ_AT_ONCE, before, account_id, "credit.add")
        for entry in page:
            if entry.at_ms < since_ms:
                return found
            if entry.user_name is not None:
                found[entry.at_ms, entry.detail] = entry.user_name
        if len(page) < _READ_AT_ONCE:
            return found
        before = page[-1].entry_id
