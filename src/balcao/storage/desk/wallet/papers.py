"""Certificates of portfolios: their rows, and which items they belong to (contract 20.5)."""

from collections.abc import Callable, Mapping, Sequence, Set
from itertools import chain
from typing import Any, Final, NamedTuple

from balcao.core.papers import Paper, PaperKey, paper_keys
from balcao.core.purchases import UNPLANNED_MS
from balcao.core.receipts import UPLOADED
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.receipts import leave_bytes
from balcao.storage.desk.wallet.rows import pieces

PAPER_COLUMNS: Final = Paper.__struct_fields__
_PAPERS_AT_ONCE = 500

_COLUMNS = ", ".join(f"p.{name}" for name in PAPER_COLUMNS)
_OF_ITEMS = (
    f"SELECT l.item_id, {_COLUMNS} FROM wallet_item_paper AS l"  # noqa: S608 - columns of ours
    " JOIN wallet_paper AS p ON p.paper_id = l.paper_id WHERE l.item_id IN ({places})"
    " ORDER BY l.item_id, p.kind, p.uf, p.paper_id"
)
_FIND = (
    "SELECT paper_id, kind, uf, subject, document_hash FROM wallet_paper"
    " WHERE account_id = ? AND kind <> 'outra' AND {column} IN ({places})"
)
_NEW = ("paper_id", "account_id", "kind", "uf", "subject", "document_hash", "next_ms", "created_ms")
_LINK = ("item_id", "paper_id")
_PLAN_AGAIN = (
    f"UPDATE wallet_paper SET next_ms = {UNPLANNED_MS} WHERE kind <> 'outra'"  # noqa: S608 - ours
    f" AND (next_ms IS NULL OR (failures = 0 AND next_ms <> {UNPLANNED_MS})) AND paper_id IN"
    " (SELECT paper_id FROM wallet_item_paper WHERE item_id IN ({places}))"
)
_BOUGHT_OF_ITEMS = (
    "SELECT l.item_id, l.paper_id FROM wallet_item_paper AS l JOIN wallet_paper AS p"
    " ON p.paper_id = l.paper_id WHERE l.item_id IN ({places}) AND p.kind <> 'outra'"
)
_UNLINK_ONE = "DELETE FROM wallet_item_paper WHERE item_id = ? AND paper_id = ?"
_LINKED = "SELECT DISTINCT paper_id FROM wallet_item_paper WHERE item_id IN ({places})"
_UNLINK = "DELETE FROM wallet_item_paper WHERE item_id IN ({places})"
_UNLINKED = (
    "SELECT paper_id FROM wallet_paper WHERE paper_id IN ({places}) AND NOT EXISTS"
    " (SELECT 1 FROM wallet_item_paper AS l WHERE l.paper_id = wallet_paper.paper_id)"
)
_DELETE = "DELETE FROM wallet_paper WHERE paper_id IN ({places})"
_DELETE_FILES = (
    "DELETE FROM receipt WHERE operation = ? AND receipt_id IN"
    " (SELECT receipt_id FROM wallet_paper WHERE kind = 'outra' AND paper_id IN ({places}))"
    " RETURNING digest"
)


class PapersOfItem(NamedTuple):
    """The subject and topics of an item, of which its certificates follow."""

    item_id: str
    document: str  # a CNPJ, a root, or a masked CPF
    document_hash: bytes | None
    watched: Sequence[str]


def paper_of(row: Sequence[Any]) -> Paper:
    """Return the certificate of a row of `PAPER_COLUMNS`."""
    return Paper(*row)


def read_papers(
    connection: SqlConnection, item_ids: Sequence[str]
) -> Mapping[str, Sequence[Paper]]:
    """Return the certificates of items by item id. Items without any are left out."""
    found: dict[str, list[Paper]] = {}
    for some in pieces(item_ids, _PAPERS_AT_ONCE):
        sql = _OF_ITEMS.format(places=_places(some))
        for item_id, *row in connection.execute(sql, some).fetchall():
            found.setdefault(item_id, []).append(paper_of(row))
    return found


def link_papers(
    connection: SqlConnection,
    account_id: int,
    items: Sequence[PapersOfItem],
    new_id: Callable[[], str],
    now_ms: int,
) -> None:
    """Give each item the certificates that it watches; its other bought ones are taken from it.

    In few statements: all commits of the installation wait for 10,000 items with certificates.
    """
    keys = {
        item.item_id: paper_keys(item.document, item.document_hash, item.watched) for item in items
    }
    known = _paper_ids(connection, account_id, {*chain(*keys.values())}, new_id, now_ms)
    before = set[tuple[str, str]]()
    for some in pieces([*keys], _PAPERS_AT_ONCE):
        rows = connection.execute(_BOUGHT_OF_ITEMS.format(places=_places(some)), some).fetchall()
        before.update((str(item_id), str(paper_id)) for item_id, paper_id in rows)
    watched = {(item_id, known[key]) for item_id, some in keys.items() for key in some}
    connection.insert_rows("wallet_item_paper", _LINK, sorted(watched - before))
    left = sorted(before - watched)
    for link in left:
        connection.execute(_UNLINK_ONE, link)
    delete_unlinked(connection, sorted({paper_id for _, paper_id in left}), now_ms)


def plan_papers_again(connection: SqlConnection, item_ids: Sequence[str]) -> None:
    """Let the renewals of items be planned again: they depend on the items' terms.

    A certificate whose renewal has failed keeps the instant of its next attempt.
    """
    for start in range(0, len(item_ids), _PAPERS_AT_ONCE):
        some = item_ids[start : start + _PAPERS_AT_ONCE]
        places = ", ".join("?" * len(some))
        connection.execute(_PLAN_AGAIN.format(places=places), some)


def unlink_papers(connection: SqlConnection, item_ids: Sequence[str], now_ms: int) -> None:
    """Take all certificates from items that end or are deleted."""
    linked = linked_papers(connection, item_ids)
    for some in pieces(item_ids, _PAPERS_AT_ONCE):
        connection.execute(_UNLINK.format(places=_places(some)), some)
    delete_unlinked(connection, linked, now_ms)


def linked_papers(connection: SqlConnection, item_ids: Sequence[str]) -> Sequence[str]:
    """Return the ids of items' certificates."""
    linked = set[str]()
    for some in pieces(item_ids, _PAPERS_AT_ONCE):
        rows = connection.execute(_LINKED.format(places=_places(some)), some).fetchall()
        linked.update(str(paper_id) for (paper_id,) in rows)
    return sorted(linked)


def delete_unlinked(connection: SqlConnection, paper_ids: Sequence[str], now_ms: int) -> None:
    """Delete those certificates that no item has, with files that were sent for them."""
    for some in pieces(paper_ids, _PAPERS_AT_ONCE):
        rows = connection.execute(_UNLINKED.format(places=_places(some)), some).fetchall()
        gone = [str(paper_id) for (paper_id,) in rows]
        if gone:
            delete_files(connection, gone, now_ms)
            connection.execute(_DELETE.format(places=_places(gone)), gone)


def delete_files(connection: SqlConnection, paper_ids: Sequence[str], now_ms: int) -> None:
    """Delete the records of files that were sent for certificates, and enqueue their bytes."""
    sql = _DELETE_FILES.format(places=_places(paper_ids))
    rows = connection.execute(sql, (UPLOADED, *paper_ids)).fetchall()
    leave_bytes(connection, (digest for (digest,) in rows), now_ms)


def _paper_ids(
    connection: SqlConnection,
    account_id: int,
    keys: Set[PaperKey],
    new_id: Callable[[], str],
    now_ms: int,
) -> Mapping[PaperKey, str]:
    """Return the ids of certificates, of which those that are not known are added."""
    found: dict[PaperKey, str] = {}
    subjects = sorted({key.subject for key in keys if key.subject is not None})
    hashes = sorted({key.document_hash for key in keys if key.document_hash is not None})
    for column, values in (("subject", subjects), ("document_hash", hashes)):
        for some in pieces(list[Any](values), _PAPERS_AT_ONCE):
            sql = _FIND.format(column=column, places=_places(some))
            for paper_id, kind, uf, subject, hashed in connection.execute(
                sql, (account_id, *some)
            ).fetchall():
                person = None if hashed is None else bytes(hashed)
                found[PaperKey(kind, uf, subject, person)] = str(paper_id)
    new = {key: new_id() for key in sorted(keys - found.keys(), key=repr)}
    rows = [(paper_id, account_id, *key, UNPLANNED_MS, now_ms) for key, paper_id in new.items()]
    connection.insert_rows("wallet_paper", _NEW, rows)
    return found | new


def _places(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
