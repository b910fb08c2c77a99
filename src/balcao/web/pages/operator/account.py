"""`/app/operador/contas/{account_id}`: one account, its terms and its credits."""

import asyncio
from collections.abc import Awaitable, Mapping
from datetime import timedelta

from starlette.responses import Response

from balcao.core.access import Account
from balcao.core.calendar import civil_day, civil_month
from balcao.core.errors import TermsRefused
from balcao.core.ledger import DoneBefore, Short, available_credits, spent_credits
from balcao.core.terms import top_up
from balcao.core.writing import whole
from balcao.storage.people import Terms
from balcao.web.kit.account_pages import ACCOUNTS, done
from balcao.web.kit.context import Visit
from balcao.web.kit.drawing import bars_by_day
from balcao.web.kit.spending import bars_of
from balcao.web.kit.typed import read
from balcao.web.kit.words.vocabulary import MODES, PLANS
from balcao.web.pages.members.pages import member
from balcao.web.pages.operator.accounts import last_use_ms
from balcao.web.pages.operator.forms import CreditsForm, TermsForm, once
from balcao.web.pages.operator.operators import turn_totp_off

DAYS = 30  # of the chart and of the ledger
ENTRIES_MAX = 30

_DONE: Mapping[str, str] = {
    "criada": "Conta criada. Falta dar créditos (fora do pós-pago), uma chave ou usuários.",
    "ja": "Este formulário já tinha sido enviado; foi feito uma vez só.",
    "termos": "Plano e limites alterados. Valem em toda parte em um segundo.",
    "creditos": "Créditos lançados.",
    "suspensa": "Conta suspensa: as chaves são recusadas e os usuários não consultam.",
    "reativada": "Conta reativada.",
    "sem-totp": "Segundo fator do usuário desligado. Na próxima entrada basta a senha.",
}


async def show(visit: Visit, account: Account, base: str) -> Response:
    """Everything about the account that is not a key, a user or a request."""
    return await _shown(visit, account)


async def _shown(
    visit: Visit,
    account: Account,
    complaints: Mapping[str, str] | None = None,
    alert: str | None = None,
) -> Response:
    """The page, with what is wrong with a form that was just sent."""
    tools = visit.tools
    desk, now = tools.desk, tools.now_ms()
    today = civil_day(now)
    first = today - timedelta(days=DAYS - 1)
    number, month = account.account_id, civil_month(now)
    totals = await asyncio.to_thread(desk.totals.read, number, first, today, ("day", "origin"))
    books = await asyncio.to_thread(desk.totals.books, number, first, today)
    return visit.page(
        "operador/conta.html",
        422 if complaints or alert else 200,
        account=account,
        plan=PLANS[account.plan],
        mode=MODES[account.mode],
        available=available_credits(account, month),
        spent=spent_credits(account, month),
        used_ms=last_use_ms(tools, number),
        chart=bars_by_day(bars_of(totals, first, DAYS), wide=True),
        spent_in_chart=sum(total.credits for total in totals),
        days=DAYS,
        entries=books.top_ups[: -ENTRIES_MAX - 1 : -1],  # the newest first
        with_totp=[user for user in desk.people.users(number) if user.has_totp],
        complaints=complaints or {},
        message=_DONE.get(visit.query("feito")),
        alert=alert,
    )


async def change_terms(visit: Visit, account: Account, base: str) -> Response:
    """Plan, certificates, opt-in and ceiling."""
    signed, typed, now = once(visit), read(TermsForm, visit.form), visit.tools.now_ms()
    if not isinstance(typed, TermsForm):
        return await _shown(visit, account, typed)
    change = visit.tools.desk.people.change_account
    try:
        told = await done(change(account.account_id, typed.terms, signed, now), "termos")
    except TermsRefused:
        return await _shown(visit, account, alert=_why_refused(account, typed.terms, now))
    return visit.redirect(base, feito=told)


def _why_refused(account: Account, terms: Terms, now_ms: int) -> str:
    """The account forbids these terms: which of its figures does."""
    if terms.plan != "pos_pago" and account.balance_credits < account.held_credits:
        return (
            f"No plano {PLANS[terms.plan]} ninguém deve, e o saldo desta conta é de"
            f" {whole(account.balance_credits)}, com {whole(account.held_credits)} reservados por"
            " consultas em andamento. Lance antes os créditos que faltam."
        )
    spent = spent_credits(account, civil_month(now_ms))
    return (
        f"O teto não pode ser menor do que já foi usado: {whole(spent)} neste mês, e"
        f" {whole(account.held_credits)} reservados por consultas em andamento."
    )


async def add_credits(visit: Visit, account: Account, base: str) -> Response:
    """Give credits, or take them back. Once, however often it is sent."""
    signed, typed = once(visit), read(CreditsForm, visit.form)
    if not isinstance(typed, CreditsForm):
        return await _shown(visit, account, typed)
    changes = top_up(account, typed.credits, typed.reason, signed, visit.tools.now_ms())
    match await visit.tools.desk.commit(changes):
        case None:
            return visit.redirect(base, feito="creditos")
        case DoneBefore():
            return visit.redirect(base, feito="ja")
        case Short(needed_credits=needed, available_credits=available):
            text = (
                f"Não é possível retirar {whole(needed)}: há {whole(available)} disponíveis"
                " (o saldo, menos o que está retido por consultas em andamento)."
            )
            return await _shown(visit, account, {"creditos": text})
        case other:
            raise AssertionError(other)


async def ask_to_suspend(visit: Visit, account: Account, base: str) -> Response:
    """Whether it is meant."""
    if account.suspended_ms is not None:
        return visit.redirect(base)
    return visit.page(
        "operador/confirmar.html",
        question=f"Suspender a conta {account.name}?",
        consequences=(
            "Todas as chaves passam a ser recusadas, em toda parte, em um segundo.",
            "Os usuários ainda entram e veem o extrato, mas não consultam.",
            "Créditos, chaves e histórico ficam como estão; reativar desfaz tudo.",
        ),
        button="Suspender a conta",
        href=f"{base}/suspender",
        back=base,
        crumbs=(("Contas", ACCOUNTS), (account.name, base), ("Suspender", None)),
    )


async def suspend(visit: Visit, account: Account, base: str) -> Response:
    """Refuse its keys and its users' lookups."""
    return visit.redirect(base, feito=await done(_suspend(visit, account, True), "suspensa"))


async def resume(visit: Visit, account: Account, base: str) -> Response:
    """Accept them again."""
    return visit.redirect(base, feito=await done(_suspend(visit, account, False), "reativada"))


def _suspend(visit: Visit, account: Account, suspended: bool) -> Awaitable[object]:
    people, signed = visit.tools.desk.people, once(visit)
    return people.suspend_account(account.account_id, suspended, signed, visit.tools.now_ms())


async def totp_off(visit: Visit, account: Account, base: str) -> Response:
    """For a user of the account who lost the telephone."""
    deed = turn_totp_off(visit, member(visit, account))
    return visit.redirect(base, feito=await done(deed, "sem-totp"))
