"""`/app/carteira/itens/{id}`: an item, what is watched of it, and its timeline."""

import asyncio
from collections.abc import Mapping

from starlette.responses import Response

from balcao.core.errors import CallerError
from balcao.storage.desk.portfolio_views import ListedItem
from balcao.web.kit.context import PageContext
from balcao.web.pages.portfolio.paper_views import papers_of_item
from balcao.web.pages.portfolio.terms import (
    complaint_about,
    stated_request,
    watch_choices,
    watched_fields,
)
from balcao.web.pages.portfolio.views import PATH, event_view, item_path, item_views

EVENTS_SHOWN = 200
_DONE = {
    "incluido": "Incluído na carteira. As próximas mudanças aparecem aqui.",
    "ja": "Este documento já estava na carteira. Os dados informados foram salvos.",
    "salvo": "Item salvo.",
    "papel": "Certidão salva.",
    "papel_removido": "Certidão removida.",
}


async def show(context: PageContext) -> Response:
    """Show the item."""
    return await item_page(context, {}, message=_DONE.get(context.query("feito")))


async def change(context: PageContext) -> Response:
    """Change reference, labels, and what is watched."""
    item_id = context.request.path_params["item_id"]
    request, complaints = stated_request(context.form, with_client=False)
    if not complaints:
        try:
            await context.tools.wallet.change(context.person.caller(), item_id, request)
        except CallerError as error:
            complaints = complaint_about(error)
    if complaints:
        return await item_page(context, complaints)
    return context.redirect(item_path(item_id), feito="salvo")


async def remove(context: PageContext) -> Response:
    """Remove the item."""
    item_id = context.request.path_params["item_id"]
    await context.desk.wallets.end(context.account.account_id, item_id, context.now_ms())
    return context.redirect(PATH, feito="removido")


async def item_page(
    context: PageContext,
    complaints: Mapping[str, str],
    message: str | None = None,
    *,
    of_paper: bool = False,
) -> Response:
    """Return the page of the item. `of_paper`: the form of a certificate was refused."""
    account_id = context.account.account_id
    item = context.desk.wallets.one(account_id, context.request.path_params["item_id"])
    views = context.desk.portfolio_views
    events = await asyncio.to_thread(
        views.timeline, account_id, item.item_id, EVENTS_SHOWN
    )  # fmt: skip
    (view,) = await item_views(context, [ListedItem(item, None)])
    stored = {
        "ref": item.reference or "",
        "etiquetas": ", ".join(item.tags),
        **watched_fields(item.watched),
    }
    return context.page(
        "carteira_item.html",
        422 if complaints else 200,
        view=view,
        item=item,
        papers=await papers_of_item(context, view),
        events=[event_view(event) for event in events],
        events_max=EVENTS_SHOWN,
        typed=stored if of_paper else dict(context.form) or stored,
        paper_typed=dict(context.form) if of_paper else {},
        of_paper=of_paper,
        choices=watch_choices(item.document, is_person=item.is_person),
        complaints=complaints,
        alert=complaints.get(""),
        message=message,
    )
