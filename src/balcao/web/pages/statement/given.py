"""Credits that were given and taken in a period: when, why and by whom."""

from collections.abc import Sequence
from dataclasses import dataclass

from balcao.core.access import Account
from balcao.storage.contract import LedgerEntry
from balcao.storage.desk.desk import Desk
from balcao.web.kit.context import PageContext

_READ_AT_ONCE = 200
AT_THE_TERMINAL = "operação, no terminal"


@dataclass(frozen=True, slots=True)
class Given:
    """One top-up. Credits below zero were taken back."""

    at_ms: int
    credits: int
    reason: str
    who: str


def given_in(
    context: PageContext, account: Account, top_ups: Sequence[LedgerEntry]
) -> Sequence[Given]:
    """These top-ups of a period, oldest first, with who signed them."""
    if not top_ups:
        return ()
    since_ms = top_ups[0].at_ms
    who = _signatures(context.desk, account.account_id, since_ms)
    return [
        Given(
            entry.at_ms,
            entry.credits,
            entry.reason or "",
            who.get((entry.at_ms, f"{entry.credits:+d} créditos: {entry.reason}"), AT_THE_TERMINAL),
        )
        for entry in top_ups
    ]


def _signatures(desk: Desk, account_id: int, since_ms: int) -> dict[tuple[int, str], str]:
    """Who gave what, by the instant and the words of the audit log."""
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
