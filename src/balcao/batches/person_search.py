"""Search for a person in batches about others, such as a partner's CPF (contract 13.6).

Rows about a person are found by the hash of their CPF. Other cells and the answers are encrypted,
so this search decrypts all of them: seconds for a million rows, and rare.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from balcao.batches.sealing import BatchSeal, seal_of, write_decrypted
from balcao.batches.tables.opening import open_table
from balcao.core.data_subject import CpfFinder, DataSubject
from balcao.core.errors import FileUnreadable
from balcao.core.secrets import Secrets
from balcao.storage.batches import StoredBatch, StoredRow
from balcao.storage.data_subjects import HeldFile, HeldRow
from balcao.storage.desk.desk import Desk

CODE = "titular_apagado"
MESSAGE = (
    "O arquivo tinha dados de uma pessoa que pediu a exclusão deles. Remova esses dados e envie o"
    " arquivo de novo."
)
REPEAT_MESSAGE = (
    "As linhas a repetir tinham dados de uma pessoa que pediu a exclusão deles. Os dados já foram"
    " removidos. Repita o lote."
)


@dataclass(frozen=True, slots=True)
class MatchedHeader:
    """A batch with a person in its header, and the header and meaning that replace it."""

    batch_id: str
    header: bytes  # sealed
    summary: str  # `FileSummary`, JSON


@dataclass(slots=True)
class PersonMatches:
    """The places that name a person; the lists do not overlap."""

    rows: list[HeldRow] = field(default_factory=list)  # by their cells
    answers: list[HeldRow] = field(default_factory=list)  # by the answer alone
    files: list[HeldFile] = field(default_factory=list)  # not read yet
    titles: list[str] = field(default_factory=list)  # batches with a matching name
    headers: list[MatchedHeader] = field(default_factory=list)  # as of a list without a header

    def __bool__(self) -> bool:
        return any((self.rows, self.answers, self.files, self.titles, self.headers))


@dataclass(frozen=True, slots=True)
class PersonSearch:
    """The search in one installation's batches. `folder` holds a file while it is read."""

    desk: Desk
    secrets: Secrets
    folder: Path

    async def find(self, person: DataSubject) -> PersonMatches:
        """Return everything that names a person. Raises `StorageFailed`."""
        return await asyncio.to_thread(self._find, person)

    async def erase(
        self, person: DataSubject, now_ms: Callable[[], int], about: Sequence[HeldRow] = ()
    ) -> PersonMatches:
        """Erase everything that names a person: rows, answers, and whole files not read yet.

        Repeats until nothing is found: a file may have been read into rows meanwhile. `about`:
        rows already erased. Raises `StorageFailed`.
        """
        gone = PersonMatches()
        gone.files += await self._refuse_repeating(about, now_ms)
        while matches := await self.find(person):
            subjects, batches = self.desk.data_subjects, self.desk.batches
            for file in matches.files:
                await batches.begin(file.batch_id)
                if await batches.refuse(file.batch_id, CODE, MESSAGE, now_ms()):
                    await batches.erase(file.batch_id, now_ms())
            await subjects.forget_rows(matches.rows)
            await subjects.forget_answers(matches.answers)
            await subjects.forget_titles(matches.titles)
            for each in matches.headers:
                await batches.store_layout(each.batch_id, each.header, each.summary)
            gone.files += await self._refuse_repeating([*matches.rows, *matches.headers], now_ms)
            gone.rows += matches.rows
            gone.answers += matches.answers
            gone.files += matches.files
            gone.titles += matches.titles
            gone.headers += matches.headers
        return gone

    async def _refuse_repeating(
        self, changed: Sequence[HeldRow | MatchedHeader], now_ms: Callable[[], int]
    ) -> Sequence[HeldFile]:
        """Refuse batches that repeat these rows, which they may have read before the erasure."""
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

    def _find(self, person: DataSubject) -> PersonMatches:
        naming, matches = CpfFinder(person.cpf), PersonMatches()
        for batch in self.desk.batches.with_data():
            if naming.is_in(batch.name):
                matches.titles.append(batch.batch_id)
            seal = seal_of(self.secrets.ring.by_id(batch.secret_id), batch.batch_id)
            if batch.state in {"recebido", "validando"} and self._is_in_file(batch, seal, naming):
                about = batch.account_id, batch.batch_id, batch.created_ms
                matches.files.append(HeldFile(*about))
                continue
            if (header := _header(batch, seal, naming)) is not None:
                matches.headers.append(header)
            self._rows(batch, seal, naming, matches)
        return matches

    def _rows(
        self, batch: StoredBatch, seal: BatchSeal, naming: CpfFinder, matches: PersonMatches
    ) -> None:
        for row in self.desk.batches.results(batch.batch_id):
            about = HeldRow(batch.account_id, batch.batch_id, row.line, batch.created_ms)
            if row.cells is not None and naming.is_in_any(seal.open_cells(row.line, row.cells)):
                matches.rows.append(about)
            elif row.repeated_of is None and naming.is_in(_answer(seal, row)):
                matches.answers.append(about)

    def _is_in_file(self, batch: StoredBatch, seal: BatchSeal, naming: CpfFinder) -> bool:
        """Return whether an unread file names the person, also if it cannot be read."""
        if batch.repeats is not None:  # its rows belong to another batch
            return False
        pieces = self.desk.batches.pieces(batch.batch_id)
        path = write_decrypted(self.folder, seal, pieces)
        try:
            with open_table(path, batch.media_type) as table:
                return naming.is_in_any(table.header) or any(
                    naming.is_in_any(row.cells) for row in table.rows
                )
        except FileUnreadable:
            return True
        finally:
            path.unlink(missing_ok=True)


def _header(batch: StoredBatch, seal: BatchSeal, naming: CpfFinder) -> MatchedHeader | None:
    if batch.header is None or batch.layout is None:
        return None
    header = seal.open_cells(0, batch.header)
    if not naming.is_in_any(header) and not naming.is_in(batch.layout):
        return None
    left = seal.cells(0, tuple(naming.redact(cell) for cell in header))
    return MatchedHeader(batch.batch_id, left, naming.redact(batch.layout))


def _answer(seal: BatchSeal, row: StoredRow) -> str:
    return "" if row.answer is None else seal.open_answer(row.line, row.answer).decode()


def erased_rows(matches: PersonMatches) -> Sequence[HeldRow]:
    """Return the rows that lose cells or answers."""
    return [*matches.rows, *matches.answers]
