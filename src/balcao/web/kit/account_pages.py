"""Pages of one account, mounted for its managers and for those who run the service.

Such a page is given the context, the account, and the address that its family lies under:
`/app/chaves` for a manager, `/app/operador/contas/7/chaves` for an operator.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TypeAlias

from starlette.responses import Response

from balcao.core.access import Account
from balcao.core.errors import FormDone
from balcao.web.kit.application import Answer, Page
from balcao.web.kit.context import PageContext, Who

ACCOUNTS = "/app/operador/contas"
_NUMBER = "{account_id:int}"

OfAccount: TypeAlias = Callable[[PageContext, Account, str], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class AccountPage:
    """A page of an account, wherever it is mounted. The name gets the mount's prefix."""

    name: str
    answer: OfAccount
    below: str = ""  # the family's address
    method: str = "GET"


def for_operators(*pages: AccountPage, family: str = "") -> Sequence[Page]:
    """These pages of any account, below the operators' page of it."""
    return _mounted(pages, f"{ACCOUNTS}/{_NUMBER}{family}", "operador", "operator", _account_in)


def for_both(family: str, *pages: AccountPage) -> Sequence[Page]:
    """Return these pages twice: for an account's managers below `/app`, and for operators."""
    own = _mounted(pages, f"/app{family}", "app", "manager", lambda context: context.account)
    return [*own, *for_operators(*pages, family=family)]


def _mounted(
    pages: Sequence[AccountPage],
    base: str,
    prefix: str,
    who: Who,
    account_of: Callable[[PageContext], Account],
) -> Sequence[Page]:
    def mounted(answer: OfAccount) -> Answer:
        @wraps(answer)
        async def placed(context: PageContext) -> Response:
            account = account_of(context)
            here = base.replace(_NUMBER, str(account.account_id))
            return await answer(context, account, here)

        return placed

    return [
        Page(base + of.below, f"{prefix}:{of.name}", who, mounted(of.answer), of.method)
        for of in pages
    ]


def _account_in(context: PageContext) -> Account:
    """The account that the address names."""
    try:
        return context.desk.account(int(context.request.path_params["account_id"]))
    except (LookupError, OverflowError):
        text = "Não há conta com esse número. Procure-a na lista de contas."
        raise context.missing("Conta não encontrada", text) from None


async def done(write: Awaitable[object], said: str, again: str = "ja") -> str:
    """Await a write and return `said`; `again` if this form was carried out before."""
    try:
        await write
    except FormDone:
        return again
    return said
