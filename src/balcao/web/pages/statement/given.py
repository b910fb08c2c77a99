"""Credits that were given and taken in a period: when, why and by whom."""

from collections.abc import Sequence

from balcao.core.access import Account
from balcao.storage.contract import LedgerEntry
from balcao.storage.desk.desk import Desk
from balcao.web.kit.context import PageContext

_READ_AT_ONCE = 200
AT_THE_TERMINAL = "operação, no terminal"


def given_in(
    context: PageContext, account: Account, top_ups: Sequence[LedgerEntry]
) -> Sequence[tuple[LedgerEntry, str]]:
    """Return these top-ups of a period, oldest first, each with the name of who made it."""
    if not top_ups:
        return ()
    who = _signatures(context.desk, account.account_id, top_ups[0].at_ms)
    signed = [(entry.at_ms, f"{entry.credits:+d} créditos: {entry.reason}") for entry in top_ups]
    return [
        (entry, who.get(of, AT_THE_TERMINAL)) for entry, of in zip(top_ups, signed, strict=True)
    ]


def _signatures(desk: Desk, account_id: int, since_ms: int) -> dict[tuple[int, str], str]:
    """Return who made top-ups, by the time and the words of the audit log."""
    found: dict[tuple[int, str], str] = {}
    before: int | None = None
    while True:
        some = desk.people.audit(_READ_AT_ONCE, before, account_id, "credit.add")
        for entry in some:
            if entry.at_ms < since_ms:
                return found
            if entry.user_name is not None:
                found[entry.at_ms, entry.detail] = entry.user_name
        if len(some) < _READ_AT_ONCE:
            return found
        before = some[-1].entry_id
