"""The meaning of a file's columns, and the question of each row, or why it has none.

Pure: the same header and row give the same. A row is valid exactly if the operation would take
it as a request, since the operation itself reads it.
"""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

import msgspec

from balcao.batches import names
from balcao.batches.documents import MISPLACED, SENTENCES, DocumentFlaw, Mended, mend
from balcao.batches.names import BEFORE_DAY, LOOKS_LIKE, WRITTEN, day_written, is_day
from balcao.batches.tables.contract import Cells, TableRow, column_index, column_letter
from balcao.batches.tables.heading import unnamed
from balcao.core.document_reader import DocumentKind, cell_text, kind_of, read
from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import (
    BirthDateInFuture,
    BirthDateRequired,
    FileUnreadable,
    InvalidBirthDate,
    InvalidInput,
    InvalidParameter,
    InvalidUf,
    UfRequired,
)
from balcao.core.marks import FORM_TOLD, mark_flaw
from balcao.core.problems import problem_of
from balcao.core.questions import Question
from balcao.core.writing import counted
from balcao.operations.contract import Operation
from balcao.operations.parameters import CREDITS_MAX, Parameters

ANY = "documento"  # the role of a column whose documents may be of any kind

# Which column has a role, as somebody chose it: its place, its name or letter; None: no column.
Choice: TypeAlias = int | str | None

NO_CHOICE: Mapping[str, Choice] = {}
CHOICE_CHARACTERS_MAX = 200

# A street's address is a column in every file; that registrations shall come with theirs is said
# for the whole batch, or by choosing the column.
_NEVER_GUESSED = frozenset({"endereco"})
_SAMPLE_SHARE = 0.5

_CODES: Mapping[type[InvalidInput], str] = {
    BirthDateRequired: "data_ausente",
    InvalidBirthDate: "data_invalida",
    BirthDateInFuture: "data_futura",
    UfRequired: "uf_ausente",
    InvalidUf: "uf_invalida",
}
_SENTENCES: Mapping[str, str] = {
    "data_ausente": "um CPF precisa da data de nascimento, como 31/12/1980.",
    "data_invalida": "a data de nascimento deve ser um dia que existe, como 31/12/1980.",
    "data_futura": "a data de nascimento está no futuro.",
    "uf_ausente": "falta a UF.",
}


class MappedColumn(msgspec.Struct, frozen=True):
    """One column of the file. `meaning` is a role (see `ColumnMap`), None: not used.

    `compared` is the fact that it is compared with (`razao_social`, `cep`, …), None: with none.
    """

    index: int
    letter: str  # as spreadsheets call it
    header: str
    meaning: str | None
    compared: str | None = None

    @property
    def text(self) -> str:
        """Return `coluna B «CNPJ» → documento`, for people."""
        uses = [self.meaning] if self.meaning else []
        if self.compared:
            uses.append(f"conferir {names.FACT_WORDS[self.compared]}")
        return f"{self.place} → {' e '.join(uses) or 'não usada'}"

    @property
    def place(self) -> str:
        """Return `coluna B «CNPJ»`."""
        return f"coluna {self.letter} «{self.header}»"


class AskedRow(msgspec.Struct, frozen=True, gc=False):
    """The question of a valid row. `padded`: zeros that a spreadsheet cut off were put back."""

    line: int
    question: Question
    ref: str | None
    client: str | None
    padded: bool = False

    @property
    def document(self) -> Cnpj | Cpf:
        """Return the document that is looked up."""
        return self.question.document


class InvalidRow(msgspec.Struct, frozen=True, gc=False):
    """Why a row asks nothing: it is `invalida`, costs nothing, and the others go on.

    `message` is a Portuguese sentence: which column and what to do, never what the cell holds.
    """

    line: int
    code: str
    message: str
    ref: str | None = None
    client: str | None = None
    document: Cnpj | Cpf | None = None  # whom it names all the same


class _Flawed(Exception):
    def __init__(self, role: str, code: str, sentence: str) -> None:
        self.role, self.code, self.sentence = role, code, sentence


class ColumnMap:
    """The columns of one file, for one operation, with the parameters that are for all rows.

    Roles: `cnpj`, `cpf`, `documento` (either), `ref`, `cliente`, and the operation's own
    parameters by their names.
    """

    def __init__(
        self,
        operation: Operation,
        columns: Sequence[MappedColumn],
        common: Mapping[str, str],
        sure: frozenset[str],
    ) -> None:
        self.columns = tuple(columns)
        self.operation = operation
        self._kinds = kinds_of(operation)
        self._common = dict(common)
        self._sure = sure  # marks that were chosen, or named so: what does not fit is an error
        self._at = {each.meaning: each for each in columns if each.meaning is not None}
        self._documents: list[tuple[int, str, Collection[DocumentKind]]] = [
            (self._at[role].index, role, frozenset(k for k in self._kinds if role in (k, ANY)))
            for role in names.DOCUMENTS
            if role in self._at
        ]
        self._parameters = [
            (self._at[role].index, role)
            for role in own_parameters(operation)
            if role in self._at and role not in names.DOCUMENTS
        ]
        self._compared = [(each.index, each.compared) for each in columns if each.compared]
        self._unnamed = [each.index for each in columns if _is_unused(each)]
        self._has_names = any(each.header != unnamed(each.index) for each in columns)
        self._takes_day = "data_nascimento" in own_parameters(operation)

    @property
    def texts(self) -> Sequence[str]:
        """Return a line for each column that is used, for people."""
        return self.texts_with({})

    def texts_with(
        self, passed_over: Mapping[str, int], client: str | None = None
    ) -> Sequence[str]:
        """Return these lines with the number of marks that were passed over, by role.

        `client`: whom such rows are for instead.
        """
        return [
            each.text
            + _passed_over_text(each.meaning, passed_over.get(each.meaning or "", 0), client)
            for each in self.columns
            if each.meaning or each.compared
        ]

    @property
    def chosen(self) -> Mapping[str, int | None]:
        """Every role with its column: with this as what is chosen, rows are read alike later."""
        found = {role: column.index for role, column in self._at.items()}
        return {role: found.get(role) for role in roles(self.operation)}

    def read(self, row: TableRow) -> AskedRow | InvalidRow:
        """Return the question of a row. Takes some 20 µs: files have a million rows."""
        ref = client = document = None
        try:
            cells = row.cells
            if len(cells) > len(self.columns) and self._is_too_wide(cells):
                raise _Flawed(
                    "",
                    "celulas_demais",
                    "há mais células do que colunas no cabeçalho: talvez um separador dentro de um"
                    " texto sem aspas.",
                )
            ref, client = self._mark(cells, "ref"), self._mark(cells, "cliente")
            mended = self._document(cells)
            document = mended.document
            question = self._question(cells, document)
        except _Flawed as flaw:
            column = self._at.get(flaw.role)
            where = f"linha {row.line}, {column.place}" if column else f"linha {row.line}"
            message = f"{where}: {flaw.sentence}"
            sentence = message[:1].upper() + message[1:]
            named = document or self._named(row.cells)
            return InvalidRow(row.line, flaw.code, sentence, ref, client, named)
        return AskedRow(row.line, question, ref, client, mended.padded)

    def passed_over(self, row: AskedRow, cells: Cells) -> Sequence[str]:
        """Return the marks (`ref`, `cliente`) that the guessed column does not hold in this row.

        The row is asked without them, which the person who pays for it should see.
        """
        marks = (("ref", row.ref), ("cliente", row.client))
        return [
            role
            for role, mark in marks
            if mark is None and role in self._at and _cell(cells, self._at[role].index)
        ]

    def unread(self, cells: Cells) -> str:
        """Return the first cell of the columns of documents that is not empty, as it is written."""
        found = (_cell(cells, index) for index, _, _ in self._documents)
        return next((text for text in found if text), "")

    def comparisons(self, cells: Cells) -> Sequence[tuple[str, str]]:
        """Return the cells to be compared with an answer, each with its fact."""
        return [(fact, _cell(cells, index)) for index, fact in self._compared]

    @property
    def compared_facts(self) -> Sequence[str]:
        """Return the facts of `comparisons`, in the order of the columns."""
        return [fact for _, fact in self._compared]

    def _named(self, cells: Cells) -> Cnpj | Cpf | None:
        """Return the document of an invalid row, so that erasing a person finds it too."""
        try:
            return self._document(cells).document
        except _Flawed:
            return None

    def _document(self, cells: Cells) -> Mended:
        """Return the document in the first column that has one; two filled columns must agree.

        A column that the operation cannot use was left out already.
        """
        found: Mended | None = None
        flaw: DocumentFlaw = "sem_documento"
        role = self._documents[0][1]
        for index, each, kinds in self._documents:
            got = mend(_cell(cells, index), kinds, only=each != ANY)
            if isinstance(got, Mended):
                if found is not None and found.document != got.document:
                    raise _Flawed(
                        each,
                        "documentos_conflitantes",
                        "a linha tem dois documentos diferentes; deixe um só.",
                    )
                found = found or got
            elif got != "sem_documento":
                other = got == "documento_de_outro_tipo" and len(self._kinds) > 1
                flaw, role = MISPLACED[each] if other else got, each
        if found is None or flaw != "sem_documento":
            raise _Flawed(role, flaw, SENTENCES[flaw].format(kinds=_kinds_text(self.operation)))
        return found

    def _question(self, cells: Cells, document: Cnpj | Cpf) -> Question:
        kind = kind_of(document)
        values = dict(self._common)
        for index, name in self._parameters:
            if text := _cell(cells, index):
                values[name] = WRITTEN[name](text) if name in WRITTEN else text
        if kind == "cnpj":
            values.pop("data_nascimento", None)  # a file of both has the partner's, or none
        elif self._takes_day and "data_nascimento" not in values:
            day = self._day_beside(cells, document)
            if day is not None:
                values["data_nascimento"] = day_written(day)
        if not self.operation.document:
            values[kind] = document.text
        try:
            return self.operation.parse(document.text, Parameters.of(values))
        except InvalidInput as error:
            raise self._flaw_of(error) from None

    def _day_beside(self, cells: Cells, document: Cnpj | Cpf) -> str | None:
        """Return the date in this row's columns without a name, or after the document in its cell.

        None: there is none, or there are several.
        """
        beyond = () if self._has_names else range(len(self.columns), len(cells))
        found = [text for at in (*self._unnamed, *beyond) if is_day(text := _cell(cells, at))]
        for index, _, _ in self._documents:
            parted = BEFORE_DAY.fullmatch(_cell(cells, index))
            if parted is not None:
                reading = read(parted[1])
                if reading.document == document and reading.alone:
                    found.append(parted[2])
        return found[0] if len(found) == 1 else None

    def _is_too_wide(self, cells: Cells) -> bool:
        """Return whether cells beyond the columns hold more than the only date of a list."""
        beyond = filter(None, map(cell_text, cells[len(self.columns) :]))
        return any(self._has_names or not is_day(text) for text in beyond)

    def _flaw_of(self, error: InvalidInput) -> _Flawed:
        code = _CODES.get(type(error), "parametro_invalido")
        role = code.split("_")[0]
        role = {"data": "data_nascimento", "uf": "uf"}.get(role, "")
        if code == "parametro_invalido":
            words = re.findall(r"\w+", error.detail)
            role = next((name for _, name in self._parameters if name in words), "")
        sentence = _SENTENCES.get(code) or problem_of(error).message
        if not sentence[1:2].isupper():  # no name of a parameter or a strategy
            sentence = sentence[:1].lower() + sentence[1:]
        return _Flawed(role, code, sentence)

    def _mark(self, cells: Cells, role: str) -> str | None:
        """Return the row's `ref` or `cliente`, by the rules of X-Referencia and X-Cliente."""
        column = self._at.get(role)
        text = _cell(cells, column.index) if column else ""
        if not text:
            return None
        flaw = mark_flaw(text)
        if flaw is None:
            return text
        if role not in self._sure:
            return None  # it was only guessed that this column is one
        if flaw == "cpf":
            raise _Flawed(role, "marca_com_cpf", "não pode ser um CPF: use um código seu.")
        code = "cliente_invalido" if role == "cliente" else f"{role}_invalida"
        raise _Flawed(role, code, f"aceita até 64 {FORM_TOLD}")


def map_columns(
    operation: Operation,
    header: Sequence[str],
    sample: Sequence[TableRow] = (),
    *,
    common: Mapping[str, str] | None = None,
    chosen: Mapping[str, Choice] = NO_CHOICE,
) -> ColumnMap:
    """Recognise the columns of a file by their header, and where it says nothing by the sample.

    `common`: the operation's parameters for all rows, as in a query; a cell that is not empty
    wins. `chosen`: by role, its column; it outdoes what is guessed. What a file was understood as
    is kept as `ColumnMap.chosen`.
    Raises `FileUnreadable` where no column has documents or is the chosen one, and
    `InvalidParameter` for roles and parameters that the operation does not have.
    """
    common = dict(common or {})
    refuse_strangers(operation, common, chosen)
    places = {role: _place_of(role, choice, header) for role, choice in chosen.items()}
    guessed = _by_name(operation, header)
    by_role = dict(guessed)
    wanted = {ANY, *kinds_of(operation)}
    if any(role in wanted and index is not None for role, index in places.items()):
        by_role = {role: at for role, at in by_role.items() if role not in wanted}
    for role, index in places.items():
        by_role.pop(role, None)
        if index is not None:
            by_role = {each: at for each, at in by_role.items() if at != index}
            by_role[role] = index
    if not wanted & set(by_role):
        free = [at for at in range(len(header)) if at not in by_role.values()]
        index = _looks_like_documents(operation, sample, free)
        if index is None:
            raise _no_documents(operation, header)
        by_role[ANY] = index
    nameless = [at for at, name in enumerate(header) if name == unnamed(at)]
    for role in own_parameters(operation):
        if role in LOOKS_LIKE and role not in by_role and role not in places:
            free = [at for at in nameless if at not in by_role.values()]
            looking = [at for at in free if _looks_like(role, sample, at)]
            if len(looking) == 1:
                by_role[role] = looking[0]
    roles_of = {index: role for role, index in by_role.items()}
    parameters = set(own_parameters(operation)) | wanted | {"ref"}
    seen: set[str] = set()
    columns = []
    for index, name in enumerate(header):
        meaning = roles_of.get(index)
        fact = None if meaning in parameters else names.FACTS.get(names.plain(name))
        if fact in seen or fact not in operation.in_sheets.official:
            fact = None
        if fact is not None:
            seen.add(fact)
        columns.append(MappedColumn(index, column_letter(index), name, meaning, fact))
    # Choosing what is guessed anyway changes nothing: so what was found can be given again.
    sure = {
        role
        for role, at in by_role.items()
        if names.plain(header[at]) in names.SURE_MARKS
        or (places.get(role) is not None and guessed.get(role) != at)
    }
    return ColumnMap(operation, columns, common, frozenset(sure))


def roles(operation: Operation) -> Sequence[str]:
    """Return all roles that a column may have for this operation."""
    kinds = sorted(kinds_of(operation))
    parameters = (name for name in own_parameters(operation) if name not in kinds)
    return [ANY, *kinds, *parameters, "ref", "cliente"]


def asked_digest(operation: Operation, question: Question, key: bytes) -> bytes:
    """Return 16 bytes that equal rows share, and that cannot be made without the key."""
    asked = operation.fingerprint(question).encode()
    return hashlib.blake2b(asked, digest_size=16, key=key, person=b"balcao-lote").digest()


def kinds_of(operation: Operation) -> frozenset[DocumentKind]:
    """Return the kinds of documents that an operation takes."""
    kinds: tuple[DocumentKind, ...] = ("cnpj", "cpf")
    if operation.document:
        return frozenset(kind for kind in kinds if kind == operation.document)
    return frozenset(kind for kind in kinds if kind in operation.names)


def own_parameters(operation: Operation) -> Sequence[str]:
    """Return the parameters that rows may have; documents too, where an operation has several."""
    return [name for name in operation.names if name != CREDITS_MAX.name]


def _by_name(operation: Operation, header: Sequence[str]) -> dict[str, int]:
    """Return the first column with a known name, by role."""
    kinds, parameters = kinds_of(operation), set(own_parameters(operation)) - _NEVER_GUESSED
    roles_known = {ANY, "ref", "cliente", *kinds, *parameters}
    found: dict[str, int] = {}
    for index, name in enumerate(header):
        plain = names.plain(name)
        role = plain if plain in parameters else names.ROLES.get(plain)
        if role is not None and role in roles_known:
            # A surer name comes before an earlier column.
            if role in found and not (
                plain in names.SURE_MARKS
                and names.plain(header[found[role]]) not in names.SURE_MARKS
            ):
                continue
            found[role] = index
    if kinds & set(found):
        found.pop(ANY, None)  # of an invoice, say
    elif ANY not in found:
        for index, name in enumerate(header):
            loose = names.loosely_document(name)
            if loose is not None and loose in roles_known and index not in found.values():
                found.setdefault(loose, index)
    return found


def _looks_like_documents(
    operation: Operation, sample: Sequence[TableRow], columns: Sequence[int]
) -> int | None:
    """Return the column that has most documents, in at least half of the rows; None: none has.

    Those that have nothing else come first: the name of a sole trader may end with a CPF.
    """
    kinds = kinds_of(operation)

    def count(index: int) -> tuple[int, int]:
        cells = (_cell(row.cells, index) for row in sample)
        # Short numbers become documents by chance: these here are found by their length.
        readings = [read(cell, kinds, only=False) for cell in cells if len(cell) >= 8]
        found = [each for each in readings if each.document is not None]
        return sum(each.alone for each in found), len(found)

    best = max(columns, key=count, default=None)
    if best is None or count(best)[1] < max(1, len(sample) * _SAMPLE_SHARE):
        return None
    return best


def _looks_like(role: str, sample: Sequence[TableRow], index: int) -> bool:
    """Return whether all cells of a column in the sample are values of this parameter."""
    cells = [text for row in sample if (text := _cell(row.cells, index))]
    return bool(cells) and all(map(LOOKS_LIKE[role], cells))


def _is_unused(column: MappedColumn) -> bool:
    return column.meaning is None and column.header == unnamed(column.index)


def refuse_strangers(
    operation: Operation, common: Mapping[str, str], chosen: Mapping[str, Choice]
) -> None:
    """Raises `InvalidParameter` for roles, and parameters for all rows, that there are not."""
    kinds, parameters = kinds_of(operation), own_parameters(operation)
    known = set(roles(operation))
    for role, choice in chosen.items():
        if role not in known:
            raise InvalidParameter(
                f"coluna_{role}: não há esse papel nesta operação; há:"
                f" {', '.join(roles(operation))}."
            )
        if isinstance(choice, str) and len(choice) > CHOICE_CHARACTERS_MAX:
            raise InvalidParameter(
                f"coluna_{role}: um nome de coluna tem no máximo {CHOICE_CHARACTERS_MAX} letras."
            )
    for name in common:
        if name not in parameters or name in kinds or name == "data_nascimento":
            raise InvalidParameter(f"O parâmetro {name} não vale para todas as linhas de um lote.")


def refuse_unreadable(operation: Operation, common: Mapping[str, str]) -> None:
    """Raises `InvalidInput`, as the operation does, for a value that is none.

    Also where every row has its own. Each by itself: what does not go together may in no row.
    """
    document = str(operation.parameters[0].example)
    examples = {
        each.name: str(each.example)
        for each in operation.parameters
        if each.place == "query" and each.example is not None
    }
    for name, value in common.items():
        if name != "uf" or value.strip():  # a blank one says that it is in the rows
            operation.parse(document, Parameters.of(examples | {name: value}))


def leaves_out(choice: Choice) -> bool:
    """Return whether a choice is that no column has the role."""
    return choice is None or choice == ""


def _place_of(role: str, choice: Choice, header: Sequence[str]) -> int | None:
    """Return the index of the chosen column (contract 13.1). Raises `FileUnreadable`: none.

    A name comes before a letter: a file may have a column called B that is its third.
    """
    if leaves_out(choice):
        return None
    index: int | None
    if isinstance(choice, str):
        plain = names.plain(choice)
        called = (at for at, name in enumerate(header) if plain and names.plain(name) == plain)
        index = next(called, None)
        if index is None:
            index = column_index(choice)
    else:
        index = choice
    if index is None or not 0 <= index < len(header):
        raise FileUnreadable(
            "coluna_inexistente",
            f"coluna_{role}: o arquivo não tem essa coluna. Diga o nome que está no cabeçalho, ou a"
            " letra que a planilha lhe dá.",
        )
    return index


def _no_documents(operation: Operation, header: Sequence[str]) -> FileUnreadable:
    kinds = _kinds_text(operation)
    return FileUnreadable(
        "sem_coluna_de_documento",
        f"Nenhuma coluna do arquivo tem {kinds}, pelo nome nem pelo que há nas primeiras linhas."
        f" Chame a coluna de “{kinds.lower().split(' ou ')[0]}” ou “documento”, ou diga qual é.",
    )


def _kinds_text(operation: Operation) -> str:
    return " ou ".join(kind.upper() for kind in sorted(kinds_of(operation)))


def _passed_over_text(role: str | None, rows: int, client: str | None) -> str:
    if not rows:
        return ""
    instead = f"sem {role}" if client is None or role != "cliente" else "vale o do lote"
    return f" (em {counted(rows, 'linha', 'linhas')} não é um código: {instead})"


def _cell(cells: Cells, index: int) -> str:
    return cell_text(cells[index]) if index < len(cells) else ""
