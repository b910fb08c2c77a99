"""The users of an account: add, change, suspend, resume, send a link.

For its managers below `/app/usuarios`, for operators below their page of the account. Managers can
neither suspend nor demote themselves.
"""

from collections.abc import Mapping
from functools import partial
from typing import Annotated

from pydantic import Field
from starlette.responses import Response

from balcao.accounts.links import LINK_HOURS, make_link
from balcao.core.access import Account
from balcao.core.addresses import one_time_link
from balcao.core.errors import EmailTaken, FormDone
from balcao.core.people import MembershipRole, Signature, User, normal_email
from balcao.storage.people import NewUser
from balcao.web.kit import filters
from balcao.web.kit.account_pages import done
from balcao.web.kit.context import PageContext
from balcao.web.kit.ordering import OrderBy, ordering_of
from balcao.web.kit.typed import EMAIL, NAME, TypedForm, one_of, read
from balcao.web.kit.words.vocabulary import ROLES
from balcao.web.pages.members import memberships

_DONE: Mapping[str, str] = {
    "mudado": "Usuário alterado.",
    "suspenso": "Usuário suspenso. As sessões foram encerradas.",
    "retomado": "Usuário reativado.",
    "lugar": "Operador adicionado. Ele troca para esta conta no menu com o seu nome.",
    "email": "A conta foi criada, mas o usuário não: esse e-mail já está em uso. Convide a pessoa"
    " com outro e-mail ou, se for um operador, adicione-o à conta.",
    "sem-lugar": "Acesso do operador removido.",
    "antes": "Este formulário já tinha sido enviado. Nada foi feito de novo.",
}
_LINK_DONE = (
    "Este formulário já tinha sido enviado. O usuário foi criado e o link já foi mostrado. Se"
    " você não guardou o link, abra o usuário na lista e gere outro."
)
_TAKEN = "Este e-mail já está em uso, nesta conta ou em outra."
_TAKEN_BY_OPERATOR = (
    "Este e-mail é de um operador. Adicione-o a esta conta no outro formulário. Ele entra com a"
    " senha que já tem."
)
_NOT_YOURSELF = (
    "Você não pode suspender o próprio acesso nem deixar de ser gestor. Peça a outro gestor ou ao"
    " operador do serviço."
)
_NO_LINK = "Um usuário suspenso não pode usar o link. Reative o usuário antes."


_ORDERS: Mapping[str, OrderBy[User]] = {
    "nome": OrderBy(lambda user: user.name),
    "email": OrderBy(lambda user: user.email),
    "papel": OrderBy(lambda user: user.role),
    "acesso": OrderBy(lambda user: user.seen_ms, largest_first=True),
}


class MemberForm(TypedForm):
    """The name and the role of an account's user."""

    name: Annotated[str, NAME] = Field(alias="nome")
    role: Annotated[MembershipRole, one_of(ROLES, "Escolha um dos papéis.")] = Field(alias="papel")


class NewMemberForm(MemberForm):
    """A new user."""

    email: Annotated[str, EMAIL]


async def show(context: PageContext, account: Account, base: str) -> Response:
    """Show the list, and the form for a new user."""
    return _listed(context, account, base, message=_DONE.get(context.query("feito")))


async def add(context: PageContext, account: Account, base: str) -> Response:
    """Add a user, and show the link for setting their password, once."""
    typed, form_id = read(NewMemberForm, context.form), context.typed("form_id")
    if not isinstance(typed, NewMemberForm):
        return _listed(context, account, base, 422, complaints=typed)
    if not form_id:
        return _listed(context, account, base, 422)
    new = NewUser(typed.email, typed.name, typed.role, account.account_id)
    try:
        user = await context.desk.people.add_user(new, context.signature(form_id), context.now_ms())
    except FormDone:
        return _listed(context, account, base, 409, alert=_LINK_DONE, typed={})
    except EmailTaken:
        return _listed(
            context, account, base, 422, complaints={"email": _taken(context, typed.email)}
        )
    return await with_link(context, user, base, None, is_new=True)


def _taken(context: PageContext, email: str) -> str:
    """Return the complaint for a taken e-mail; only operators learn that its owner is one."""
    operators = context.desk.people.users(None) if context.person.is_operator else ()
    known = any(normal_email(user.email) == normal_email(email) for user in operators)
    return _TAKEN_BY_OPERATOR if known else _TAKEN


async def show_one(context: PageContext, account: Account, base: str) -> Response:
    """Show one user, and the actions on them."""
    return _shown(context, member(context, account), base)


async def change(context: PageContext, account: Account, base: str) -> Response:
    """Change a user's name or role."""
    user, typed = member(context, account), read(MemberForm, context.form)
    if not isinstance(typed, MemberForm):
        return _shown(context, user, base, 422, complaints=typed)
    if _is_self(context, user) and typed.role != user.role:
        return _shown(context, user, base, 422, alert=_NOT_YOURSELF)
    write = context.desk.people.change_user(
        user.user_id, typed.name, typed.role, _signed(context), context.now_ms()
    )
    return context.redirect(base, feito=await done(write, "mudado", "antes"))


async def suspend(context: PageContext, account: Account, base: str) -> Response:
    """Suspend a user, effective at once."""
    user = member(context, account)
    if _is_self(context, user):
        return _shown(context, user, base, 422, alert=_NOT_YOURSELF)
    write = context.desk.people.suspend_user(user.user_id, True, _signed(context), context.now_ms())
    return context.redirect(base, feito=await done(write, "suspenso", "antes"))


async def resume(context: PageContext, account: Account, base: str) -> Response:
    """Resume a user, with their former password."""
    write = context.desk.people.suspend_user(
        member(context, account).user_id, False, _signed(context), context.now_ms()
    )
    return context.redirect(base, feito=await done(write, "retomado", "antes"))


async def send_link(context: PageContext, account: Account, base: str) -> Response:
    """Make a new link, for a password that was forgotten or never set; earlier links are void."""
    user, form_id = member(context, account), context.typed("form_id")
    if user.suspended_ms is not None:
        return _shown(context, user, base, 422, alert=_NO_LINK)
    if not form_id:
        return _shown(context, user, base, 422)
    try:
        return await with_link(context, user, base, form_id, is_new=False)
    except FormDone:
        return _shown(context, user, base, 409, alert=_LINK_DONE)


def member(context: PageContext, account: Account) -> User:
    """Return the user of the address, if they belong to this account."""
    number = context.request.path_params["user_id"]
    user = context.desk.people.user(int(number)) if filters.is_number(number) else None
    if user is None or user.account_id != account.account_id:
        text = "Esta conta não tem um usuário com este número."
        raise context.not_found("Usuário não encontrado", text)
    return user


def _signed(context: PageContext) -> Signature:
    return context.signature(context.typed("form_id"))


def _is_self(context: PageContext, user: User) -> bool:
    return user.user_id == context.person.user.user_id


async def with_link(
    context: PageContext, user: User, base: str, form_id: str | None, *, is_new: bool
) -> Response:
    """Make a link, send it if there is a mail server, and show it, once. Raises `FormDone`."""
    token = await new_link(context, user, form_id, is_new=is_new)
    return link_page(context, user, base, token, is_new=is_new)


async def new_link(context: PageContext, user: User, form_id: str | None, *, is_new: bool) -> str:
    """Make a link, and send it if there is a mail server. Raises `FormDone`."""
    tools, signed, now = context.tools, context.signature(form_id), context.now_ms()
    return await make_link(
        tools.desk.people,
        "set_password",
        user.user_id,
        signed,
        now,
        compose=None
        if tools.outbox is None
        else partial(tools.outbox.invitation, user, now, LINK_HOURS, is_new=is_new),
    )


def link_page(
    context: PageContext,
    user: User,
    base: str,
    token: str,
    *,
    is_new: bool,
    opened: Account | None = None,
) -> Response:
    """Show a new link. `opened`: the account just opened, on whose own page it is shown."""
    return context.page(
        "usuario_link.html",
        201 if opened is None else 200,
        user=user,
        address=base,
        link=one_time_link(context.tools.settings.address, token),
        hours=LINK_HOURS,
        is_new=is_new,
        sent=context.tools.outbox is not None,
        opened=opened,
    )


def _listed(
    context: PageContext, account: Account, base: str, status: int = 200, **values: object
) -> Response:
    """Return the list and the form; `values` is the outcome of a form."""
    order = ordering_of(context, _ORDERS, "nome")
    return context.page(
        "usuarios.html",
        status,
        address=base,
        account=account,
        users=order.apply(context.desk.people.users(account.account_id)),
        order=order,
        roles=ROLES,
        **memberships.page_values(context, account),
        oneself=context.person.user.user_id,
        **values,
    )


def _shown(
    context: PageContext, user: User, base: str, status: int = 200, **values: object
) -> Response:
    """Return one user's page; `values` is the outcome of a form."""
    return context.page(
        "usuario.html",
        status,
        user=user,
        address=base,
        roles=ROLES,
        is_oneself=_is_self(context, user),
        **values,
    )
