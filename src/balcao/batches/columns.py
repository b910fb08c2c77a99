"""Recognition of a file's columns, and conversion of its rows to questions or errors.

Pure functions. The operation itself parses each row, so a row is valid exactly if the same
values would be valid in a request.
"""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

import msgspec

from balcao.batches import names
from balcao.batches.documents import MISPLACED, SENTENCES, CellDocument, DocumentFlaw, read_document
from balcao.batches.names import CONVERSIONS, RECOGNISERS, TRAILING_DAY, convert_day, is_day
from balcao.batches.tables.contract import Cells, TableRow
from balcao.batches.tables.heading import default_name
from balcao.core.column_letters import column_index, column_letter
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
from balcao.core.problems import problem_of
from balcao.core.questions import Question
from balcao.core.request_tags import TAG_CHARACTERS, tag_problem
from balcao.core.writing import counted
from balcao.operations.contract import Operation
from balcao.operations.parameters import CREDITS_MAX, Parameters

ANY = "documento"  # role of a column with documents of any kind

# The column chosen for a role: its index, its name or letter; None: no column.
Choice: TypeAlias = int | str | None

NO_CHOICE: Mapping[str, Choice] = {}
CHOICE_CHARACTERS_MAX = 200

# Most files have a column of this name with street addresses. The parameter, which requests the
# registrations' addresses, is set for the whole batch or by choosing the column.
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
    "data_ausente": "informe também a data de nascimento do CPF, como 31/12/1980.",
    "data_invalida": "informe uma data de nascimento válida, como 31/12/1980.",
    "data_futura": "a data de nascimento está no futuro.",
    "uf_ausente": "falta a UF.",
}


class MappedColumn(msgspec.Struct, frozen=True):
    """One column of the file. `meaning` is its role (see `ColumnMap`), None if unused.

    `compared` is the official fact to compare it with (`razao_social`, `cep`, …), or None.
    """

    index: int
    letter: str  # as in spreadsheets
    header: str
    meaning: str | None
    compared: str | None = None

    @property
    def text(self) -> str:
        """Return `coluna B «CNPJ» → documento`, for people."""
        uses = [self.meaning] if self.meaning else []
        if self.compared:
            uses.append(f"conferir {names.FACT_LABELS[self.compared]}")
        return f"{self.place} → {' e '.join(uses) or 'não usada'}"

    @property
    def place(self) -> str:
        """Return `coluna B «CNPJ»`."""
        return f"coluna {self.letter} «{self.header}»"


class ValidRow(msgspec.Struct, frozen=True, gc=False):
    """The question of a valid row. `padded`: leading zeros of its document were restored."""

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
    """A row that cannot be looked up; it costs nothing and does not stop the others.

    `message` (Portuguese) names the column and the remedy, never the cell's content.
    """

    line: int
    code: str
    message: str
    ref: str | None = None
    client: str | None = None
    document: Cnpj | Cpf | None = None  # if one could be read all the same


class _RowError(Exception):
    def __init__(self, role: str, code: str, sentence: str) -> None:
        self.role, self.code, self.sentence = role, code, sentence


class ColumnMap:
    """The columns of one file for one operation, with the parameters common to all rows.

    Roles: `cnpj`, `cpf`, `documento` (either), `ref`, `cliente`, and the operation's own
    parameters by their names.
    """

    def __init__(
        self,
        operation: Operation,
        columns: Sequence[MappedColumn],
        common: Mapping[str, str],
        explicit: frozenset[str],
    ) -> None:
        self.columns = tuple(columns)
        self.operation = operation
        self._kinds = document_kinds(operation)
        self._common = dict(common)
        self._explicit = explicit  # tags chosen or named explicitly: an invalid value is an error
        self._at = {each.meaning: each for each in columns if each.meaning is not None}
        self._documents: list[tuple[int, str, Collection[DocumentKind]]] = [
            (self._at[role].index, role, frozenset(k for k in self._kinds if role in (k, ANY)))
            for role in names.DOCUMENTS
            if role in self._at
        ]
        self._parameters = [
            (self._at[role].index, role)
            for role in row_parameters(operation)
            if role in self._at and role not in names.DOCUMENTS
        ]
        self._compared = [(each.index, each.compared) for each in columns if each.compared]
        self._names = _name_columns(columns)
        self._unnamed = [each.index for each in columns if _is_unused(each)]
        self._has_names = any(each.header != default_name(each.index) for each in columns)
        self._takes_day = "data_nascimento" in row_parameters(operation)

    @property
    def descriptions(self) -> Sequence[str]:
        """Return a description of each used column, for people."""
        return self.descriptions_with({})

    def descriptions_with(
        self, ignored_tags: Mapping[str, int], client: str | None = None
    ) -> Sequence[str]:
        """Return the descriptions, each with the number of rows whose tag was ignored.

        `ignored_tags`: that number by role. `client`: the batch's client, used by such rows.
        """
        return [
            each.text
            + _ignored_tags_text(each.meaning, ignored_tags.get(each.meaning or "", 0), client)
            for each in self.columns
            if each.meaning or each.compared
        ]

    @property
    def chosen(self) -> Mapping[str, int | None]:
        """The column index of each role, or None; passed as `chosen`, it gives the same mapping."""
        found = {role: column.index for role, column in self._at.items()}
        return {role: found.get(role) for role in roles(self.operation)}

    def read(self, row: TableRow) -> ValidRow | InvalidRow:
        """Return the question of a row, or its error. Takes 20 µs: files have a million rows."""
        ref = client = document = None
        try:
            cells = row.cells
            if len(cells) > len(self.columns) and self._is_too_wide(cells):
                raise _RowError(
                    "",
                    "celulas_demais",
                    "há mais células do que colunas no cabeçalho. Talvez haja um separador dentro"
                    " de um texto sem aspas.",
                )
            ref, client = self._tag(cells, "ref"), self._tag(cells, "cliente")
            repaired = self._document(cells)
            document = repaired.document
            question = self._question(cells, document)
        except _RowError as flaw:
            column = self._at.get(flaw.role)
            where = f"linha {row.line}, {column.place}" if column else f"linha {row.line}"
            message = f"{where}: {flaw.sentence}"
            sentence = message[:1].upper() + message[1:]
            named = document or self._named(row.cells)
            return InvalidRow(row.line, flaw.code, sentence, ref, client, named)
        return ValidRow(row.line, question, ref, client, repaired.padded)

    def ignored_tags(self, row: ValidRow, cells: Cells) -> Sequence[str]:
        """Return the tags (`ref`, `cliente`) with an invalid value in a guessed column of this row.

        The row is looked up without them; the description of the column gives their number.
        """
        tags = (("ref", row.ref), ("cliente", row.client))
        return [
            role
            for role, tag in tags
            if tag is None and role in self._at and _cell(cells, self._at[role].index)
        ]

    def unreadable_cell(self, cells: Cells) -> str:
        """Return the first non-empty cell of the document columns, as written."""
        found = (_cell(cells, index) for index, _, _ in self._documents)
        return next((text for text in found if text), "")

    def own_name(self, cells: Cells) -> str:
        """Return the name that the file has for the row's subject; empty: none."""
        for index, is_name in self._names:
            text = _cell(cells, index)
            if text and (is_name or tag_problem(text) is not None):
                return text
        return ""

    def comparisons(self, cells: Cells) -> Sequence[tuple[str, str]]:
        """Return the cells to compare with an answer, as pairs of fact and text."""
        return [(fact, _cell(cells, index)) for index, fact in self._compared]

    @property
    def compared_facts(self) -> Sequence[str]:
        """Return the facts of `comparisons`, in column order."""
        return [fact for _, fact in self._compared]

    def _named(self, cells: Cells) -> Cnpj | Cpf | None:
        """Return the document of an otherwise invalid row, so that erasures find it; None: none."""
        try:
            return self._document(cells).document
        except _RowError:
            return None

    def _document(self, cells: Cells) -> CellDocument:
        """Return the document of a row; columns with different documents are an error.

        Columns that the operation cannot use are not among these.
        """
        found: CellDocument | None = None
        flaw: DocumentFlaw = "sem_documento"
        role = self._documents[0][1]
        for index, each, kinds in self._documents:
            got = read_document(_cell(cells, index), kinds, only=each != ANY)
            if isinstance(got, CellDocument):
                if found is not None and found.document != got.document:
                    raise _RowError(
                        each,
                        "documentos_conflitantes",
                        "a linha tem dois documentos diferentes. Deixe só um.",
                    )
                found = found or got
            elif got != "sem_documento":
                other = got == "documento_de_outro_tipo" and len(self._kinds) > 1
                flaw, role = MISPLACED[each] if other else got, each
        if found is None or flaw != "sem_documento":
            raise _RowError(role, flaw, SENTENCES[flaw].format(kinds=_kinds_text(self.operation)))
        return found

    def _question(self, cells: Cells, document: Cnpj | Cpf) -> Question:
        kind = kind_of(document)
        values = dict(self._common)
        for index, name in self._parameters:
            if text := _cell(cells, index):
                values[name] = CONVERSIONS[name](text) if name in CONVERSIONS else text
        if kind == "cnpj":
            values.pop("data_nascimento", None)  # a partner's, in a file of both kinds
        elif self._takes_day and "data_nascimento" not in values:
            day = self._nearby_day(cells, document)
            if day is not None:
                values["data_nascimento"] = convert_day(day)
        if not self.operation.document:
            values[kind] = document.text
        try:
            return self.operation.parse(document.text, Parameters.of(values))
        except InvalidInput as error:
            raise self._flaw_of(error) from None

    def _nearby_day(self, cells: Cells, document: Cnpj | Cpf) -> str | None:
        """Return the row's only date in an unnamed column or after the document in its cell.

        None if there is none, or several.
        """
        beyond = () if self._has_names else range(len(self.columns), len(cells))
        found = [text for at in (*self._unnamed, *beyond) if is_day(text := _cell(cells, at))]
        for index, _, _ in self._documents:
            parted = TRAILING_DAY.fullmatch(_cell(cells, index))
            if parted is not None:
                reading = read(parted[1])
                if reading.document == document and reading.alone:
                    found.append(parted[2])
        return found[0] if len(found) == 1 else None

    def _is_too_wide(self, cells: Cells) -> bool:
        """Return whether cells beyond the columns hold more than the dates of an unnamed column."""
        beyond = filter(None, map(cell_text, cells[len(self.columns) :]))
        return any(self._has_names or not is_day(text) for text in beyond)

    def _flaw_of(self, error: InvalidInput) -> _RowError:
        code = _CODES.get(type(error), "parametro_invalido")
        role = code.split("_")[0]
        role = {"data": "data_nascimento", "uf": "uf"}.get(role, "")
        if code == "parametro_invalido":
            words = re.findall(r"\w+", error.detail)
            role = next((name for _, name in self._parameters if name in words), "")
        sentence = _SENTENCES.get(code) or problem_of(error).message
        if not sentence[1:2].isupper():  # not an acronym
            sentence = sentence[:1].lower() + sentence[1:]
        return _RowError(role, code, sentence)

    def _tag(self, cells: Cells, role: str) -> str | None:
        """Return the row's `ref` or `cliente`, by the rules of X-Referencia and X-Cliente."""
        column = self._at.get(role)
        text = _cell(cells, column.index) if column else ""
        if not text:
            return None
        flaw = tag_problem(text)
        if flaw is None:
            return text
        if role not in self._explicit:
            return None  # the column was only guessed
        if flaw == "cpf":
            raise _RowError(role, "marca_com_cpf", "não pode ser um CPF. Use um código seu.")
        code = "cliente_invalido" if role == "cliente" else f"{role}_invalida"
        raise _RowError(role, code, f"aceita até 64 {TAG_CHARACTERS}")


def _name_columns(columns: Sequence[MappedColumn]) -> Sequence[tuple[int, bool]]:
    """Return the indexes of columns with names, best first, and whether they have nothing else.

    A column `Cliente` has names as often as codes.
    """
    facts = [names.FACTS.get(names.plain(each.header)) for each in columns]
    by_fact = [
        (each.index, True)
        for wanted in ("razao_social", "nome_fantasia")
        for each, fact in zip(columns, facts, strict=True)
        if fact == wanted and each.meaning is None
    ]
    return [*by_fact, *((each.index, False) for each in columns if each.meaning == "cliente")]


def map_columns(
    operation: Operation,
    header: Sequence[str],
    sample: Sequence[TableRow] = (),
    *,
    common: Mapping[str, str] | None = None,
    chosen: Mapping[str, Choice] = NO_CHOICE,
) -> ColumnMap:
    """Recognise the columns of a file by their header, else by the values in the sample.

    `common`: the operation's parameters for all rows, as in a query; a non-empty cell overrides
    them. `chosen`: the column of each role; it overrides recognition.
    Raises `FileUnreadable` if no column has documents or a chosen column does not exist, and
    `InvalidParameter` for roles and parameters that the operation does not have.
    """
    common = dict(common or {})
    check_names(operation, common, chosen)
    indexes = {role: _index_of(role, choice, header) for role, choice in chosen.items()}
    guessed = _by_name(operation, header)
    by_role = dict(guessed)
    document_roles = {ANY, *document_kinds(operation)}
    if any(role in document_roles and index is not None for role, index in indexes.items()):
        by_role = {role: at for role, at in by_role.items() if role not in document_roles}
    for role, index in indexes.items():
        by_role.pop(role, None)
        if index is not None:
            by_role = {each: at for each, at in by_role.items() if at != index}
            by_role[role] = index
    if not document_roles & set(by_role):
        free = [at for at in range(len(header)) if at not in by_role.values()]
        index = _looks_like_documents(operation, sample, free)
        if index is None:
            raise _no_documents(operation, header)
        by_role[ANY] = index
    nameless = [at for at, name in enumerate(header) if name == default_name(at)]
    for role in row_parameters(operation):
        if role in RECOGNISERS and role not in by_role and role not in indexes:
            free = [at for at in nameless if at not in by_role.values()]
            looking = [at for at in free if _looks_like(role, sample, at)]
            if len(looking) == 1:
                by_role[role] = looking[0]
    roles_of = {index: role for role, index in by_role.items()}
    parameters = set(row_parameters(operation)) | document_roles | {"ref"}
    compared: set[str] = set()
    columns = []
    for index, name in enumerate(header):
        meaning = roles_of.get(index)
        fact = None if meaning in parameters else names.FACTS.get(names.plain(name))
        if fact in compared or fact not in operation.sheet_columns.official:
            fact = None
        if fact is not None:
            compared.add(fact)
        columns.append(MappedColumn(index, column_letter(index), name, meaning, fact))
    # Choosing the guessed column changes nothing, so that a stored choice gives the same rows.
    explicit = {
        role
        for role, at in by_role.items()
        if names.plain(header[at]) in names.EXPLICIT_TAG_NAMES
        or (indexes.get(role) is not None and guessed.get(role) != at)
    }
    return ColumnMap(operation, columns, common, frozenset(explicit))


def roles(operation: Operation) -> Sequence[str]:
    """Return every role that a column may have for this operation."""
    kinds = sorted(document_kinds(operation))
    parameters = (name for name in row_parameters(operation) if name not in kinds)
    return [ANY, *kinds, *parameters, "ref", "cliente"]


def question_digest(operation: Operation, question: Question, key: bytes) -> bytes:
    """Return a keyed 16-byte digest of a question; rows that ask the same share it."""
    asked = operation.fingerprint(question).encode()
    return hashlib.blake2b(asked, digest_size=16, key=key, person=b"balcao-lote").digest()


def document_kinds(operation: Operation) -> frozenset[DocumentKind]:
    """Return the kinds of documents that an operation accepts."""
    kinds: tuple[DocumentKind, ...] = ("cnpj", "cpf")
    if operation.document:
        return frozenset(kind for kind in kinds if kind == operation.document)
    return frozenset(kind for kind in kinds if kind in operation.names)


def row_parameters(operation: Operation) -> Sequence[str]:
    """Return the parameters that rows may have, including documents if they are parameters."""
    return [name for name in operation.names if name != CREDITS_MAX.name]


def _by_name(operation: Operation, header: Sequence[str]) -> dict[str, int]:
    """Return the index of the first column with a known name, by role."""
    kinds, parameters = document_kinds(operation), set(row_parameters(operation)) - _NEVER_GUESSED
    roles_known = {ANY, "ref", "cliente", *kinds, *parameters}
    found: dict[str, int] = {}
    for index, name in enumerate(header):
        plain = names.plain(name)
        role = plain if plain in parameters else names.ROLES.get(plain)
        if role is not None and role in roles_known:
            # An explicit name precedes an earlier column.
            if role in found and not (
                plain in names.EXPLICIT_TAG_NAMES
                and names.plain(header[found[role]]) not in names.EXPLICIT_TAG_NAMES
            ):
                continue
            found[role] = index
    if kinds & set(found):
        found.pop(ANY, None)  # perhaps an invoice number
    elif ANY not in found:
        for index, name in enumerate(header):
            loose = names.guess_role(name)
            if loose is not None and loose in roles_known and index not in found.values():
                found.setdefault(loose, index)
    return found


def _looks_like_documents(
    operation: Operation, sample: Sequence[TableRow], columns: Sequence[int]
) -> int | None:
    """Return the column with most documents if at least half of the rows have one, else None.

    Cells with nothing but a document count first: a sole trader's name may end with a CPF.
    """
    kinds = document_kinds(operation)

    def count(index: int) -> tuple[int, int]:
        cells = (_cell(row.cells, index) for row in sample)
        # Short numbers may be valid documents by chance.
        readings = [read(cell, kinds, only=False) for cell in cells if len(cell) >= 8]
        found = [each for each in readings if each.document is not None]
        return sum(each.alone for each in found), len(found)

    best = max(columns, key=count, default=None)
    if best is None or count(best)[1] < max(1, len(sample) * _SAMPLE_SHARE):
        return None
    return best


def _looks_like(role: str, sample: Sequence[TableRow], index: int) -> bool:
    """Return whether all non-empty cells of a column in the sample are values of this parameter."""
    cells = [text for row in sample if (text := _cell(row.cells, index))]
    return bool(cells) and all(map(RECOGNISERS[role], cells))


def _is_unused(column: MappedColumn) -> bool:
    return column.meaning is None and column.header == default_name(column.index)


def check_names(
    operation: Operation, common: Mapping[str, str], chosen: Mapping[str, Choice]
) -> None:
    """Raise `InvalidParameter` for an unknown role or a parameter that all rows cannot share."""
    kinds, parameters = document_kinds(operation), row_parameters(operation)
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


def check_values(operation: Operation, common: Mapping[str, str]) -> None:
    """Raise the operation's `InvalidInput` for an invalid value of a common parameter.

    Each is checked alone: a row may override one of two that conflict.
    """
    document = str(operation.parameters[0].example)
    examples = {
        each.name: str(each.example)
        for each in operation.parameters
        if each.place == "query" and each.example is not None
    }
    for name, value in common.items():
        if name != "uf" or value.strip():  # blank: the rows have it
            operation.parse(document, Parameters.of(examples | {name: value}))


def is_excluded(choice: Choice) -> bool:
    """Return whether a choice excludes the role: no column has it."""
    return choice is None or choice == ""


def _index_of(role: str, choice: Choice, header: Sequence[str]) -> int | None:
    """Return the index of the chosen column (contract 13.1), None if the role is excluded.

    A name precedes a letter: a column named B may be the third. Raises `FileUnreadable`.
    """
    if is_excluded(choice):
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
            f"coluna_{role}: o arquivo não tem essa coluna. Informe o nome do cabeçalho ou a"
            " letra da coluna na planilha.",
        )
    return index


def _no_documents(operation: Operation, header: Sequence[str]) -> FileUnreadable:
    kinds = _kinds_text(operation)
    return FileUnreadable(
        "sem_coluna_de_documento",
        f"Nenhuma coluna do arquivo parece ter {kinds}. Dê à coluna o nome"
        f" “{kinds.lower().split(' ou ')[0]}” ou “documento”, ou indique qual é.",
    )


def _kinds_text(operation: Operation) -> str:
    return " ou ".join(kind.upper() for kind in sorted(document_kinds(operation)))


def _ignored_tags_text(role: str | None, rows: int, client: str | None) -> str:
    if not rows:
        return ""
    instead = f"sem {role}" if client is None or role != "cliente" else "vale o do lote"
    return f" (em {counted(rows, 'linha', 'linhas')} não é um código: {instead})"


def _cell(cells: Cells, index: int) -> str:
    return cell_text(cells[index]) if index < len(cells) else ""
