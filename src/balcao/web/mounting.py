"""Pages of one account, mounted for its managers and for those who run the service.

Such a page is given the visit, the account, and the address that its family lies under:
`/app/chaves` for a manager, `/app/operador/contas/7/chaves` for an operator.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TypeAlias

from starlette.responses import Response

from balcao.core.access import Account
from balcao.errors import FormDone
from balcao.web.application import Answer, Page, page
from balcao.web.visit import Instead, Visit

ACCOUNTS = "/app/operador/contas"

OfAccount: TypeAlias = Callable[[Visit, Account, str], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class AccountPage:
    """A page of an account, wherever it is mounted. The name gets the mount's prefix."""

    name: str
    answer: OfAccount
    below: str = ""  # the family's address
    method: str = "GET"


def for_managers(family: str, pages: Sequence[AccountPage]) -> Sequence[Page]:
    """These pages of the visitor's own account, below `/app`."""
    base = f"/app{family}"

    def mounted(answer: OfAccount) -> Answer:
        @wraps(answer)
        async def own(visit: Visit) -> Response:
            return await answer(visit, visit.account, base)

        return own

    return [
        page(
            base + each.below,
            f"app:{each.name}",
            "manager",
            mounted(each.answer),
            method=each.method,
        )
        for each in pages
    ]


def for_operators(family: str, pages: Sequence[AccountPage]) -> Sequence[Page]:
    """These pages of any account, below the operators' page of it."""

    def mounted(answer: OfAccount) -> Answer:
        @wraps(answer)
        async def of_any(visit: Visit) -> Response:
            account = _account_in(visit)
            return await answer(visit, account, f"{ACCOUNTS}/{account.account_id}{family}")

        return of_any

    base = f"{ACCOUNTS}/{{account_id:int}}{family}"
    return [
        page(
            base + each.below,
            f"operador:{each.name}",
            "operator",
            mounted(each.answer),
            method=each.method,
        )
        for each in pages
    ]


def for_both(family: str, pages: Sequence[AccountPage]) -> Sequence[Page]:
    """The same pages for an account's managers and for operators."""
    return [*for_managers(family, pages), *for_operators(family, pages)]


def _account_in(visit: Visit) -> Account:
    """The account that the address names."""
    try:
        return visit.tools.desk.account(int(visit.request.path_params["account_id"]))
    except (LookupError, OverflowError):
        text = "Não há conta com esse número. Procure-a na lista de contas."
        raise Instead(visit.missing("Conta não encontrada", text)) from None


async def done(deed: Awaitable[object], said: str, again: str = "ja") -> str:
    """Do it, and what is told of it: `again` where this very form had been carried out before."""
    try:
        await deed
    except FormDone:
        return again
    return said
