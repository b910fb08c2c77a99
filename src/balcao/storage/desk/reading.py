"""What the desk reads, in place: the same on any engine."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from balcao.core.access import Account, Key
from balcao.core.calendar import HOUR_MS, civil_day_text
from balcao.core.receipts import About, Receipt
from balcao.storage.connection import Apart, SqlConnection
from balcao.storage.contract import Consultation, ConsumptionRow, LedgerEntry
from balcao.storage.desk.periods import PERIOD, in_period
from balcao.storage.desk.rows import door_of
from balcao.storage.numbers import NUMBERED_BEFORE_MS_MAX, least_number

_ACCOUNTS = (
    "SELECT account_id, name, plan, mode, certificates, partner_optin, ceiling_credits,"
    " balance_credits, held_credits, month_credits, created_ms, month, suspended_ms FROM account"
)
_KEYS = (
    "SELECT key_id, account_id, name, prefix, created_ms, expires_ms, revoked_ms, last_used_ms,"
    " per_minute, per_day, networks, operations, client_required, administers FROM api_key"
)
_DOOR_COLUMNS = 4
_ENTRIES = (
    "SELECT at_ms, kind, balance_change, request_id, key_id, operation, rule,"  # noqa: S608 - ours
    f" origin, reason, client, reference FROM {PERIOD} AS period WHERE balance_change <> 0"
    " ORDER BY at_ms, number, request_id"
)
# The plus keeps SQLite from going through all entries of the account instead.
_OPERATIONS = (
    "SELECT request_id, kind, at_ms, balance_change, held_change, operation, rule, origin, key_id,"
    " client, reference, entry_id"
    " FROM ledger_entry WHERE request_id IN ({ids}) AND +account_id = ?"
    " UNION ALL SELECT request_id, 'charge', opened_ms, -credits, 0, operation, rule, origin,"
    " key_id, client, reference, 0"
    " FROM charged_lookup WHERE request_id IN ({ids}) AND account_id = ? ORDER BY 1 DESC, 12"
)
# Each by an index of its own that has their order; a charged lookup is one of the two or the other.
_REFERRED = (
    "SELECT request_id FROM ledger_entry WHERE account_id = ? AND reference = ?"
    " AND request_id < ? AND request_id >= ? AND kind IN ('charge', 'hold')"
    " ORDER BY request_id DESC LIMIT ?",
    "SELECT request_id FROM charged_lookup WHERE account_id = ? AND reference = ?"
    " AND request_id < ? AND request_id >= ? ORDER BY request_id DESC LIMIT ?",
)
# While a request runs, and as long as its answer is kept, its key knows it; then its details do.
_UNDER_KEY = (
    "SELECT request_id FROM idempotency WHERE account_id = ? AND key_digest = ? AND ? > 0",
    "SELECT request_id FROM trace WHERE account_id = ? AND key_digest = ?"
    " ORDER BY request_id DESC LIMIT ?",
    "SELECT request_id FROM certificate_trace WHERE account_id = ? AND key_digest = ?"
    " ORDER BY request_id DESC LIMIT ?",
)
_UNDER_KEY_MAX = 100  # refused ones among them
_BEHIND_ALL = "g"  # numbers are hexadecimal
# What a receipt is about is the same for every request that brought it. Whoever records it leaves
# one of these, also after each start; the newest knows most, but not always a company's name. Of
# what is bought again and again not all are read.
_RECEIPT = (
    "SELECT r.receipt_id, r.account_id, r.digest, r.media_type, r.size_bytes,"
    # A branch's certificate names the head office, and so does its file.
    " CASE WHEN c.document IS NOT NULL THEN coalesce(r.cnpj, c.document) END,"
    " c.uf, c.verdict, c.validity, c.name FROM receipt AS r LEFT JOIN"
    " (SELECT * FROM (SELECT request_id, document, uf, verdict, validity, name"
    " FROM certificate_trace WHERE receipt_id = ? ORDER BY request_id DESC LIMIT 20) AS newest"
    " ORDER BY name IS NULL, request_id DESC LIMIT 1) AS c ON TRUE WHERE r.receipt_id = ?"
)
_RECEIPT_COLUMNS = 5
# By the hour: a civil day need not have 24 of them, but it begins and ends with one.
_BY_REFERENCE = (
    "SELECT at_ms / ?, operation, key_id, origin, client, reference, count(*),"  # noqa: S608
    " -CAST(sum(balance_change) AS BIGINT)"
    f" FROM {PERIOD} AS period WHERE kind IN ('charge', 'post') GROUP BY 1, 2, 3, 4, 5, 6"
    " ORDER BY 2, 3 NULLS FIRST, 4, 5 NULLS FIRST, 6 NULLS FIRST LIMIT ?"
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
        found = _consultations(self._in_place, account_id, [request_id])
        return found[0] if found else None

    def operations_referred(
        self, account_id: int, reference: str, from_ms: int, limit: int, before_id: str | None
    ) -> Sequence[Consultation]:
        """Requests of this account with this `X-Referencia`, newest first, in pages.

        `before_id` is the last one seen. Those made since `from_ms`. May be called in any thread.
        """
        least = least_number(from_ms - NUMBERED_BEFORE_MS_MAX)
        wanted = (account_id, reference, before_id or _BEHIND_ALL, least, limit)
        with self._apart() as reading:
            numbers = {number for sql in _REFERRED for number in _numbers(reading, sql, wanted)}
            newest = sorted(numbers, reverse=True)[:limit]
            return _consultations(reading, account_id, newest)

    def operation_under_key(self, account_id: int, key_digest: str) -> Consultation | None:
        """The newest request under this Idempotency-Key. None: it held and cost nothing."""
        wanted = (account_id, key_digest, _UNDER_KEY_MAX)
        with self._apart() as reading:
            numbers = {number for sql in _UNDER_KEY for number in _numbers(reading, sql, wanted)}
            found = _consultations(reading, account_id, [*numbers])
        return found[0] if found else None

    def consumption_by_reference(
        self, account_id: int, from_ms: int, to_ms: int, lines_max: int
    ) -> Sequence[ConsumptionRow] | None:
        """What was charged in [from, to), by day, operation, key, origin, client and reference.

        So ordered. Reads every entry of the period: a second for a million of them. None: by the
        hour these are more lines, and not read. May be called in any thread.
        """
        values = (HOUR_MS, *in_period(account_id, from_ms, to_ms), lines_max + 1)
        with self._apart() as reading:
            hours: Any = reading.execute(_BY_REFERENCE, values).fetchall()
        if len(hours) > lines_max:
            return None
        days: dict[tuple[Any, ...], list[int]] = {}
        for hour, *what, requests, credits in hours:
            sums = days.setdefault((civil_day_text(hour * HOUR_MS), *what), [0, 0])
            sums[0] += requests
            sums[1] += credits
        rows = [
            ConsumptionRow(day, operation, key_id, origin, requests, credits, client, reference)
            for (day, operation, key_id, origin, client, reference), (
                requests,
                credits,
            ) in days.items()
        ]
        return sorted(rows, key=lambda row: row.day)  # and within the day as they came

    def receipt(self, receipt_id: str) -> Receipt | None:
        """The receipt of this number, whoever may fetch it, and what it is about."""
        return find_receipt(self._in_place, receipt_id)

    def receipts(self, receipt_ids: Iterable[str]) -> Iterator[Receipt]:
        """Those of these that are recorded, in their order. In a thread: they may be hundreds."""
        with self._apart() as reading:
            for receipt_id in receipt_ids:
                if (receipt := find_receipt(reading, receipt_id)) is not None:
                    yield receipt

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
        return [_key(row) for row in rows]

    def entries(self, account_id: int, from_ms: int, to_ms: int) -> Iterable[LedgerEntry]:
        """Entries that moved credits in [from, to), oldest first."""
        # A statement that is not at its end keeps its connection in the past: a reader that
        # takes its time must not make everybody else read old rows.
        with self._apart() as reading:
            row: Any
            for row in reading.execute(_ENTRIES, in_period(account_id, from_ms, to_ms)):
                yield LedgerEntry(*row)


def find_receipt(connection: SqlConnection, receipt_id: str) -> Receipt | None:
    """See `DeskReading.receipt`."""
    row: Any = connection.execute(_RECEIPT, (receipt_id, receipt_id)).fetchone()
    if row is None:
        return None
    receipt, about = Receipt(*row[:_RECEIPT_COLUMNS]), row[_RECEIPT_COLUMNS:]
    if about[0] is None:
        return receipt
    return msgspec.structs.replace(receipt, about=About(*about))


def _numbers(reading: SqlConnection, sql: str, wanted: Sequence[object]) -> Iterable[str]:
    rows: Any = reading.execute(sql, wanted).fetchall()
    return [number for (number,) in rows]


def _consultations(
    connection: SqlConnection, account_id: int, numbers: Sequence[str]
) -> Sequence[Consultation]:
    """Those of the requests that the ledger knows as this account's, greatest number first."""
    if not numbers:
        return ()
    sql = _OPERATIONS.format(ids=", ".join("?" * len(numbers)))
    rows: Any = connection.execute(sql, (*numbers, account_id) * 2).fetchall()
    return [
        _consultation(number, [*entries]) for number, entries in groupby(rows, key=itemgetter(0))
    ]


def _consultation(request_id: str, entries: Sequence[Any]) -> Consultation:
    """From its entries, the opening one first."""
    _, _, opened_ms, _, _, operation, _, _, key_id, client, reference, _ = entries[0]
    _, kind, at_ms, balance_change, held_change, _, rule, origin, *_ = entries[-1]
    running = kind == "hold"
    return Consultation(
        request_id=request_id,
        operation=operation,
        key_id=key_id,
        state="running" if running else "charged" if balance_change else "free",
        held_credits=held_change if running else 0,
        charged_credits=-balance_change,
        rule=rule,
        origin=origin,
        opened_ms=opened_ms,
        settled_ms=None if running else at_ms,
        client=client,
        reference=reference,
    )


def find_account(connection: SqlConnection, account_id: int) -> Account:
    """One account. Raises `LookupError`."""
    row: Any = connection.execute(f"{_ACCOUNTS} WHERE account_id = ?", (account_id,)).fetchone()
    if row is None:
        raise LookupError(account_id)
    return _account(row)


def _key(row: Any) -> Key:
    plain, door = row[:-_DOOR_COLUMNS], row[-_DOOR_COLUMNS:]
    return replace(Key(*plain), door=door_of(*door))


def _account(row: Any) -> Account:
    number, name, plan, mode, certificates, optin, *rest = row
    return Account(number, name, plan, mode, bool(certificates), bool(optin), *rest)
