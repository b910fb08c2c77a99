"""`/app`: search box, expiring certificates, recent companies, and available credits."""

import asyncio

from starlette.responses import Response

from balcao.core.access import PLAN_WORDS
from balcao.core.calendar import civil_month
from balcao.core.ledger import spent_credits
from balcao.web.kit import drawing, filters
from balcao.web.kit.context import PageContext
from balcao.web.kit.drawing import bars_of
from balcao.web.kit.lookups.forms import FORMS
from balcao.web.pages import history
from balcao.web.pages.batches import latest_batches
from balcao.web.pages.companies import WITHIN_DAYS, expiring_certificates, recent_companies
from balcao.web.pages.keys import visible_budgets

RECENT_SHOWN = 8
BATCHES_SHOWN = 3
# Price of the dearest usual lookup: a certificate from its source.
CERTIFICATE_CREDITS = 2


async def show(context: PageContext) -> Response:
    """Show an account's own page; operators are redirected to theirs."""
    if context.person.is_operator:
        return context.redirect("/app/operador")
    account, now = context.account, context.now_ms()
    month = civil_month(now)
    available = context.available
    spent = spent_credits(account, month)
    ceiling = account.ceiling_credits if account.plan == "pos_pago" else None
    latest = await history.read(context, history.recent_filter(context), RECENT_SHOWN)
    return context.page(
        "inicio.html",
        account=account,
        is_manager=context.person.is_manager,
        available=None if available is None else max(available, 0),
        spent=spent,
        few=available is not None
        and available < (CERTIFICATE_CREDITS if account.has_certificates else 1),
        certificate_credits=CERTIFICATE_CREDITS,
        within_days=WITHIN_DAYS,
        plan=PLAN_WORDS[account.plan],
        ceiling=ceiling,
        ceiling_meter=drawing.meter(spent / ceiling, "Do limite do mês") if ceiling else None,
        limits=context.settings.limits_by_plan[account.plan],
        chart=await _month(context) if context.person.is_manager else None,
        rows=await history.rows_of(context, latest),
        companies=await recent_companies(context),
        expiring=await expiring_certificates(context),
        batches=await latest_batches(context, BATCHES_SHOWN),
        forms=FORMS.values(),
        ceilings=len(await visible_budgets(context)),
    )


async def _month(context: PageContext) -> str | None:
    """Return the chart of this month's consumption by day; None: nothing yet."""
    today = filters.today_of(context)
    first = today.replace(day=1)
    read, number = context.desk.totals.read, context.account.account_id
    totals = await asyncio.to_thread(read, number, first, today, ("day", "origin"))
    if not totals:
        return None
    bars = bars_of(totals, first, today.day)
    return drawing.bars_by_day(bars, "Créditos por dia neste mês", wide=True)
