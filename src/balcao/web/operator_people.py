"""`/app/operador/operadores`: those who run the service, and the second factor of anybody.

Nobody does these things to themself: one's own password and second factor are on `/app/eu`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import wraps

from starlette.responses import Response

from balcao.accounts.links import LINK_HOURS, make_link
from balcao.core.addresses import invitation
from balcao.core.people import EMAIL_CHARACTERS_MAX, NAME_CHARACTERS_MAX, User, is_email
from balcao.errors import EmailTaken, FormDone, LastOperator
from balcao.storage.people import NewUser
from balcao.web import members
from balcao.web.application import Page, page
from balcao.web.operator_forms import account_in, no_account, once, typed_again
from balcao.web.visit import Visit

_PATH = "/app/operador/operadores"
_ONE = f"{_PATH}/{{user_id:int}}"
_OF_ACCOUNT = "/app/operador/contas/{account_id:int}/usuarios"

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
_ONESELF = "Isto não se faz consigo mesmo. Peça a outro operador, ou use a página Minha conta."
_LAST = (
    "Este é o último operador que consegue entrar: sem ele ninguém mais abriria esta página."
    " Acrescente outro antes, e espere que ele escolha a senha."
)


def pages() -> Sequence[Page]:
    """The addresses of this file, those of accounts' users (`members`) among them."""
    one = f"{_OF_ACCOUNT}/{{user_id}}"

    def of_account(path: str, name: str, do: members.Doing, method: str = "GET") -> Page:
        return page(path, f"operador:{name}", "operator", _of_account(do), method=method)

    return (
        page(_PATH, "operador:operadores", "operator", show),
        page(_PATH, "operador:operadores", "operator", add, method="POST"),
        page(f"{_ONE}/suspender", "operador:suspender-operador", "operator", ask_to_suspend),
        page(
            f"{_ONE}/suspender",
            "operador:suspender-operador",
            "operator",
            suspend,
            method="POST",
        ),
        page(f"{_ONE}/reativar", "operador:reativar-operador", "operator", resume, method="POST"),
        page(f"{_ONE}/link", "operador:link-operador", "operator", link, method="POST"),
        page(f"{_ONE}/sem-totp", "operador:sem-totp", "operator", totp_off, method="POST"),
        of_account(_OF_ACCOUNT, "usuarios", members.show),
        of_account(_OF_ACCOUNT, "usuario-novo", members.add, "POST"),
        of_account(one, "usuario", members.show_one),
        of_account(one, "usuario-mudar", members.change, "POST"),
        of_account(f"{one}/suspender", "usuario-suspender", members.suspend, "POST"),
        of_account(f"{one}/retomar", "usuario-retomar", members.resume, "POST"),
        of_account(f"{one}/link", "usuario-link", members.send_link, "POST"),
        of_account(f"{one}/sem-totp", "usuario-sem-totp", member_totp_off, "POST"),
    )


def _of_account(do: members.Doing) -> Callable[[Visit], Awaitable[Response]]:
    """What managers do to their own users, done to those of the account in the address."""

    @wraps(do)
    async def answer(visit: Visit) -> Response:
        account = account_in(visit)
        if account is None:
            return no_account(visit)
        address = f"/app/operador/contas/{account.account_id}/usuarios"
        return await do(visit, account.account_id, address)

    return answer


async def member_totp_off(visit: Visit, account_id: int, address: str) -> Response:
    """For a user of an account who lost the telephone."""
    user = members.member(visit, account_id)
    if user is None:
        return _unknown(visit)
    try:
        await _turn_totp_off(visit, user)
    except FormDone:
        return visit.redirect(f"/app/operador/contas/{account_id}", feito="ja")
    return visit.redirect(f"/app/operador/contas/{account_id}", feito="sem-totp")


async def show(visit: Visit) -> Response:
    """The list, and the form for another one."""
    return _shown(visit)


def _shown(visit: Visit, alert: str | None = None, **errors: str) -> Response:
    return visit.page(
        "operador/operadores.html",
        422 if alert or errors else 200,
        operators=visit.tools.desk.people.users(None),
        oneself=visit.person.user.user_id,
        typed=typed_again(visit, ("nome", "email")),
        errors=errors,
        name_characters_max=NAME_CHARACTERS_MAX,
        email_characters_max=EMAIL_CHARACTERS_MAX,
        link_hours=LINK_HOURS,
        message=_DONE.get(visit.query("feito")),
        alert=alert,
    )


async def add(visit: Visit) -> Response:
    """Another operator; the link by which they choose a password is shown now, once."""
    signed = once(visit)
    name, email = visit.typed("nome"), visit.typed("email")
    errors: dict[str, str] = {}
    if not members.is_name(name):
        errors["nome"] = f"Diga o nome, com até {NAME_CHARACTERS_MAX} caracteres."
    if not is_email(email):
        errors["email"] = "O e-mail não parece completo."
    if errors:
        return _shown(visit, **errors)
    people, now = visit.tools.desk.people, visit.tools.now_ms()
    try:
        user = await people.add_user(NewUser(email, name, "operator", None), signed, now)
    except EmailTaken:
        return _shown(visit, email="Já existe um usuário com este e-mail, aqui ou em uma conta.")
    except FormDone:
        return _shown(visit, _LINK_SHOWN)
    return await _with_link(visit, user, None, is_new=True)


async def link(visit: Visit) -> Response:
    """A new link, for a password that was forgotten or never set."""
    user = _another(visit)
    if isinstance(user, Response):
        return user
    form_id = once(visit).form_id
    if user.suspended_ms is not None:
        return _shown(visit, "Um operador suspenso não pode usar um link. Reative-o antes.")
    try:
        return await _with_link(visit, user, form_id, is_new=False)
    except FormDone:
        return _shown(visit, _LINK_SHOWN)


async def _with_link(visit: Visit, user: User, form_id: str | None, *, is_new: bool) -> Response:
    tools, signed = visit.tools, visit.signed(form_id)
    token = await make_link(tools.desk.people, "set_password", user.user_id, signed, tools.now_ms())
    return visit.page(
        "usuario_link.html",
        201,
        user=user,
        address=_PATH,
        link=invitation(tools.settings.address, token),
        hours=LINK_HOURS,
        is_new=is_new,
    )


async def ask_to_suspend(visit: Visit) -> Response:
    """Whether it is meant."""
    user = _another(visit)
    if isinstance(user, Response):
        return user
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
    return await _suspended(visit, True)


async def resume(visit: Visit) -> Response:
    """Let them in again."""
    return await _suspended(visit, False)


async def _suspended(visit: Visit, suspended: bool) -> Response:
    user = _another(visit)
    if isinstance(user, Response):
        return user
    signed, now = once(visit), visit.tools.now_ms()
    try:
        await visit.tools.desk.people.suspend_user(user.user_id, suspended, signed, now)
    except LastOperator:
        return _shown(visit, _LAST)
    except FormDone:
        return visit.redirect(_PATH, feito="ja")
    return visit.redirect(_PATH, feito="suspenso" if suspended else "reativado")


async def totp_off(visit: Visit) -> Response:
    """For an operator who lost the telephone."""
    user = _another(visit)
    if isinstance(user, Response):
        return user
    try:
        await _turn_totp_off(visit, user)
    except FormDone:
        return visit.redirect(_PATH, feito="ja")
    return visit.redirect(_PATH, feito="sem-totp")


async def _turn_totp_off(visit: Visit, user: User) -> None:
    signed, now = once(visit), visit.tools.now_ms()
    if user.has_totp:
        await visit.tools.desk.people.set_totp(user.user_id, None, signed, now)


def _another(visit: Visit) -> User | Response:
    """The operator of the address, who is somebody else, or what is answered instead."""
    number = visit.request.path_params["user_id"]
    try:
        user = visit.tools.desk.people.user(number)
    except OverflowError:
        user = None
    if user is None or user.role != "operator":
        return _unknown(visit)
    if user.user_id == visit.person.user.user_id:
        return _shown(visit, _ONESELF)
    return user


def _unknown(visit: Visit) -> Response:
    text = "Não há usuário com este número aqui."
    return visit.page("problema.html", 404, title="Usuário não encontrado", text=text)
