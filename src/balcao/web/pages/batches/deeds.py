"""What is done with a batch: confirmed, paused, resumed, stopped, repeated, erased."""

from collections.abc import Awaitable
from contextlib import suppress

from starlette.responses import Response

from balcao.core.errors import (
    BatchStateRefused,
    FormDone,
    InvalidParameter,
    QuoteChanged,
)
from balcao.core.writing import credits
from balcao.storage.batches import StoredBatch
from balcao.web.kit.context import Visit
from balcao.web.pages.batches.form import PATH
from balcao.web.pages.batches.pages import page_of, seen_of, view_of
from balcao.web.pages.history.pages import names_of
from balcao.web.pages.lookups import pages as consult

_CEILING_DIGITS_MAX = 9
_NO_CEILING = "Informe o teto: um número inteiro de créditos."


async def confirm(visit: Visit) -> Response:
    """Go, up to the ceiling that was typed."""
    if visit.account.suspended_ms is not None:
        return consult.suspended(visit)
    seen = await seen_of(visit)
    if seen.batch.state != "cotado":  # sent twice, or from a page that stood open
        return _back(visit, seen.batch)
    ceiling = _ceiling(visit)
    if ceiling is None:
        return await page_of(visit, seen, _NO_CEILING)
    batch, signed = seen.batch, visit.signed(visit.typed("form_id"))
    digest = visit.typed("digest")
    deed = visit.tools.batches.confirm(batch.account_id, batch.batch_id, digest, ceiling, signed)
    try:
        return await _done(visit, batch, deed)
    except QuoteChanged:
        text = "O preço ou as linhas mudaram desde que esta página foi aberta. Nada começou:"
        seen = await seen_of(visit)
        return await page_of(visit, seen, alert=f"{text} confira a nova cotação abaixo.")


async def pause(visit: Visit) -> Response:
    """Ask nothing more for now."""
    batch = (await seen_of(visit)).batch
    return await _done(
        visit, batch, visit.tools.batches.pause(batch.account_id, batch.batch_id, visit.signed())
    )


async def resume(visit: Visit) -> Response:
    """Go on; with a higher ceiling, if one was typed."""
    if visit.account.suspended_ms is not None:
        return consult.suspended(visit)
    seen = await seen_of(visit)
    batch = seen.batch
    if batch.state != "pausado":
        return _back(visit, batch)
    ceiling = None
    if visit.typed("teto_creditos"):
        ceiling = _ceiling(visit)
        if ceiling is None:
            return await page_of(visit, seen, _NO_CEILING)
        if batch.ceiling is not None and ceiling < batch.ceiling:
            text = f"O teto só pode aumentar: agora ele é de {credits(batch.ceiling)}."
            return await page_of(visit, seen, text)
    signed = visit.signed(visit.typed("form_id"))
    deed = visit.tools.batches.resume(batch.account_id, batch.batch_id, ceiling, signed)
    return await _done(visit, batch, deed)


async def repeat(visit: Visit) -> Response:
    """A new batch of the rows that failed, with a quote of its own."""
    if visit.account.suspended_ms is not None:
        return consult.suspended(visit)
    batch = (await seen_of(visit)).batch
    signed, caller = visit.signed(visit.typed("form_id")), visit.person.caller()
    key = f"web-{signed.form_id}" if signed.form_id else None
    try:
        made = await visit.tools.batches.repeat(caller, batch.batch_id, key, signed)
    except (BatchStateRefused, InvalidParameter):
        return _back(visit, batch)
    return _back(visit, made)


async def ask_to_stop(visit: Visit) -> Response:
    """Is it to be stopped for good?"""
    return await _asked(visit, "lote_encerrar.html")


async def stop(visit: Visit) -> Response:
    """Ask nothing more at all."""
    batch = (await seen_of(visit)).batch
    return await _done(
        visit, batch, visit.tools.batches.stop(batch.account_id, batch.batch_id, visit.signed())
    )


async def ask_to_erase(visit: Visit) -> Response:
    """Are its list and its answers to go?"""
    return await _asked(visit, "lote_apagar.html")


async def erase(visit: Visit) -> Response:
    """Erase its list and its answers, and go back to the others."""
    batch = (await seen_of(visit)).batch
    try:
        await visit.tools.batches.delete(batch.account_id, batch.batch_id, visit.signed())
    except BatchStateRefused:
        return _back(visit, batch)
    return visit.redirect(PATH)


async def _asked(visit: Visit, template: str) -> Response:
    seen = await seen_of(visit)
    view = view_of(seen.batch, names_of(visit, visit.account.account_id))
    return visit.page(template, view=view, batch=view.batch)


async def _done(visit: Visit, batch: StoredBatch, deed: Awaitable[StoredBatch]) -> Response:
    """Do it, and go to the batch's page, which says how it stands whatever came first."""
    with suppress(BatchStateRefused, FormDone):
        await deed
    return _back(visit, batch)


def _back(visit: Visit, batch: StoredBatch) -> Response:
    return visit.redirect(f"{PATH}/{batch.batch_id}")


def _ceiling(visit: Visit) -> int | None:
    """Credits, as people write them: `1.200` too."""
    text = visit.typed("teto_creditos").replace(".", "")
    return int(text) if text.isdecimal() and len(text) <= _CEILING_DIGITS_MAX else None
