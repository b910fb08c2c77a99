"""`/app/carteira`: the items of the account's portfolio, with filters."""

import asyncio
from collections.abc import Mapping, Sequence

from starlette.responses import Response

from balcao.core.company import STATUS_TEXTS
from balcao.core.documents import Cpf
from balcao.core.errors import InvalidCpf
from balcao.core.paper_filters import day_ranges
from balcao.core.writing import counted
from balcao.storage.desk.portfolio_views import ListFilter
from balcao.storage.desk.wallet.paper_list import PaperFilter, standing_of
from balcao.web.kit import filters
from balcao.web.kit.context import PageContext
from balcao.web.pages.portfolio.paper_views import PaperView, paper_views
from balcao.web.pages.portfolio.views import PATH, item_views

ON_A_PAGE = 100
EXPIRING_SHOWN = 5
_WORDS_MAX = 80
STATUSES: filters.Options = [
    ("", "todas"),
    *((text, text.capitalize()) for text in STATUS_TEXTS.values()),
]
_DONE = {
    "removido": "Item removido. As mudanças dele ficam guardadas por 90 dias.",
    "sincronizada": "Carteira sincronizada com a lista.",
}


async def show(context: PageContext) -> Response:
    """Show a page of the items."""
    fields = context.request.query_params
    chosen, number = _filter(context), fields.get("pagina", "")
    page = int(number) if filters.is_number(number) and len(number) < 6 else 1
    views, account_id = context.desk.portfolio_views, context.account.account_id
    offset = (max(page, 1) - 1) * ON_A_PAGE
    listed, count = await asyncio.to_thread(views.listed, account_id, chosen, offset, ON_A_PAGE)
    clients, tags = await asyncio.to_thread(views.names, account_id)
    kept = {
        "texto": chosen.words or "",
        "cliente": chosen.client or "",
        "etiqueta": chosen.tag or "",
        "situacao": chosen.status or "",
        "pendentes": "1" if chosen.unhandled else "",
    }

    def at(other: int) -> str:
        return filters.address(PATH, kept | {"pagina": str(other) if other > 1 else ""})

    wallets = context.desk.wallets
    return context.page(
        "carteira.html",
        views=await item_views(context, listed),
        expiring=await expiring_papers(context),
        count=count,
        in_all=wallets.count(account_id),
        items_max=context.settings.wallet_items_max,
        settings=wallets.settings(account_id),
        filtered=any(kept.values()),
        fields=kept,
        clients=[("", "todos"), *((one, one) for one in clients)],
        tags=[("", "todas"), *((one, one) for one in tags)],
        statuses=STATUSES,
        first=offset + 1,
        older=at(page + 1) if offset + len(listed) < count else None,
        newer=at(page - 1) if page > 1 else None,
        message=_added(fields) or _DONE.get(fields.get("feito", "")),
        unseen=await unseen(context),
    )


def _added(fields: Mapping[str, str]) -> str | None:
    """Return what a list added; None: the page does not follow one."""
    new, in_all = fields.get("novas", ""), fields.get("todas", "")
    if fields.get("feito") != "lista" or not all(map(filters.is_number, (new, in_all))):
        return None
    known = int(in_all) - int(new)
    texts = [f"{counted(int(new), 'item incluído', 'itens incluídos')} na carteira"]
    if known > 0:
        texts.append(counted(known, "já estava", "já estavam"))
    return f"{', '.join(texts)}."


async def expiring_papers(context: PageContext) -> Sequence[PaperView]:
    """Return the first certificates to expire within 30 days."""
    account_id, desk = context.account.account_id, context.desk
    standing = standing_of(desk.wallets.settings(account_id), context.now_ms())
    chosen = PaperFilter(days=day_ranges(standing.today)["30"])
    page = await asyncio.to_thread(
        desk.paper_list.page, account_id, chosen, standing, 0, EXPIRING_SHOWN
    )
    return await paper_views(context, page.papers, standing.today)


async def unseen(context: PageContext) -> int:
    """Return the number of changes since the person's last visit of their page."""
    user_id = context.person.user.user_id
    return await context.desk.event_readers.unseen(context.account.account_id, user_id)


def _filter(context: PageContext) -> ListFilter:
    fields = context.request.query_params
    status = fields.get("situacao", "")
    return ListFilter(
        client=filters.tag(fields, "cliente"),
        tag=filters.tag(fields, "etiqueta"),
        status=status if status in STATUS_TEXTS.values() else None,
        words=_words(fields.get("texto", "")),
        unhandled=fields.get("pendentes") == "1",
    )


def _words(text: str) -> str | None:
    """Return a text as the desk looks for it; None for a CPF, which no address contains."""
    text = text.strip()[:_WORDS_MAX]
    try:
        Cpf.parse(text)
    except InvalidCpf:
        bare = text.replace(".", "").replace("/", "").replace("-", "")
        return (bare if bare.isdigit() else text) or None
    return None
