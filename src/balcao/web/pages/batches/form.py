"""`/app/lotes/novo`: the form of a new batch: list or file, operation, and common parameters.

The file is passed on in pieces to the same service as the API's.
"""

import csv
import re
from collections.abc import AsyncIterator, Mapping, Sequence

from starlette.responses import Response

from balcao.batches.batch_context import FileSummary, column_choices, common_parameters
from balcao.batches.columns import Choice, roles
from balcao.batches.desk import NAME_CHARACTERS_MAX, Upload
from balcao.batches.tables.contract import MEDIA_TYPES, TableFormat
from balcao.batches.tables.heading import ROWS_LOOKED_AT
from balcao.batches.tables.texts import SEPARATORS, usual_width
from balcao.core.column_letters import column_index, column_letter
from balcao.core.document_reader import cell_text
from balcao.core.errors import (
    BatchNotFound,
    CallerError,
    CertificatesNotEnabled,
    CommitUncertain,
    IdempotencyKeyReused,
    NoFileSpace,
    Overloaded,
    RequestTooLarge,
    StorageFailed,
    TagWithCpf,
    UfRequired,
)
from balcao.core.federation import ALL, UFS
from balcao.core.file_limits import MEGABYTE
from balcao.core.names import name_problem
from balcao.core.problems import problem_of
from balcao.core.recognition import recognise, separate_documents
from balcao.core.request_tags import TAG_CHARACTERS, tag_problem
from balcao.core.search_box import invalid_lines
from balcao.core.writing import whole
from balcao.http.authenticator import must_wait
from balcao.lookup.admit import admit_question
from balcao.operations import OPERATIONS
from balcao.operations.contract import Operation
from balcao.web.kit.context import PageContext
from balcao.web.kit.lookups import outcomes
from balcao.web.kit.lookups.asking import outside_the_plan, suspended
from balcao.web.kit.lookups.forms import (
    BY_PATH,
    FORMS,
    LookupForm,
    blank,
    fields_for_all,
    filled,
    parameters_for_all,
    request_of,
)

PATH = "/app/lotes"
NEW = f"{PATH}/novo"

# Roles that a column can be given by hand, and their names.
COLUMNS: Mapping[str, str] = {
    "documento": "Documento",
    "uf": "UF",
    "data_nascimento": "Nascimento",
    "ref": "Referência",
    "cliente": "Cliente",
}
_FIELDS = ("operacao", "nome", "cliente", "lista", *(f"coluna_{role}" for role in COLUMNS))
_CHOSEN = ("uf", "modo", "onde", "dias", "endereco", "optin")
_ABOUT = {"uf", "dias", "optin"}  # the fields of a lookup form that this form has, too

_LINE_CHARACTERS = 10_000  # of a line that is examined
_DATE = re.compile(r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}|[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_LETTERS = re.compile("[A-Z]{1,2}")

_EXTENSIONS: Mapping[str, TableFormat] = {
    "xlsx": "xlsx",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "json": "json",
}
_NAMED: Mapping[TableFormat, str] = {kind: name for name, kind in MEDIA_TYPES.items()}

# A column without a name is described by its letter.
UNNAMED = re.compile(r"(coluna (\w+)) «Coluna \2»")

_PIECE_BYTES = 65_536
_FLAWS_SHOWN = 5


_UNCERTAIN = (
    "O serviço perdeu a conexão com o banco de dados e não sabe se o lote foi criado. Envie este"
    " mesmo formulário de novo: o lote não é criado duas vezes."
)


async def show(context: PageContext) -> Response:
    """Show the form; `?operacao=` chooses a lookup, `?de=` the choices of another batch."""
    if context.account.suspended_ms is not None:
        return suspended(context)
    typed = {"operacao": context.query("operacao"), **await _from_earlier(context)}
    return _page(context, typed)


async def pasted(context: PageContext) -> Response:
    """Show the form with documents that were pasted into the field for one, by POST."""
    listed = max(context.typed("cnpj"), context.typed("cpf"), key=len)
    return begun_with(context, listed, context.form, context.query("operacao"))


def begun_with(
    context: PageContext, listed: str, typed: Mapping[str, str] | None = None, operation: str = ""
) -> Response:
    """Show the form with a list that came from another page, by POST."""
    if context.account.suspended_ms is not None:
        return suspended(context)
    listed = as_list(listed)
    typed = {**(typed or {}), "operacao": operation, "lista": listed}
    return _page(context, typed, flaws=invalid_lines(listed))


async def receive(context: PageContext) -> Response:
    """Receive the list, once per form, and redirect to the batch's page."""
    if context.account.suspended_ms is not None:
        return suspended(context)
    typed = {name: context.typed(name) for name in (*_FIELDS, *_CHOSEN)}
    form = FORMS.get(typed["operacao"])
    if form is None:
        return _page(context, typed, {"operacao": "Escolha o que consultar."})
    complaints = _complaints(context, form, typed)
    if complaints:
        return _page(context, typed, complaints)
    tools, caller = context.tools, context.person.caller()
    try:
        verdicts = await tools.authenticator.count(caller, tools.now_ms())
        if (limited := must_wait(verdicts)) is not None:
            raise limited
        batch = await tools.batches.receive(_upload(context, form, typed))
    except CertificatesNotEnabled:
        return outside_the_plan(context)
    except RequestTooLarge as error:
        most = whole(error.body_bytes_max // MEGABYTE)
        text = f"O arquivo tem mais de {most} MB. Divida o arquivo e envie cada parte como um lote."
        return _page(context, typed, {"arquivo": text}, 413)
    except IdempotencyKeyReused:
        text = "Este formulário já foi enviado com outra lista, que está em Lotes. Envie"
        return _page(context, typed, {"lista": f"{text} de novo para criar mais um lote."}, 409)
    except (CallerError, NoFileSpace, Overloaded, StorageFailed) as error:
        problem = problem_of(error)
        status = 422 if problem.status == 400 else problem.status
        text = _UNCERTAIN if problem.code == CommitUncertain.code else problem.message
        return _page(context, typed, {"": text}, status, code=problem.code)
    return context.redirect(f"{PATH}/{batch.batch_id}")


def as_list(text: str) -> str:
    """Return one document per line if the text has nothing but documents; else the text."""
    return "\n".join(separate_documents(text)) or text


def media_type_of(name: str) -> str:
    """Return the media type of a file by its name's ending."""
    return _NAMED[_EXTENSIONS.get(name.rpartition(".")[2].lower(), "csv")]


def columns_of_list(text: str) -> dict[str, Choice]:
    """Return the roles of the columns of a pasted list without a header, by its first line.

    `90010000100;01/01/1980` has a birth date, `90010001000100<tab>SP` a UF.
    """
    if separate_documents(text):  # valid or not
        return {"documento": 0}
    found: dict[str, Choice] = {}
    for index, cell in enumerate(map(cell_text, _first_row(text))):
        if recognise(cell).kind in {"cnpj", "cpf", "digits"}:
            found.setdefault("documento", index)
        elif _DATE.fullmatch(cell):
            found.setdefault("data_nascimento", index)
        elif cell.upper() in UFS:
            found.setdefault("uf", index)
    return found if "documento" in found else {}


def _first_row(text: str) -> Sequence[str]:
    """Return the first line's cells, by the delimiter that splits most lines into most cells."""
    lines = [line[:_LINE_CHARACTERS] for line in text.splitlines() if line.strip()]
    tables = [list(csv.reader(lines[:ROWS_LOOKED_AT], delimiter=each)) for each in SEPARATORS]
    rows = max(tables, key=usual_width)
    if not rows:
        return ()
    has_borders = len(rows[0]) > 1 and not any(row[0].strip() for row in rows if row)
    return rows[0][1:] if has_borders else rows[0]


def _upload(context: PageContext, form: LookupForm, typed: Mapping[str, str]) -> Upload:
    operation = OPERATIONS[form.subject]
    pieces: AsyncIterator[bytes]
    columns = _chosen_columns(typed)
    if context.upload is not None:
        media_type = media_type_of(context.upload.name)
        pieces = context.upload.pieces
    else:
        listed = as_list(typed["lista"])
        media_type, pieces = _NAMED["csv"], _in_pieces(listed.encode())
        columns = columns_of_list(listed) | columns
    known = set(roles(operation))
    common = parameters_for_all(form, _lookup_fields(form, typed))
    form_id = context.typed("form_id")
    return Upload(
        context.person.caller(),
        operation.path,
        [(name, value) for name, value in common.items() if value],
        media_type,
        pieces,
        f"web-{form_id}" if form_id else None,
        typed["nome"],
        typed["cliente"] or None,
        {role: index for role, index in columns.items() if role in known},
    )


async def _in_pieces(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), _PIECE_BYTES):
        yield content[start : start + _PIECE_BYTES]


def _chosen_columns(typed: Mapping[str, str]) -> dict[str, Choice]:
    letters = {role: typed[f"coluna_{role}"] for role in COLUMNS}
    return {role: column_index(letter) for role, letter in letters.items() if letter}


def _complaints(context: PageContext, form: LookupForm, typed: Mapping[str, str]) -> dict[str, str]:
    """Return errors by field, as far as they can be found before the list is read."""
    complaints: dict[str, str] = {}
    if typed["nome"] and (problem := name_problem(typed["nome"], NAME_CHARACTERS_MAX)):
        complaints["nome"] = f"O nome {problem}"
    if typed["cliente"]:
        match tag_problem(typed["cliente"]):
            case "form":
                complaints["cliente"] = f"O cliente deve ter de 1 a 64 caracteres: {TAG_CHARACTERS}"
            case "cpf":
                complaints["cliente"] = problem_of(TagWithCpf()).message
    if not typed["lista"] and context.upload is None:
        complaints["lista"] = "Cole os documentos ou escolha um arquivo."
    if typed["lista"] and context.upload is not None:
        complaints["lista"] = "Há uma lista colada e um arquivo. Deixe só um dos dois."
    for role in COLUMNS:
        letter = typed[f"coluna_{role}"].upper()
        if letter and not _LETTERS.fullmatch(letter):
            complaints[f"coluna_{role}"] = "Informe a letra da coluna: A, B, …"
    return {**complaints, **_about_parameters(context, form, typed)}


def _about_parameters(
    context: PageContext, form: LookupForm, typed: Mapping[str, str]
) -> Mapping[str, str]:
    """Return the operation's error about the common parameters, by field."""
    operation = context.tools.parts.operations[form.subject]
    example = {"quem": "cnpj", "cnpj": form.example, "cpf": form.example}
    fields = {**_lookup_fields(form, typed), **example}
    try:
        admit_question(operation, context.person.caller(), *request_of(form, operation, fields))
    except UfRequired:  # rows may have their own
        return {}
    except CallerError as error:
        known = outcomes.field_error(problem_of(error), form, fields)
        if known is None or known.field not in _ABOUT:
            return {}
        return {known.field: known.text}
    return {}


def _lookup_fields(form: LookupForm, typed: Mapping[str, str]) -> Mapping[str, str]:
    """Return the values typed here as fields of the operation's own form."""
    asked = {name: typed.get(name, "") for name in _CHOSEN if name in {*form.fields, "dias"}}
    return {**blank(form), **filled(asked), "onde": asked.get("onde") or "guardado"}


async def _from_earlier(context: PageContext) -> Mapping[str, str]:
    """Return the choices of an earlier batch, for use with another list.

    Includes the columns chosen for its file, but not those of a pasted list.
    """
    number = context.query("de")
    if not number:
        return {}
    try:
        info = await context.tools.batches.show(context.account.account_id, number)
    except BatchNotFound:
        return {}
    batch = info.batch
    form = BY_PATH.get(batch.operation)
    if form is None or not context.person.sees(batch.user_id):
        return {}
    if batch.erased_ms is not None:
        return {"operacao": form.slug}
    letters = {
        f"coluna_{role}": column_letter(index)
        for role, index in column_choices(batch).items()
        if role in COLUMNS and isinstance(index, int) and batch.header is not None
    }
    if info.summary is None or is_pasted(info.summary):
        letters = {}
    return {
        **fields_for_all(form, common_parameters(batch.parameters)),
        **letters,
        "operacao": form.slug,
        "nome": batch.name,
        "cliente": batch.client or "",
    }


def is_pasted(summary: FileSummary) -> bool:
    """Return whether a list had no header, so that its column choices fit no other list."""
    return any(map(UNNAMED.search, summary.columns))


def _page(
    context: PageContext,
    typed: Mapping[str, str],
    complaints: Mapping[str, str] | None = None,
    status: int = 422,
    flaws: Sequence[tuple[int, str]] = (),
    *,
    code: str | None = None,
) -> Response:
    complaints = complaints or {}
    forms = [
        form for form in FORMS.values() if context.account.has_certificates or not form.certificate
    ]
    shown = {name: typed.get(name, "") for name in (*_FIELDS, *_CHOSEN)}
    if shown["operacao"] not in {form.slug for form in forms}:
        # Most lists are of certificates.
        shown["operacao"] = next((form for form in forms if form.certificate), forms[0]).slug
    return context.page(
        "lote_novo.html",
        status if complaints else 200,
        forms=forms,
        ufs=_ufs(context, forms),
        columns=COLUMNS,
        typed=shown,
        complaints=complaints,
        alert=complaints.get(""),
        flaws=flaws[:_FLAWS_SHOWN],
        flaws_in_all=len(flaws),
        modes=next((form.modes("") for form in forms if "modo" in form.fields), ()),
        may_optin=context.account.partner_optin,
        name_max=NAME_CHARACTERS_MAX,
        file_megabytes=context.tools.batches.file_bytes_max(context.account.account_id) // MEGABYTE,
        **context.form_id_values(code),
    )


def _ufs(context: PageContext, forms: Sequence[LookupForm]) -> Sequence[tuple[str, str]]:
    """Return every UF that one of these operations takes."""
    operations: Sequence[Operation] = [
        context.tools.parts.operations[form.subject] for form in forms
    ]
    found = {
        uf
        for form, operation in zip(forms, operations, strict=True)
        for uf, _ in form.ufs(operation)
        if uf
    }
    several = [(ALL, "Todas as que respondem")] if ALL in found else []
    return [
        ("", "UF de cada linha ou da empresa"),
        *several,
        *((uf, uf) for uf in sorted(found - {ALL})),
    ]
