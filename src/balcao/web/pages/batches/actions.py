"""Actions on a batch: confirm, pause, resume, stop, repeat, erase."""

from collections.abc import Awaitable
from contextlib import suppress

from starlette.responses import Response

from balcao.core.errors import BatchStateRefused, FormDone, InvalidParameter, QuoteChanged
from balcao.core.writing import credits
from balcao.storage.batches import StoredBatch
from balcao.web.kit.context import PageContext
from balcao.web.kit.lookups.asking import suspended
from balcao.web.pages.batches.form import PATH
from balcao.web.pages.batches.pages import batch_page, requested_batch, view_of
from balcao.web.pages.history import names_of

_CEILING_DIGITS_MAX = 9
_NO_CEILING = "Informe o limite de gasto: um número inteiro de créditos."


async def confirm(context: PageContext) -> Response:
    """Start a batch, up to the ceiling that was typed."""
    if context.account.suspended_ms is not None:
        return suspended(context)
    info = await requested_batch(context)
    if info.batch.state != "cotado":  # sent twice, or from an outdated page
        return _back(context, info.batch)
    ceiling = _ceiling(context)
    if ceiling is None:
        return await batch_page(context, info, _NO_CEILING)
    batch, signed = info.batch, context.signature(context.typed("form_id"))
    digest = context.typed("digest")
    write = context.tools.batches.confirm(batch.account_id, batch.batch_id, digest, ceiling, signed)
    try:
        return await _done(context, batch, write)
    except QuoteChanged:
        text = "O preço ou as linhas mudaram desde que esta página foi aberta. Nada foi iniciado:"
        info = await requested_batch(context)
        return await batch_page(context, info, alert=f"{text} confira a nova cotação abaixo.")


async def pause(context: PageContext) -> Response:
    """Pause a batch."""
    batch = (await requested_batch(context)).batch
    return await _done(
        context,
        batch,
        context.tools.batches.pause(batch.account_id, batch.batch_id, context.signature()),
    )


async def resume(context: PageContext) -> Response:
    """Resume a batch, with a higher ceiling if one was typed."""
    if context.account.suspended_ms is not None:
        return suspended(context)
    info = await requested_batch(context)
    batch = info.batch
    if batch.state != "pausado":
        return _back(context, batch)
    ceiling = None
    if context.typed("teto_creditos"):
        ceiling = _ceiling(context)
        if ceiling is None:
            return await batch_page(context, info, _NO_CEILING)
        if batch.ceiling is not None and ceiling < batch.ceiling:
            text = f"O limite só pode aumentar. O limite atual é de {credits(batch.ceiling)}."
            return await batch_page(context, info, text)
    signed = context.signature(context.typed("form_id"))
    write = context.tools.batches.resume(batch.account_id, batch.batch_id, ceiling, signed)
    return await _done(context, batch, write)


async def repeat(context: PageContext) -> Response:
    """Make a new batch of the rows that failed, with a quote of its own."""
    if context.account.suspended_ms is not None:
        return suspended(context)
    batch = (await requested_batch(context)).batch
    signed, caller = context.signature(context.typed("form_id")), context.person.caller()
    key = f"web-{signed.form_id}" if signed.form_id else None
    try:
        made = await context.tools.batches.repeat(caller, batch.batch_id, key, signed)
    except (BatchStateRefused, InvalidParameter):
        return _back(context, batch)
    return _back(context, made)


async def ask_to_stop(context: PageContext) -> Response:
    """Ask for confirmation before a batch is stopped."""
    return await _confirmation_page(context, "lote_encerrar.html")


async def stop(context: PageContext) -> Response:
    """Stop a batch for good."""
    batch = (await requested_batch(context)).batch
    return await _done(
        context,
        batch,
        context.tools.batches.stop(batch.account_id, batch.batch_id, context.signature()),
    )


async def ask_to_erase(context: PageContext) -> Response:
    """Ask for confirmation before the data of a batch are erased."""
    return await _confirmation_page(context, "lote_apagar.html")


async def erase(context: PageContext) -> Response:
    """Erase a batch's list and answers, and return to the list of batches."""
    batch = (await requested_batch(context)).batch
    try:
        await context.tools.batches.delete(batch.account_id, batch.batch_id, context.signature())
    except BatchStateRefused:
        return _back(context, batch)
    return context.redirect(PATH)


async def _confirmation_page(context: PageContext, template: str) -> Response:
    info = await requested_batch(context)
    view = view_of(info.batch, names_of(context, context.account.account_id))
    return context.page(template, view=view, batch=view.batch)


async def _done(
    context: PageContext, batch: StoredBatch, write: Awaitable[StoredBatch]
) -> Response:
    """Await the write, then show the batch's page, in its present state."""
    with suppress(BatchStateRefused, FormDone):
        await write
    return _back(context, batch)


def _back(context: PageContext, batch: StoredBatch) -> Response:
    return context.redirect(f"{PATH}/{batch.batch_id}")


def _ceiling(context: PageContext) -> int | None:
    """Return the typed ceiling in credits; dots are allowed (`1.200`)."""
    text = context.typed("teto_creditos").replace(".", "")
    return int(text) if text.isdecimal() and len(text) <= _CEILING_DIGITS_MAX else None
