"""`/app/operador/operadores`: those who run the service.

Nobody does these things to themself: one's own password and second factor are on `/app/eu`.
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
from balcao.web.kit.context import Instead, Visit
from balcao.web.kit.typed import EMAIL, PERSON_NAME, TypedForm, read
from balcao.web.pages.members.pages import with_link
from balcao.web.pages.operator.forms import once

_PATH = "/app/operador/operadores"

_DONE: Mapping[str, str] = {
    "suspenso": "Operador suspenso: as sessões e os links dele acabaram.",
    "reativado": "O operador pode entrar de novo, com a senha que tinha.",
    "sem-totp": "Segundo fator desligado. Na próxima entrada basta a senha.",
    "ja": "Este formulário já tinha sido enviado; foi feito uma vez só.",
}
_LINK_SHOWN = (
    "Este formulário já tinha sido enviado, e o link já foi mostrado uma vez. Se não o guardou,"
    " faça um novo na lista."
)
_ONESELF = "Isto não se faz consigo mesmo. Peça a outro operador, ou use a página Meu acesso."
_TAKEN = "Já existe um usuário com este e-mail, aqui ou em uma conta."
_LAST = (
    "Este é o último operador que consegue entrar: sem ele ninguém mais abriria esta página."
    " Acrescente outro antes, e espere que ele escolha a senha."
)


class NewOperatorForm(TypedForm):
    """Another operator."""

    name: Annotated[str, PERSON_NAME] = Field(alias="nome")
    email: Annotated[str, EMAIL]


async def show(visit: Visit) -> Response:
    """The list, and the form for another one."""
    return _shown(visit)


def _shown(
    visit: Visit, alert: str | None = None, complaints: Mapping[str, str] | None = None
) -> Response:
    return visit.page(
        "operador/operadores.html",
        422 if alert or complaints else 200,
        operators=visit.tools.desk.people.users(None),
        oneself=visit.person.user.user_id,
        complaints=complaints or {},
        link_hours=LINK_HOURS,
        message=_DONE.get(visit.query("feito")),
        alert=alert,
    )


async def add(visit: Visit) -> Response:
    """Another operator; the link by which they choose a password is shown now, once."""
    signed, typed = once(visit), read(NewOperatorForm, visit.form)
    if not isinstance(typed, NewOperatorForm):
        return _shown(visit, complaints=typed)
    new = NewUser(typed.email, typed.name, "operator", None)
    try:
        user = await visit.tools.desk.people.add_user(new, signed, visit.tools.now_ms())
    except EmailTaken:
        return _shown(visit, complaints={"email": _TAKEN})
    except FormDone:
        return _shown(visit, _LINK_SHOWN)
    return await with_link(visit, user, _PATH, None, is_new=True)


async def link(visit: Visit) -> Response:
    """A new link, for a password that was forgotten or never set."""
    user, form_id = _another(visit), once(visit).form_id
    if user.suspended_ms is not None:
        return _shown(visit, "Um operador suspenso não pode usar um link. Reative-o antes.")
    try:
        return await with_link(visit, user, _PATH, form_id, is_new=False)
    except FormDone:
        return _shown(visit, _LINK_SHOWN)


async def ask_to_suspend(visit: Visit) -> Response:
    """Whether it is meant."""
    user = _another(visit)
    return visit.page(
        "operador/confirmar.html",
        question=f"Suspender o operador {user.name}?",
        consequences=(
            "As sessões dele acabam agora, e o link que houver deixa de valer.",
            "O que ele fez continua na auditoria; reativar o deixa entrar de novo.",
        ),
        button="Suspender o operador",
        href=f"{_PATH}/{user.user_id}/suspender",
        back=_PATH,
        crumbs=(("Operadores", _PATH), ("Suspender", None)),
    )


async def suspend(visit: Visit) -> Response:
    """Keep an operator out, at once."""
    return await _suspended(visit, True, "suspenso")


async def resume(visit: Visit) -> Response:
    """Let them in again."""
    return await _suspended(visit, False, "reativado")


async def _suspended(visit: Visit, suspended: bool, said: str) -> Response:
    user, people = _another(visit), visit.tools.desk.people
    deed = people.suspend_user(user.user_id, suspended, once(visit), visit.tools.now_ms())
    try:
        return visit.redirect(_PATH, feito=await done(deed, said))
    except LastOperator:
        return _shown(visit, _LAST)


async def totp_off(visit: Visit) -> Response:
    """For an operator who lost the telephone."""
    deed = turn_totp_off(visit, _another(visit))
    return visit.redirect(_PATH, feito=await done(deed, "sem-totp"))


async def turn_totp_off(visit: Visit, user: User) -> None:
    """The second factor of somebody else. Raises `FormDone`."""
    signed, now = once(visit), visit.tools.now_ms()
    if user.has_totp:
        await visit.tools.desk.people.set_totp(user.user_id, None, signed, now)


def _another(visit: Visit) -> User:
    """The operator of the address, who is somebody else."""
    try:
        user = visit.tools.desk.people.user(visit.request.path_params["user_id"])
    except OverflowError:
        user = None
    if user is None or user.role != "operator":
        text = "Não há usuário com este número aqui."
        raise visit.missing("Usuário não encontrado", text)
    if user.user_id == visit.person.user.user_id:
        raise Instead(_shown(visit, _ONESELF))
    return user
