"""`/app/operador/operadores`: the operators of the service.

These actions do not apply to oneself: one's own password and second factor are on `/app/eu`.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field
from starlette.responses import Response

from balcao.accounts.links import LINK_HOURS
from balcao.core.errors import EmailTaken, FormDone, LastOperator
from balcao.core.people import User
from balcao.storage.people import NewUser
from balcao.web.kit.account_pages import done
from balcao.web.kit.context import EarlyResponse, PageContext
from balcao.web.kit.typed import EMAIL, NAME, TypedForm, read
from balcao.web.pages.members import with_link
from balcao.web.pages.operator.forms import once

_PATH = "/app/operador/operadores"

_DONE: Mapping[str, str] = {
    "suspenso": "Operador suspenso. As sessões e os links dele foram encerrados.",
    "reativado": "Operador reativado. Ele entra com a senha anterior.",
    "sem-totp": "Segundo fator desativado. No próximo acesso, basta a senha.",
    "ja": "Este formulário já tinha sido enviado. Nada foi feito de novo.",
}
_LINK_SHOWN = (
    "Este formulário já tinha sido enviado e o link já foi mostrado. Se você não guardou o link,"
    " gere outro na lista."
)
_NOT_YOURSELF = (
    "Você não pode fazer isso com o próprio acesso. Peça a outro operador ou use a"
    " página Meu acesso."
)
_TAKEN = "Este e-mail já está em uso, por um operador ou em uma conta."
_LAST = (
    "Este é o último operador que consegue entrar. Sem ele, ninguém mais teria acesso a esta"
    " página. Convide outro antes e espere que ele escolha a senha."
)


class NewOperatorForm(TypedForm):
    """The form of a new operator."""

    name: Annotated[str, NAME] = Field(alias="nome")
    email: Annotated[str, EMAIL]


async def show(context: PageContext) -> Response:
    """Show the list, and the form for a new operator."""
    return _shown(context)


def _shown(
    context: PageContext, alert: str | None = None, complaints: Mapping[str, str] | None = None
) -> Response:
    return context.page(
        "operador/operadores.html",
        422 if alert or complaints else 200,
        operators=context.desk.people.users(None),
        oneself=context.person.user.user_id,
        complaints=complaints or {},
        link_hours=LINK_HOURS,
        message=_DONE.get(context.query("feito")),
        alert=alert,
    )


async def add(context: PageContext) -> Response:
    """Add an operator, and show the link for choosing a password, once."""
    signed, typed = once(context), read(NewOperatorForm, context.form)
    if not isinstance(typed, NewOperatorForm):
        return _shown(context, complaints=typed)
    new = NewUser(typed.email, typed.name, "operator", None)
    try:
        user = await context.desk.people.add_user(new, signed, context.now_ms())
    except EmailTaken:
        return _shown(context, complaints={"email": _TAKEN})
    except FormDone:
        return _shown(context, _LINK_SHOWN)
    return await with_link(context, user, _PATH, None, is_new=True)


async def link(context: PageContext) -> Response:
    """Make a new link, for a password that was forgotten or never set."""
    user, form_id = _another(context), once(context).form_id
    if user.suspended_ms is not None:
        return _shown(
            context, "Um operador suspenso não pode usar o link. Reative o operador antes."
        )
    try:
        return await with_link(context, user, _PATH, form_id, is_new=False)
    except FormDone:
        return _shown(context, _LINK_SHOWN)


async def ask_to_suspend(context: PageContext) -> Response:
    """Ask for confirmation before an operator is suspended."""
    user = _another(context)
    return context.page(
        "operador/confirmar.html",
        question=f"Suspender o operador {user.name}?",
        consequences=(
            "As sessões dele são encerradas agora e os links deixam de valer.",
            "As ações dele continuam na auditoria. Para permitir o acesso de novo, basta reativar.",
        ),
        button="Suspender o operador",
        href=f"{_PATH}/{user.user_id}/suspender",
        back=_PATH,
        crumbs=(("Operadores", _PATH), ("Suspender", None)),
    )


async def suspend(context: PageContext) -> Response:
    """Suspend an operator, effective at once."""
    return await _suspended(context, True, "suspenso")


async def resume(context: PageContext) -> Response:
    """Resume an operator."""
    return await _suspended(context, False, "reativado")


async def _suspended(context: PageContext, suspended: bool, code: str) -> Response:
    user, people = _another(context), context.desk.people
    write = people.suspend_user(user.user_id, suspended, once(context), context.now_ms())
    try:
        return context.redirect(_PATH, feito=await done(write, code))
    except LastOperator:
        return _shown(context, _LAST)


async def totp_off(context: PageContext) -> Response:
    """Turn off the second factor of an operator who lost their phone."""
    write = turn_totp_off(context, _another(context))
    return context.redirect(_PATH, feito=await done(write, "sem-totp"))


async def turn_totp_off(context: PageContext, user: User) -> None:
    """Turn off another user's second factor. Raises `FormDone`."""
    signed, now = once(context), context.now_ms()
    if user.has_totp:
        await context.desk.people.set_totp(user.user_id, None, signed, now)


def _another(context: PageContext) -> User:
    """Return the operator of the address, who must be another person."""
    try:
        user = context.desk.people.user(context.request.path_params["user_id"])
    except OverflowError:
        user = None
    if user is None or user.role != "operator":
        text = "Não há operador com este número."
        raise context.not_found("Usuário não encontrado", text)
    if user.user_id == context.person.user.user_id:
        raise EarlyResponse(_shown(context, _NOT_YOURSELF))
    return user
