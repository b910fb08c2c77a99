"""What the desk reads, in place: the same on any engine."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from balcao.core.access import Account, Key
from balcao.core.calendar import HOUR_MS, civil_day_text
from balcao.core.ledger import Origin
from balcao.core.receipts import About, Receipt
from balcao.storage.connection import Apart, SqlConnection
from balcao.storage.contract import Consultation, ConsumptionRow, LedgerEntry
from balcao.storage.desk.periods import PERIOD, in_period

_ACCOUNTS = (
    "SELECT account_id, name, plan, mode, certificates, partner_optin, ceiling_credits,"
    " balance_credits, held_credits, month_credits, created_ms, month, suspended_ms FROM account"
)
_KEYS = (
    "SELECT key_id, account_id, name, prefix, created_ms, expires_ms, revoked_ms, last_used_ms,"
    " per_minute, per_day FROM api_key"
)
_ENTRIES = (
    "SELECT at_ms, kind, balance_change, request_id, key_id, operation, rule,"  # noqa: S608 - ours
    f" origin, reason FROM {PERIOD} AS period WHERE balance_change <> 0"
    " ORDER BY at_ms, number, request_id"
)
# The plus keeps SQLite from going through all entries of the account instead.
_OPERATION = (
    "SELECT kind, at_ms, balance_change, held_change, operation, rule, origin, key_id, entry_id"
    " FROM ledger_entry WHERE request_id = ? AND +account_id = ?"
    " UNION ALL SELECT 'charge', opened_ms, -credits, 0, operation, rule, origin, key_id, 0"
    " FROM visit WHERE request_id = ? AND account_id = ? ORDER BY 9"
)
# What a receipt is about is the same for every request that brought it; the newest knows most.
_RECEIPT = (
    "SELECT r.receipt_id, r.account_id, r.digest, r.media_type, r.size_bytes,"
    " c.document, c.uf, c.verdict, c.validity, c.name FROM receipt AS r LEFT JOIN"
    " (SELECT document, uf, verdict, validity, name FROM certificate_trace"
    " WHERE receipt_id = ? ORDER BY request_id DESC LIMIT 1) AS c ON TRUE WHERE r.receipt_id = ?"
)
_RECEIPT_COLUMNS = 5
# By the hour: a civil day need not have 24 of them, but it begins and ends with one.
_CONSUMPTION = (
    "SELECT at_ms / ?, operation, key_id, origin, count(*),"  # noqa: S608 - ours
    " -CAST(sum(balance_change) AS BIGINT)"
    f" FROM {PERIOD} AS period WHERE kind IN ('charge', 'post') GROUP BY 1, 2, 3, 4"
    " ORDER BY 2, 3 NULLS FIRST, 4"
)


class DeskReading:
    """The half of a desk that changes nothing.

    Its connection is used on the event loop's thread; what may take long opens one of its own,
    so that it can be called in another thread.
    """

    def __init__(self, in_place: SqlConnection, apart: Apart) -> None:
        self._apart = apart
        self._in_place = in_place

    # The caller's side.

    def operation(self, account_id: int, request_id: str) -> Consultation | None:
        """What became of a request of this account.

        None: it held and cost nothing, or it was another account's.
        """
        wanted = (request_id, account_id)
        rows: Any = self._in_place.execute(_OPERATION, wanted * 2).fetchall()
        if not rows:
            return None
        opening, last = rows[0], rows[-1]
        kind, at_ms, balance_change, _, _, rule, origin, _, _ = last
        running = kind == "hold"
        return Consultation(
            request_id=request_id,
            operation=opening[4],
            key_id=opening[7],
            state="running" if running else "charged" if balance_change else "free",
            held_credits=last[3] if running else 0,
            charged_credits=-balance_change,
            rule=rule,
            origin=origin,
            opened_ms=opening[1],
            settled_ms=None if running else at_ms,
        )

    def consumption(self, account_id: int, from_ms: int, to_ms: int) -> Sequence[ConsumptionRow]:
        """What was charged in [from, to), by day, operation, key and origin, in this order.

        Requests that cost nothing are not counted. The credits add up to those of the ledger's
        entries. Reads every entry of the period: a second for a million of them. May be called
        in any thread.
        """
        with self._apart() as reading:
            hours: Any = reading.execute(
                _CONSUMPTION, (HOUR_MS, *in_period(account_id, from_ms, to_ms))
            ).fetchall()
        days: dict[tuple[str, str, int | None, Origin], list[int]] = {}
        for hour, operation, key_id, origin, requests, credits in hours:
            sums = days.setdefault(
                (civil_day_text(hour * HOUR_MS), operation, key_id, origin), [0, 0]
            )
            sums[0] += requests
            sums[1] += credits
        rows = [
            ConsumptionRow(day, operation, key_id, origin, requests, credits)
            for (day, operation, key_id, origin), (requests, credits) in days.items()
        ]
        return sorted(rows, key=lambda row: row.day)  # and within the day as they came

    def receipt(self, receipt_id: str) -> Receipt | None:
        """The receipt of this number, whoever may fetch it, and what it is about."""
        row: Any = self._in_place.execute(_RECEIPT, (receipt_id, receipt_id)).fetchone()
        if row is None:
            return None
        receipt, about = Receipt(*row[:_RECEIPT_COLUMNS]), row[_RECEIPT_COLUMNS:]
        if about[0] is None:
            return receipt
        return msgspec.structs.replace(receipt, about=About(*about))

    # The operator's side.

    def account(self, account_id: int) -> Account:
        """One account as it is now, at the price of one row. Raises `LookupError`."""
        return find_account(self._in_place, account_id)

    def accounts(self) -> Sequence[Account]:
        """All accounts, by number."""
        rows: Any = self._in_place.execute(f"{_ACCOUNTS} ORDER BY account_id").fetchall()
        return [_account(row) for row in rows]

    def keys(self, account_id: int) -> Sequence[Key]:
        """An account's keys, newest last."""
        rows: Any = self._in_place.execute(
            f"{_KEYS} WHERE account_id = ? ORDER BY key_id", (account_id,)
        ).fetchall()
        return [Key(*row) for row in rows]

    def entries(self, account_id: int, from_ms: int, to_ms: int) -> Iterable[LedgerEntry]:
        """Entries that moved credits in [from, to), oldest first."""
        # A statement that is not at its end keeps its connection in the past: a reader that
        # takes its time must not make everybody else read old rows.
        with self._apart() as reading:
            row: Any
            for row in reading.execute(_ENTRIES, in_period(account_id, from_ms, to_ms)):
                yield LedgerEntry(*row)


def find_account(connection: SqlConnection, account_id: int) -> Account:
    """One account. Raises `LookupError`."""
    row: Any = connection.execute(f"{_ACCOUNTS} WHERE account_id = ?", (account_id,)).fetchone()
    if row is None:
        raise LookupError(account_id)
    return _account(row)


def _account(row: Any) -> Account:
    number, name, plan, mode, certificates, optin, *rest = row
    return Account(number, name, plan, mode, bool(certificates), bool(optin), *rest)
