"""Purchases of certificates of a portfolio on request: batches of lookups (contract 20.7).

Each batch has one kind of certificate and a ceiling, and starts by itself once it is quoted. Its
rows are own lookups, which bring the certificates up to date.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import msgspec

from balcao.batches.batch_context import CommitStep
from balcao.batches.desk import BatchDesk, Upload
from balcao.core.access import Caller
from balcao.core.errors import InvalidParameter, ItemNotFound
from balcao.core.paper_words import KINDS
from balcao.core.papers import BOUGHT_BY, Paper, PaperKind, days_left
from balcao.core.renewals import query_of
from balcao.core.wallet import SYNCED_AT_ONCE, WalletItem
from balcao.lookup.reissuing import can_reissue
from balcao.lookup.wallet import SealedPerson, WalletDesk
from balcao.operations.certificates.lookup import PRICES
from balcao.operations.contract import Operation
from balcao.storage.batches import StoredBatch
from balcao.storage.desk.wallet.paper_list import ListedPaper, PaperFilter, standing_of

# The price of a certificate from its source, which no row exceeds.
GREATEST_PRICE: Final = PRICES["online"]
MEDIA_TYPE: Final = "application/x-ndjson"

_ROWS_AT_ONCE = 500

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class PaperPurchases:
    """Makes the batches. Methods raise `StorageFailed`."""

    batches: BatchDesk
    wallet: WalletDesk

    async def counts(self, account_id: int, chosen: PaperFilter) -> Mapping[PaperKind, int]:
        """Return how many certificates of each kind would be bought."""
        found: dict[PaperKind, int] = {}
        for each in await self._chosen(account_id, chosen):
            kind = each.paper.kind
            found[kind] = found.get(kind, 0) + 1
        return {kind: found[kind] for kind in BOUGHT_BY if kind in found}

    async def buy(
        self,
        caller: Caller,
        kind: PaperKind,
        chosen: PaperFilter,
        ceiling: int,
        *,
        batch_id: str | None = None,
        idempotency_key: str | None = None,
        also: CommitStep | None = None,
    ) -> StoredBatch:
        """Make the batch that renews certificates of one kind: one row each.

        `also` runs in the commit that creates it. Raises `ItemNotFound`, `InvalidParameter` if
        there are none, and the errors of `BatchDesk.receive`.
        """
        account_id = caller.account_id
        await self._check_items(account_id, chosen.items or ())
        listed = await self._chosen(account_id, msgspec.structs.replace(chosen, kind=kind))
        if not listed:
            raise InvalidParameter("Nenhuma certidão a renovar: nenhum item escolhido a acompanha.")
        desk = self.wallet.desk
        settings = desk.wallets.settings(account_id)
        today = standing_of(settings, self.wallet.now_ms()).today
        operation, parts = self.operation_of(kind), self.batches.context.parts

        def rows() -> Sequence[Mapping[str, Any]]:
            found = []
            for each in listed:
                person = self._person(account_id, each.item)
                reissues = can_reissue(parts, caller.mode, is_person=each.item.is_person)
                found.append(row_of(each, today, person, reissues=reissues))
            return found

        return await self.batches.receive(
            Upload(
                caller,
                operation.path,
                (),
                MEDIA_TYPE,
                _pieces(await asyncio.to_thread(rows)),
                idempotency_key,
                name_of(kind),
                batch_id=batch_id,
                ceiling=ceiling,
                of_wallet=True,
            ),
            also,
        )

    def operation_of(self, kind: PaperKind) -> Operation:
        """Return the operation that buys a kind."""
        return self.wallet.operations[BOUGHT_BY[kind]]

    def _person(self, account_id: int, item: WalletItem) -> SealedPerson | None:
        return self.wallet.person_of(account_id, item) if item.is_person else None

    async def _chosen(self, account_id: int, chosen: PaperFilter) -> Sequence[ListedPaper]:
        """Return the certificates that lookups can renew, each once."""
        desk = self.wallet.desk
        standing = standing_of(desk.wallets.settings(account_id), self.wallet.now_ms())
        if chosen.kind == "outra":
            return []

        def read() -> list[ListedPaper]:
            return [
                each
                for each in desk.paper_list.each(account_id, chosen, standing)
                if each.paper.kind != "outra"
            ]

        return await asyncio.to_thread(read)

    async def _check_items(self, account_id: int, items: Sequence[str]) -> None:
        """Raise `ItemNotFound` unless all are items of the account."""
        if len(items) > SYNCED_AT_ONCE:
            raise InvalidParameter(f"itens: até {SYNCED_AT_ONCE}.")
        known = await asyncio.to_thread(self.wallet.desk.paper_list.known_items, account_id, items)
        if known < len(set(items)):
            raise ItemNotFound


def name_of(kind: PaperKind) -> str:
    """Return the name of a batch of these certificates."""
    return f"Renovação: {KINDS[kind].lower()}"


def row_of(
    each: ListedPaper, today: date, person: SealedPerson | None, *, reissues: bool
) -> Mapping[str, Any]:
    """Return the row of a certificate: its subject, marks, and how its source is asked."""
    item = each.item
    row: dict[str, Any] = {
        "documento": item.document if person is None else person.cpf,
        "ref": item.reference,
        "cliente": item.client,
        **_query(each.paper, today, reissues=reissues),
    }
    if each.paper.uf:
        row["uf"] = each.paper.uf
    if person is not None and person.birth is not None:
        row["data_nascimento"] = person.birth
    return {name: value for name, value in row.items() if value is not None}


def _query(paper: Paper, today: date, *, reissues: bool) -> Mapping[str, str]:
    """Return the parameters of the lookup. Before its end a certificate is never bought again.

    A second copy would be the one in force; where none can be issued, the refusal is free.
    """
    if paper.last_day is None or days_left(paper.last_day, today) >= 0:
        return query_of(msgspec.structs.replace(paper, reason=None), reissues=True)
    return query_of(paper, reissues=reissues)


async def _pieces(rows: Sequence[Mapping[str, Any]]) -> AsyncIterator[bytes]:
    for piece in _encoded(rows):
        yield piece


def _encoded(rows: Sequence[Mapping[str, Any]]) -> Iterator[bytes]:
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        yield b"".join(_encode(row) + b"\n" for row in rows[start : start + _ROWS_AT_ONCE])
