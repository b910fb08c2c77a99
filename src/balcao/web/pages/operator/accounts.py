"""`/app/operador/contas`: all accounts, and opening a new one."""

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.responses import Response

from balcao.core.access import PLAN_WORDS, Account
from balcao.core.calendar import civil_month
from balcao.core.errors import EmailTaken, FormDone, NameTaken
from balcao.core.ledger import DoneBefore, available_credits, spent_credits
from balcao.core.people import Signature
from balcao.core.terms import top_up
from balcao.storage.contract import NewAccount
from balcao.storage.people import NewUser
from balcao.web.kit import guard
from balcao.web.kit.account_pages import ACCOUNTS
from balcao.web.kit.context import PageContext
from balcao.web.kit.ordering import OrderBy, ordering_of
from balcao.web.kit.tools import Tools
from balcao.web.kit.typed import read
from balcao.web.kit.words.vocabulary import MODES
from balcao.web.pages.members import new_link
from balcao.web.pages.operator.forms import NewAccountForm, once

PER_PAGE = 50
NEW_LINK_SECONDS = 60


@dataclass(frozen=True, slots=True)
class AccountRow:
    """One line of the list. In credits; `available` is None if there is no limit."""

    account: Account
    plan: str
    mode: str
    available: int | None
    spent: int  # in this civil month
    used_ms: int | None


@dataclass(frozen=True, slots=True)
class Filter:
    """The filters of the list of accounts; empty texts mean all."""

    name: str
    plan: str
    mode: str
    state: str  # ativa, suspensa

    def admits(self, account: Account) -> bool:
        return (
            (
                self.name.casefold() in account.name.casefold()
                or self.name == f"{account.account_id}"
            )
            and self.plan in ("", account.plan)
            and self.mode in ("", account.mode)
            and self.state in ("", "ativa" if account.suspended_ms is None else "suspensa")
        )


async def show(context: PageContext) -> Response:
    """Show the list, by number or in the chosen order, page by page."""
    wanted = Filter(
        context.query("nome"),
        context.query("plano"),
        context.query("tipo"),
        context.query("estado"),
    )
    accounts = context.desk.accounts()
    month = civil_month(context.now_ms())
    orders: Mapping[str, OrderBy[Account]] = {
        "nome": OrderBy(lambda account: account.name),
        "numero": OrderBy(lambda account: account.account_id),
        "plano": OrderBy(lambda account: PLAN_WORDS[account.plan]),
        "tipo": OrderBy(lambda account: account.mode),
        "saldo": OrderBy(lambda account: account.balance_credits),
        "disponivel": OrderBy(lambda account: available_credits(account, month)),
        "gasto": OrderBy(lambda account: spent_credits(account, month), largest_first=True),
    }
    order = ordering_of(context, orders, "numero", paging=("de",))
    found = order.apply([account for account in accounts if wanted.admits(account)])
    asked = context.query("de")
    at = int(asked) if asked.isdecimal() and len(asked) < 9 else 0
    return context.page(
        "operador/contas.html",
        rows=[_row(account, context.tools) for account in found[at : at + PER_PAGE]],
        found=len(found),
        all=len(accounts),
        wanted=wanted,
        order=order,
        older=order.page("de", at + PER_PAGE) if at + PER_PAGE < len(found) else None,
        newer=order.page("de", max(at - PER_PAGE, 0)) if at else None,
        plans=PLAN_WORDS,
        modes=MODES,
    )


def _row(account: Account, tools: Tools) -> AccountRow:
    month = civil_month(tools.now_ms())
    return AccountRow(
        account,
        PLAN_WORDS[account.plan],
        MODES[account.mode],
        available_credits(account, month),
        spent_credits(account, month),
        last_use_ms(tools, account.account_id),
    )


def last_use_ms(tools: Tools, account_id: int) -> int | None:
    """Return when a key or user of the account was last active, to a minute."""
    keys, users = tools.desk.keys(account_id), tools.desk.people.users(account_id)
    seen = [key.last_used_ms for key in keys] + [user.seen_ms for user in users]
    return max((at_ms for at_ms in seen if at_ms is not None), default=None)


async def blank(context: PageContext) -> Response:
    """Show the form."""
    return context.page("operador/conta_nova.html")


def _wrong(context: PageContext, complaints: Mapping[str, str]) -> Response:
    return context.page("operador/conta_nova.html", 422, complaints=complaints)


async def create(context: PageContext) -> Response:
    """Open an account; live or for tests, which never changes."""
    signed, typed = once(context), read(NewAccountForm, context.form)
    if not isinstance(typed, NewAccountForm):
        return _wrong(context, typed)
    terms, desk = typed.terms, context.desk
    new = NewAccount(
        typed.name,
        terms.plan,
        typed.mode,
        terms.certificates,
        terms.partner_optin,
        terms.ceiling_credits,
    )
    code = "criada"
    try:
        account = desk.create_account(new, context.now_ms(), signed)
    except NameTaken:
        return _wrong(context, {"nome": "Já existe uma conta com este nome."})
    except FormDone:  # a repeated form: complete the steps after this one
        known = next((one for one in desk.accounts() if one.name == typed.name), None)
        if known is None:
            return context.redirect(ACCOUNTS)
        account, code = known, "ja"
    await _first_credits(context, account, typed, signed)
    here = f"{ACCOUNTS}/{account.account_id}"
    if not typed.manager_email:
        return context.redirect(here, feito=code)
    return await _first_person(context, account, typed, signed) or context.redirect(
        here, feito=code
    )


def _step_signature(signed: Signature, step: str) -> Signature:
    """Derive the signature, with its idempotency key, of one step of the form."""
    return Signature(signed.channel, signed.user_id, f"{signed.form_id}.{step}")


async def _first_credits(
    context: PageContext, account: Account, typed: NewAccountForm, signed: Signature
) -> None:
    if typed.credits:
        now, reason = context.now_ms(), "créditos iniciais"
        changes = top_up(account, typed.credits, reason, _step_signature(signed, "c"), now)
        refusal = await context.desk.commit(changes)
        assert refusal is None or isinstance(refusal, DoneBefore), refusal


async def _first_person(
    context: PageContext, account: Account, typed: NewAccountForm, signed: Signature
) -> Response | None:
    """Add a manager and redirect to the account's page, which shows their link, once.

    None: this form added them before.
    """
    new = NewUser(typed.manager_email, typed.manager_name, "manager", account.account_id)
    base = f"{ACCOUNTS}/{account.account_id}/usuarios"
    people, now = context.desk.people, context.now_ms()
    try:
        user = await people.add_user(new, _step_signature(signed, "p"), now)
    except FormDone:
        return None
    except EmailTaken:
        return context.redirect(base, feito="email")
    token = await new_link(context, user, None, is_new=True)
    response = context.redirect(f"{ACCOUNTS}/{account.account_id}")
    guard.set_cookie(
        response, guard.NEW_LINK, token, secure=context.is_secure, max_age=NEW_LINK_SECONDS
    )
    return response
