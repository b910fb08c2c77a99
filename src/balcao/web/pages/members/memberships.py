"""Operators' memberships in an account, and the role that an operator acts in (contract 7.6).

Operators give memberships on the page of an account's users; its managers see them there, and may
remove them. An operator cannot remove the membership they act by. The member stays an operator: an
account's managers can neither suspend them nor make a link for their password.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field
from starlette.responses import Response

from balcao.core.access import Account
from balcao.core.people import MembershipRole
from balcao.web.kit import filters
from balcao.web.kit.account_pages import ACCOUNTS, done
from balcao.web.kit.context import PageContext
from balcao.web.kit.returning import HOME
from balcao.web.kit.typed import TypedForm, one_of, read
from balcao.web.kit.words.vocabulary import ROLES

_NOT_A_MEMBER = (
    "Você não tem mais acesso a essa conta. Peça a outro operador ou adicione-se de novo."
)
_NO_OPERATOR = "Escolha um dos operadores."
_IN_USE = (
    "Você está usando este acesso agora. No menu com o seu nome, volte a ser operador e remova o"
    " acesso pela página da conta."
)


class MembershipForm(TypedForm):
    """An operator, and the role that a membership gives them."""

    operator: Annotated[str, Field(alias="operador")]
    role: Annotated[MembershipRole, one_of(ROLES, "Escolha um dos papéis.")] = Field(alias="papel")


def page_values(context: PageContext, account: Account) -> Mapping[str, object]:
    """Return the values about memberships for the page of an account's users."""
    desk = context.desk
    held = desk.memberships.within(account.account_id)
    operators = desk.people.users(None)
    names = {user.user_id: user.name for user in operators}
    return {
        "memberships": [
            (each, names.get(each.user_id, f"operador {each.user_id}")) for each in held
        ],
        "memberships_path": f"{ACCOUNTS}/{account.account_id}/lugares"
        if context.person.is_operator
        else "/app/lugares",
        "operators": operators if context.person.is_operator else (),
    }


async def give(context: PageContext, account: Account, base: str) -> Response:
    """Add an operator to the account. With `sentar`, the operator switches to it at once."""
    typed, form_id = read(MembershipForm, context.form), context.typed("form_id")
    if not isinstance(typed, MembershipForm) or not form_id:
        return context.problem(422, "Operador não adicionado", _NO_OPERATOR)
    user_id = int(typed.operator) if filters.is_number(typed.operator) else 0
    write = context.desk.memberships.give(
        user_id, account.account_id, typed.role, context.signature(form_id), context.now_ms()
    )
    try:
        code = await done(write, "lugar", "antes")
    except LookupError:
        return context.problem(422, "Operador não adicionado", _NO_OPERATOR)
    if user_id == context.person.user.user_id and context.typed("sentar") == "1":
        return await _act_by(context, account.account_id, "/app/consultas")
    return context.redirect(_users(base), feito=code)


async def take(context: PageContext, account: Account, base: str) -> Response:
    """Remove a membership."""
    number, form_id = context.request.path_params["user_id"], context.typed("form_id")
    if not filters.is_number(number) or not form_id:
        return context.problem(422, "Nada foi feito", _NO_OPERATOR)
    person = context.person
    if person.session.membership is not None and int(number) == person.user.user_id:
        return context.problem(422, "Nada foi feito", _IN_USE)
    write = context.desk.memberships.take(
        int(number), account.account_id, context.signature(form_id), context.now_ms()
    )
    return context.redirect(_users(base), feito=await done(write, "sem-lugar", "antes"))


async def change_acting_role(context: PageContext) -> Response:
    """Act in this browser as member of the account `conta`; without one, as an operator again."""
    asked = context.typed("conta")
    if not asked:
        return await _act_by(context, None, HOME)
    return await _act_by(context, int(asked) if filters.is_number(asked) else -1, HOME)


async def _act_by(context: PageContext, account_id: int | None, to: str) -> Response:
    person = context.person
    changed = await context.desk.memberships.act_in(
        person.session.session_id, person.user.user_id, account_id
    )
    return (
        context.redirect(to)
        if changed
        else context.problem(403, "Sem acesso a esta conta", _NOT_A_MEMBER)
    )


def _users(base: str) -> str:
    """Return the address of the account's users, a sibling of `base`."""
    return f"{base.rpartition('/')[0]}/usuarios"
