"""Portfolios as their pages show them: lists with filters and latest changes, and timelines."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from balcao.core.events import StoredEvent
from balcao.core.wallet import WalletItem
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.events import STORED_COLUMNS, stored_event
from balcao.storage.desk.wallet.rows import ITEM_COLUMNS, item_of
from balcao.storage.engine import Engine

_COLUMNS = ", ".join(f"i.{name}" for name in ITEM_COLUMNS)
_EVENT = ", ".join(f"e.{name}" for name in STORED_COLUMNS)
_LAST = "(SELECT max(event_id) FROM event WHERE item_id = i.item_id)"
_LISTED = (
    f"SELECT * FROM (SELECT {_COLUMNS}, {_LAST} AS last_event FROM wallet_item AS i{{join}}"  # noqa: S608 - columns of ours
    " WHERE i.account_id = ? AND i.ended_ms IS NULL{where}) AS listed"
    " ORDER BY coalesce(last_event, 0) DESC, item_id LIMIT ? OFFSET ?"
)
_COUNTED = (
    "SELECT count(*) FROM wallet_item AS i{join}"
    " WHERE i.account_id = ? AND i.ended_ms IS NULL{where}"
)
_TAGGED = " JOIN wallet_tag AS t ON t.item_id = i.item_id AND t.account_id = ? AND t.tag = ?"
_EVENTS = f"SELECT {_EVENT} FROM event AS e WHERE e.event_id IN ({{places}})"  # noqa: S608 - columns of ours
_CLIENTS = (
    "SELECT DISTINCT client FROM wallet_item WHERE account_id = ? AND ended_ms IS NULL"
    " AND client <> '' ORDER BY client LIMIT ?"
)
_TAGS = "SELECT DISTINCT tag FROM wallet_tag WHERE account_id = ? ORDER BY tag LIMIT ?"
_CHANGES = (
    f"SELECT {_EVENT}, {_COLUMNS}"  # noqa: S608 - columns of ours
    " FROM event AS e JOIN wallet_item AS i ON i.item_id = e.item_id"
    " WHERE e.account_id = ? AND e.event_id > ? AND e.event_id < ? AND e.webhook_id IS NULL"
    " AND i.ended_ms IS NULL{where} ORDER BY e.event_id DESC LIMIT ?"
)
_OF_ITEM = (
    f"SELECT {_EVENT} FROM event AS e"  # noqa: S608 - columns of ours
    " WHERE e.item_id = ? AND e.account_id = ?"
    " ORDER BY e.event_id DESC LIMIT ?"
)
_EVENT_COLUMNS = len(STORED_COLUMNS)
_NAMES_MAX = 500
_LATER = 2**62
_ESCAPED = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})


class ListFilter(msgspec.Struct, frozen=True, gc=False):
    """The filters of the list of items; each field that is set must match."""

    client: str | None = None
    tag: str | None = None
    status: str | None = None  # of the registry, such as `INAPTA`
    words: str | None = None  # in the company's name, the document or the reference
    unhandled: bool = False  # changed, and no person has marked it since


class ListedItem(NamedTuple):
    """An item with its latest event."""

    item: WalletItem
    last: StoredEvent | None


class ItemChange(NamedTuple):
    """An event and its item."""

    event: StoredEvent
    item: WalletItem


class PortfolioViews:
    """The reads of pages. Methods raise `StorageFailed`; they open a connection: for threads."""

    def __init__(self, engine: Engine) -> None:
        self._open_reader = engine.open_reader

    def listed(
        self, account_id: int, chosen: ListFilter, offset: int, limit: int
    ) -> tuple[Sequence[ListedItem], int]:
        """Return a page of items, those with the latest events first, and the count of all."""
        join, where, values = _conditions(account_id, chosen)
        with self._open_reader() as reading:
            ((count,),) = reading.execute(
                _COUNTED.format(join=join, where=where), values
            ).fetchall()  # fmt: skip
            rows = reading.execute(
                _LISTED.format(join=join, where=where), (*values, limit, offset)
            ).fetchall()
            last = _events_of(reading, [row[-1] for row in rows if row[-1] is not None])
        return [ListedItem(item_of(row[:-1]), last.get(row[-1])) for row in rows], int(count)

    def names(self, account_id: int) -> tuple[Sequence[str], Sequence[str]]:
        """Return the clients and the labels of an account's items."""
        with self._open_reader() as reading:
            clients = reading.execute(_CLIENTS, (account_id, _NAMES_MAX)).fetchall()
            tags = reading.execute(_TAGS, (account_id, _NAMES_MAX)).fetchall()
        return [client for (client,) in clients], [tag for (tag,) in tags]

    def changes(
        self,
        account_id: int,
        after: int,
        limit: int,
        *,
        before: int | None = None,
        client: str | None = None,
    ) -> Sequence[ItemChange]:
        """Return events about items in force with numbers between two, newest first."""
        where = "" if client is None else " AND i.client = ?"
        values: tuple[Any, ...] = (account_id, after, before or _LATER)
        values += () if client is None else (client,)
        with self._open_reader() as reading:
            rows = reading.execute(_CHANGES.format(where=where), (*values, limit)).fetchall()
        at = _EVENT_COLUMNS
        return [ItemChange(stored_event(row[:at]), item_of(row[at:])) for row in rows]

    def timeline(self, account_id: int, item_id: str, limit: int) -> Sequence[StoredEvent]:
        """Return an item's events, newest first."""
        with self._open_reader() as reading:
            rows = reading.execute(_OF_ITEM, (item_id, account_id, limit)).fetchall()
        return [stored_event(row) for row in rows]

    def items_of_root(self, account_id: int, root: str) -> Sequence[WalletItem]:
        """Return the items in force of a company's establishments and of its root."""
        with self._open_reader() as reading:
            rows = reading.execute(
                f"SELECT {_COLUMNS} FROM wallet_item AS i WHERE i.account_id = ? AND i.root = ?"  # noqa: S608
                " AND i.ended_ms IS NULL ORDER BY i.item_id LIMIT 100",
                (account_id, root),
            ).fetchall()
        return [item_of(row) for row in rows]


def _conditions(account_id: int, chosen: ListFilter) -> tuple[str, str, tuple[Any, ...]]:
    join, where, values = "", "", list[Any]()
    if chosen.tag is not None:
        join = _TAGGED
        values += [account_id, chosen.tag]
    values.append(account_id)
    if chosen.client is not None:
        where += " AND i.client = ?"
        values.append(chosen.client)
    if chosen.status is not None:
        where += " AND i.registry LIKE ?"
        values.append(f'%"situacao":"{chosen.status.translate(_ESCAPED)}"%')
    if chosen.words is not None:
        where += (
            " AND (upper(i.registry) LIKE ? ESCAPE '\\' OR i.document LIKE ? ESCAPE '\\'"
            " OR upper(i.reference) LIKE ? ESCAPE '\\')"
        )
        pattern = f"%{chosen.words.upper().translate(_ESCAPED)}%"
        values += [pattern, pattern, pattern]
    if chosen.unhandled:
        where += " AND i.handled_ms IS NULL AND i.sequence > 0"
    return join, where, tuple(values)


def _events_of(reading: SqlConnection, numbers: Sequence[int]) -> dict[int | None, StoredEvent]:
    if not numbers:
        return {}
    sql = _EVENTS.format(places=", ".join("?" * len(numbers)))
    return {row[0]: stored_event(row) for row in reading.execute(sql, numbers).fetchall()}
