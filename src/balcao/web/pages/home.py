"""`/app`: what needs attention today, the search box, and then the rest."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from starlette.responses import Response

from balcao.core.access import PLAN_WORDS
from balcao.core.calendar import HOUR_MS, civil_month
from balcao.core.key_expiry import REPLACEMENT, expiring
from balcao.core.ledger import spent_credits
from balcao.core.notices import Tone
from balcao.core.writing import counted, day, whole
from balcao.web.kit import drawing, filters
from balcao.web.kit.context import PageContext
from balcao.web.kit.drawing import bars_of
from balcao.web.kit.lookups.forms import FORMS
from balcao.web.pages import history
from balcao.web.pages.batches import BatchView, latest_batches
from balcao.web.pages.companies import WITHIN_DAYS, expiring_certificates, recent_companies
from balcao.web.pages.keys import visible_budgets
from balcao.web.pages.portfolio import unseen

RECENT_SHOWN = 8
BATCHES_SHOWN = 3
# Price of the dearest usual lookup: a certificate from its source.
CERTIFICATE_CREDITS = 2

_BATCHES_READ = 20
# A finished batch with failed rows needs attention this long: it may have been repeated since.
_FAILED_FOR_MS = 72 * HOUR_MS
_WEEK = timedelta(days=6)


@dataclass(frozen=True, slots=True)
class Pending:
    """One thing that waits for the person: its text, and the page where it is settled."""

    tone: Tone
    text: str
    action: str
    href: str


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
    few = available is not None and available < (
        CERTIFICATE_CREDITS if account.has_certificates else 1
    )
    batches = await latest_batches(context, _BATCHES_READ)
    return context.page(
        "inicio.html",
        account=account,
        is_manager=context.person.is_manager,
        available=None if available is None else max(available, 0),
        spent=spent,
        few=few,
        certificate_credits=CERTIFICATE_CREDITS,
        pending=[
            *([] if few else await _low_balance(context)),
            *_waiting_batches(batches, now),
            *_ending_keys(context),
        ],
        within_days=WITHIN_DAYS,
        validities=history.VALIDITIES,
        plan=PLAN_WORDS[account.plan],
        ceiling=ceiling,
        ceiling_meter=drawing.meter(spent / ceiling, "Do limite do mês") if ceiling else None,
        limits=context.settings.limits_by_plan[account.plan],
        chart=await _month(context) if context.person.is_manager else None,
        rows=await history.rows_of(context, latest),
        companies=await recent_companies(context),
        expiring=await expiring_certificates(context),
        batches=batches[:BATCHES_SHOWN],
        forms=FORMS.values(),
        watched=(watched := context.desk.wallets.count(account.account_id)),
        changes=await unseen(context) if watched else 0,
        ceilings=len(await visible_budgets(context)),
    )


async def _low_balance(context: PageContext) -> Sequence[Pending]:
    """Return a warning to managers whose credits would not last another week like the last."""
    available = context.available
    if available is None or not context.person.is_manager:
        return ()
    today = filters.today_of(context)
    read, number = context.desk.totals.read, context.account.account_id
    totals = await asyncio.to_thread(read, number, today - _WEEK, today, ())
    week = sum(total.credits for total in totals)
    if available >= week:
        return ()
    text = (
        f"Créditos para menos de uma semana: {whole(available)} disponíveis,"
        f" {whole(week)} gastos nos últimos 7 dias"
    )
    return [Pending("warn", text, "Ver extrato", "/app/extrato")]


def _waiting_batches(batches: Sequence[BatchView], now_ms: int) -> Iterator[Pending]:
    """Yield the batches that wait for a decision, and those that ended with failed rows."""
    for view in batches:
        batch, failed = view.batch, view.batch.rows("falha")
        if batch.state == "cotado":
            yield Pending(
                "info", f"Lote “{view.title}” aguarda confirmação", "Ver o preço", view.address
            )
        elif batch.state == "pausado":
            yield Pending("warn", f"Lote “{view.title}” está pausado", "Ver por quê", view.address)
        elif view.is_over and failed and batch.created_ms > now_ms - _FAILED_FOR_MS:
            text = f"Lote “{view.title}”: {counted(failed, 'linha falhou', 'linhas falharam')}"
            yield Pending("warn", text, "Tentar de novo", view.address)


def _ending_keys(context: PageContext) -> Iterator[Pending]:
    """Yield the keys that expire soon, to managers."""
    if context.person.is_manager:
        keys = context.desk.keys(context.account.account_id)
        for each in expiring(keys, context.now_ms()):
            text = f"Chave “{each.key.name}” vale até {day(each.last_day)}. {REPLACEMENT}"
            yield Pending("warn", text, "Criar chave", "/app/chaves#nova")


async def _month(context: PageContext) -> str | None:
    """Return the chart of this month's consumption by day; None: nothing yet."""
    today = filters.today_of(context)
    first = today.replace(day=1)
    read, number = context.desk.totals.read, context.account.account_id
    totals = await asyncio.to_thread(read, number, first, today, ("day", "origin"))
    if not totals:
        return None
    bars = bars_of(totals, first, today.day)
    return drawing.bars_by_day(bars, "Créditos por dia neste mês")
