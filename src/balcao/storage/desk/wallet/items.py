"""Items of portfolios: queries, and the rows that a plan writes."""

from collections.abc import Sequence
from typing import Any

import msgspec

from balcao.core.papers import PaperState
from balcao.core.purchases import UNPLANNED_MS
from balcao.core.wallet import WalletItem
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.item_events import write_item_events
from balcao.storage.desk.wallet.calendars import forget_entries
from balcao.storage.desk.wallet.paper_list import STATE, Standing
from balcao.storage.desk.wallet.papers import (
    link_papers,
    linked_papers,
    plan_papers_again,
    unlink_papers,
)
from balcao.storage.desk.wallet.planning import NO_REGISTRY, Entry, Plan, RegistryOf
from balcao.storage.desk.wallet.rows import (
    ITEM_COLUMNS,
    KNOWN_COLUMNS,
    NEW_COLUMNS,
    KnownItem,
    item_of,
    known_item,
    pieces,
)

PURGED_AT_ONCE = 500
_NAMED_AT_ONCE = 500

_ITEM = f"SELECT {', '.join(f'i.{name}' for name in ITEM_COLUMNS)} FROM wallet_item AS i"  # noqa: S608
_KNOWN = f"SELECT {', '.join(KNOWN_COLUMNS)} FROM wallet_item"  # noqa: S608 - columns of ours
_WATCHED = "SELECT watched FROM account WHERE account_id = ?"
_EDITS = "SELECT edits FROM wallet WHERE account_id = ?"
_EDITED = (
    "INSERT INTO wallet (account_id, edits, created_ms) VALUES (?, 1, ?)"
    " ON CONFLICT (account_id) DO UPDATE SET edits = wallet.edits + 1"
)
_UPDATE = (
    "UPDATE wallet_item SET reference = ?, tags = ?, watched = ?, renew = ?, recheck = ?,"  # noqa: S608
    " sealed = coalesce(?, sealed), has_birth = ?,"
    f" recheck_ms = {UNPLANNED_MS} WHERE item_id = ? AND ended_ms IS NULL"
)
# An item that has ended keeps no sealed data: nothing is asked about it any more.
_END = (
    "UPDATE wallet_item SET ended_ms = ?, sealed = NULL, has_birth = 0, record = NULL,"
    " recheck_ms = NULL WHERE ended_ms IS NULL AND item_id IN ({places})"
)
_UNTAG = "DELETE FROM wallet_tag WHERE item_id IN ({places})"
_REMOVE_TAG = "DELETE FROM wallet_tag WHERE account_id = ? AND tag = ? AND item_id = ?"
_TAGS = ("account_id", "tag", "item_id")
_EXPIRED = (
    "SELECT item_id FROM wallet_item WHERE ended_ms IS NOT NULL AND ended_ms < ?"
    " ORDER BY ended_ms LIMIT ?"
)


class ItemFilter(msgspec.Struct, frozen=True, gc=False):
    """A selection of items; each field that is set must match."""

    client: str | None = None
    tag: str | None = None
    document: str | None = None  # a CNPJ or a root, which finds its establishments too
    document_hash: bytes | None = None
    # Of any of its certificates: the state, as of a day, and the last day at most.
    states: tuple[PaperState, ...] = ()
    until: str | None = None
    standing: Standing | None = None  # needed for states


def read_item(connection: SqlConnection, account_id: int, item_id: str) -> WalletItem | None:
    """Return an item in force; None: the account has none with this id."""
    row = connection.execute(
        f"{_ITEM} WHERE i.item_id = ? AND i.account_id = ? AND i.ended_ms IS NULL",
        (item_id, account_id),
    ).fetchone()
    return None if row is None else item_of(row)


def read_page(
    connection: SqlConnection, account_id: int, chosen: ItemFilter, after: str, limit: int
) -> Sequence[WalletItem]:
    """Return items in force in the order of their ids, which is that of their creation."""
    join, where, values = "", "", list[Any]()
    if chosen.tag is not None:
        join = " JOIN wallet_tag AS t ON t.item_id = i.item_id AND t.account_id = ? AND t.tag = ?"
        values += [account_id, chosen.tag]
    values += [account_id, after]
    if chosen.client is not None:
        where += " AND i.client = ?"
        values.append(chosen.client)
    if chosen.document_hash is not None:
        where += " AND i.document_hash = ?"
        values.append(chosen.document_hash)
    if chosen.document is not None:
        column = "root" if len(chosen.document) == 8 else "document"
        where += f" AND i.{column} = ?"
        values.append(chosen.document)
    if chosen.states or chosen.until is not None:
        matching, more = _has_paper(chosen)
        where += matching
        values += more
    rows = connection.execute(
        f"{_ITEM}{join} WHERE i.account_id = ? AND i.item_id > ? AND i.ended_ms IS NULL{where}"
        " ORDER BY i.item_id LIMIT ?",
        (*values, limit),
    ).fetchall()
    return [item_of(row) for row in rows]


def _has_paper(chosen: ItemFilter) -> tuple[str, Sequence[Any]]:
    """Return a condition, and its values: one certificate has one of the states, and the day."""
    where, values = "", list[Any]()
    if chosen.states:
        assert chosen.standing is not None
        where += f" AND {STATE} IN ({_places(chosen.states)})"
        values += [*chosen.standing.values, *chosen.states]
    if chosen.until is not None:
        where += " AND p.last_day <= ?"
        values.append(chosen.until)
    return (
        " AND EXISTS (SELECT 1 FROM wallet_item_paper AS l JOIN wallet_paper AS p"  # noqa: S608
        f" ON p.paper_id = l.paper_id WHERE l.item_id = i.item_id{where})",
        values,
    )


def read_sealed(connection: SqlConnection, account_id: int, item_id: str) -> bytes | None:
    """Return the sealed CPF and birth date of an item in force; None: it has none."""
    row = connection.execute(
        "SELECT sealed FROM wallet_item WHERE item_id = ? AND account_id = ? AND ended_ms IS NULL",
        (item_id, account_id),
    ).fetchone()
    return None if row is None or row[0] is None else bytes(row[0])


def count_items(connection: SqlConnection, account_id: int) -> int:
    """Return the number of items in force of an account."""
    row = connection.execute(_WATCHED, (account_id,)).fetchone()
    return 0 if row is None else int(row[0])


def known_one(connection: SqlConnection, account_id: int, item_id: str) -> KnownItem | None:
    """Return an item in force as a plan needs it."""
    row = connection.execute(
        f"{_KNOWN} WHERE item_id = ? AND account_id = ? AND ended_ms IS NULL",
        (item_id, account_id),
    ).fetchone()
    return None if row is None else known_item(row)


def read_edits(connection: SqlConnection, account_id: int) -> int:
    """Return how often the account's items were changed: equal means that they are the same."""
    row = connection.execute(_EDITS, (account_id,)).fetchone()
    return 0 if row is None else int(row[0])


def note_edit(connection: SqlConnection, account_id: int, now_ms: int) -> None:
    """Count a change of an account's items: plans that were made before it are void."""
    connection.execute(_EDITED, (account_id, now_ms))


def known_all(connection: SqlConnection, account_id: int) -> Sequence[KnownItem]:
    """Return all items in force of an account."""
    rows = connection.execute(
        f"{_KNOWN} WHERE account_id = ? AND ended_ms IS NULL", (account_id,)
    ).fetchall()
    return [known_item(row) for row in rows]


def known_of(
    connection: SqlConnection, account_id: int, entries: Sequence[Entry]
) -> Sequence[KnownItem]:
    """Return the items in force about the subjects of these entries, of any client."""
    found = []
    for column, keys in (
        ("document", {one.subject.document for one in entries if one.document_hash is None}),
        ("document_hash", {one.document_hash for one in entries if one.document_hash is not None}),
    ):
        person = "IS NULL" if column == "document" else "IS NOT NULL"
        for some in pieces(list[Any](keys), _NAMED_AT_ONCE):
            rows = connection.execute(
                f"{_KNOWN} WHERE account_id = ? AND {column} IN ({_places(some)})"
                f" AND document_hash {person} AND ended_ms IS NULL",
                (account_id, *some),
            ).fetchall()
            found += [known_item(row) for row in rows]
    return found


def write_plan(connection: SqlConnection, plan: Plan, registry: RegistryOf = NO_REGISTRY) -> None:
    """Write the rows of a plan within the transaction that read its items, or checked `edits`.

    `registry`: of new items, with events about them.
    """
    if plan.is_empty:
        return
    note_edit(connection, plan.account_id, plan.now_ms)
    connection.insert_rows("wallet_item", NEW_COLUMNS, plan.rows_of_new(registry))
    for row in plan.updates:
        connection.execute(_UPDATE, row)
    end_items(connection, plan.ended, plan.now_ms)
    link_papers(connection, plan.account_id, plan.watching, plan.new_id, plan.now_ms)
    plan_papers_again(connection, [*plan.updated, *(each.item_id for each in plan.watching)])
    for mark in plan.tags_removed:
        connection.execute(_REMOVE_TAG, mark)
    connection.insert_rows("wallet_tag", _TAGS, plan.tags_added)
    for head, events in plan.events_of_new(registry):
        write_item_events(connection, head, events)


def end_items(connection: SqlConnection, item_ids: Sequence[str], now_ms: int) -> None:
    """Remove items: they stay without personal data until their events are gone."""
    for some in pieces(item_ids, _NAMED_AT_ONCE):
        connection.execute(_END.format(places=_places(some)), (now_ms, *some))
        connection.execute(_UNTAG.format(places=_places(some)), some)
    unlink_papers(connection, item_ids, now_ms)


def mark_handled(connection: SqlConnection, item_id: str, at_ms: int | None) -> None:
    """Mark an item's events as handled by a person, or as not handled."""
    connection.execute("UPDATE wallet_item SET handled_ms = ? WHERE item_id = ?", (at_ms, item_id))


def erase_items(connection: SqlConnection, item_ids: Sequence[str], now_ms: int) -> None:
    """Delete items, in force or not, with their labels, certificates and calendar entries."""
    papers = linked_papers(connection, item_ids)
    unlink_papers(connection, item_ids, now_ms)
    forget_entries(connection, papers)
    for some in pieces(item_ids, _NAMED_AT_ONCE):
        connection.execute(_UNTAG.format(places=_places(some)), some)
        connection.execute(
            f"DELETE FROM wallet_item WHERE item_id IN ({_places(some)})",  # noqa: S608
            some,
        )


def purge_items(connection: SqlConnection, before_ms: int, now_ms: int) -> int:
    """Delete some items that ended before an instant. Return the count."""
    rows = connection.execute(_EXPIRED, (before_ms, PURGED_AT_ONCE)).fetchall()
    erase_items(connection, [item_id for (item_id,) in rows], now_ms)
    return len(rows)


def _places(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
