"""Pages of one account, mounted twice: for its managers and for operators.

A page receives the context, the account and the base address of its family: `/app/chaves` for a
manager, `/app/operador/contas/7/chaves` for an operator.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TypeAlias

from starlette.responses import Response

from balcao.core.access import Account
from balcao.core.errors import FormDone
from balcao.web.kit.application import Answer, Page
from balcao.web.kit.context import Audience, PageContext

ACCOUNTS = "/app/operador/contas"
_NUMBER = "{account_id:int}"

AccountAnswer: TypeAlias = Callable[[PageContext, Account, str], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class AccountPage:
    """A page of an account. Mounting prefixes its name."""

    name: str
    answer: AccountAnswer
    below: str = ""  # relative to the family's address
    method: str = "GET"


def for_operators(*pages: AccountPage, family: str = "") -> Sequence[Page]:
    """Mount these pages below the operators' page of an account."""
    return _mounted(pages, f"{ACCOUNTS}/{_NUMBER}{family}", "operador", "operator", _account_in)


def for_managers_and_operators(family: str, *pages: AccountPage) -> Sequence[Page]:
    """Mount these pages for an account's managers below `/app`, and for operators."""
    own = _mounted(pages, f"/app{family}", "app", "manager", lambda context: context.account)
    return [*own, *for_operators(*pages, family=family)]


def _mounted(
    pages: Sequence[AccountPage],
    base: str,
    prefix: str,
    audience: Audience,
    account_of: Callable[[PageContext], Account],
) -> Sequence[Page]:
    def bind(answer: AccountAnswer) -> Answer:
        @wraps(answer)
        async def respond(context: PageContext) -> Response:
            account = account_of(context)
            address = base.replace(_NUMBER, str(account.account_id))
            return await answer(context, account, address)

        return respond

    return [
        Page(base + page.below, f"{prefix}:{page.name}", audience, bind(page.answer), page.method)
        for page in pages
    ]


def _account_in(context: PageContext) -> Account:
    try:
        return context.desk.account(int(context.request.path_params["account_id"]))
    except (LookupError, OverflowError):
        text = "Não há conta com esse número. Procure na lista de contas."
        raise context.not_found("Conta não encontrada", text) from None


async def done(write: Awaitable[object], code: str, repeated_code: str = "ja") -> str:
    """Await a write and return `code`; `repeated_code` if this form was carried out before."""
    try:
        await write
    except FormDone:
        return repeated_code
    return code
