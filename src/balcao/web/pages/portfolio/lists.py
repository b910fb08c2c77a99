"""`/app/carteira/lista`: a list or file of companies, with a preview before anything changes.

The columns are recognised as in batches. The preview's form has the rows, so nothing is stored.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping
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
from balcao.web.kit.context import PageContext
from balcao.web.pages.batches import as_list, columns_of_list, media_type_of
from balcao.web.pages.portfolio.adding import COLUMNS, form_page
from balcao.web.pages.portfolio.terms import complaint_about, watched_of_form
from balcao.web.pages.portfolio.views import PATH

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
        synced = await _apply(context, typed, simulate=True)
    except CallerError as error:
        return form_page(context, context.form, list_complaints=complaint_about(error))
    refused = [] if synced is None else [
        f"Linha {each.line}: {problem_of(each.error).message}"
        for each in synced.failed
        if each.error is not None
    ]  # fmt: skip
    flaws = [*flaws, *refused]
    return context.page(
        "carteira_conferir.html",
        typed=typed,
        packed=msgspec.json.encode(typed).decode(),
        counts=None if synced is None else synced.counts,
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
    await _apply(context, typed, simulate=False)
    done = "sincronizada" if typed.deed == "sincronizar" else "lista"
    return context.redirect(PATH, feito=done, etiqueta=typed.tag or "", cliente=typed.client or "")


async def _apply(context: PageContext, typed: TypedList, *, simulate: bool) -> Synced | None:
    """Add or synchronise; of a list that is added there is nothing to simulate."""
    wallet, caller = context.tools.wallet, context.person.caller()
    if typed.deed == "sincronizar":
        lines = [_line(typed, row, own_client=typed.client is None) for row in typed.rows]
        synced, _ = await wallet.sync(
            caller,
            lines,
            typed.client,
            typed.tag,
            lambda invalid: lambda synced: None,
            simulate=simulate,
        )
        return synced
    if not simulate:
        lines = [_line(typed, row, own_client=True) for row in typed.rows]
        await wallet.add_list(caller, lines, lambda invalid: lambda added: None)
    return None


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
    return ItemLine(row.document, ItemRequest(**stated))  # type: ignore[arg-type]


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
        return await asyncio.to_thread(_read_file, path, media_type, known)


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
                rows.append(ListRow(read.document.text, read.ref, read.client))
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
