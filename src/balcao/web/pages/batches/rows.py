"""Rows of a batch on its page, and the summary of its list."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from balcao.batches.desk import RowContent
from balcao.batches.documents import REMEDIES
from balcao.core.batches import ROW_STATES, RowState
from balcao.core.certificates import CertificateSummary
from balcao.core.document_reader import check_digits_of, shown
from balcao.core.documents import CNPJ_CHARACTERS, Cnpj
from balcao.core.ledger import Trace
from balcao.core.search_box import check_digit_message
from balcao.core.writing import counted, document, whole
from balcao.storage.batches import StoredBatch, StoredRow
from balcao.web.kit.context import PageContext
from balcao.web.kit.words.vocabulary import Word, origin_of, outcome_of
from balcao.web.pages import history
from balcao.web.pages.batches import words

SHOWN = 50
# Rows in these states may have an answer, their own or that of the row they repeat.
_WITH_ANSWER: frozenset[RowState] = frozenset({"concluida", "falha", "repetida"})
_MARK = Markup('<mark class="wrong">{}</mark>')
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
    name: str  # of the company or person; empty: unknown
    word: Word
    fact: str  # of the answer, to show with the word
    origin: str | None
    certificate: CertificateSummary | None
    typed: Markup | str = ""  # the text of an invalid row without a document
    hint: str = ""  # advice for such a row

    @property
    def company(self) -> str | None:
        """The address of the company's page; None: the row is about a person, or invalid."""
        number = self.row.document or ""
        return history.company_page(number) if len(number) == CNPJ_CHARACTERS else None


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
    _contents: dict[int, RowContent] = field(default_factory=dict)
    _settled: set[int] = field(default_factory=set)  # lines whose contents have the answer
    _names: dict[str, str] = field(default_factory=dict)  # of companies, by CNPJ

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
        await self._read_contents(account_id, page)
        await self._read_names(page)
        lines = [self._line(row) for row in page]
        return RowsShown(lines, page[-1].line if len(found) > SHOWN else None)

    def _read(self, account_id: int, numbers: Sequence[str]) -> Sequence[Trace]:
        read = self.context.desk.people.trace
        found = [read(account_id, number) for number in numbers]
        return [trace for trace in found if trace is not None]

    async def _read_contents(self, account_id: int, page: Sequence[StoredRow]) -> None:
        """Read the cells of new rows, and the answers of rows that have ended meanwhile."""
        ended = {row.line for row in page if row.state in _WITH_ANSWER}
        wanted = [
            row.line
            for row in page
            if row.line not in self._contents or row.line in ended - self._settled
        ]
        if wanted:
            self._contents |= await self.context.tools.batches.contents(
                account_id, self.batch_id, wanted
            )
            self._settled |= ended

    async def _read_names(self, page: Sequence[StoredRow]) -> None:
        """Find the companies' names that neither the list nor an answer has."""
        nameless = {
            Cnpj(row.document)
            for row in page
            if row.document
            and len(row.document) == CNPJ_CHARACTERS
            and row.document not in self._names
            and not self._known_name(row)
        }
        if nameless:
            answered = {row.document for row in page if row.state == "concluida"}
            found = await history.names_of_companies(self.context, nameless, answered)
            self._names |= {each.text: found.get(each.text, "") for each in nameless}

    def _known_name(self, row: StoredRow) -> str:
        """Return the name in the answer, its trace, or the list."""
        content = self._contents.get(row.line)
        trace = self._traces.get(row.request_id or "")
        of_trace = None if trace is None else history.name_of(trace)
        if content is None:
            return of_trace or ""
        return content.name or of_trace or shown(content.own_name)

    def _line(self, row: StoredRow) -> BatchLine:
        trace = self._traces.get(row.request_id or "")
        content = self._contents.get(row.line)
        word = words.row_word(row.state, row.code, row.repeated_of)
        if trace is not None and row.state == "concluida":
            word = outcome_of(trace)
        typed = content.typed if content and row.state == "invalida" and not row.document else ""
        return BatchLine(
            row,
            document(row.document),
            self._known_name(row) or self._names.get(row.document or "", ""),
            word,
            "" if content is None else content.fact,
            None if trace is None else origin_of(trace),
            None if trace is None else trace.certificate,
            _marked(typed),
            _hint(row.code, typed) if row.state == "invalida" else "",
        )


def _marked(typed: str) -> Markup | str:
    """Return a text for display, with the wrong check digits of a CNPJ marked."""
    text, digits = shown(typed), check_digits_of(typed)
    if digits is None or not text.endswith(digits[0]) or "*" in text:
        return text
    given, right = digits
    marked = [
        _MARK.format(one) if one != expected else one
        for one, expected in zip(given, right, strict=True)
    ]
    return Markup("").join([text[: -len(given)], *marked])


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
