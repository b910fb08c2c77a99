"""Finding a person in batches about others: a partner's CPF in another column (contract 13.6).

Rows about a person are found by the hash of their CPF. What else a file says is sealed, and so is
what came of it: who looks for a person here opens all of it. Seconds for a million rows, and rare.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from balcao.batches.sealing import BatchSeal, seal_of, unsealed
from balcao.batches.tables.opening import open_table
from balcao.core.data_subject import DataSubject, Naming
from balcao.core.errors import FileUnreadable
from balcao.storage.batches import StoredBatch, StoredRow
from balcao.storage.data_subjects import HeldFile, HeldRow
from balcao.storage.desk.desk import Desk

CODE = "titular_apagado"
MESSAGE = (
    "O arquivo tinha dados de uma pessoa que pediu que fossem apagados. Tire-os dele e envie-o de"
    " novo."
)
REPEAT_MESSAGE = (
    "As linhas a repetir tinham dados de uma pessoa que pediu que fossem apagados. Elas já não os"
    " têm: repita o lote de novo."
)


@dataclass(frozen=True, slots=True)
class NamedHeader:
    """A batch whose file has a person among the names of its columns, and what stays of these."""

    batch_id: str
    header: bytes  # sealed
    told: str  # the meaning of its columns


@dataclass(slots=True)
class Named:
    """The places that name a person; the parts do not overlap."""

    rows: list[HeldRow] = field(default_factory=list)  # by what the file says
    answers: list[HeldRow] = field(default_factory=list)  # by what came of it alone
    files: list[HeldFile] = field(default_factory=list)  # that are to be read yet
    titles: list[str] = field(default_factory=list)  # batches whose name does
    headers: list[NamedHeader] = field(default_factory=list)  # a list without a header, say

    def __bool__(self) -> bool:
        return any((self.rows, self.answers, self.files, self.titles, self.headers))


@dataclass(frozen=True, slots=True)
class BatchesNaming:
    """The search of one installation. `folder` has a file while it is read."""

    desk: Desk
    pepper: bytes
    folder: Path

    async def find(self, person: DataSubject) -> Named:
        """Return everything that names a person. Raises `StorageFailed`."""
        return await asyncio.to_thread(self._find, person)

    async def erase(
        self, person: DataSubject, now_ms: Callable[[], int], about: Sequence[HeldRow] = ()
    ) -> Named:
        """Erase everything that names a person: rows and answers, and unread files as a whole.

        `about`: rows that are gone already. Until there is nothing: a file may become rows
        meanwhile. Raises `StorageFailed`.
        """
        gone = Named()
        gone.files += await self._refuse_repeating(about, now_ms)
        while named := await self.find(person):
            subjects, batches = self.desk.data_subjects, self.desk.batches
            for file in named.files:
                await batches.begin(file.batch_id)
                if await batches.refuse(file.batch_id, CODE, MESSAGE, now_ms()):
                    await batches.erase(file.batch_id, now_ms())
            await subjects.forget_rows(named.rows)
            await subjects.forget_answers(named.answers)
            await subjects.forget_titles(named.titles)
            for each in named.headers:
                await batches.understood(each.batch_id, each.header, each.told)
            gone.files += await self._refuse_repeating([*named.rows, *named.headers], now_ms)
            gone.rows += named.rows
            gone.answers += named.answers
            gone.files += named.files
            gone.titles += named.titles
            gone.headers += named.headers
        return gone

    async def _refuse_repeating(
        self, changed: Sequence[HeldRow | NamedHeader], now_ms: Callable[[], int]
    ) -> Sequence[HeldFile]:
        """Refuse batches that repeat these rows: they may have read them before they changed."""
        origins = {each.batch_id for each in changed}

        def look() -> Sequence[HeldFile]:
            return [
                HeldFile(batch.account_id, batch.batch_id, batch.created_ms)
                for batch in self.desk.batches.with_data()
                if batch.repeats in origins and batch.state == "validando"
            ]

        refused = []
        for one in await asyncio.to_thread(look) if origins else ():
            if await self.desk.batches.refuse(one.batch_id, CODE, REPEAT_MESSAGE, now_ms()):
                await self.desk.batches.erase(one.batch_id, now_ms())
                refused.append(one)
        return refused

    def _find(self, person: DataSubject) -> Named:
        naming, named = Naming(person.cpf), Named()
        for batch in self.desk.batches.with_data():
            if naming.is_in(batch.name):
                named.titles.append(batch.batch_id)
            seal = seal_of(self.pepper, batch.batch_id)
            if batch.state in {"recebido", "validando"} and self._is_in_file(batch, seal, naming):
                about = batch.account_id, batch.batch_id, batch.created_ms
                named.files.append(HeldFile(*about))
                continue
            if (header := _header(batch, seal, naming)) is not None:
                named.headers.append(header)
            self._rows(batch, seal, naming, named)
        return named

    def _rows(self, batch: StoredBatch, seal: BatchSeal, naming: Naming, named: Named) -> None:
        for row in self.desk.batches.results(batch.batch_id):
            about = HeldRow(batch.account_id, batch.batch_id, row.line, batch.created_ms)
            if row.cells is not None and naming.is_in_any(seal.open_cells(row.line, row.cells)):
                named.rows.append(about)
            elif row.repeated_of is None and naming.is_in(_answer(seal, row)):
                named.answers.append(about)

    def _is_in_file(self, batch: StoredBatch, seal: BatchSeal, naming: Naming) -> bool:
        """Return whether an unread file names the person. One that cannot be read might."""
        if batch.repeats is not None:  # its rows are another's
            return False
        pieces = self.desk.batches.pieces(batch.batch_id)
        path = unsealed(self.folder, seal, pieces)
        try:
            with open_table(path, batch.media_type) as table:
                return naming.is_in_any(table.header) or any(
                    naming.is_in_any(row.cells) for row in table.rows
                )
        except FileUnreadable:
            return True
        finally:
            path.unlink(missing_ok=True)


def _header(batch: StoredBatch, seal: BatchSeal, naming: Naming) -> NamedHeader | None:
    if batch.header is None or batch.told is None:
        return None
    header = seal.open_cells(0, batch.header)
    if not naming.is_in_any(header) and not naming.is_in(batch.told):
        return None
    left = seal.cells(0, tuple(naming.without(cell) for cell in header))
    return NamedHeader(batch.batch_id, left, naming.without(batch.told))


def _answer(seal: BatchSeal, row: StoredRow) -> str:
    return "" if row.answer is None else seal.open_answer(row.line, row.answer).decode()


def batches_named(named: Named) -> Sequence[HeldRow]:
    """Return the rows of which something is erased."""
    return [*named.rows, *named.answers]
