"""`/app/carteira/relogio`: the clock of a test account's portfolio is moved. For managers."""

from typing import Final

from starlette.responses import Response

from balcao.core.errors import ClockMoving, RouteNotFound
from balcao.core.freshness import DAY_MS
from balcao.core.portfolio_clock import DAYS_MAX
from balcao.core.problems import problem_of
from balcao.web.kit.context import PageContext
from balcao.web.kit.typed import whole_number
from balcao.web.pages.portfolio.clock_views import clock_shown
from balcao.web.pages.portfolio.settings import show_with
from balcao.web.pages.portfolio.views import PATH, SETTINGS

CLOCK: Final = f"{PATH}/relogio"


async def move(context: PageContext) -> Response:
    """Move the clock by some days, or return the portfolio to the real time."""
    clocks, account_id = context.desk.portfolio_clocks, context.account.account_id
    shown = await clock_shown(context)
    if shown is None:
        raise RouteNotFound
    try:
        if context.typed("acao") == "real":
            await clocks.give_up(account_id)
            return context.redirect(SETTINGS, feito="real")
        days = whole_number(context.typed("avancar_dias"))
        if days is None or not 1 <= days <= DAYS_MAX:
            return await show_with(
                context, {"avancar_dias": f"Informe um número de 1 a {DAYS_MAX}."}
            )
        await clocks.move(account_id, shown.now_ms + days * DAY_MS, context.now_ms())
    except ClockMoving as moving:
        return await show_with(context, {"avancar_dias": problem_of(moving).message})
    return context.redirect(SETTINGS, feito="relogio")
