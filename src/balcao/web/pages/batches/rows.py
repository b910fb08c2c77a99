"""Rows of a batch on its page, and the summary of its list."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from balcao.batches.documents import REMEDIES
from balcao.core.batches import ROW_STATES, RowState
from balcao.core.certificates import CertificateSummary
from balcao.core.document_reader import shown
from balcao.core.ledger import Trace
from balcao.core.search_box import check_digit_message
from balcao.core.writing import counted, document, whole
from balcao.storage.batches import StoredBatch, StoredRow
from balcao.web.kit.context import PageContext
from balcao.web.kit.words.vocabulary import Word, origin_of, outcome_of
from balcao.web.pages import history
from balcao.web.pages.batches import words

SHOWN = 50
# Number of invalid rows that are read to count each kind and name its lines.
_INVALID_READ_MAX = 1_000
_LINES_NAMED = 5


@dataclass(frozen=True, slots=True)
class RowsWanted:
    """The rows that a page shows: in one state or all, after a line of the file."""

    state: RowState | None
    after: int

    def fields(self, after: int | None = None) -> dict[str, str]:
        """Return the parameters of an address; from the first row if `after` is None."""
        chosen = {"estado": self.state} if self.state else {}
        return chosen | ({"depois": str(after)} if after else {})


@dataclass(frozen=True, slots=True)
class BatchLine:
    """One row of the table; `certificate` is its result."""

    row: StoredRow
    document: str
    word: Word
    origin: str | None
    certificate: CertificateSummary | None
    typed: str = ""  # the text of an invalid row without a document
    hint: str = ""  # advice for such a row


@dataclass(frozen=True, slots=True)
class RowsShown:
    """Some rows, and the line after which the next ones are read."""

    lines: Sequence[BatchLine]
    after: int | None  # None: there are no more


@dataclass(slots=True)
class RowReader:
    """Reads a batch's rows repeatedly, and keeps what cannot change any more."""

    context: PageContext
    batch_id: str
    wanted: RowsWanted
    _traces: dict[str, Trace] = field(default_factory=dict)
    _unread: dict[int, str] = field(default_factory=dict)

    async def rows(self) -> RowsShown:
        """Return the rows in their present state. Raises `BatchErased`."""
        account_id = self.context.account.account_id
        found = await self.context.tools.batches.rows(
            account_id,
            self.batch_id,
            after=self.wanted.after,
            limit=SHOWN + 1,
            state=self.wanted.state,
        )
        page = found[:SHOWN]
        settled = [row.request_id for row in page if row.request_id and row.settled_ms]
        unknown = [number for number in settled if number not in self._traces]
        if unknown:
            read = await asyncio.to_thread(self._read, account_id, unknown)
            named = await history.with_company_names(self.context, read)
            self._traces |= {trace.request_id: trace for trace in named}
        invalid = [row.line for row in page if row.state == "invalida" and not row.document]
        missing = [line for line in invalid if line not in self._unread]
        if missing:
            self._unread |= await self.context.tools.batches.unreadable_cells(
                account_id, self.batch_id, missing
            )
        lines = [self._line(row) for row in page]
        return RowsShown(lines, page[-1].line if len(found) > SHOWN else None)

    def _read(self, account_id: int, numbers: Sequence[str]) -> Sequence[Trace]:
        read = self.context.desk.people.trace
        found = [read(account_id, number) for number in numbers]
        return [trace for trace in found if trace is not None]

    def _line(self, row: StoredRow) -> BatchLine:
        trace = self._traces.get(row.request_id or "")
        word = words.row_word(row.state, row.code, row.repeated_of)
        if trace is not None and row.state == "concluida":
            word = outcome_of(trace)
        typed = self._unread.get(row.line, "") if row.state == "invalida" else ""
        return BatchLine(
            row,
            document(row.document),
            word,
            None if trace is None else origin_of(trace),
            None if trace is None else trace.certificate,
            shown(typed),
            _hint(row.code, typed) if row.state == "invalida" else "",
        )


def _hint(code: str | None, typed: str) -> str:
    if code == "documento_invalido":
        return check_digit_message(typed) or ""
    return REMEDIES.get(code or "", "")


def requested_rows(context: PageContext) -> RowsWanted:
    """Return the rows of the address's parameters; invalid ones count as missing."""
    state = next((each for each in ROW_STATES if each == context.query("estado")), None)
    after = context.query("depois")
    return RowsWanted(state, int(after) if after.isdecimal() and len(after) < 10 else 0)


async def summary(context: PageContext, batch: StoredBatch) -> Sequence[str]:
    """Return a summary of the list: `27 válidas`, `1 com dígito errado (linha 5)`."""
    invalid, repeated = batch.rows("invalida"), batch.rows("repetida")
    texts = [counted(batch.rows() - invalid - repeated, "válida", "válidas")]
    if repeated:
        texts.append(counted(repeated, "repetida", "repetidas"))
    if not invalid:
        return texts
    rows = await context.tools.batches.rows(
        context.account.account_id, batch.batch_id, limit=_INVALID_READ_MAX, state="invalida"
    )
    lines: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        lines[row.code or "invalida"].append(row.line)
    for code, at in lines.items():
        remedy = f". {REMEDIES[code]}" if code in REMEDIES else ""
        texts.append(f"{words.flaws(code, len(at))} ({_lines(at)}){remedy}")
    if invalid > len(rows):
        texts.append(f"mais {counted(invalid - len(rows), 'inválida', 'inválidas')}")
    return texts


def _lines(at: Sequence[int]) -> str:
    named = ", ".join(map(whole, at[:_LINES_NAMED]))
    more = ", …" if len(at) > _LINES_NAMED else ""
    return f"{'linha' if len(at) == 1 else 'linhas'} {named}{more}"
