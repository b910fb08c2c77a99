"""Last days of certificates, each with an item that has it (contract 20.5)."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from balcao.core.papers import Paper, PaperState
from balcao.storage.desk.wallet.paper_list import STATE, Standing
from balcao.storage.desk.wallet.papers import PAPER_COLUMNS, paper_of
from balcao.storage.engine import Engine

_COLUMNS: Final = ", ".join(f"p.{name}" for name in PAPER_COLUMNS)
_OF_ITEM: Final = "i.item_id, i.document, i.reference, i.client, i.tags"
_PAGE = (
    f"SELECT {_COLUMNS}, {_OF_ITEM} FROM wallet_paper AS p"  # noqa: S608 - columns of ours
    " JOIN wallet_item_paper AS l ON l.paper_id = p.paper_id"
    " JOIN wallet_item AS i ON i.item_id = l.item_id{join}"
    " WHERE p.account_id = ? AND p.last_day >= ?{where} AND i.ended_ms IS NULL"
    " AND (p.last_day, p.paper_id, i.item_id) > (?, ?, ?)"
    " ORDER BY p.last_day, p.paper_id, i.item_id LIMIT ?"
)
_TAGGED = " JOIN wallet_tag AS t ON t.item_id = i.item_id AND t.account_id = ? AND t.tag = ?"
_PAPER: Final = len(PAPER_COLUMNS)

_texts = msgspec.json.Decoder(tuple[str, ...]).decode


class ExpiryFilter(msgspec.Struct, frozen=True, gc=False):
    """A selection of certificates with a last day; each field that is set must match."""

    first: str = ""
    last: str | None = None
    states: tuple[PaperState, ...] = ()
    client: str | None = None
    tag: str | None = None


class ExpiryKey(NamedTuple):
    """The place of an entry in the list."""

    last_day: str
    paper_id: str
    item_id: str


class Expiry(NamedTuple):
    """A certificate of an item."""

    paper: Paper
    item_id: str
    document: str  # a CNPJ, or a masked CPF
    reference: str | None
    client: str | None
    tags: Sequence[str]

    @property
    def key(self) -> ExpiryKey:
        """Its place in the list."""
        return ExpiryKey(self.paper.last_day or "", self.paper.paper_id, self.item_id)


class Expiries:
    """Reads of last days. All methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._open_reader = engine.open_reader

    async def page(
        self,
        account_id: int,
        chosen: ExpiryFilter,
        standing: Standing,
        after: ExpiryKey | None,
        limit: int,
    ) -> Sequence[Expiry]:
        """Return entries after a key, the first to expire first."""
        join, where, values = "", "", list[Any]()
        if chosen.tag is not None:
            join = _TAGGED
            values += [account_id, chosen.tag]
        values += [account_id, chosen.first]
        if chosen.last is not None:
            where += " AND p.last_day <= ?"
            values.append(chosen.last)
        if chosen.client is not None:
            where += " AND i.client = ?"
            values.append(chosen.client)
        if chosen.states:
            where += f" AND {STATE} IN ({', '.join('?' * len(chosen.states))})"
            values += [*standing.values, *chosen.states]
        values += [*(after or ("", "", "")), limit]
        sql = _PAGE.format(join=join, where=where)

        def read() -> Sequence[Expiry]:
            with self._open_reader() as reading:
                return [_expiry(row) for row in reading.execute(sql, values).fetchall()]

        return await asyncio.to_thread(read)


def _expiry(row: Sequence[Any]) -> Expiry:
    item_id, document, reference, client, tags = row[_PAPER:]
    paper = paper_of(row[:_PAPER])
    return Expiry(paper, item_id, document, reference, client or None, _texts(tags))
