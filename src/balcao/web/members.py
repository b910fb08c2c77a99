"""The users of an account: adding them, changing them, keeping them out, sending them a link.

The doing takes the account and the address of its list, so that an account's managers
(`/app/usuarios`) and the operators (the same pages below their page of an account) share it:

    page(f"{list}", …, members.show)            members.show(visit, account_id, address)
    page(f"{list}", …, POST)                    members.add
    page(f"{list}/{user_id}", …)                members.show_one
    page(f"{list}/{user_id}", …, POST)          members.change
    page(f"{list}/{user_id}/suspender", …, POST)   members.suspend   (also `retomar`: resume)
    page(f"{list}/{user_id}/link", …, POST)     members.send_link

Nobody locks themself out: a manager can neither suspend nor demote themself.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import wraps
from typing import TypeAlias

from starlette.responses import Response

from balcao.accounts.links import LINK_HOURS, make_link
from balcao.core.addresses import invitation
from balcao.core.people import EMAIL_CHARACTERS_MAX, NAME_CHARACTERS_MAX, Role, User, is_email
from balcao.errors import EmailTaken, FormDone
from balcao.storage.people import NewUser
from balcao.web import asking
from balcao.web.application import Page, page
from balcao.web.visit import Visit

PATH = "/app/usuarios"

ROLE_WORDS: Mapping[Role, str] = {"consultant": "Consultor", "manager": "Gestor"}

_DONE: Mapping[str, str] = {
    "mudado": "Usuário alterado.",
    "suspenso": "Usuário suspenso: as sessões dele foram encerradas.",
    "retomado": "O usuário pode entrar de novo.",
    "antes": "Esse formulário já tinha sido enviado, e nada foi feito de novo.",
}
_LINK_DONE = (
    "Este formulário já tinha sido enviado: o usuário e o link existem, e o link já foi mostrado."
    " Se não o guardou, abra o usuário na lista e faça outro link."
)
_TAKEN = "Já existe um usuário com este e-mail, nesta conta ou em outra."
_NO_NAME = f"Diga o nome, com até {NAME_CHARACTERS_MAX} caracteres."
_NO_EMAIL = "O e-mail não parece completo."
_NO_ROLE = "Escolha um dos papéis."
_NOT_YOURSELF = (
    "Você não pode suspender a si mesmo nem deixar de ser gestor. Peça a outro gestor, ou a quem"
    " opera o serviço."
)

# What the pages here are: functions of the visit, the account and the address of its list.
Doing: TypeAlias = Callable[[Visit, int, str], Awaitable[Response]]


def pages() -> Sequence[Page]:
    """The addresses of this file: the manager's own account."""

    def own(do: Doing) -> Callable[[Visit], Awaitable[Response]]:
        @wraps(do)
        async def answer(visit: Visit) -> Response:
            return await do(visit, visit.account.account_id, PATH)

        return answer

    one = f"{PATH}/{{user_id}}"
    return (
        page(PATH, "app:usuarios", "manager", own(show)),
        page(PATH, "app:usuario-novo", "manager", own(add), method="POST"),
        page(one, "app:usuario", "manager", own(show_one)),
        page(one, "app:usuario-mudar", "manager", own(change), method="POST"),
        page(f"{one}/suspender", "app:usuario-suspender", "manager", own(suspend), method="POST"),
        page(f"{one}/retomar", "app:usuario-retomar", "manager", own(resume), method="POST"),
        page(f"{one}/link", "app:usuario-link", "manager", own(send_link), method="POST"),
    )


async def show(visit: Visit, account_id: int, address: str) -> Response:
    """The list, and the form for somebody new."""
    return _listed(visit, account_id, address, message=_DONE.get(visit.query("feito")))


async def add(visit: Visit, account_id: int, address: str) -> Response:
    """Let somebody in; the link by which they set their password is shown now, once."""
    name, email, role = visit.typed("nome"), visit.typed("email"), role_of(visit.typed("papel"))
    complaints: dict[str, str] = {}
    if not is_name(name):
        complaints["nome"] = _NO_NAME
    if not is_email(email):
        complaints["email"] = _NO_EMAIL
    if role is None:
        complaints["papel"] = _NO_ROLE
    form_id = visit.typed("form_id")
    if complaints or role is None or not form_id:
        return _listed(visit, account_id, address, 422, complaints=complaints)
    people, now = visit.tools.desk.people, visit.tools.now_ms()
    new = NewUser(email, name, role, account_id)
    try:
        user = await people.add_user(new, visit.signed(form_id), now)
    except FormDone:
        return _listed(visit, account_id, address, 409, alert=_LINK_DONE, typed={})
    except EmailTaken:
        return _listed(visit, account_id, address, 422, complaints={"email": _TAKEN})
    return await _with_link(visit, user, address, None, is_new=True)


async def show_one(visit: Visit, account_id: int, address: str) -> Response:
    """One user, and what can be done to them."""
    user = member(visit, account_id)
    return _unknown(visit) if user is None else _shown(visit, user, address)


async def change(visit: Visit, account_id: int, address: str) -> Response:
    """Another name or role."""
    user = member(visit, account_id)
    if user is None:
        return _unknown(visit)
    name, role = visit.typed("nome"), role_of(visit.typed("papel"))
    if not is_name(name):
        return _shown(visit, user, address, 422, complaints={"nome": _NO_NAME})
    if role is None:
        return _shown(visit, user, address, 422, complaints={"papel": _NO_ROLE})
    if _is_oneself(visit, user) and role != user.role:
        return _shown(visit, user, address, 422, alert=_NOT_YOURSELF)
    people, now = visit.tools.desk.people, visit.tools.now_ms()
    signed = visit.signed(visit.typed("form_id"))
    try:
        await people.change_user(user.user_id, name, role, signed, now)
    except FormDone:
        return visit.redirect(address, feito="antes")
    return visit.redirect(address, feito="mudado")


async def suspend(visit: Visit, account_id: int, address: str) -> Response:
    """Keep somebody out, at once."""
    return await _suspended(visit, account_id, address, suspended=True)


async def resume(visit: Visit, account_id: int, address: str) -> Response:
    """Let them in again, with the password they had."""
    return await _suspended(visit, account_id, address, suspended=False)


async def send_link(visit: Visit, account_id: int, address: str) -> Response:
    """A new link, for a password that was forgotten or never set. Earlier links are void."""
    user = member(visit, account_id)
    if user is None:
        return _unknown(visit)
    if user.suspended_ms is not None:
        alert = "Um usuário suspenso não pode usar um link. Retome-o antes."
        return _shown(visit, user, address, 422, alert=alert)
    form_id = visit.typed("form_id")
    if not form_id:
        return _shown(visit, user, address, 422)
    try:
        return await _with_link(visit, user, address, form_id, is_new=False)
    except FormDone:
        return _shown(visit, user, address, 409, alert=_LINK_DONE)


def member(visit: Visit, account_id: int) -> User | None:
    """The user of the address, if they belong to this account."""
    number = visit.request.path_params["user_id"]
    user = visit.tools.desk.people.user(int(number)) if asking.is_number(number) else None
    return user if user is not None and user.account_id == account_id else None


def role_of(text: str) -> Role | None:
    """A role that users of accounts may have."""
    return "manager" if text == "manager" else "consultant" if text == "consultant" else None


def is_name(text: str) -> bool:
    """Whether a person can be called so on our pages."""
    return 0 < len(text) <= NAME_CHARACTERS_MAX and text.isprintable()


def _is_oneself(visit: Visit, user: User) -> bool:
    return user.user_id == visit.person.user.user_id


async def _suspended(visit: Visit, account_id: int, address: str, *, suspended: bool) -> Response:
    user = member(visit, account_id)
    if user is None:
        return _unknown(visit)
    if suspended and _is_oneself(visit, user):
        return _shown(visit, user, address, 422, alert=_NOT_YOURSELF)
    now = visit.tools.now_ms()
    signed = visit.signed(visit.typed("form_id"))
    try:
        await visit.tools.desk.people.suspend_user(user.user_id, suspended, signed, now)
    except FormDone:
        return visit.redirect(address, feito="antes")
    return visit.redirect(address, feito="suspenso" if suspended else "retomado")


async def _with_link(
    visit: Visit, user: User, address: str, form_id: str | None, *, is_new: bool
) -> Response:
    """Make a link and show it: now, and never again. Raises `FormDone`."""
    tools = visit.tools
    signed = visit.signed(form_id)
    token = await make_link(tools.desk.people, "set_password", user.user_id, signed, tools.now_ms())
    response = visit.page(
        "usuario_link.html",
        201,
        user=user,
        address=address,
        link=invitation(tools.settings.address, token),
        hours=LINK_HOURS,
        is_new=is_new,
    )
    response.headers["cache-control"] = "no-store"
    return response


def _unknown(visit: Visit) -> Response:
    return visit.page(
        "problema.html",
        404,
        title="Usuário não encontrado",
        text="Esta conta não tem um usuário com este número.",
    )


def _listed(
    visit: Visit,
    account_id: int,
    address: str,
    status: int = 200,
    *,
    message: str | None = None,
    alert: str | None = None,
    complaints: Mapping[str, str] | None = None,
    typed: Mapping[str, str] | None = None,
) -> Response:
    return visit.page(
        "usuarios.html",
        status,
        message=message,
        alert=alert,
        address=address,
        account=visit.tools.desk.account(account_id),
        users=visit.tools.desk.people.users(account_id),
        roles=ROLE_WORDS,
        complaints=complaints or {},
        typed=visit.form if typed is None else typed,
        oneself=visit.person.user.user_id,
        email_characters_max=EMAIL_CHARACTERS_MAX,
        name_characters_max=NAME_CHARACTERS_MAX,
    )


def _shown(
    visit: Visit,
    user: User,
    address: str,
    status: int = 200,
    *,
    alert: str | None = None,
    complaints: Mapping[str, str] | None = None,
) -> Response:
    return visit.page(
        "usuario.html",
        status,
        alert=alert,
        user=user,
        address=address,
        roles=ROLE_WORDS,
        complaints=complaints or {},
        is_oneself=_is_oneself(visit, user),
        name_characters_max=NAME_CHARACTERS_MAX,
    )
