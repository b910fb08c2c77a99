"""Queries of accounts, keys, ledger and receipts, the same on any engine."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from balcao.core.access import Account, Key
from balcao.core.calendar import HOUR_MS, civil_day_text
from balcao.core.receipts import Receipt, ReceiptSubject
from balcao.storage.connection import OpenReader, SqlConnection
from balcao.storage.contract import Consultation, ConsumptionRow, LedgerEntry
from balcao.storage.desk.periods import PERIOD, in_period
from balcao.storage.desk.rows import restrictions_of
from balcao.storage.numbers import NUMBERED_BEFORE_MS_MAX, least_number

_ACCOUNTS = (
    "SELECT account_id, name, plan, mode, certificates, partner_optin, ceiling_credits,"
    " balance_credits, held_credits, month_credits, created_ms, month, suspended_ms, watched"
    " FROM account"
)
_KEYS = (
    "SELECT key_id, account_id, name, prefix, created_ms, expires_ms, revoked_ms, last_used_ms,"
    " per_minute, per_day, networks, operations, client_required, administers FROM api_key"
)
_RESTRICTION_COLUMNS = 4
_LIVE = "SELECT 1 FROM account WHERE mode = 'live' LIMIT 1"
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
# Each uses an index in this order; a request is in one of the two tables.
_REFERRED = (
    "SELECT request_id FROM ledger_entry WHERE account_id = ? AND reference = ?"
    " AND request_id < ? AND request_id >= ? AND kind IN ('charge', 'hold')"
    " ORDER BY request_id DESC LIMIT ?",
    "SELECT request_id FROM charged_lookup WHERE account_id = ? AND reference = ?"
    " AND request_id < ? AND request_id >= ? ORDER BY request_id DESC LIMIT ?",
)
# A request is found by its idempotency record while that is kept, and then by its details.
_UNDER_KEY = (
    "SELECT request_id FROM idempotency WHERE account_id = ? AND key_digest = ? AND ? > 0",
    "SELECT request_id FROM trace WHERE account_id = ? AND key_digest = ?"
    " ORDER BY request_id DESC LIMIT ?",
    "SELECT request_id FROM certificate_trace WHERE account_id = ? AND key_digest = ?"
    " ORDER BY request_id DESC LIMIT ?",
)
_UNDER_KEY_MAX = 100  # including refused ones
_AFTER_ALL = "g"  # sorts after all numbers, which are hexadecimal
# A receipt is described by the traces of requests that brought it. The newest is the most complete,
# but may lack the company's name. Only the newest are read: there may be many.
_RECEIPT = (
    "SELECT r.receipt_id, r.account_id, r.digest, r.media_type, r.size_bytes, r.operation,"
    # The certificate of a branch is that of its head office.
    " CASE WHEN c.document IS NOT NULL THEN coalesce(r.cnpj, c.document) END,"
    " c.uf, c.verdict, c.validity, c.name FROM receipt AS r LEFT JOIN"
    " (SELECT * FROM (SELECT request_id, document, uf, verdict, validity, name"
    " FROM certificate_trace WHERE receipt_id = ? ORDER BY request_id DESC LIMIT 20) AS newest"
    " ORDER BY name IS NULL, request_id DESC LIMIT 1) AS c ON TRUE WHERE r.receipt_id = ?"
)
_RECEIPT_COLUMNS = 5
# By hour: civil days differ in length, but begin and end with a full hour.
_BY_REFERENCE = (
    "SELECT at_ms / ?, operation, key_id, origin, client, reference, count(*),"  # noqa: S608
    " -CAST(sum(balance_change) AS BIGINT)"
    f" FROM {PERIOD} AS period WHERE kind IN ('charge', 'post') GROUP BY 1, 2, 3, 4, 5, 6"
    " ORDER BY 2, 3 NULLS FIRST, 4, 5 NULLS FIRST, 6 NULLS FIRST LIMIT ?"
)


class DeskQueries:
    """The read-only half of a desk.

    Its connection is used on the event loop's thread. Slow queries open one of their own, so that
    they can be called in another thread.
    """

    def __init__(self, connection: SqlConnection, open_reader: OpenReader) -> None:
        self._open_reader = open_reader
        self._connection = connection

    # For accounts.

    def operation(self, account_id: int, request_id: str) -> Consultation | None:
        """Return the ledger's record of a request of this account.

        None: it held and cost nothing, or belongs to another account.
        """
        found = _consultations(self._connection, account_id, [request_id])
        return found[0] if found else None

    def operations_referred(
        self, account_id: int, reference: str, from_ms: int, limit: int, before_id: str | None
    ) -> Sequence[Consultation]:
        """Return requests of an account with an `X-Referencia`, newest first, in pages.

        Those made since `from_ms` and before the request `before_id`. Callable in any thread.
        """
        least = least_number(from_ms - NUMBERED_BEFORE_MS_MAX)
        values = (account_id, reference, before_id or _AFTER_ALL, least, limit)
        with self._open_reader() as reading:
            numbers = {number for sql in _REFERRED for number in _numbers(reading, sql, values)}
            newest = sorted(numbers, reverse=True)[:limit]
            return _consultations(reading, account_id, newest)

    def operation_under_key(self, account_id: int, key_digest: str) -> Consultation | None:
        """Return the newest request under an Idempotency-Key. None: it held and cost nothing."""
        values = (account_id, key_digest, _UNDER_KEY_MAX)
        with self._open_reader() as reading:
            numbers = {number for sql in _UNDER_KEY for number in _numbers(reading, sql, values)}
            found = _consultations(reading, account_id, [*numbers])
        return found[0] if found else None

    def consumption_by_reference(
        self, account_id: int, from_ms: int, to_ms: int, lines_max: int
    ) -> Sequence[ConsumptionRow] | None:
        """Return charges in [from, to), by day, operation, key, origin, client and reference.

        In this order. Reads every entry of the period: a second for a million. None: there are more
        than `lines_max` groups by hour. Callable in any thread.
        """
        values = (HOUR_MS, *in_period(account_id, from_ms, to_ms), lines_max + 1)
        with self._open_reader() as reading:
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
        """Return a receipt and its description, without checking who may fetch it."""
        return find_receipt(self._connection, receipt_id)

    def receipts(self, receipt_ids: Iterable[str]) -> Iterator[Receipt]:
        """Yield the receipts that are recorded, in order. In a thread: there may be hundreds."""
        with self._open_reader() as reading:
            for receipt_id in receipt_ids:
                if (receipt := find_receipt(reading, receipt_id)) is not None:
                    yield receipt

    # For operators.

    def account(self, account_id: int) -> Account:
        """Return an account. Raises `LookupError`."""
        return find_account(self._connection, account_id)

    def accounts(self) -> Sequence[Account]:
        """Return all accounts, by number."""
        rows: Any = self._connection.execute(f"{_ACCOUNTS} ORDER BY account_id").fetchall()
        return [_account(row) for row in rows]

    def has_only_test_accounts(self) -> bool:
        """Return whether there is no live account."""
        return self._connection.execute(_LIVE).fetchone() is None

    def keys(self, account_id: int) -> Sequence[Key]:
        """Return an account's keys, newest last."""
        rows: Any = self._connection.execute(
            f"{_KEYS} WHERE account_id = ? ORDER BY key_id", (account_id,)
        ).fetchall()
        return [_key(row) for row in rows]

    def entries(self, account_id: int, from_ms: int, to_ms: int) -> Iterable[LedgerEntry]:
        """Yield entries that moved credits in [from, to), oldest first."""
        # On its own connection: an unfinished statement keeps its connection's snapshot, so that
        # other queries on it would read old rows.
        with self._open_reader() as reading:
            row: Any
            for row in reading.execute(_ENTRIES, in_period(account_id, from_ms, to_ms)):
                yield LedgerEntry(*row)


def find_receipt(connection: SqlConnection, receipt_id: str) -> Receipt | None:
    """See `DeskQueries.receipt`."""
    row: Any = connection.execute(_RECEIPT, (receipt_id, receipt_id)).fetchone()
    if row is None:
        return None
    operation, *about = row[_RECEIPT_COLUMNS:]
    known = None if about[0] is None else ReceiptSubject(*about)
    receipt = Receipt(*row[:_RECEIPT_COLUMNS])
    return msgspec.structs.replace(receipt, about=known, operation=operation)


def _numbers(reading: SqlConnection, sql: str, values: Sequence[object]) -> Iterable[str]:
    rows: Any = reading.execute(sql, values).fetchall()
    return [number for (number,) in rows]


def _consultations(
    connection: SqlConnection, account_id: int, numbers: Sequence[str]
) -> Sequence[Consultation]:
    """Return the ledger's records of this account's requests, highest number first."""
    if not numbers:
        return ()
    sql = _OPERATIONS.format(ids=", ".join("?" * len(numbers)))
    rows: Any = connection.execute(sql, (*numbers, account_id) * 2).fetchall()
    return [
        _consultation(number, [*entries]) for number, entries in groupby(rows, key=itemgetter(0))
    ]


def _consultation(request_id: str, entries: Sequence[Any]) -> Consultation:
    """Return a request's record made of its entries, the opening one first."""
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
    """Return an account. Raises `LookupError`."""
    row: Any = connection.execute(f"{_ACCOUNTS} WHERE account_id = ?", (account_id,)).fetchone()
    if row is None:
        raise LookupError(account_id)
    return _account(row)


def keys_with_expiry(connection: SqlConnection) -> tuple[Sequence[Key], Mapping[int, str]]:
    """Return the unrevoked keys that expire, of accounts in force, and the names of accounts."""
    accounts: Any = connection.execute(
        "SELECT account_id, name FROM account WHERE suspended_ms IS NULL"
    ).fetchall()
    names = dict(accounts)
    rows: Any = connection.execute(
        f"{_KEYS} WHERE expires_ms IS NOT NULL AND revoked_ms IS NULL"
    ).fetchall()
    return [key for key in map(_key, rows) if key.account_id in names], names


def _key(row: Any) -> Key:
    plain, restrictions = row[:-_RESTRICTION_COLUMNS], row[-_RESTRICTION_COLUMNS:]
    return replace(Key(*plain), restrictions=restrictions_of(*restrictions))


def _account(row: Any) -> Account:
    number, name, plan, mode, certificates, optin, *rest = row
    return Account(number, name, plan, mode, bool(certificates), bool(optin), *rest)
