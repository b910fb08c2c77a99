"""`/app/carteira/mudancas`: what changed since the person's last visit, by day and company."""

import asyncio

from starlette.responses import Response

from balcao.core.wallet import ItemRequest
from balcao.web.kit import filters
from balcao.web.kit.context import PageContext
from balcao.web.kit.returning import local_address
from balcao.web.pages.portfolio.views import CHANGES, PATH, days_of, item_path

EVENTS_ON_A_PAGE = 300
_ALL = "tudo"


async def show(context: PageContext) -> Response:
    """Show the changes since the last visit, or all that are kept."""
    fields, account_id = context.request.query_params, context.account.account_id
    everything = fields.get("desde") == _ALL
    client, before = filters.tag(fields, "cliente"), fields.get("antes", "")
    readers, user_id = context.desk.event_readers, context.person.user.user_id
    seen = await readers.visit(account_id, user_id, context.now_ms())
    after = 0 if everything else seen
    views = context.desk.portfolio_views
    changes = await asyncio.to_thread(
        lambda: views.changes(
            account_id,
            after,
            EVENTS_ON_A_PAGE + 1,
            before=int(before) if filters.is_number(before) else None,
            client=client,
        )
    )
    clients, _ = await asyncio.to_thread(views.names, account_id)
    shown = changes[:EVENTS_ON_A_PAGE]
    kept = {"desde": _ALL if everything else "", "cliente": client or ""}
    older = None
    if len(changes) > len(shown):
        older = filters.address(CHANGES, kept | {"antes": str(shown[-1].event.number)})
    return context.page(
        "carteira_mudancas.html",
        days=await days_of(context, shown),
        count=len(shown),
        companies_count=len({change.item.item_id for change in shown}),
        more=older is not None,
        older=older,
        newest=filters.address(CHANGES, kept) if before else None,
        everything=everything,
        client=client or "",
        clients=[("", "todos"), *((one, one) for one in clients)],
        all_address=filters.address(CHANGES, {"desde": _ALL, "cliente": client or ""}),
        here=filters.address(CHANGES, kept),
        settings=context.desk.wallets.settings(account_id),
        unseen=0,
    )


async def mark(context: PageContext) -> Response:
    """Mark an item's changes as handled, or as not; they return with its next change."""
    item_id = context.request.path_params["item_id"]
    handled = context.typed("tratado") != "0"
    await context.tools.wallet.change(
        context.person.caller(), item_id, ItemRequest(), handled=handled
    )
    back = local_address(context.typed("de"))
    return context.redirect(back if back.startswith(PATH) else item_path(item_id))
