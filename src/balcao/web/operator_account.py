"""`/app/operador/contas/{account_id}`: one account, its terms, its credits, and its history."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import timedelta

from starlette.responses import Response

from balcao.core.access import Account
from balcao.core.calendar import civil_day, civil_month, day_starts_ms
from balcao.core.ledger import DoneBefore, Short, available_credits, spent_credits
from balcao.core.terms import credits_problem, reason_problem, top_up
from balcao.errors import FormDone, TermsRefused
from balcao.storage.contract import LedgerEntry
from balcao.storage.desk.desk import Desk
from balcao.storage.people import Terms, TraceFilter
from balcao.web.application import Page, page
from balcao.web.drawing import bars_by_day
from balcao.web.history import names_of
from balcao.web.operator_accounts import last_use_ms
from balcao.web.operator_forms import (
    MODES,
    account_in,
    no_account,
    once,
    sentence,
    typed_again,
    typed_terms,
    whole_number,
)
from balcao.web.spending import bars_of
from balcao.web.texts import whole
from balcao.web.visit import Visit
from balcao.web.vocabulary import PLANS

DAYS = 30  # of the chart and of the ledger
ENTRIES_MAX = 30
TRACES_MAX = 100

_PATH = "/app/operador/contas/{account_id:int}"
_END_OF_TIME_MS = 2**62

_DONE: Mapping[str, str] = {
    "criada": "Conta criada. Falta dar créditos (fora do pós-pago), uma chave ou usuários.",
    "ja": "Este formulário já tinha sido enviado; foi feito uma vez só.",
    "termos": "Termos alterados. Valem em toda parte em um segundo.",
    "creditos": "Créditos lançados.",
    "suspensa": "Conta suspensa: as chaves são recusadas e os usuários não consultam.",
    "reativada": "Conta reativada.",
    "sem-totp": "Segundo fator do usuário desligado. Na próxima entrada basta a senha.",
}


def pages() -> Sequence[Page]:
    """The addresses of this file."""
    return (
        page(_PATH, "operador:conta", "operator", show),
        page(f"{_PATH}/termos", "operador:termos", "operator", change_terms, method="POST"),
        page(f"{_PATH}/creditos", "operador:creditos", "operator", add_credits, method="POST"),
        page(f"{_PATH}/suspender", "operador:suspender", "operator", ask_to_suspend),
        page(f"{_PATH}/suspender", "operador:suspender", "operator", suspend, method="POST"),
        page(f"{_PATH}/reativar", "operador:reativar", "operator", resume, method="POST"),
        page(f"{_PATH}/historico", "operador:historico", "operator", history),
    )


async def show(visit: Visit) -> Response:
    """Everything about the account that is not a key, a user or a request."""
    account = account_in(visit)
    if account is None:
        return no_account(visit)
    return await _shown(visit, account)


async def _shown(visit: Visit, account: Account, **errors: str) -> Response:
    """The page, with what is wrong with a form that was just sent."""
    tools = visit.tools
    desk, now = tools.desk, tools.now_ms()
    first = civil_day(now) - timedelta(days=DAYS - 1)
    begins_ms = day_starts_ms(first)
    number, month = account.account_id, civil_month(now)
    rows = await asyncio.to_thread(desk.consumption, number, begins_ms, now + 1)
    entries = await asyncio.to_thread(_last_top_ups, desk, number, begins_ms)
    return visit.page(
        "operador/conta.html",
        422 if errors else 200,
        account=account,
        plan=PLANS[account.plan],
        mode=MODES[account.mode],
        available=available_credits(account, month),
        spent=spent_credits(account, month),
        used_ms=last_use_ms(tools, number),
        chart=bars_by_day(bars_of(rows, first, DAYS), wide=True),
        spent_in_chart=sum(row.credits for row in rows),
        days=DAYS,
        entries=entries,
        with_totp=[user for user in desk.people.users(number) if user.has_totp],
        typed=typed_again(visit, ("plano", "certidoes", "optin", "teto", "creditos", "motivo")),
        errors=errors,
        message=_DONE.get(visit.query("feito")),
        alert=errors.get("todo"),
    )


def _last_top_ups(desk: Desk, account_id: int, from_ms: int) -> Sequence[LedgerEntry]:
    """What operators gave and took, newest first. Reads all entries of the time."""
    entries = desk.entries(account_id, from_ms, _END_OF_TIME_MS)
    given = deque((entry for entry in entries if entry.kind == "top_up"), maxlen=ENTRIES_MAX)
    return list(reversed(given))


def _address(account: Account) -> str:
    return f"/app/operador/contas/{account.account_id}"


async def change_terms(visit: Visit) -> Response:
    """Plan, certificates, opt-in and ceiling."""
    account = account_in(visit)
    if account is None:
        return no_account(visit)
    signed = once(visit)
    terms, errors = typed_terms(visit)
    if terms is None:
        return await _shown(visit, account, **errors)
    now = visit.tools.now_ms()
    people = visit.tools.desk.people
    try:
        await people.change_account(account.account_id, terms, signed, now)
    except TermsRefused:
        return await _shown(visit, account, todo=_why_refused(account, terms, now))
    except FormDone:
        return visit.redirect(_address(account), feito="ja")
    return visit.redirect(_address(account), feito="termos")


def _why_refused(account: Account, terms: Terms, now_ms: int) -> str:
    """The account forbids these terms: which of its figures does."""
    if terms.plan != "pos_pago" and account.balance_credits < account.held_credits:
        return (
            f"No plano {PLANS[terms.plan]} ninguém deve, e o saldo desta conta é de"
            f" {whole(account.balance_credits)}, com {whole(account.held_credits)} retidos por"
            " consultas em andamento. Lance antes os créditos que faltam."
        )
    spent = spent_credits(account, civil_month(now_ms))
    return (
        f"O teto não pode ser menor do que já foi usado: {whole(spent)} neste mês, e"
        f" {whole(account.held_credits)} retidos por consultas em andamento."
    )


async def add_credits(visit: Visit) -> Response:
    """Give credits, or take them back. Once, however often it is sent."""
    account = account_in(visit)
    if account is None:
        return no_account(visit)
    signed = once(visit)
    credits, reason = whole_number(visit.typed("creditos")), visit.typed("motivo")
    errors: dict[str, str] = {}
    if credits is None:
        errors["creditos"] = "Escreva um número inteiro, como 1000 ou -50."
    elif problem := credits_problem(credits):
        errors["creditos"] = sentence(problem)
    if problem := reason_problem(reason):
        errors["motivo"] = sentence(problem)
    if credits is None or errors:
        return await _shown(visit, account, **errors)
    changes = top_up(account, credits, reason, signed, visit.tools.now_ms())
    match await visit.tools.desk.commit(changes):
        case None:
            return visit.redirect(_address(account), feito="creditos")
        case DoneBefore():
            return visit.redirect(_address(account), feito="ja")
        case Short(needed_credits=needed, available_credits=available):
            text = (
                f"Não é possível retirar {whole(needed)}: há {whole(available)} disponíveis"
                " (o saldo, menos o que está retido por consultas em andamento)."
            )
            return await _shown(visit, account, creditos=text)
        case other:
            raise AssertionError(other)


async def ask_to_suspend(visit: Visit) -> Response:
    """Whether it is meant."""
    account = account_in(visit)
    if account is None:
        return no_account(visit)
    if account.suspended_ms is not None:
        return visit.redirect(_address(account))
    return visit.page(
        "operador/confirmar.html",
        question=f"Suspender a conta {account.name}?",
        consequences=(
            "Todas as chaves passam a ser recusadas, em toda parte, em um segundo.",
            "Os usuários ainda entram e veem o extrato, mas não consultam.",
            "Créditos, chaves e histórico ficam como estão; reativar desfaz tudo.",
        ),
        button="Suspender a conta",
        href=f"{_address(account)}/suspender",
        back=_address(account),
        crumbs=_crumbs(account, "Suspender"),
    )


async def suspend(visit: Visit) -> Response:
    """Refuse its keys and its users' lookups."""
    return await _suspended(visit, True)


async def resume(visit: Visit) -> Response:
    """Accept them again."""
    return await _suspended(visit, False)


async def _suspended(visit: Visit, suspended: bool) -> Response:
    account = account_in(visit)
    if account is None:
        return no_account(visit)
    signed, now = once(visit), visit.tools.now_ms()
    people = visit.tools.desk.people
    try:
        await people.suspend_account(account.account_id, suspended, signed, now)
    except FormDone:
        return visit.redirect(_address(account), feito="ja")
    return visit.redirect(_address(account), feito="suspensa" if suspended else "reativada")


async def history(visit: Visit) -> Response:
    """The account's last consultations, to help whoever asks about one."""
    account = account_in(visit)
    if account is None:
        return no_account(visit)
    before = visit.query("antes") or None
    # One more than is shown tells whether there are older ones.
    traces = await asyncio.to_thread(
        visit.tools.desk.people.traces,
        account.account_id,
        TraceFilter(0, _END_OF_TIME_MS),
        TRACES_MAX + 1,
        before,
    )
    shown = traces[:TRACES_MAX]
    names = names_of(visit, account.account_id)
    path = f"{_address(account)}/historico"
    more = len(traces) > TRACES_MAX
    return visit.page(
        "operador/historico.html",
        account=account,
        rows=[names.row(trace) for trace in shown],
        older=f"{path}?antes={shown[-1].request_id}" if more else None,
        newer=path if before else None,
        crumbs=_crumbs(account, "Histórico"),
    )


def _crumbs(account: Account, here: str) -> Sequence[tuple[str, str | None]]:
    return (("Contas", "/app/operador/contas"), (account.name, _address(account)), (here, None))
