"""`/app/lotes`: the list of batches, the page of each, and its files.

A consultant sees their own batches, managers those of the account including programs'; operators
see the list alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import Response

from balcao.batches.desk import BatchInfo
from balcao.batches.results import ResultForm
from balcao.core.access import Account
from balcao.core.batches import ENDED_ROWS, FINISHED_STATES, BatchState
from balcao.core.calendar import civil_day
from balcao.core.errors import BatchErased, BatchNotFound
from balcao.core.writing import instant, whole
from balcao.storage.batches import StoredBatch
from balcao.web.kit import filters
from balcao.web.kit.context import PageContext
from balcao.web.kit.exports import CSV, JSONL, XLSX, ZIP, FileKind, download
from balcao.web.kit.lookups.forms import BY_PATH
from balcao.web.kit.words import vocabulary
from balcao.web.kit.words.vocabulary import Word
from balcao.web.pages.batches import rows, words
from balcao.web.pages.batches.form import PATH, UNNAMED, is_pasted
from balcao.web.pages.history import Names, names_of

SHOWN = 50

_FILES: dict[FileKind, ResultForm] = {CSV: "csv", XLSX: "xlsx", JSONL: "jsonl"}
# In these states the page is updated by events.
MOVING: frozenset[BatchState] = frozenset({"recebido", "validando", "executando", "encerrando"})
_UNREAD: frozenset[BatchState] = frozenset({"recebido", "validando", "recusado"})


@dataclass(frozen=True, slots=True)
class BatchView:
    """A batch as pages show it."""

    batch: StoredBatch
    title: str
    operation: str
    word: Word
    who: str

    @property
    def asked(self) -> int:
        """Number of rows that are, or were, to be looked up."""
        batch = self.batch
        return batch.rows() - batch.rows("invalida", "repetida")

    @property
    def ended(self) -> int:
        """Number of looked-up rows that have ended."""
        return self.batch.rows(*ENDED_ROWS)

    @property
    def share(self) -> int:
        """Percentage of these rows that have ended; never 100 before all have."""
        return self.ended * 100 // self.asked if self.asked else 0

    @property
    def is_moving(self) -> bool:
        """Whether its state will change by itself soon."""
        return self.batch.state in MOVING or self.batch.reason == "fonte"

    @property
    def is_over(self) -> bool:
        return self.batch.state in FINISHED_STATES

    @property
    def has_rows(self) -> bool:
        """Whether it has rows that can be shown."""
        return self.batch.state not in _UNREAD and self.batch.erased_ms is None

    @property
    def has_certificates(self) -> bool:
        """Whether its rows are certificates, which have receipts."""
        form = BY_PATH.get(self.batch.operation)
        return form is not None and bool(form.certificate)

    @property
    def address(self) -> str:
        return f"{PATH}/{self.batch.batch_id}"


def view_of(batch: StoredBatch, names: Names) -> BatchView:
    """Return a batch as pages show it."""
    operation = vocabulary.short(batch.operation)
    title = batch.name or f"{operation} de {instant(batch.created_ms)}"
    who = names.who(batch.key_id, batch.user_id)
    return BatchView(batch, title, operation, words.state_word(batch), who)


async def show_all(context: PageContext) -> Response:
    """Show the list, newest first."""
    account_id, before = context.account.account_id, context.query("antes")
    found = await context.tools.batches.page(
        account_id, SHOWN + 1, before=before or "~", user_id=context.person.own_only
    )
    return context.page(
        "lotes.html",
        views=_views(context, account_id, found[:SHOWN]),
        older=filters.address(PATH, {"antes": found[SHOWN - 1].batch_id})
        if len(found) > SHOWN
        else None,
        newest=PATH if before else None,
        own_only=context.person.own_only is not None,
        suspended=context.account.suspended_ms is not None,
    )


async def latest_batches(context: PageContext, count: int) -> Sequence[BatchView]:
    """Return the newest batches that this person may see."""
    account_id = context.account.account_id
    found = await context.tools.batches.page(
        account_id, count, before="~", user_id=context.person.own_only
    )
    return _views(context, account_id, found)


async def show_to_operator(context: PageContext, account: Account, base: str) -> Response:
    """Show an operator the batches of an account, without their rows."""
    before = context.query("antes")
    found = await context.tools.batches.page(account.account_id, SHOWN + 1, before=before or "~")
    return context.page(
        "operador/lotes.html",
        account=account,
        views=_views(context, account.account_id, found[:SHOWN]),
        older=filters.address(base, {"antes": found[SHOWN - 1].batch_id})
        if len(found) > SHOWN
        else None,
        newest=base if before else None,
    )


def _views(
    context: PageContext, account_id: int, found: Sequence[StoredBatch]
) -> Sequence[BatchView]:
    names = names_of(context, account_id)
    return [view_of(batch, names) for batch in found]


async def requested_batch(context: PageContext) -> BatchInfo:
    """Return the batch of the address, if this person may see it. Raises `BatchNotFound`."""
    try:
        number = str(UUID(context.request.path_params["batch_id"]))
    except ValueError:
        raise BatchNotFound from None
    info = await context.tools.batches.show(context.account.account_id, number)
    if not context.person.sees(info.batch.user_id):
        raise BatchNotFound
    return info


async def show(context: PageContext) -> Response:
    """Show one batch: its list, price, progress, rows and files."""
    return await batch_page(context, await requested_batch(context))


async def batch_page(
    context: PageContext, info: BatchInfo, complaint: str | None = None, *, alert: str | None = None
) -> Response:
    """Return a batch's page; `complaint` is about the ceiling that was typed."""
    view = view_of(info.batch, names_of(context, context.account.account_id))
    values = await live_values(context, info, view)
    batch = view.batch
    status = 200
    if complaint:
        status = 422
    elif alert:
        status = 409
    wanted = rows.requested_rows(context)
    stream = urlencode(wanted.fields(wanted.after) | {"em": batch.state})
    return context.page(
        "lote.html",
        status,
        info=info,
        summary=await rows.summary(context, batch) if view.has_rows else (),
        columns=_columns(info),
        table=_table(info),
        pause=words.pause_notice(batch, context.available),
        troubled=words.troubled(info.sources),
        complaints={"teto_creditos": complaint} if complaint else {},
        alert=alert,
        stream=f"{view.address}/andamento?{stream}",
        filters=[
            (state, f"{text} ({whole(batch.rows(state))})")
            for state, text in words.FILTERS.items()
            if batch.rows(state)
        ],
        suspended=context.account.suspended_ms is not None,
        available=context.available,
        **values,
    )


def _columns(info: BatchInfo) -> Sequence[str]:
    """Return lines like `coluna B «CNPJ» → documento`; without a header, with the letter alone."""
    lines = () if info.summary is None else info.summary.columns
    return [UNNAMED.sub(r"\1", text) for text in lines]


def _table(info: BatchInfo) -> str | None:
    """Return the kind of file; None for a pasted list."""
    summary = info.summary
    if summary is None or is_pasted(summary):
        return None
    return summary.table


async def live_values(
    context: PageContext, info: BatchInfo, view: BatchView, reader: rows.RowReader | None = None
) -> dict[str, object]:
    """Return the values of the part of the page that changes while the batch runs."""
    wanted = rows.requested_rows(context)
    reader = reader or rows.RowReader(context, view.batch.batch_id, wanted)
    shown = await reader.rows() if view.has_rows else None
    next_fields = None if shown is None or shown.after is None else wanted.fields(shown.after)
    return {
        "view": view,
        "batch": view.batch,
        "quote": info.batch.quote,
        "wanted": wanted,
        "shown": shown,
        "further": next_fields and f"{filters.address(view.address, next_fields)}#linhas",
        "first": f"{filters.address(view.address, wanted.fields())}#linhas"
        if wanted.after
        else None,
    }


# Files


async def result(context: PageContext, kind: FileKind) -> Response:
    """Download all rows in their present state."""
    info = await _with_data(context)
    tools = context.tools
    file = await tools.results.result(info.batch, _FILES[kind])
    return download(file.pieces(), file.size_bytes, kind, _file_name(info.batch))


as_table, as_workbook, as_lines = (partial(result, kind=kind) for kind in _FILES)


async def receipts(context: PageContext) -> Response:
    """Download the receipts of all certificates so far, with an index."""
    info = await _with_data(context)
    tools = context.tools
    file = await tools.results.receipts(info.batch)
    name = f"{_file_name(info.batch)}-comprovantes"
    return download(file.pieces(), file.size_bytes, ZIP, name)


async def _with_data(context: PageContext) -> BatchInfo:
    info = await requested_batch(context)
    if info.batch.erased_ms is not None:
        raise BatchErased
    return info


def _file_name(batch: StoredBatch) -> str:
    """Return a name for files, without the batch's own name, which might be a person's."""
    form = BY_PATH.get(batch.operation)
    slug = "lote" if form is None else f"lote-{form.slug}"
    return f"{slug}-{civil_day(batch.created_ms)}-{batch.batch_id[-6:]}"
