"""`/app/operador/contas/{account_id}`: one account, its terms and its credits."""

import asyncio
from collections.abc import Awaitable, Mapping
from datetime import timedelta

from starlette.responses import Response

from balcao.accounts.links import token_digest
from balcao.core.access import PLAN_WORDS, Account
from balcao.core.calendar import civil_day, civil_month
from balcao.core.errors import TermsRefused
from balcao.core.ledger import DoneBefore, InsufficientFunds, available_credits, spent_credits
from balcao.core.terms import top_up
from balcao.core.writing import credits, whole
from balcao.storage.people import Terms
from balcao.web.kit import guard
from balcao.web.kit.account_pages import ACCOUNTS, done
from balcao.web.kit.context import PageContext
from balcao.web.kit.drawing import bars_by_day, bars_of
from balcao.web.kit.typed import read
from balcao.web.kit.words.vocabulary import MODES
from balcao.web.pages.members import link_page, member
from balcao.web.pages.operator.accounts import last_use_ms
from balcao.web.pages.operator.forms import CreditsForm, TermsForm, once
from balcao.web.pages.operator.operators import turn_totp_off

DAYS = 30  # shown in the chart and the ledger
ENTRIES_MAX = 30

_DONE: Mapping[str, str] = {
    "ja": "Este formulário já tinha sido enviado. Nada foi feito de novo.",
    "termos": "Plano e limites alterados. Valem em um segundo.",
    "creditos": "Créditos lançados.",
    "suspensa": "Conta suspensa. As chaves são recusadas e os usuários não podem consultar.",
    "reativada": "Conta reativada.",
    "sem-totp": "Segundo fator do usuário desativado. No próximo acesso, basta a senha.",
}


async def show(context: PageContext, account: Account, base: str) -> Response:
    """Show the account, except its keys, users and requests; just opened, its manager's link."""
    name = guard.cookie_name(guard.NEW_LINK, secure=context.is_secure)
    token = context.request.cookies.get(name)
    if token is None:
        return await _shown(context, account)
    link = context.desk.people.link(token_digest(token), context.now_ms())
    if link is None or link.user is None or link.user.account_id != account.account_id:
        response = await _shown(context, account)
    else:
        response = link_page(
            context, link.user, f"{base}/usuarios", token, is_new=True, opened=account
        )
    guard.drop_cookie(response, guard.NEW_LINK, secure=context.is_secure)
    return response


async def _shown(
    context: PageContext,
    account: Account,
    complaints: Mapping[str, str] | None = None,
    alert: str | None = None,
) -> Response:
    """Return the page, with errors of a form that was just sent."""
    tools = context.tools
    desk, now = tools.desk, tools.now_ms()
    today = civil_day(now)
    first = today - timedelta(days=DAYS - 1)
    number, month = account.account_id, civil_month(now)
    totals = await asyncio.to_thread(desk.totals.read, number, first, today, ("day", "origin"))
    books = await asyncio.to_thread(desk.totals.books, number, first, today)
    return context.page(
        "operador/conta.html",
        422 if complaints or alert else 200,
        account=account,
        plan=PLAN_WORDS[account.plan],
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
        message=_opened(account)
        if context.query("feito") == "criada"
        else _DONE.get(context.query("feito")),
        alert=alert,
    )


def _opened(account: Account) -> str:
    """Return the message for an account just opened without a user, with the next step."""
    if account.balance_credits:
        what = f"Conta {account.name} criada, {credits(account.balance_credits)}."
    elif account.plan == "pos_pago":
        what = f"Conta {account.name} criada."
    else:
        what = f"Conta {account.name} criada, ainda sem créditos: lance os primeiros abaixo."
    return f"{what} Depois, convide um usuário em Usuários ou crie uma chave em Chaves."


async def change_terms(context: PageContext, account: Account, base: str) -> Response:
    """Change plan, certificates, opt-in and ceiling."""
    signed, typed, now = once(context), read(TermsForm, context.form), context.now_ms()
    if not isinstance(typed, TermsForm):
        return await _shown(context, account, typed)
    change = context.desk.people.change_account
    try:
        code = await done(change(account.account_id, typed.terms, signed, now), "termos")
    except TermsRefused:
        return await _shown(context, account, alert=_why_refused(account, typed.terms, now))
    return context.redirect(base, feito=code)


def _why_refused(account: Account, terms: Terms, now_ms: int) -> str:
    """Explain which amount of the account rules out these terms."""
    if terms.plan != "pos_pago" and account.balance_credits < account.held_credits:
        return (
            f"O plano {PLAN_WORDS[terms.plan]} não aceita saldo negativo. O saldo desta conta é de"
            f" {whole(account.balance_credits)}, com {whole(account.held_credits)} reservados por"
            " consultas em andamento. Lance antes os créditos que faltam."
        )
    spent = spent_credits(account, civil_month(now_ms))
    return (
        f"O limite não pode ser menor que o valor já usado: {whole(spent)} neste mês e"
        f" {whole(account.held_credits)} reservados por consultas em andamento."
    )


async def add_credits(context: PageContext, account: Account, base: str) -> Response:
    """Add credits, or take them back. Idempotent per form."""
    signed, typed = once(context), read(CreditsForm, context.form)
    if not isinstance(typed, CreditsForm):
        return await _shown(context, account, typed)
    changes = top_up(account, typed.credits, typed.reason, signed, context.now_ms())
    match await context.desk.commit(changes):
        case None:
            return context.redirect(base, feito="creditos")
        case DoneBefore():
            return context.redirect(base, feito="ja")
        case InsufficientFunds(needed_credits=needed, available_credits=available):
            text = (
                f"Não é possível retirar {whole(needed)}. Disponíveis: {whole(available)} (o"
                " saldo menos as reservas de consultas em andamento)."
            )
            return await _shown(context, account, {"creditos": text})
        case other:
            raise AssertionError(other)


async def ask_to_suspend(context: PageContext, account: Account, base: str) -> Response:
    """Ask for confirmation before the account is suspended."""
    if account.suspended_ms is not None:
        return context.redirect(base)
    return context.page(
        "operador/confirmar.html",
        question=f"Suspender a conta {account.name}?",
        consequences=(
            "Em um segundo, todas as chaves passam a ser recusadas.",
            "Os usuários ainda podem entrar e ver o extrato, mas não podem consultar.",
            "Créditos, chaves e histórico não mudam. Para desfazer, basta reativar a conta.",
        ),
        button="Suspender a conta",
        href=f"{base}/suspender",
        back=base,
        crumbs=(("Contas", ACCOUNTS), (account.name, base), ("Suspender", None)),
    )


async def suspend(context: PageContext, account: Account, base: str) -> Response:
    """Suspend the account: refuse its keys and its users' lookups."""
    return context.redirect(base, feito=await done(_suspend(context, account, True), "suspensa"))


async def resume(context: PageContext, account: Account, base: str) -> Response:
    """Resume the account."""
    return context.redirect(base, feito=await done(_suspend(context, account, False), "reativada"))


def _suspend(context: PageContext, account: Account, suspended: bool) -> Awaitable[object]:
    people, signed = context.desk.people, once(context)
    return people.suspend_account(account.account_id, suspended, signed, context.now_ms())


async def totp_off(context: PageContext, account: Account, base: str) -> Response:
    """Turn off the second factor of a user who lost their phone."""
    write = turn_totp_off(context, member(context, account))
    return context.redirect(base, feito=await done(write, "sem-totp"))
