"""Daily totals of accounts' charges, read together with charges that are not folded yet.

Charges before an account's `folded_ms` are in the totals; later ones are summed from the ledger:
entries by instant, charged lookups by the time in their request number, which is their order on
disk (ADR 0062). Both are read in one snapshot, and `folded_ms` advances in the commit that folds:
so the result always equals the ledger, however far the folding is (ADR 0050).
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from typing import Any, TypeAlias

from balcao.core.calendar import HOUR_MS, civil_day_text, day_starts_ms
from balcao.storage.connection import OpenReader, SqlConnection
from balcao.storage.contract import LedgerEntry
from balcao.storage.desk.periods import PERIOD, in_period
from balcao.storage.numbers import NUMBERED_BEFORE_MS_MAX, least_number
from balcao.storage.totals import (
    EVERY_CHARGE,
    Dimension,
    Fingerprint,
    PeriodBooks,
    Total,
    TotalsFilter,
)

END_OF_TIME_MS = 1 << 62

_Key: TypeAlias = tuple[Any, ...]

# Each charge with its user and UF, as long as the request's details are kept.
_DETAILED = (
    "(SELECT e.at_ms, e.operation, coalesce(e.key_id, 0) AS key_id,"
    " coalesce(t.user_id, c.user_id, 0) AS user_id, e.origin, e.rule,"
    " coalesce(t.uf, c.uf, '') AS uf, coalesce(e.client, '') AS client,"
    " -e.balance_change AS credits"
    " FROM ledger_entry AS e"
    " LEFT JOIN trace AS t ON t.account_id = e.account_id AND t.request_id = e.request_id"
    " LEFT JOIN certificate_trace AS c"
    " ON c.account_id = e.account_id AND c.request_id = e.request_id"
    " WHERE e.account_id = ? AND e.at_ms >= ? AND e.at_ms < ? AND e.kind IN ('charge', 'post')"
    " UNION ALL SELECT opened_ms, operation, coalesce(key_id, 0), coalesce(user_id, 0), origin,"
    " rule, coalesce(uf, ''), coalesce(client, ''), credits FROM charged_lookup"
    " WHERE account_id = ? AND request_id >= ? AND request_id < ?"
    " AND opened_ms >= ? AND opened_ms < ?)"
)
# By hour: civil days differ in length, but begin and end with a full hour.
_HOURS = (
    "SELECT at_ms / ?, operation, key_id, user_id, origin, rule, uf, client, count(*),"  # noqa: S608
    f" CAST(sum(credits) AS BIGINT) FROM {_DETAILED} AS charged GROUP BY 1, 2, 3, 4, 5, 6, 7, 8"
)

_COLUMN_OF: dict[Dimension, str] = {"key": "key_id", "user": "user_id"}

FOLDED = "SELECT folded_ms, balance_credits FROM account WHERE account_id = ?"
_SUM = (
    "SELECT coalesce(CAST(sum(requests) AS BIGINT), 0), coalesce(CAST(sum(credits) AS BIGINT), 0)"
    " FROM daily_total WHERE account_id = ? AND part = 'all' AND day >= ? AND day < ?"
)
_TOP_UPS = (
    "SELECT at_ms, kind, balance_change, request_id, key_id, operation, rule, origin, reason,"
    " client, reference FROM ledger_entry WHERE account_id = ? AND kind = 'top_up' AND at_ms >= ?"
    " AND at_ms < ? ORDER BY at_ms, entry_id"
)
_ADDED = (
    "SELECT coalesce(CAST(sum(balance_change) AS BIGINT), 0) FROM ledger_entry"
    " WHERE account_id = ? AND kind = 'top_up' AND at_ms >= ? AND at_ms < ?"
)
# In an order that does not depend on the table.
_LINES = (
    "SELECT at_ms, kind, balance_change, request_id, operation, rule, origin, client, reference,"  # noqa: S608
    f" reason FROM {PERIOD} AS period WHERE balance_change <> 0 ORDER BY at_ms, kind, request_id,"
    " number"
)
_SEALED = "SELECT entries, digest FROM month_seal WHERE account_id = ? AND month = ?"
PARTS = ("all", "uf", "client", "uf_alone", "client_alone")
# The columns of `uf_alone` and `client_alone`, besides their value.
_ALONE = frozenset({"day", "origin"})
NO_DAY, _LAST_DAY = "", "9999-12-31"


# Without the UF, which is in the details of requests: they may be gone, and the ledger has none.
_TOLD = (
    "SELECT part, day, CASE WHEN part IN ('uf', 'uf_alone') THEN '' ELSE value END, operation,"
    " key_id, origin, rule, CAST(sum(requests) AS BIGINT), CAST(sum(credits) AS BIGINT)"
    " FROM daily_total WHERE account_id = ? GROUP BY 1, 2, 3, 4, 5, 6, 7"
)


class TotalsSnapshot:
    """Totals read in one snapshot, while it is open."""

    def __init__(self, reading: SqlConnection) -> None:
        self._reading = reading

    def read(
        self,
        account_id: int,
        first: date,
        last: date,
        by: Sequence[Dimension],
        filters: TotalsFilter = EVERY_CHARGE,
    ) -> Sequence[Total]:
        """Return charges from `first` to `last`, civil days in Brasília, both included.

        Grouped by these dimensions, in their order. Takes milliseconds for any number of charges,
        but with both `uf` and `client` a second for a million.
        """
        sums = _sums_of(self._reading, account_id, (first, last), by, filters)
        return [
            Total(requests, credits, **dict(zip(by, what, strict=True)))
            for what, (requests, credits) in sorted(sums.items())
        ]

    def books(self, account_id: int, first: date, last: date) -> PeriodBooks:
        """Return the account's books around these days. Raises `LookupError`: no such account."""
        return _books(self._reading, account_id, first, last)


class TotalsQueries:
    """Queries of the totals. Callable in any thread."""

    def __init__(self, open_reader: OpenReader) -> None:
        self._open_reader = open_reader

    @contextmanager
    def snapshot(self) -> Iterator[TotalsSnapshot]:
        """Open a snapshot for several reads. It does not block writers."""
        with self._open_reader() as reading, reading.snapshot():
            yield TotalsSnapshot(reading)

    def read(
        self,
        account_id: int,
        first: date,
        last: date,
        by: Sequence[Dimension],
        filters: TotalsFilter = EVERY_CHARGE,
    ) -> Sequence[Total]:
        """See `TotalsSnapshot.read`."""
        with self.snapshot() as snapshot:
            return snapshot.read(account_id, first, last, by, filters)

    def books(self, account_id: int, first: date, last: date) -> PeriodBooks:
        """See `TotalsSnapshot.books`."""
        with self.snapshot() as snapshot:
            return snapshot.books(account_id, first, last)

    def fingerprint(self, account_id: int, first: date, last: date) -> Fingerprint:
        """Return a digest of all movements of credits in a period.

        SHA-256 of a line for each entry that moved credits, as in contract 15.5. It does not change
        when requests' details are purged. Reads all entries: seconds for a million.
        """
        values = (day_starts_ms(first), day_starts_ms(last + timedelta(days=1)))
        sums, entries = hashlib.sha256(), 0
        with self._open_reader() as reading:
            for row in reading.execute(_LINES, in_period(account_id, *values)):
                cells = ("" if cell is None else str(cell) for cell in row)
                sums.update(";".join(cells).encode() + b"\n")
                entries += 1
        return Fingerprint(entries, sums.hexdigest())

    def sealed(self, account_id: int, month: str) -> Fingerprint | None:
        """Return the fingerprint that `seal` has stored for a month (`YYYY-MM`)."""
        with self._open_reader() as reading:
            row = reading.execute(_SEALED, (account_id, month)).fetchone()
        return None if row is None else Fingerprint(*row)


def hours_of(
    connection: SqlConnection,
    account_id: int,
    period: tuple[int, int] = (0, END_OF_TIME_MS),
    fold: tuple[int, int] = (0, END_OF_TIME_MS),
) -> list[Any]:
    """Return the ledger's charges in `period`, [from, to), by hour.

    Only those that folding reaches within `fold`, [from, to). Rows of hour (since 1970), operation,
    key, user, origin, rule, UF, client, requests, credits.
    """
    (from_ms, to_ms), (since_ms, until_ms) = period, fold
    values = (
        HOUR_MS,
        *(account_id, max(from_ms, since_ms), min(to_ms, until_ms)),
        account_id,
        least_number(max(from_ms - NUMBERED_BEFORE_MS_MAX, since_ms)),
        least_number(min(to_ms + NUMBERED_BEFORE_MS_MAX, until_ms)),
        *(from_ms, to_ms),
    )
    return connection.execute(_HOURS, values).fetchall()


def _sums_of(
    reading: SqlConnection,
    account_id: int,
    days: tuple[date, date],
    by: Sequence[Dimension],
    filters: TotalsFilter,
) -> dict[_Key, list[int]]:
    sums: dict[_Key, list[int]] = {}
    period = day_starts_ms(days[0]), day_starts_ms(days[1] + timedelta(days=1))
    since_ms = 0
    if not {"uf", "client"} <= {*by, *(name for name, _ in filters.columns)}:  # no part has both
        row = reading.execute(FOLDED, (account_id,)).fetchone()
        if row is not None and row[0] > period[0]:
            since_ms = row[0]
            _sum_totals(reading, account_id, days, by, filters, sums)
    hours = hours_of(reading, account_id, period, (since_ms, END_OF_TIME_MS))
    _sum_hours(hours, by, filters, sums)
    return sums


def _sum_totals(  # noqa: PLR0917
    reading: SqlConnection,
    account_id: int,
    days: tuple[date, date],
    by: Sequence[Dimension],
    filters: TotalsFilter,
    sums: dict[_Key, list[int]],
) -> None:
    asked = {*by, *(name for name, _ in filters.columns)}
    of_value = "uf" if "uf" in asked else "client" if "client" in asked else None
    part = of_value or "all"
    if of_value is not None and asked - {of_value} <= _ALONE:
        part = f"{of_value}_alone"

    def column(name: Dimension) -> str:
        return "value" if name == of_value else _COLUMN_OF.get(name, name)

    columns = ", ".join(column(name) for name in by)
    where = "".join(f" AND {column(name)} = ?" for name, _ in filters.columns)
    sql = (
        f"SELECT {columns}{', ' if by else ''}CAST(sum(requests) AS BIGINT),"  # noqa: S608
        " CAST(sum(credits) AS BIGINT) FROM daily_total"
        f" WHERE account_id = ? AND part = ? AND day >= ? AND day <= ?{where}"
        f"{f' GROUP BY {columns}' if by else ' HAVING count(*) > 0'}"
    )
    first, last = (day.isoformat() for day in days)
    if of_value in {name for name, _ in filters.columns}:
        # For one value: day by day, each a short range of the key.
        within = [first_day.isoformat() for first_day in _each_day(*days)]
        sql = sql.replace(
            " AND day >= ? AND day <= ?", f" AND day IN ({', '.join('?' * len(within))})"
        )
    else:
        within = [first, last]
    values = (account_id, part, *within, *(value for _, value in filters.columns))
    for row in reading.execute(sql, values).fetchall():
        sums[row[:-2]] = [*row[-2:]]


def _each_day(first: date, last: date) -> Iterator[date]:
    return (first + timedelta(days) for days in range((last - first).days + 1))


def _sum_hours(
    hours: Iterable[Any],
    by: Sequence[Dimension],
    filters: TotalsFilter,
    sums: dict[_Key, list[int]],
) -> None:
    places = {"operation": 1, "key": 2, "user": 3, "origin": 4, "rule": 5, "uf": 6, "client": 7}
    matching = [(places[name], value) for name, value in filters.columns]
    for hour in hours:
        if any(hour[place] != value for place, value in matching):
            continue
        what = tuple(
            civil_day_text(hour[0] * HOUR_MS) if name == "day" else hour[places[name]]
            for name in by
        )
        both = sums.setdefault(what, [0, 0])
        both[0] += hour[-2]
        both[1] += hour[-1]


def _books(reading: SqlConnection, account_id: int, first: date, last: date) -> PeriodBooks:
    from_ms, to_ms = day_starts_ms(first), day_starts_ms(last + timedelta(days=1))
    after = (last + timedelta(days=1)).isoformat()
    row = reading.execute(FOLDED, (account_id,)).fetchone()
    if row is None:
        raise LookupError(account_id)
    folded_ms, balance = row

    def added(since_ms: int, until_ms: int) -> int:
        ((credits,),) = reading.execute(_ADDED, (account_id, since_ms, until_ms)).fetchall()
        return int(credits)

    def charged(since: str, until: str) -> list[int]:
        (both,) = reading.execute(_SUM, (account_id, since, until)).fetchall()
        return [int(number) for number in both]

    before = charged(NO_DAY, first.isoformat())
    within = charged(first.isoformat(), after)
    later = charged(after, _LAST_DAY)
    for hour in hours_of(reading, account_id, fold=(folded_ms, END_OF_TIME_MS)):
        begins_ms = hour[0] * HOUR_MS
        both = before if begins_ms < from_ms else within if begins_ms < to_ms else later
        both[0] += hour[-2]
        both[1] += hour[-1]
    top_ups = [
        LedgerEntry(*entry)
        for entry in reading.execute(_TOP_UPS, (account_id, from_ms, to_ms)).fetchall()
    ]
    return PeriodBooks(
        balance,
        added(0, from_ms),
        before[1],
        top_ups,
        within[1],
        within[0],
        added(to_ms, END_OF_TIME_MS),
        later[1],
        within[0] + len(top_ups),
    )


def differences(connection: SqlConnection) -> Iterable[str]:
    """Yield complaints about accounts whose totals differ from the ledger."""
    accounts = connection.execute("SELECT account_id, name, folded_ms FROM account").fetchall()
    for account_id, name, folded_ms in accounts:
        totals: dict[str, dict[_Key, list[int]]] = {part: {} for part in PARTS}
        for part, *what, requests, credits in connection.execute(_TOLD, (account_id,)).fetchall():
            totals[part][tuple(what)] = [requests, credits]
        ledger: dict[str, dict[_Key, list[int]]] = {part: {} for part in PARTS}
        for hour, operation, key, _, origin, rule, _, client, requests, credits in hours_of(
            connection, account_id, fold=(0, folded_ms)
        ):
            day = civil_day_text(hour * HOUR_MS)
            whole, alone = (operation, key, origin, rule), ("", 0, origin, "")
            for part, what in (
                ("all", (day, "", *whole)),
                ("uf", (day, "", *whole)),
                ("client", (day, client, *whole)),
                ("uf_alone", (day, "", *alone)),
                ("client_alone", (day, client, *alone)),
            ):
                both = ledger[part].setdefault(what, [0, 0])
                both[0] += requests
                both[1] += credits
        for part in PARTS:
            wrong = sorted({
                what[0]
                for what in totals[part].keys() | ledger[part].keys()
                if totals[part].get(what) != ledger[part].get(what)
            })  # fmt: skip
            if wrong:
                yield (
                    f"conta {name}: os totais diários ({part}) não são os lançamentos,"
                    f" em {len(wrong)} dias a partir de {wrong[0]}"
                )
                break
