"""`/app/lotes/{id}/andamento`: updates of a batch's page as server-sent events.

Each `lote` event has the changed part of the page; `fim` means that the batch's state changed and
the page must be reloaded. A stream ends soon, and the browser opens the next one.
"""

import asyncio
from collections.abc import AsyncIterator

from starlette.responses import Response, StreamingResponse

from balcao.core.errors import BatchErased, BatchNotFound, StorageFailed
from balcao.web.kit.context import PageContext
from balcao.web.pages.batches.pages import live_values, requested_batch, view_of
from balcao.web.pages.batches.rows import RowReader, requested_rows
from balcao.web.pages.history import names_of

MEDIA_TYPE = "text/event-stream"
# Shorter than the time that shutdown waits for running requests.
STREAM_SECONDS = 10.0
EVERY_SECONDS = 1.0
_RETRY_MS = 500


async def show(context: PageContext) -> Response:
    """Return the stream; 204 if too many are open, so that the browser stops asking."""
    info = await requested_batch(context)
    user_id = context.person.user.user_id
    if not context.tools.streams.has_room(user_id):
        return Response(status_code=204)
    # Keep proxies from buffering the stream.
    headers = {"x-accel-buffering": "no"}
    events = _events(context, info.batch.batch_id)
    return StreamingResponse(events, media_type=MEDIA_TYPE, headers=headers)


async def _events(context: PageContext, batch_id: str) -> AsyncIterator[str]:
    clock = asyncio.get_running_loop().time
    until, before = clock() + STREAM_SECONDS, ""
    reader = RowReader(context, batch_id, requested_rows(context))
    names = names_of(context, context.account.account_id)
    with context.tools.streams.open(context.person.user.user_id):
        yield f"retry: {_RETRY_MS}\n\n"
        while True:
            try:
                info = await requested_batch(context)
                if info.batch.state != context.query("em"):
                    yield event("fim", "")
                    return
                view = view_of(info.batch, names)
                values = await live_values(context, info, view, reader)
            except (BatchErased, BatchNotFound, StorageFailed):
                return
            page = context.html("_lote_novas.html", values)
            if page != before:
                yield event("lote", page)
            before = page
            if clock() + EVERY_SECONDS > until:
                return
            await asyncio.sleep(EVERY_SECONDS)


def event(kind: str, text: str) -> str:
    """Return one event in the format of server-sent events."""
    lines = "".join(f"data: {line}\n" for line in text.splitlines() or ("",))
    return f"event: {kind}\n{lines}\n"
