"""`/app/carteira/lista`: a list or file of companies, with a preview before anything changes.

The columns are recognised as in batches. The preview's form has the rows, so nothing is stored.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec
from starlette.responses import Response

from balcao.batches.columns import Choice, ValidRow, map_columns
from balcao.batches.tables.contract import TableBounds
from balcao.batches.tables.opening import open_table
from balcao.core.column_letters import column_index
from balcao.core.errors import CallerError, FileUnreadable, RequestTooLarge
from balcao.core.problems import problem_of
from balcao.core.wallet import SYNCED_AT_ONCE, ItemRequest
from balcao.core.writing import whole
from balcao.lookup.wallet import ItemLine
from balcao.operations import OPERATIONS
from balcao.storage.desk.wallet import Synced
from balcao.storage.desk.wallet.planning import Outcome, SyncCounts
from balcao.web.kit.context import PageContext
from balcao.web.pages.batches import as_list, columns_of_list, media_type_of
from balcao.web.pages.portfolio.adding import COLUMNS, form_page
from balcao.web.pages.portfolio.terms import complaint_about, watched_of_form
from balcao.web.pages.portfolio.views import PATH, watched_text

BOUNDS: Final = TableBounds(file_bytes=10_000_000, rows=SYNCED_AT_ONCE)
FLAWS_SHOWN = 20
_ROLES: Final[Mapping[str, str]] = {
    "cnpj": "CNPJ",
    "documento": "CNPJ",
    "ref": "referência",
    "cliente": "cliente",
}
# A batch's file may be divided; a list that replaces another must be whole.
_OF_BATCHES = " e envie cada parte como um lote"
_OTHER_MARK = "Escolha um cliente ou uma etiqueta: a lista passa a ser essa parte da carteira."

Deed: TypeAlias = Literal["incluir", "sincronizar"]


class ListRow(msgspec.Struct, frozen=True, array_like=True):
    """One subject of a list."""

    document: str
    reference: str | None = None
    client: str | None = None
    line: int | None = None  # in the list


class TypedList(msgspec.Struct, frozen=True):
    """A list with what holds for all of it, as the preview's form has it."""

    deed: Deed
    client: str | None
    tag: str | None
    watched: tuple[str, ...]
    rows: tuple[ListRow, ...]


async def preview(context: PageContext) -> Response:
    """Read the list and show what would change."""
    typed, complaints = _typed(context)
    rows, flaws, columns = list[ListRow](), list[str](), list[str]()
    try:
        if not complaints:
            rows, flaws, columns = await _read(context)
    except RequestTooLarge:
        complaints["arquivo"] = f"O arquivo pode ter até {BOUNDS.file_bytes // 1_000_000} MB."
    except CallerError as error:
        field = "lista" if context.upload is None else "arquivo"
        complaints[field] = problem_of(error).message.replace(_OF_BATCHES, "")
    if complaints:
        return form_page(context, context.form, list_complaints=complaints)
    typed = msgspec.structs.replace(typed, rows=tuple(rows))
    try:
        counts, failed = await _simulated(context, typed)
    except CallerError as error:
        return form_page(context, context.form, list_complaints=complaint_about(error))
    refused = [
        f"Linha {each.line}: {problem_of(each.error).message}"
        for each in failed
        if each.error is not None
    ]
    flaws = [*flaws, *refused]
    return context.page(
        "carteira_conferir.html",
        typed=typed,
        packed=msgspec.json.encode(typed).decode(),
        count=len(typed.rows) - len(failed),
        counts=counts,
        watched=[watched_text(each) for each in typed.watched],
        columns=columns,
        flaws=flaws[:FLAWS_SHOWN],
        flaws_in_all=len(flaws),
        is_sync=typed.deed == "sincronizar",
    )


async def confirm(context: PageContext) -> Response:
    """Carry out the list of a preview."""
    try:
        typed = msgspec.json.decode(context.typed("itens"), type=TypedList)
    except (msgspec.DecodeError, UnicodeError):
        return context.problem(
            422, "Formulário alterado", "A lista chegou alterada e nada mudou. Envie-a de novo."
        )
    if len(typed.rows) > SYNCED_AT_ONCE:
        return context.problem(422, "Lista longa demais", f"Até {whole(SYNCED_AT_ONCE)} linhas.")
    mark = {"etiqueta": typed.tag or "", "cliente": typed.client or ""}
    if typed.deed == "sincronizar":
        await _synchronise(context, typed, simulate=False)
        return context.redirect(PATH, feito="sincronizada", **mark)
    added, _ = await context.tools.wallet.add_list(
        context.person.caller(), _lines(typed), lambda invalid: lambda added: None
    )
    in_all = sum(each.error is None for each in added.outcomes)
    return context.redirect(
        PATH, feito="lista", novas=str(len(added.created)), todas=str(in_all), **mark
    )


async def _simulated(
    context: PageContext, typed: TypedList
) -> tuple[SyncCounts | None, Sequence[Outcome]]:
    """Return what a synchronisation would change (None: the list is added), and what fails.

    Raises the first error if all lines of an added list are refused.
    """
    if typed.deed == "sincronizar":
        synced = await _synchronise(context, typed, simulate=True)
        return synced.counts, synced.failed
    caller, lines = context.person.caller(), _lines(typed)
    invalid = await asyncio.to_thread(context.tools.wallet.invalid, caller, lines)
    if len(invalid) == len(lines) and invalid[0].error is not None:
        raise invalid[0].error
    return None, invalid


async def _synchronise(context: PageContext, typed: TypedList, *, simulate: bool) -> Synced:
    synced, _ = await context.tools.wallet.sync(
        context.person.caller(),
        _lines(typed),
        typed.client,
        typed.tag,
        lambda invalid: lambda synced: None,
        simulate=simulate,
    )
    return synced


def _lines(typed: TypedList) -> Sequence[ItemLine]:
    own_client = typed.deed == "incluir" or typed.client is None
    return [_line(typed, row, own_client=own_client) for row in typed.rows]


def _line(typed: TypedList, row: ListRow, *, own_client: bool) -> ItemLine:
    stated: dict[str, object] = {}
    if row.reference is not None:
        stated["reference"] = row.reference
    client = (row.client or typed.client) if own_client else typed.client
    if client is not None:
        stated["client"] = client
    if typed.tag is not None and typed.deed == "incluir":
        stated["tags"] = (typed.tag,)
    if typed.watched:
        stated["watched"] = typed.watched
    request = ItemRequest(**stated)  # type: ignore[arg-type]
    return ItemLine(row.document, request, number=row.line)


def _typed(context: PageContext) -> tuple[TypedList, dict[str, str]]:
    deed: Deed = "sincronizar" if context.typed("acao") == "sincronizar" else "incluir"
    client, tag = context.typed("cliente_todos") or None, context.typed("etiqueta_todos") or None
    watched, complaints = watched_of_form(context.form)
    if deed == "sincronizar" and (client is None) == (tag is None):
        complaints["etiqueta_todos"] = _OTHER_MARK
    if not context.typed("lista") and context.upload is None:
        complaints["lista"] = "Cole os documentos ou escolha um arquivo."
    elif context.typed("lista") and context.upload is not None:
        complaints["lista"] = "Há uma lista colada e um arquivo. Deixe só um dos dois."
    return TypedList(deed, client, tag, tuple(watched), ()), complaints


async def _read(context: PageContext) -> tuple[list[ListRow], list[str], list[str]]:
    """Return the rows, what is wrong with others, and the columns in words.

    Raises `FileUnreadable`, `RequestTooLarge`.
    """
    chosen: dict[str, Choice] = {}
    for role in COLUMNS:
        if letter := context.typed(f"coluna_{role}").upper():
            chosen[role] = column_index(letter)
    # In the data folder: it may hold CPFs, and other folders may be read-only.
    scratch = context.tools.home.batches
    scratch.mkdir(mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        path = Path(folder) / "lista"
        if context.upload is not None:
            media_type = media_type_of(context.upload.name)
            await _store(path, context.upload.pieces)
        else:
            text = as_list(context.typed("lista"))
            media_type = "text/csv"
            path.write_text(text, "utf-8")
            chosen = columns_of_list(text) | chosen
        known = {role: choice for role, choice in chosen.items() if role in COLUMNS}
        rows, flaws, columns = await asyncio.to_thread(_read_file, path, media_type, known)
    if context.typed("acao") != "sincronizar":  # an invalid row only keeps what is there
        rows = [row for row in rows if row.line is not None]
    return rows, flaws, columns


async def _store(path: Path, pieces: AsyncIterator[bytes]) -> None:
    size = 0
    with path.open("wb") as file:
        async for piece in pieces:
            size += len(piece)
            if size > BOUNDS.file_bytes:
                raise RequestTooLarge(body_bytes_max=BOUNDS.file_bytes)
            file.write(piece)


def _read_file(
    path: Path, media_type: str, chosen: dict[str, Choice]
) -> tuple[list[ListRow], list[str], list[str]]:
    rows, flaws = list[ListRow](), list[str]()
    with open_table(path, media_type, bounds=BOUNDS) as table:
        columns = map_columns(OPERATIONS["company"], table.header, table.sample, chosen=chosen)
        for row in table.rows:
            read = columns.read(row)
            if isinstance(read, ValidRow):
                rows.append(ListRow(read.document.text, read.ref, read.client, read.line))
                continue
            flaws.append(read.message)
            if read.document is not None:  # an item that is there stays
                rows.append(ListRow(read.document.text))
    if not rows:
        raise FileUnreadable("sem_documentos", "Nenhuma linha tem um CNPJ válido.")
    used = [
        f"{each.place}: {_ROLES[each.meaning or '']}"
        for each in columns.columns
        if each.meaning in _ROLES
    ]
    return rows, flaws, used
