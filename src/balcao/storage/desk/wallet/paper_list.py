"""Certificates of a portfolio with their items, selected, counted and paged (contract 20.7)."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Final, NamedTuple

import msgspec

from balcao.core.paper_filters import EXPIRIES, FIRST_DAY, WITHOUT, DayRange, Expiry, day_ranges
from balcao.core.papers import Paper, PaperKind, PaperState
from balcao.core.wallet import WalletItem
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.wallet.papers import PAPER_COLUMNS, paper_of
from balcao.storage.desk.wallet.rows import ITEM_COLUMNS, item_of, pieces
from balcao.storage.engine import Engine

PAPERS_AT_ONCE: Final = 500
ON_A_DAY: Final = 3  # certificates of each day that a month shows
DAYS_MAX: Final = 400  # of a feed, from today

_COLUMNS = ", ".join(f"p.{name}" for name in PAPER_COLUMNS)
_GOOD = "(p.kind = 'outra' OR p.verdict IN ('CND', 'CPEND'))"
# As `Paper.state`; its values are today and the last day of the greatest notice.
STATE: Final = (
    "CASE WHEN p.renewing_ms IS NOT NULL THEN 'renovando' WHEN p.verdict = 'CPD' THEN 'positiva'"
    f" WHEN {_GOOD} AND p.last_day < ? THEN 'vencida'"
    f" WHEN {_GOOD} AND p.last_day <= ? THEN 'a_vencer'"
    " WHEN p.verdict = 'CPEND' THEN 'positiva_com_efeito_de_negativa'"
    " WHEN p.verdict = 'CND' OR p.kind = 'outra' THEN 'valida'"
    " WHEN p.verdict IS NOT NULL THEN 'nao_emitida'"
    " WHEN p.failures > 0 THEN 'nao_verificada' ELSE 'sem_certidao' END"
)
_FOUND = (
    f"SELECT {_COLUMNS}, {STATE} AS state, CASE WHEN {_GOOD} THEN p.last_day END AS good_until"  # noqa: S608 - columns of ours
    " FROM wallet_paper AS p WHERE p.account_id = ? AND EXISTS (SELECT 1 FROM"
    " wallet_item_paper AS l{join} WHERE l.paper_id = p.paper_id{of_item}){of_paper}"
)
_LISTED = (
    "SELECT * FROM ({found}) AS found WHERE 1 = 1{where}"
    " ORDER BY last_day IS NULL, last_day, paper_id LIMIT ? OFFSET ?"
)
_COUNTED = "SELECT count(*) FROM ({found}) AS found WHERE 1 = 1{where}"
_COUNTS = "SELECT count(*), {sums} FROM ({found}) AS found"
_SUM_OF_DAYS = "sum(CASE WHEN good_until BETWEEN ? AND ? THEN 1 ELSE 0 END)"
_SUM_OF_STATES = "sum(CASE WHEN state IN ({states}) THEN 1 ELSE 0 END)"
_BY_DAY = (
    "SELECT * FROM (SELECT found.*, count(*) OVER (PARTITION BY last_day) AS of_day,"
    " row_number() OVER (PARTITION BY last_day ORDER BY paper_id) AS place"
    " FROM ({found}) AS found WHERE 1 = 1{where}) AS of_days"
    " WHERE place <= ? ORDER BY last_day, place"
)
# The positions of columns after a certificate's own.
_STATE: Final = len(PAPER_COLUMNS)
_OF_DAY: Final = _STATE + 2
_FIRST_ITEMS = (
    "SELECT l.paper_id, min(l.item_id), count(*) FROM wallet_item_paper AS l{join}"
    " WHERE l.paper_id IN ({places}){of_item} GROUP BY l.paper_id"
)
_ITEMS = f"SELECT {', '.join(ITEM_COLUMNS)} FROM wallet_item WHERE item_id IN ({{places}})"  # noqa: S608
_TAGGED = " JOIN wallet_tag AS t ON t.item_id = l.item_id AND t.account_id = ? AND t.tag = ?"
_OF_CLIENT = " JOIN wallet_item AS i ON i.item_id = l.item_id AND i.client = ?"


class PaperFilter(msgspec.Struct, frozen=True, gc=False):
    """A selection of certificates; each field that is set must match."""

    client: str | None = None
    tag: str | None = None
    kind: PaperKind | None = None
    states: tuple[PaperState, ...] = ()
    days: DayRange | None = None  # of the last day of those that are, or were, good
    papers: tuple[str, ...] | None = None  # ids
    items: tuple[str, ...] | None = None  # ids


class Standing(NamedTuple):
    """The day on which states are judged, and the portfolio's greatest notice."""

    today: date
    notice_days: int

    @property
    def values(self) -> tuple[str, str]:
        return self.today.isoformat(), (self.today + timedelta(self.notice_days)).isoformat()


class ListedPaper(NamedTuple):
    """A certificate, its state, and the first of its items that match."""

    paper: Paper
    state: PaperState
    item: WalletItem
    items: int  # those that match


class PaperCounts(msgspec.Struct, frozen=True, gc=False):
    """The numbers of certificates by selection."""

    total: int
    by_expiry: Mapping[Expiry, int]
    positive: int
    without: int


class PapersOfDay(NamedTuple):
    """The certificates of one last day: their number, and the first of them."""

    count: int
    first: Sequence[ListedPaper]


class PaperList:
    """Reads of the certificates of portfolios. Methods open a connection: for threads.

    All raise `StorageFailed`.
    """

    def __init__(self, engine: Engine) -> None:
        self._open_reader = engine.open_reader

    def page(
        self, account_id: int, chosen: PaperFilter, standing: Standing, offset: int, limit: int
    ) -> tuple[Sequence[ListedPaper], int]:
        """Return certificates, the first to expire first, and the count of all that match."""
        query = _Query(account_id, chosen, standing)
        with self._open_reader() as reading, reading.snapshot():
            return query.listed(reading, offset, limit), query.count(reading)

    def each(
        self, account_id: int, chosen: PaperFilter, standing: Standing
    ) -> Iterator[ListedPaper]:
        """Yield all certificates that match, the first to expire first, as of one instant."""
        query = _Query(account_id, chosen, standing)
        with self._open_reader() as reading, reading.snapshot():
            offset = 0
            while some := query.listed(reading, offset, PAPERS_AT_ONCE):
                yield from some
                offset += len(some)

    def counts(self, account_id: int, chosen: PaperFilter, standing: Standing) -> PaperCounts:
        """Return the numbers of certificates of each selection, in one query.

        Of `chosen` only client, label and kind count.
        """
        query = _Query(account_id, PaperFilter(chosen.client, chosen.tag, chosen.kind), standing)
        with self._open_reader() as reading:
            return query.counts(reading)

    def by_day(
        self, account_id: int, chosen: PaperFilter, standing: Standing
    ) -> Mapping[str, PapersOfDay]:
        """Return the certificates whose last days are among those chosen, by day."""
        query = _Query(account_id, chosen, standing)
        with self._open_reader() as reading, reading.snapshot():
            return query.by_day(reading)

    def feed(
        self, account_id: int, chosen: PaperFilter, standing: Standing, most: int
    ) -> tuple[Sequence[ListedPaper], int]:
        """Return the first `most` certificates of a calendar, and the count of all of them.

        Those that have expired stay until they are renewed or removed.
        """
        until = (standing.today + timedelta(DAYS_MAX)).isoformat()
        days = DayRange(FIRST_DAY, until)
        query = _Query(account_id, msgspec.structs.replace(chosen, days=days), standing)
        with self._open_reader() as reading, reading.snapshot():
            listed: list[ListedPaper] = []
            while some := query.listed(
                reading, len(listed), min(PAPERS_AT_ONCE, most - len(listed))
            ):
                listed += some
            return listed, query.count(reading)


class _Query:
    """The query of a selection, on an open connection."""

    def __init__(self, account_id: int, chosen: PaperFilter, standing: Standing) -> None:
        self._standing = standing
        self._join, self._join_values = "", list[Any]()
        if chosen.tag is not None:
            self._join += _TAGGED
            self._join_values += [account_id, chosen.tag]
        if chosen.client is not None:
            self._join += _OF_CLIENT
            self._join_values.append(chosen.client)
        self._of_item, self._item_values = "", list[Any]()
        if chosen.items is not None:
            self._of_item = f" AND l.item_id IN ({_places(chosen.items)})"
            self._item_values += chosen.items
        of_paper, paper_values = "", list[Any]()
        if chosen.kind is not None:
            of_paper += " AND p.kind = ?"
            paper_values.append(chosen.kind)
        if chosen.papers is not None:
            of_paper += f" AND p.paper_id IN ({_places(chosen.papers)})"
            paper_values += chosen.papers
        self._found = _FOUND.format(join=self._join, of_item=self._of_item, of_paper=of_paper)
        self._values = [
            *standing.values, account_id, *self._join_values, *self._item_values, *paper_values
        ]  # fmt: skip
        self._where, self._where_values = "", list[Any]()
        if chosen.states:
            self._where += f" AND state IN ({_places(chosen.states)})"
            self._where_values += chosen.states
        if chosen.days is not None:
            self._where += " AND good_until BETWEEN ? AND ?"
            self._where_values += chosen.days

    def listed(self, reading: SqlConnection, offset: int, limit: int) -> Sequence[ListedPaper]:
        sql = _LISTED.format(found=self._found, where=self._where)
        values = (*self._values, *self._where_values, limit, offset)
        return self._with_items(reading, reading.execute(sql, values).fetchall())

    def count(self, reading: SqlConnection) -> int:
        sql = _COUNTED.format(found=self._found, where=self._where)
        ((count,),) = reading.execute(sql, (*self._values, *self._where_values)).fetchall()
        return int(count)

    def counts(self, reading: SqlConnection) -> PaperCounts:
        ranges = day_ranges(self._standing.today)
        days = [ranges[name] for name in EXPIRIES]
        of_states: Sequence[Sequence[PaperState]] = (("positiva",), WITHOUT)
        sums = [
            *(_SUM_OF_DAYS for _ in days),
            *(_SUM_OF_STATES.format(states=_places(states)) for states in of_states),
        ]
        chosen = (*(day for each in days for day in each), *(one for of in of_states for one in of))
        sql = _COUNTS.format(sums=", ".join(sums), found=self._found)
        (row,) = reading.execute(sql, (*chosen, *self._values)).fetchall()
        total, *by_days, positive, without = (int(count or 0) for count in row)
        return PaperCounts(total, dict(zip(EXPIRIES, by_days, strict=True)), positive, without)

    def by_day(self, reading: SqlConnection) -> Mapping[str, PapersOfDay]:
        sql = _BY_DAY.format(found=self._found, where=self._where)
        rows = reading.execute(sql, (*self._values, *self._where_values, ON_A_DAY)).fetchall()
        listed = {each.paper.paper_id: each for each in self._with_items(reading, rows)}
        found: dict[str, tuple[int, list[ListedPaper]]] = {}
        for row in rows:
            each = listed[row[0]]
            _, some = found.setdefault(each.paper.last_day or "", (int(row[_OF_DAY]), []))
            some.append(each)
        return {day: PapersOfDay(count, some) for day, (count, some) in found.items()}

    def _with_items(
        self, reading: SqlConnection, rows: Sequence[Sequence[Any]]
    ) -> Sequence[ListedPaper]:
        """Return certificates of rows, which begin with their columns and state."""
        first: dict[str, tuple[str, int]] = {}
        for some in pieces([row[0] for row in rows], PAPERS_AT_ONCE):
            sql = _FIRST_ITEMS.format(join=self._join, of_item=self._of_item, places=_places(some))
            values = (*self._join_values, *some, *self._item_values)
            for paper_id, item_id, count in reading.execute(sql, values).fetchall():
                first[paper_id] = item_id, int(count)
        items: dict[str, WalletItem] = {}
        for some in pieces(sorted({item_id for item_id, _ in first.values()}), PAPERS_AT_ONCE):
            for row in reading.execute(_ITEMS.format(places=_places(some)), some).fetchall():
                items[row[0]] = item_of(row)
        return [
            ListedPaper(paper_of(row[:_STATE]), row[_STATE], items[item_id], count)
            for row in rows
            for item_id, count in [first[row[0]]]
        ]


def _places(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
