"""`/app/carteira/certidoes`: the certificates of the portfolio, as a list or by month."""

import asyncio
from calendar import Calendar
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

import msgspec
from starlette.responses import Response

from balcao.batches.paper_purchases import GREATEST_PRICE
from balcao.core.paper_filters import EXPIRIES, Expiry, month_of
from balcao.core.paper_words import EXPIRIES as EXPIRIES_IN_WORDS
from balcao.core.paper_words import KINDS
from balcao.storage.desk.wallet.paper_list import PaperCounts, PapersOfDay
from balcao.web.kit import filters
from balcao.web.kit.context import PageContext
from balcao.web.pages.portfolio.items import unseen
from balcao.web.pages.portfolio.paper_views import (
    CERTIFICATES,
    PaperView,
    paper_views,
)
from balcao.web.pages.portfolio.renewing import RENEW, TICKED
from balcao.web.pages.portfolio.selection import POSITIVE, WITHOUT_ONE, Chosen, chosen_of

ON_A_PAGE: Final = 100
# Months around the present one that a calendar shows.
_YEARS: Final = 3

MONTHS: Final = (
    "janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro",
    "outubro", "novembro", "dezembro",
)  # fmt: skip
WEEKDAYS: Final = ("domingo", "segunda", "terça", "quarta", "quinta", "sexta", "sábado")
_DONE: Final = {
    "tratado": "Item marcado como tratado.",
}


@dataclass(frozen=True, slots=True)
class Chip:
    """A selection by one click, with its number of certificates."""

    text: str
    count: int
    href: str
    current: bool


@dataclass(frozen=True, slots=True)
class CalendarDay:
    """A day of a month's calendar; `shown` are the first of its certificates."""

    day: date
    in_month: bool
    is_today: bool
    count: int
    shown: Sequence[PaperView]
    href: str


async def show(context: PageContext) -> Response:
    """Show a page of the list, or a month."""
    chosen = chosen_of(context, context.request.query_params)
    account_id, papers = context.account.account_id, context.desk.paper_list
    counts = await asyncio.to_thread(papers.counts, account_id, chosen.filter, chosen.standing)
    clients, tags = await asyncio.to_thread(context.desk.portfolio_views.names, account_id)
    common: dict[str, Any] = {
        "counts": counts,
        "chips": _chips(chosen, counts),
        "fields": chosen.fields,
        "clients": [("", "todos"), *((one, one) for one in clients)],
        "tags": [("", "todas"), *((one, one) for one in tags)],
        "kinds": [("", "todas"), *KINDS.items()],
        "filtered": any(chosen.fields.get(name) for name in ("cliente", "etiqueta", "tipo")),
        "unseen": await unseen(context),
        "here": chosen.at(),
        "list_address": chosen.at(vista="", mes="", dia=""),
        "month_address": chosen.at(vista="mes", ver="", dia=""),
        "cleared": filters.address(
            CERTIFICATES, {name: chosen.fields[name] for name in ("vista", "mes", "ver")}
        ),
        "watched": context.desk.wallets.count(account_id),
        "message": _DONE.get(context.query("feito")),
    }
    if chosen.fields["vista"]:
        return await _month(context, chosen, common)
    return await _list(context, chosen, common)


async def _list(context: PageContext, chosen: Chosen, common: Mapping[str, Any]) -> Response:
    number = context.query("pagina")
    page = max(int(number), 1) if filters.is_number(number) and len(number) < 6 else 1
    offset = (page - 1) * ON_A_PAGE
    account_id, papers = context.account.account_id, context.desk.paper_list
    listed, count, bought = await asyncio.to_thread(
        papers.page, account_id, chosen.filter, chosen.standing, offset, ON_A_PAGE
    )
    return context.page(
        "carteira_certidoes.html",
        views=await paper_views(context, listed, chosen.standing.today),
        count=count,
        bought=bought,
        most=bought * GREATEST_PRICE,
        price=GREATEST_PRICE,
        renew=RENEW,
        ticked=TICKED,
        older=chosen.at(pagina=str(page + 1)) if offset + len(listed) < count else None,
        newer=chosen.at(pagina=str(page - 1) if page > 2 else "") if page > 1 else None,
        **common,
    )


async def _month(context: PageContext, chosen: Chosen, common: Mapping[str, Any]) -> Response:
    today = chosen.standing.today
    first = _month_named(chosen.fields["mes"], today)
    days = month_of(first)
    account_id, papers = context.account.account_id, context.desk.paper_list
    of_days = await asyncio.to_thread(
        papers.by_day,
        account_id,
        msgspec.structs.replace(chosen.filter, days=days, states=()),
        chosen.standing,
    )
    before, after = first - timedelta(1), first + timedelta(31)
    return context.page(
        "carteira_calendario.html",
        weeks=await _weeks(context, chosen, first, of_days),
        weekdays=WEEKDAYS,
        title=f"{MONTHS[first.month - 1]} de {first.year}",
        count=sum(each.papers for each in of_days.values()),
        earlier=chosen.at(mes=f"{before:%Y-%m}") if before.year >= today.year - _YEARS else None,
        later=chosen.at(mes=f"{after:%Y-%m}") if after.year <= today.year + _YEARS else None,
        this_month=None if first == today.replace(day=1) else chosen.at(mes=""),
        **common,
    )


async def _weeks(
    context: PageContext, chosen: Chosen, first: date, of_days: Mapping[str, PapersOfDay]
) -> Sequence[Sequence[CalendarDay]]:
    today = chosen.standing.today
    listed = [paper for each in of_days.values() for paper in each.first]
    views = {view.paper.paper_id: view for view in await paper_views(context, listed, today)}
    none = PapersOfDay(0, ())

    def day_of(day: date) -> CalendarDay:
        found = of_days.get(day.isoformat(), none)
        return CalendarDay(
            day,
            day.month == first.month,
            day == today,
            found.papers,
            [views[each.paper.paper_id] for each in found.first],
            chosen.at(vista="", mes="", ver="", dia=day.isoformat()),
        )

    weeks = Calendar(firstweekday=6).monthdatescalendar(first.year, first.month)
    return [[day_of(day) for day in week] for week in weeks]


def _chips(chosen: Chosen, counts: PaperCounts) -> Sequence[Chip]:
    def chip(value: str, text: str, count: int) -> Chip:
        current = chosen.fields["ver"] == value and not chosen.fields["dia"]
        return Chip(text, count, chosen.at(ver=value, dia="", vista="", mes=""), current)

    def of_expiry(name: Expiry) -> Chip:
        return chip(name, EXPIRIES_IN_WORDS[name], counts.by_expiry[name])

    return [
        chip("", "Todas", counts.total),
        *map(of_expiry, EXPIRIES),
        chip(POSITIVE, "Positivas", counts.positive),
        chip(WITHOUT_ONE, "Sem certidão", counts.without),
    ]


def _month_named(text: str, today: date) -> date:
    """Return the first day of a month such as `2026-12`; of the present one if it is invalid."""
    try:
        found = date.fromisoformat(f"{text}-01")
    except ValueError:
        return today.replace(day=1)
    return found if abs(found.year - today.year) <= _YEARS else today.replace(day=1)
