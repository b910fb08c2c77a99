"""Certificates of a portfolio with their items, selected, counted and paged (contract 20.7)."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from balcao.core.calendar import civil_day
from balcao.core.paper_filters import EXPIRIES, FIRST_DAY, WITHOUT, DayRange, Expiry, day_ranges
from balcao.core.papers import Paper, PaperKind, PaperState
from balcao.core.wallet import WalletItem, WalletSettings
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.wallet.papers import PAPER_COLUMNS, paper_of
from balcao.storage.desk.wallet.rows import ITEM_COLUMNS, item_of, pieces
from balcao.storage.engine import Engine

PAPERS_AT_ONCE: Final = 500
ON_A_DAY: Final = 3  # certificates of each day that a month shows
DAYS_MAX: Final = 400  # of a feed, from today

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
    f"SELECT p.paper_id, p.last_day, p.kind, {STATE} AS state,"  # noqa: S608 - columns of ours
    f" CASE WHEN {_GOOD} THEN p.last_day END AS good_until"
    " FROM wallet_paper AS p WHERE p.account_id = ?{where}"
)
_HAS_ITEM = " AND EXISTS (SELECT 1 FROM wallet_item_paper AS l WHERE l.paper_id = p.paper_id)"
_OF_ITEMS = " AND p.paper_id IN (SELECT l.paper_id FROM {items})"
_CHOSEN = "SELECT paper_id, state, last_day, kind FROM ({found}) AS found WHERE 1 = 1{where}"
_IN_ORDER = f"{_CHOSEN} ORDER BY last_day IS NULL, last_day, paper_id"
_COUNTS = "SELECT count(*), {sums} FROM ({found}) AS found"
_SUM_OF_DAYS = "sum(CASE WHEN good_until BETWEEN ? AND ? THEN 1 ELSE 0 END)"
_SUM_OF_STATES = "sum(CASE WHEN state IN ({states}) THEN 1 ELSE 0 END)"
_PAPERS = f"SELECT {', '.join(PAPER_COLUMNS)} FROM wallet_paper WHERE paper_id IN ({{places}})"  # noqa: S608
_FIRST_ITEMS = (
    "SELECT l.paper_id, min(l.item_id), count(*) FROM {items}{also} l.paper_id IN ({places})"
    " GROUP BY l.paper_id"
)
_ITEMS = f"SELECT {', '.join(ITEM_COLUMNS)} FROM wallet_item WHERE item_id IN ({{places}})"  # noqa: S608
_KNOWN_ITEMS = (
    "SELECT count(*) FROM wallet_item WHERE account_id = ? AND ended_ms IS NULL"
    " AND item_id IN ({places})"
)
# A cross join keeps SQLite from reading all items of a label once per certificate.
_ANY = "wallet_item_paper AS l"
_TAGGED = (
    "wallet_tag AS t CROSS JOIN wallet_item_paper AS l"
    " WHERE t.account_id = ? AND t.tag = ? AND l.item_id = t.item_id"
)
_OF_CLIENT = (
    "wallet_item AS i CROSS JOIN wallet_item_paper AS l"
    " WHERE i.account_id = ? AND i.client = ? AND l.item_id = i.item_id"
)
_BOTH = (
    "wallet_tag AS t CROSS JOIN wallet_item AS i CROSS JOIN wallet_item_paper AS l"
    " WHERE t.account_id = ? AND t.tag = ? AND i.item_id = t.item_id AND i.client = ?"
    " AND l.item_id = i.item_id"
)


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


def standing_of(settings: WalletSettings, now_ms: int) -> Standing:
    """Return the portfolio's day, which is that of its own clock if it has one."""
    today = civil_day(now_ms if settings.clock_ms is None else settings.clock_ms)
    return Standing(today, max(settings.notices.dias, default=0))


class ListedPaper(NamedTuple):
    """A certificate, its state, and the first of its items that match."""

    paper: Paper
    state: PaperState
    item: WalletItem
    items: int  # those that match


class PaperPage(NamedTuple):
    """Some certificates of a selection, and how many it has."""

    papers: Sequence[ListedPaper]
    in_all: int
    bought: int  # those that lookups can renew


class PaperCounts(msgspec.Struct, frozen=True, gc=False):
    """The numbers of certificates by selection."""

    total: int
    by_expiry: Mapping[Expiry, int]
    positive: int
    without: int


class PapersOfDay(NamedTuple):
    """The certificates of one last day: how many, and the first of them."""

    papers: int
    first: Sequence[ListedPaper]


class PaperList:
    """Reads of the certificates of portfolios. Methods open a connection: for threads.

    All raise `StorageFailed`.
    """

    def __init__(self, engine: Engine) -> None:
        self._open_reader = engine.open_reader

    def page(
        self, account_id: int, chosen: PaperFilter, standing: Standing, offset: int, limit: int
    ) -> PaperPage:
        """Return certificates, the first to expire first, and the counts of all that match."""
        query = _Query(account_id, chosen, standing)
        with self._open_reader() as reading, reading.snapshot():
            found = query.found(reading)
            listed = query.listed(reading, found[offset : offset + limit])
        return PaperPage(listed, len(found), sum(each.kind != "outra" for each in found))

    def each(
        self, account_id: int, chosen: PaperFilter, standing: Standing
    ) -> Iterator[ListedPaper]:
        """Yield all certificates that match, the first to expire first, as of one instant."""
        query = _Query(account_id, chosen, standing)
        with self._open_reader() as reading, reading.snapshot():
            for some in pieces(query.found(reading), PAPERS_AT_ONCE):
                yield from query.listed(reading, some)

    def known_items(self, account_id: int, item_ids: Sequence[str]) -> int:
        """Return how many of these are items in force of the account; repetitions count once."""
        known = 0
        with self._open_reader() as reading:
            for some in pieces(sorted(set(item_ids)), PAPERS_AT_ONCE):
                sql = _KNOWN_ITEMS.format(places=_places(some))
                ((count,),) = reading.execute(sql, (account_id, *some)).fetchall()
                known += int(count)
        return known

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
        days: dict[str, list[FoundPaper]] = {}
        with self._open_reader() as reading, reading.snapshot():
            for each in query.found(reading):
                days.setdefault(each.last_day or "", []).append(each)
            first = [each for found in days.values() for each in found[:ON_A_DAY]]
            listed = iter(query.listed(reading, first))
        return {
            day: PapersOfDay(len(found), [*islice(listed, min(ON_A_DAY, len(found)))])
            for day, found in days.items()
        }

    def feed(
        self, account_id: int, chosen: PaperFilter, standing: Standing, most: int
    ) -> PaperPage:
        """Return the first `most` certificates of a calendar, and the count of all of them.

        Those that have expired stay until they are renewed or removed.
        """
        until = (standing.today + timedelta(DAYS_MAX)).isoformat()
        days = DayRange(FIRST_DAY, until)
        chosen = msgspec.structs.replace(chosen, days=days)
        return self.page(account_id, chosen, standing, 0, most)


class FoundPaper(NamedTuple):
    """A certificate that matches, before it is read."""

    paper_id: str
    state: PaperState
    last_day: str | None
    kind: PaperKind


class _Query:
    """The query of a selection, on an open connection."""

    def __init__(self, account_id: int, chosen: PaperFilter, standing: Standing) -> None:
        self._standing = standing
        self._items, self._item_values = _items_of(account_id, chosen)
        where, values = _HAS_ITEM, list[Any]()
        if self._items != _ANY:
            where = _OF_ITEMS.format(items=self._items)
            values += self._item_values
        if chosen.kind is not None:
            where += " AND p.kind = ?"
            values.append(chosen.kind)
        if chosen.papers is not None:
            where += f" AND p.paper_id IN ({_places(chosen.papers)})"
            values += chosen.papers
        self._found = _FOUND.format(where=where)
        self._values = [*standing.values, account_id, *values]
        self._where, self._where_values = "", list[Any]()
        if chosen.states:
            self._where += f" AND state IN ({_places(chosen.states)})"
            self._where_values += chosen.states
        if chosen.days is not None:
            self._where += " AND good_until BETWEEN ? AND ?"
            self._where_values += chosen.days

    def found(self, reading: SqlConnection) -> Sequence[FoundPaper]:
        """Return everything that matches; narrow rows, tens of thousands in some milliseconds."""
        sql = _IN_ORDER.format(found=self._found, where=self._where)
        rows = reading.execute(sql, (*self._values, *self._where_values)).fetchall()
        return [FoundPaper(*row) for row in rows]

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

    def listed(self, reading: SqlConnection, found: Sequence[FoundPaper]) -> Sequence[ListedPaper]:
        """Return these certificates with their first items, in the same order."""
        ids = [each.paper_id for each in found]
        papers: dict[str, Paper] = {}
        first: dict[str, tuple[str, int]] = {}
        items: dict[str, WalletItem] = {}
        also = " AND" if " WHERE " in self._items else " WHERE"
        for some in pieces(ids, PAPERS_AT_ONCE):
            places = _places(some)
            for row in reading.execute(_PAPERS.format(places=places), some).fetchall():
                papers[row[0]] = paper_of(row)
            sql = _FIRST_ITEMS.format(items=self._items, also=also, places=places)
            for paper_id, item_id, count in reading.execute(
                sql, (*self._item_values, *some)
            ).fetchall():
                first[paper_id] = item_id, int(count)
        for some in pieces(sorted({item_id for item_id, _ in first.values()}), PAPERS_AT_ONCE):
            for row in reading.execute(_ITEMS.format(places=_places(some)), some).fetchall():
                items[row[0]] = item_of(row)
        return [
            ListedPaper(papers[each.paper_id], each.state, items[item_id], count)
            for each in found
            for item_id, count in [first[each.paper_id]]
        ]


def _items_of(account_id: int, chosen: PaperFilter) -> tuple[str, Sequence[Any]]:
    """Return the links `l` of the items that match, as tables and conditions, with values."""
    items, values = _ANY, list[Any]()
    if chosen.tag is not None:
        values += [account_id, chosen.tag]
        items = _TAGGED
        if chosen.client is not None:
            values.append(chosen.client)
            items = _BOTH
    elif chosen.client is not None:
        values += [account_id, chosen.client]
        items = _OF_CLIENT
    if chosen.items is not None:
        also = " WHERE" if items == _ANY else " AND"
        items += f"{also} l.item_id IN ({_places(chosen.items)})"
        values += chosen.items
    return items, values


def _places(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
