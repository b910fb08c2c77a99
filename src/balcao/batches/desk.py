"""Operations on batches, shared by the API, the web application and the command line.

States change by the arrows of `core.batches` alone; others raise `BatchStateRefused`.
"""

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from urllib.parse import urlencode

import msgspec

from balcao.batches.batch_context import (
    RUN,
    VALIDATE,
    BatchContext,
    CommitStep,
    Understood,
    understood_of,
)
from balcao.batches.columns import Choice, refuse_strangers, refuse_unreadable
from balcao.batches.room import Coming, FileRoom
from balcao.batches.tables.contract import MEDIA_TYPES
from balcao.batches.validating import Validation, columns_of
from balcao.core import idempotency
from balcao.core.access import Caller
from balcao.core.batches import OVER, BatchState, RowState, expected_credits, expected_seconds
from balcao.core.budgets import CEILING_MAX, WARN_PERCENT, Budget, usual_name
from balcao.core.calendar import civil_month
from balcao.core.errors import (
    BatchErased,
    BatchNotFound,
    BatchStateRefused,
    IdempotencyKeyReused,
    InvalidParameter,
    QuoteChanged,
    UnsupportedMediaType,
)
from balcao.core.ledger import Enqueue, available_credits
from balcao.core.marks import refuse_cpf
from balcao.core.people import Action, Signature
from balcao.lookup.admit import check_access
from balcao.lookup.source_status import QuotedSource, StatusReader, quoted_sources, source_lines
from balcao.storage.batches import NewBatch, StoredBatch, StoredRow
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.batch_ceilings import note_batch, raise_ceiling
from balcao.storage.desk.budgets import make_budget

PIECE_BYTES = 1_000_000
NAME_CHARACTERS_MAX = 120
LIST_MAX = 1_001  # a page, and one more, which tells whether there are more

# They tell whom a row is about, and stand in its columns.
_OF_ROWS = frozenset({"cnpj", "cpf", "data_nascimento"})


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that is being received, and the lookup of its rows. `parameters`: for all rows.

    `batch_id`: the number it is to have, that of the request it comes with; None: a new one.
    `announced_bytes`: how long it says it is; 0: it does not say.
    """

    caller: Caller
    operation: str  # its path
    parameters: Sequence[tuple[str, str]]
    media_type: str
    pieces: AsyncIterator[bytes]
    idempotency_key: str | None
    name: str = ""
    client: str | None = None
    columns: Mapping[str, Choice] = field(default_factory=dict)  # by role
    batch_id: str | None = None
    announced_bytes: int = 0


@dataclass(frozen=True, slots=True)
class BatchSeen:
    """A batch, with values that are not stored but depend on the moment."""

    batch: StoredBatch
    available: int | None  # credits of its account now; None: nothing limits them
    available_after: int | None  # those, if it cost as much as it still can
    expected: int | None  # credits, by what such rows cost before
    erased_at_ms: int  # when its data go, or went
    understood: Understood | None
    sources: Sequence[QuotedSource] = ()  # who may have to be asked, as they are now
    seconds: int | None = None  # that it will take; None: nobody knows


class BatchDesk:
    """One for a process. Methods raise `StorageFailed`, and `BatchNotFound` for others' batches."""

    def __init__(
        self,
        context: BatchContext,
        validation: Validation,
        room: FileRoom,
        keep_days: int,
        now: StatusReader,
    ) -> None:
        """`keep_days`: how long data stay after the end. `now`: how sources are doing."""
        self._room = room
        self.context = context
        self._now = now
        self._validation = validation
        self._keep_ms = keep_days * 86_400_000
        self._stored = context.parts.desk.batches

    # A new one.

    def file_bytes_max(self, account_id: int) -> int:
        """Return how long a file of this account may be, by its plan."""
        return self._room.bounds_of(account_id).file_bytes

    async def receive(self, upload: Upload) -> StoredBatch:
        """Take a file in. The same key with the same file gives the same batch.

        Raises `InvalidParameter`, `UnsupportedMediaType`, `RequestTooLarge`,
        `IdempotencyKeyReused`, `MarkWithCpf`, what `FileRoom.upload` raises, and what the operation
        refuses the account, or a parameter, for.
        """
        operation = self.context.operation(upload.operation)
        if operation is None:
            raise InvalidParameter("O parâmetro operacao deve ser o caminho de uma consulta.")
        check_access(operation, upload.caller)
        if upload.media_type not in MEDIA_TYPES:
            raise UnsupportedMediaType
        if len(upload.name) > NAME_CHARACTERS_MAX:
            raise InvalidParameter(f"O parâmetro nome tem no máximo {NAME_CHARACTERS_MAX} letras.")
        refuse_cpf(upload.name, "nome")
        common = {
            name: value
            for name, value in upload.parameters
            if name in operation.names and name not in _OF_ROWS
        }
        refuse_strangers(operation, common, upload.columns)
        refuse_unreadable(operation, common)
        batch_id = upload.batch_id or self.context.new_id()
        parameters = urlencode(sorted(common.items()))
        columns = msgspec.json.encode(dict(upload.columns), order="sorted").decode()
        about = (upload.operation, parameters, upload.name, upload.client or "", columns)
        caller = upload.caller
        key = _digest(upload.idempotency_key)
        async with self._room.upload(caller.account_id, upload.announced_bytes, key) as coming:
            try:
                content = await self._store(batch_id, upload.pieces, coming)
            except BaseException:
                await self._stored.forget_pieces(batch_id)
                raise
            new = NewBatch(
                batch_id,
                caller.account_id,
                caller.key_id,
                caller.user_id,
                upload.name,
                upload.client,
                upload.operation,
                parameters,
                columns,
                upload.media_type,
                None,
                key,
                idempotency.digest("\n".join((*about, content))),
                self.context.now_ms(),
                coming.size_bytes,
            )
            return await self._receive_measured(new, coming)

    async def _receive_measured(self, new: NewBatch, coming: Coming) -> StoredBatch:
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(coming.ending())
            except BaseException:
                await self._stored.forget_pieces(new.batch_id)
                raise
            return await self._received(new)

    async def _received(self, new: NewBatch, also: CommitStep | None = None) -> StoredBatch:
        job = Enqueue(VALIDATE, new.batch_id, new.created_ms)
        made = await self._stored.receive(new, [job], also)
        if made.batch_id != new.batch_id:
            await self._stored.forget_pieces(new.batch_id)
            if made.create_fingerprint != new.create_fingerprint:
                raise IdempotencyKeyReused
        return made

    async def _store(self, batch_id: str, pieces: AsyncIterator[bytes], coming: Coming) -> str:
        """Store the file in pieces of a megabyte, and return the digest of it all."""
        digest, seal = hashlib.blake2b(digest_size=16), self.context.seal(batch_id)
        waiting, number = bytearray(), 0
        async for some in pieces:
            digest.update(some)
            coming.add(len(some))
            waiting += some
            while len(waiting) >= PIECE_BYTES:
                piece = bytes(waiting[:PIECE_BYTES])
                del waiting[:PIECE_BYTES]
                await self._keep(batch_id, number, seal.piece(number, piece))
                number += 1
        if waiting or not number:
            await self._keep(batch_id, number, seal.piece(number, bytes(waiting)))
        return digest.hexdigest()

    async def _keep(self, batch_id: str, number: int, sealed: bytes) -> None:
        await self._stored.store_piece(batch_id, number, sealed, self.context.now_ms())

    # Looking.

    async def show(self, account_id: int, batch_id: str) -> BatchSeen:
        """Return one of the account's batches."""
        return await self.seen(await self._one(account_id, batch_id))

    async def of_account(
        self,
        account_id: int,
        limit: int,
        *,
        before: str = "~",
        user_id: int | None = None,
        operations: Sequence[str] | None = None,
    ) -> Sequence[StoredBatch]:
        """Return the account's, newest first, below `before`; see `page` of the storage."""
        if operations == ():
            return []
        return await self._stored.page(
            account_id,
            min(limit, LIST_MAX),
            before=before,
            user_id=user_id,
            operations=operations,
        )

    async def rows(
        self,
        account_id: int,
        batch_id: str,
        *,
        after: int = 0,
        limit: int = 100,
        state: RowState | None = None,
    ) -> Sequence[StoredRow]:
        """Return the rows after a line, in the order of the file. Raises `BatchErased`."""
        batch = await self._with_data(account_id, batch_id)
        return await self._stored.rows(batch.batch_id, after, min(limit, LIST_MAX), state)

    async def unread(
        self, account_id: int, batch_id: str, lines: Sequence[int]
    ) -> Mapping[int, str]:
        """Return the cells in which no document was found, by line. Raises `BatchErased`."""
        batch = await self._with_data(account_id, batch_id)
        operation = self.context.operation(batch.operation)
        if not lines or operation is None or batch.header is None:
            return {}
        columns, seal = (
            columns_of(self.context, batch, operation),
            self.context.seal(batch.batch_id),
        )
        rows = await self._stored.rows(
            batch.batch_id, min(lines) - 1, LIST_MAX, "invalida", cells=True
        )
        return {
            row.line: columns.unread(seal.open_cells(row.line, row.cells))
            for row in rows
            if row.cells and row.line in lines
        }

    async def seen(self, batch: StoredBatch) -> BatchSeen:
        """Return a batch with what depends on the moment."""
        quote, after, expected = batch.quote, None, None
        account = self.context.parts.desk.account(batch.account_id)
        available = available_credits(account, civil_month(self.context.now_ms()))
        if quote is not None:
            after = None if available is None else available - batch.still_at_most
            past = await self._stored.past(batch.account_id, batch.operation)
            expected = expected_credits(past, quote)
        ended_ms = batch.created_ms if batch.ended_ms is None else batch.ended_ms
        erased_at_ms = ended_ms + self._keep_ms if batch.erased_ms is None else batch.erased_ms
        understood = understood_of(batch)
        sources, seconds = self._asked(batch, understood)
        return BatchSeen(
            batch, available, after, expected, erased_at_ms, understood, sources, seconds
        )

    def _asked(
        self, batch: StoredBatch, understood: Understood | None
    ) -> tuple[Sequence[QuotedSource], int | None]:
        """Return the sources that may have to be asked, and the expected seconds of the batch."""
        operation, quote = self.context.operation(batch.operation), batch.quote
        if understood is None or quote is None or operation is None:
            return (), None
        mode = self.context.parts.desk.account(batch.account_id).mode
        asked = [
            (one, source_lines([one.source], operation.subject, one.uf)) for one in understood.asked
        ]
        all_lines = [line for _, lines in asked for line in lines]
        now = self._now(mode, all_lines)
        usual = [
            (one.rows, next((ms for ms in (now[line].usual_ms for line in lines) if ms), None))
            for one, lines in asked
        ]
        places = self.context.parts.admission.low_priority_slots
        return quoted_sources(all_lines, now), expected_seconds(quote, usual, places)

    # Deciding.

    async def confirm(  # which, what, how much, who
        self, account_id: int, batch_id: str, digest: str, ceiling: int, signed: Signature
    ) -> StoredBatch:
        """Start a batch, up to so many credits. Raises `QuoteChanged`, `BatchStateRefused`."""
        batch = await self._with_data(account_id, batch_id)
        if batch.state != "cotado":
            raise BatchStateRefused(batch.state)
        now_ms = self.context.now_ms()
        quote, understood = batch.quote, understood_of(batch)
        assert quote is not None
        assert understood is not None
        if quote.until_ms <= now_ms:
            await self._stored.expire(batch_id, now_ms)
            raise BatchStateRefused("expirado")
        current = self.context.digest(batch, understood.rows_digest)
        if current != quote.digest or (await self._stored.totals(batch_id))[0] != quote.valid:
            await self._validation.price_again(batch, understood)
            raise QuoteChanged
        if digest != quote.digest:
            raise QuoteChanged
        budget = self._ceiling(batch, ceiling, now_ms)

        def also(connection: SqlConnection) -> None:
            make_budget(connection, budget, signed)

        job = Enqueue(RUN, batch_id, now_ms)
        if not await self._stored.confirm(batch_id, ceiling, now_ms, [job], also):
            raise BatchStateRefused(await self._state(batch_id))
        return await self._one(account_id, batch_id)

    async def pause(self, account_id: int, batch_id: str, signed: Signature) -> StoredBatch:
        """Begin no more rows until the batch is resumed. Idempotent.

        A batch that waits for its sources does not go on by itself any more. Raises
        `BatchStateRefused`.
        """
        batch = await self._with_data(account_id, batch_id)
        write_event = self.context.event("lote.pausado", batch, motivo="usuario")
        noted = self._noted(signed, "batch.pause", batch)

        def also(connection: SqlConnection) -> None:
            write_event(connection)
            noted(connection)

        if not await self._stored.pause(batch_id, "usuario", event=also):
            state = await self._state(batch_id)
            if state != "pausado":
                raise BatchStateRefused(state)
        return await self._one(account_id, batch_id)

    async def resume(
        self, account_id: int, batch_id: str, ceiling: int | None, signed: Signature
    ) -> StoredBatch:
        """Resume a batch, with a higher ceiling if one is given.

        Raises `InvalidParameter` for a lower one, `BatchStateRefused`.
        """
        batch = await self._with_data(account_id, batch_id)
        if ceiling is not None:
            _check_ceiling(ceiling)
            if batch.ceiling is not None and ceiling < batch.ceiling:
                raise InvalidParameter("teto_creditos só pode aumentar o teto do lote.")
        now_ms = self.context.now_ms()
        noted = self._noted(signed, "batch.resume", batch)

        def also(connection: SqlConnection) -> None:
            if ceiling is not None and ceiling != batch.ceiling:
                raise_ceiling(connection, account_id, batch_id, ceiling, signed, now_ms)
            noted(connection)

        job = Enqueue(RUN, batch_id, now_ms)
        if not await self._stored.resume(batch_id, ceiling, [job], also):
            raise BatchStateRefused(await self._state(batch_id))
        return await self._one(account_id, batch_id)

    async def stop(self, account_id: int, batch_id: str, signed: Signature) -> StoredBatch:
        """Begin no more rows for good; those under way end. Raises `BatchStateRefused`."""
        batch = await self._with_data(account_id, batch_id)
        job = Enqueue(RUN, batch_id, self.context.now_ms())
        noted = self._noted(signed, "batch.stop", batch)
        if batch.state != "encerrando" and not await self._stored.stop(batch_id, [job], noted):
            raise BatchStateRefused(await self._state(batch_id))
        return await self._one(account_id, batch_id)

    async def repeat(  # whose and which, under which key and number, who
        self,
        caller: Caller,
        batch_id: str,
        idempotency_key: str | None,
        signed: Signature,
        new_id: str | None = None,
    ) -> StoredBatch:
        """Make a new batch of the rows that failed, never of rows that were charged.

        `new_id`: the number it is to have; None: a new one.

        Raises `BatchStateRefused` while it is not over, `InvalidParameter` if none failed, and
        what `FileRoom.upload` raises.
        """
        batch = await self._with_data(caller.account_id, batch_id)
        if batch.state not in OVER:
            raise BatchStateRefused(batch.state)
        if not batch.rows("falha"):
            raise InvalidParameter("Este lote não tem linhas com falha para repetir.")
        key = _digest(idempotency_key)
        new = NewBatch(
            new_id or self.context.new_id(),
            caller.account_id,
            caller.key_id,
            caller.user_id,
            batch.name,
            batch.client,
            batch.operation,
            batch.parameters,
            batch.columns,
            batch.media_type,
            batch_id,
            key,
            idempotency.digest(f"repetir\n{batch_id}"),
            self.context.now_ms(),
        )
        made = f"lote novo {new.batch_id}"
        noted = self._noted(signed, "batch.repeat", batch, made)
        async with self._room.upload(caller.account_id, 0, key):
            return await self._received(new, noted)

    async def delete(self, account_id: int, batch_id: str, signed: Signature) -> None:
        """Erase what its file said and what it was answered; its charges stay in the ledger.

        Raises `BatchStateRefused` while it is not over.
        """
        batch = await self._one(account_id, batch_id)
        if batch.state == "cotado":
            await self._stored.expire(batch_id, self.context.now_ms())
        noted = self._noted(signed, "batch.erase", batch)
        if batch.erased_ms is None and not await self._stored.erase(
            batch_id, self.context.now_ms(), noted
        ):
            raise BatchStateRefused(await self._state(batch_id))

    async def erase_rest(self, batch_id: str) -> None:
        """Run the job `lote_apagar`."""
        await self._stored.erase_rest(batch_id, self.context.now_ms())

    # What they are made of.

    def _noted(
        self, signed: Signature, action: Action, batch: StoredBatch, detail: str = ""
    ) -> CommitStep:
        """Return the step that writes an entry of the audit log, in the commit of the action."""
        now_ms = self.context.now_ms()
        return lambda connection: note_batch(
            connection, signed, action, batch.account_id, batch.batch_id, now_ms, detail
        )

    async def _one(self, account_id: int, batch_id: str) -> StoredBatch:
        batch = await self._stored.batch(batch_id, account_id)
        if batch is None:
            raise BatchNotFound
        return batch

    async def _with_data(self, account_id: int, batch_id: str) -> StoredBatch:
        batch = await self._one(account_id, batch_id)
        if batch.erased_ms is not None:
            raise BatchErased
        return batch

    async def _state(self, batch_id: str) -> BatchState:
        batch = await self._stored.batch(batch_id)
        if batch is None:
            raise BatchNotFound
        return batch.state

    def _ceiling(self, batch: StoredBatch, ceiling: int, now_ms: int) -> Budget:
        _check_ceiling(ceiling)
        return Budget(
            0,
            batch.account_id,
            self.context.new_id(),
            # Not the batch's name, which goes with its data: a file may be called as a person is.
            usual_name("lote", batch.batch_id),
            "lote",
            batch.batch_id,
            "uma_vez",
            ceiling,
            None,
            None,
            WARN_PERCENT,
            now_ms,
        )


def _digest(idempotency_key: str | None) -> str | None:
    return None if idempotency_key is None else idempotency.digest(idempotency_key)


def _check_ceiling(ceiling: int) -> None:
    """Raises `InvalidParameter` for what no budget may have."""
    if not 0 <= ceiling <= CEILING_MAX:
        raise InvalidParameter(f"teto_creditos: um número inteiro, de 0 a {CEILING_MAX}.")
