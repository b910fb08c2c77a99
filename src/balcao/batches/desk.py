"""Operations on batches, shared by the API, the web application and the command line.

States change only by the transitions in `core.batches`; others raise `BatchStateRefused`.
"""

import asyncio
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
    FileSummary,
    summary_of,
)
from balcao.batches.columns import Choice, check_names, check_values
from balcao.batches.confirming import check_ceiling, start
from balcao.batches.file_admission import FileAdmission, IncomingFile
from balcao.batches.row_documents import RowDocument, row_documents
from balcao.batches.sealing import BatchSeal, seal_of
from balcao.batches.tables.contract import MEDIA_TYPES
from balcao.batches.validating import BatchValidator, columns_of
from balcao.core import idempotency
from balcao.core.access import Caller
from balcao.core.batches import (
    FINISHED_STATES,
    BatchState,
    RowState,
    expected_credits,
    expected_seconds,
)
from balcao.core.calendar import civil_month
from balcao.core.errors import (
    BatchErased,
    BatchNotFound,
    BatchStateRefused,
    IdempotencyKeyReused,
    InvalidParameter,
    OperationNotAllowed,
    QuoteChanged,
    UnsupportedMediaType,
)
from balcao.core.ledger import Enqueue, available_credits
from balcao.core.names import check_name
from balcao.core.people import Action, Signature
from balcao.lookup.admit import check_access
from balcao.lookup.source_status import QuotedSource, StatusReader, quoted_sources, source_lines
from balcao.operations.contract import Operation
from balcao.storage.batches import NewBatch, StoredBatch, StoredRow
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.batch_ceilings import audit_batch, raise_ceiling

PIECE_BYTES = 1_000_000
NAME_CHARACTERS_MAX = 120
LIST_MAX = 1_001  # a page, and one more to detect a next page

# Parameters that each row has in its own columns.
_ROW_PARAMETERS = frozenset({"cnpj", "cpf", "data_nascimento"})


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that is being received, and the lookup of its rows. `parameters`: for all rows.

    `batch_id`: the ID of the batch, taken from the request; None: a new one.
    `announced_bytes`: the size announced by the client, 0 if unknown.
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
    ceiling: int | None = None  # started by itself once it is quoted
    of_wallet: bool = False  # it buys certificates of the portfolio


@dataclass(frozen=True, slots=True)
class BatchInfo:
    """A batch with values that are computed when it is read."""

    batch: StoredBatch
    available: int | None  # credits of its account now; None: unlimited
    available_after: int | None  # those, less what the batch may still cost
    expected: int | None  # credits, by the cost of such rows so far
    erased_at_ms: int  # when its data are, or were, erased
    summary: FileSummary | None
    sources: Sequence[QuotedSource] = ()  # those that may be called, with their current status
    seconds: int | None = None  # expected duration; None: unknown


@dataclass(frozen=True, slots=True)
class RowContent:
    """The decrypted content of a row, as far as its page shows it."""

    typed: str  # the document's cell of an invalid row, as written
    own_name: str  # the name in the customer's list
    name: str | None  # the holder's name in the answer
    fact: str  # of the answer, to show with its verdict


class BatchDesk:
    """Operations on batches. They raise `StorageFailed`; for other accounts' `BatchNotFound`."""

    def __init__(
        self,
        context: BatchContext,
        validation: BatchValidator,
        admission: FileAdmission,
        keep_days: int,
        now: StatusReader,
    ) -> None:
        """`keep_days`: retention of data after the end. `now`: status of the sources."""
        self._admission = admission
        self.context = context
        self._now = now
        self._validation = validation
        self._keep_ms = keep_days * 86_400_000
        self._stored = context.parts.desk.batches

    # Receiving

    def file_bytes_max(self, account_id: int) -> int:
        """Return the size limit of the account's files, by its plan."""
        return self._admission.bounds_of(account_id).file_bytes

    async def receive(self, upload: Upload, also: CommitStep | None = None) -> StoredBatch:
        """Store a file as a new batch. A repeated Idempotency-Key returns the existing batch.

        `also` runs in the commit that creates it. Raises `InvalidParameter`,
        `UnsupportedMediaType`, `RequestTooLarge`, `IdempotencyKeyReused`, `TagWithCpf`, the errors
        of `FileAdmission.upload`, and those of the operation for accounts and parameters.
        """
        operation = self.context.operation(upload.operation)
        if operation is None:
            raise InvalidParameter("O parâmetro operacao deve ser o caminho de uma consulta.")
        check_access(operation, upload.caller)
        if upload.media_type not in MEDIA_TYPES:
            raise UnsupportedMediaType
        if upload.ceiling is not None:
            check_ceiling(upload.ceiling)
        if upload.name:
            check_name(upload.name, NAME_CHARACTERS_MAX, "nome")
        common = {
            name: value
            for name, value in upload.parameters
            if name in operation.names and name not in _ROW_PARAMETERS
        }
        check_names(operation, common, upload.columns)
        check_values(operation, common)
        batch_id = upload.batch_id or self.context.new_id()
        parameters = urlencode(sorted(common.items()))
        columns = msgspec.json.encode(dict(upload.columns), order="sorted").decode()
        about = (upload.operation, parameters, upload.name, upload.client or "", columns)
        caller = upload.caller
        key = _digest(upload.idempotency_key)
        ring = self.context.secrets.ring
        seal = seal_of(ring.current, batch_id)
        async with self._admission.upload(
            caller.account_id, upload.announced_bytes, key
        ) as incoming:
            try:
                content = await self._store(seal, batch_id, upload.pieces, incoming)
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
                incoming.size_bytes,
                ring.stored_id,
                upload.ceiling,
                upload.of_wallet,
            )
            return await self._create_measured(new, incoming, also)

    async def _create_measured(
        self, new: NewBatch, incoming: IncomingFile, also: CommitStep | None
    ) -> StoredBatch:
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(incoming.completing())
            except BaseException:
                await self._stored.forget_pieces(new.batch_id)
                raise
            return await self._create(new, also)

    async def _create(self, new: NewBatch, also: CommitStep | None = None) -> StoredBatch:
        job = Enqueue(VALIDATE, new.batch_id, new.created_ms)
        made = await self._stored.receive(new, [job], also)
        if made.batch_id != new.batch_id:
            await self._stored.forget_pieces(new.batch_id)
            if made.create_fingerprint != new.create_fingerprint:
                raise IdempotencyKeyReused
        return made

    async def _store(
        self,
        seal: BatchSeal,
        batch_id: str,
        pieces: AsyncIterator[bytes],
        incoming: IncomingFile,
    ) -> str:
        """Store the file in pieces of a megabyte and return the digest of its content."""
        digest = hashlib.blake2b(digest_size=16)
        waiting, number = bytearray(), 0
        async for some in pieces:
            digest.update(some)
            incoming.add(len(some))
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

    # Reading

    async def show(self, account_id: int, batch_id: str) -> BatchInfo:
        """Return one of the account's batches."""
        return await self.info(await self._batch(account_id, batch_id))

    async def page(
        self,
        account_id: int,
        limit: int,
        *,
        before: str = "~",
        user_id: int | None = None,
        operations: Sequence[str] | None = None,
    ) -> Sequence[StoredBatch]:
        """Return the account's batches, newest first, with IDs below `before`."""
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

    async def contents(
        self, account_id: int, batch_id: str, lines: Sequence[int]
    ) -> Mapping[int, RowContent]:
        """Return the contents of rows for people, by line. Raises `BatchErased`."""
        batch = await self._with_data(account_id, batch_id)
        operation = self.context.operation(batch.operation)
        if not lines or operation is None or batch.header is None:
            return {}
        return await asyncio.to_thread(self._contents, batch, operation, lines)

    def _contents(
        self, batch: StoredBatch, operation: Operation, lines: Sequence[int]
    ) -> Mapping[int, RowContent]:
        columns = columns_of(self.context, batch, operation)
        seal = self.context.seal(batch)
        contents: dict[int, RowContent] = {}
        for row in self._stored.with_contents(batch.batch_id, lines):
            cells = seal.open_cells(row.line, row.cells) if row.cells else ()
            body = None
            if row.answer is not None:  # that of the repeated row, if it is one
                answer = seal.open_answer(row.repeated_of or row.line, row.answer)
                body = msgspec.json.decode(answer)
            contents[row.line] = RowContent(
                columns.unreadable_cell(cells) if row.state == "invalida" else "",
                columns.own_name(cells),
                None if body is None else operation.sheet_columns.name_in(body),
                "" if body is None or row.code else operation.row_fact(body),
            )
        return contents

    async def documents(
        self, caller: Caller, batch_id: str, rows_max: int
    ) -> Sequence[RowDocument]:
        """Return the subjects of all rows.

        Raises `OperationNotAllowed` for keys that do not see the batch, `BatchErased`,
        `BatchStateRefused` before the file was read, and `InvalidParameter` beyond `rows_max`.
        """
        batch = await self._with_data(caller.account_id, batch_id)
        seen = caller.visible_operations
        operation = self.context.operation(batch.operation)
        if operation is None or (seen is not None and batch.operation not in seen):
            raise OperationNotAllowed
        if batch.header is None or batch.state in {"recebido", "validando", "recusado"}:
            raise BatchStateRefused(batch.state)
        if batch.rows() > rows_max:
            raise InvalidParameter(f"lote: até {rows_max} linhas.")
        return await asyncio.to_thread(row_documents, self.context, batch, operation)

    async def info(self, batch: StoredBatch) -> BatchInfo:
        """Return a batch with its computed values."""
        quote, after, expected = batch.quote, None, None
        account = self.context.parts.desk.account(batch.account_id)
        available = available_credits(account, civil_month(self.context.now_ms()))
        if quote is not None:
            after = None if available is None else available - batch.still_at_most
            past = await self._stored.past(batch.account_id, batch.operation)
            expected = expected_credits(past, quote)
        ended_ms = batch.created_ms if batch.ended_ms is None else batch.ended_ms
        erased_at_ms = ended_ms + self._keep_ms if batch.erased_ms is None else batch.erased_ms
        summary = summary_of(batch)
        sources, seconds = self._sources_and_seconds(batch, summary)
        return BatchInfo(batch, available, after, expected, erased_at_ms, summary, sources, seconds)

    def _sources_and_seconds(
        self, batch: StoredBatch, summary: FileSummary | None
    ) -> tuple[Sequence[QuotedSource], int | None]:
        """Return the sources that may be called, and the expected seconds of the batch."""
        operation, quote = self.context.operation(batch.operation), batch.quote
        if summary is None or quote is None or operation is None:
            return (), None
        mode = self.context.parts.desk.account(batch.account_id).mode
        by_source = [
            (one, source_lines([one.source], operation.subject, one.uf)) for one in summary.asked
        ]
        all_lines = [line for _, lines in by_source for line in lines]
        now = self._now(mode, all_lines)
        usual = [
            (one.rows, next((ms for ms in (now[line].usual_ms for line in lines) if ms), None))
            for one, lines in by_source
        ]
        places = self.context.parts.admission.low_priority_slots
        return quoted_sources(all_lines, now), expected_seconds(quote, usual, places)

    # Changing

    async def confirm(
        self, account_id: int, batch_id: str, digest: str, ceiling: int, signed: Signature
    ) -> StoredBatch:
        """Start a batch with a ceiling of credits. Raises `QuoteChanged`, `BatchStateRefused`."""
        batch = await self._with_data(account_id, batch_id)
        if batch.state != "cotado":
            raise BatchStateRefused(batch.state)
        now_ms = self.context.now_ms()
        quote, summary = batch.quote, summary_of(batch)
        assert quote is not None
        assert summary is not None
        if quote.until_ms <= now_ms:
            await self._stored.expire(batch_id, now_ms)
            raise BatchStateRefused("expirado")
        current = self.context.digest(batch, summary.rows_digest)
        if current != quote.digest or (await self._stored.totals(batch_id))[0] != quote.valid:
            await self._validation.requote(batch, summary)
            raise QuoteChanged
        if digest != quote.digest:
            raise QuoteChanged
        if not await start(self.context, batch, ceiling, signed):
            raise BatchStateRefused(await self._state(batch_id))
        return await self._batch(account_id, batch_id)

    async def pause(self, account_id: int, batch_id: str, signed: Signature) -> StoredBatch:
        """Start no more rows until the batch is resumed. Idempotent.

        A batch that waits for a source no longer resumes by itself. Raises `BatchStateRefused`.
        """
        batch = await self._with_data(account_id, batch_id)
        audit = self._audit_step(signed, "batch.pause", batch)
        now_ms = self.context.now_ms()
        if not await self._stored.pause(batch_id, "usuario", now_ms=now_ms, also=audit):
            state = await self._state(batch_id)
            if state != "pausado":
                raise BatchStateRefused(state)
        return await self._batch(account_id, batch_id)

    async def resume(
        self, account_id: int, batch_id: str, ceiling: int | None, signed: Signature
    ) -> StoredBatch:
        """Resume a batch, with a higher ceiling if one is given.

        Raises `InvalidParameter` for a lower one, and `BatchStateRefused`.
        """
        batch = await self._with_data(account_id, batch_id)
        if ceiling is not None:
            check_ceiling(ceiling)
            if batch.ceiling is not None and ceiling < batch.ceiling:
                raise InvalidParameter("teto_creditos só pode aumentar o teto do lote.")
        now_ms = self.context.now_ms()
        audit = self._audit_step(signed, "batch.resume", batch)

        def also(connection: SqlConnection) -> None:
            if ceiling is not None and ceiling != batch.ceiling:
                raise_ceiling(connection, account_id, batch_id, ceiling, signed, now_ms)
            audit(connection)

        job = Enqueue(RUN, batch_id, now_ms)
        if not await self._stored.resume(batch_id, ceiling, [job], also):
            raise BatchStateRefused(await self._state(batch_id))
        return await self._batch(account_id, batch_id)

    async def stop(self, account_id: int, batch_id: str, signed: Signature) -> StoredBatch:
        """End a batch: rows in progress finish, no others start. Raises `BatchStateRefused`."""
        batch = await self._with_data(account_id, batch_id)
        job = Enqueue(RUN, batch_id, self.context.now_ms())
        audit = self._audit_step(signed, "batch.stop", batch)
        if batch.state != "encerrando" and not await self._stored.stop(batch_id, [job], audit):
            raise BatchStateRefused(await self._state(batch_id))
        return await self._batch(account_id, batch_id)

    async def repeat(
        self,
        caller: Caller,
        batch_id: str,
        idempotency_key: str | None,
        signed: Signature,
        new_id: str | None = None,
    ) -> StoredBatch:
        """Make a new batch of the failed rows, none of which was charged.

        `new_id`: the ID of the new batch; None: a generated one. Raises `BatchStateRefused` before
        the batch has ended, `InvalidParameter` if no row failed, and the errors of
        `FileAdmission.upload`.
        """
        batch = await self._with_data(caller.account_id, batch_id)
        if batch.state not in FINISHED_STATES:
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
            of_wallet=batch.of_wallet,
        )
        made = f"lote novo {new.batch_id}"
        audit = self._audit_step(signed, "batch.repeat", batch, made)
        async with self._admission.upload(caller.account_id, 0, key):
            return await self._create(new, audit)

    async def delete(self, account_id: int, batch_id: str, signed: Signature) -> None:
        """Erase the batch's file and answers; its charges stay in the ledger.

        Raises `BatchStateRefused` before the batch has ended.
        """
        batch = await self._batch(account_id, batch_id)
        if batch.state == "cotado":
            await self._stored.expire(batch_id, self.context.now_ms())
        audit = self._audit_step(signed, "batch.erase", batch)
        if batch.erased_ms is None and not await self._stored.erase(
            batch_id, self.context.now_ms(), audit
        ):
            raise BatchStateRefused(await self._state(batch_id))

    async def erase_rest(self, batch_id: str) -> None:
        """Run the job `lote_apagar`."""
        await self._stored.erase_rest(batch_id, self.context.now_ms())

    # Helpers

    def _audit_step(
        self, signed: Signature, action: Action, batch: StoredBatch, detail: str = ""
    ) -> CommitStep:
        """Return a step that writes an audit entry in the transaction of the action."""
        now_ms = self.context.now_ms()
        return lambda connection: audit_batch(
            connection, signed, action, batch.account_id, batch.batch_id, now_ms, detail
        )

    async def _batch(self, account_id: int, batch_id: str) -> StoredBatch:
        batch = await self._stored.batch(batch_id, account_id)
        if batch is None:
            raise BatchNotFound
        return batch

    async def _with_data(self, account_id: int, batch_id: str) -> StoredBatch:
        batch = await self._batch(account_id, batch_id)
        if batch.erased_ms is not None:
            raise BatchErased
        return batch

    async def _state(self, batch_id: str) -> BatchState:
        batch = await self._stored.batch(batch_id)
        if batch is None:
            raise BatchNotFound
        return batch.state


def _digest(idempotency_key: str | None) -> str | None:
    return None if idempotency_key is None else idempotency.digest(idempotency_key)
