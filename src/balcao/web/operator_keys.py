"""`/app/operador/contas/{account_id}/chaves`: an account's keys, made and revoked for it.

The same as managers do on `/app/chaves` (`keys_page`), for any account.
"""

from collections.abc import Mapping, Sequence

from starlette.responses import Response

from balcao.core.access import Account, Key
from balcao.errors import FormDone
from balcao.keys import issue_key
from balcao.web import asking
from balcao.web.application import Page, page
from balcao.web.home import limits_of
from balcao.web.keys_page import (
    ENDED_SHOWN,
    IN_FORCE_MAX,
    NAME_CHARACTERS_MAX,
    read_typed,
    state_of,
)
from balcao.web.operator_forms import account_in, no_account, once
from balcao.web.visit import Visit

_PATH = "/app/operador/contas/{account_id:int}/chaves"
_REVOKE = f"{_PATH}/{{key_id:int}}/revogar"

_DONE: Mapping[str, str] = {
    "revogada": "Chave revogada. Ela deixa de valer em um segundo.",
    "ja": "Este formulário já tinha sido enviado; foi feito uma vez só.",
}
_FORM_DONE = (
    "Esta chave já foi criada e já foi mostrada; ela não pode ser mostrada de novo. Se não a"
    " guardou, revogue-a e crie outra com o formulário abaixo."
)
_TOO_MANY = f"Cada conta tem no máximo {IN_FORCE_MAX} chaves em vigor. Revogue uma antes."


def pages() -> Sequence[Page]:
    """The addresses of this file."""
    return (
        page(_PATH, "operador:chaves", "operator", show),
        page(_PATH, "operador:chave-nova", "operator", create, method="POST"),
        page(_REVOKE, "operador:chave-revogar", "operator", confirm),
        page(_REVOKE, "operador:chave-revogar", "operator", revoke, method="POST"),
    )


def _address(account: Account) -> str:
    return f"/app/operador/contas/{account.account_id}/chaves"


async def show(visit: Visit) -> Response:
    """The list, and the form for another one."""
    account = account_in(visit)
    if account is None:
        return no_account(visit)
    return _listed(visit, account, message=_DONE.get(visit.query("feito")))


def _listed(
    visit: Visit,
    account: Account,
    status: int = 200,
    *,
    message: str | None = None,
    alert: str | None = None,
    complaints: Mapping[str, str] | None = None,
) -> Response:
    now = visit.tools.now_ms()
    shown = [(key, state_of(key, now)) for key in reversed(_keys(visit, account))]
    ended = [one for one in shown if one[1].tone != "good"]
    return visit.page(
        "operador/chaves.html",
        status,
        message=message,
        alert=alert,
        account=account,
        path=_address(account),
        in_force=[one for one in shown if one[1].tone == "good"],
        ended=ended[:ENDED_SHOWN],
        ended_more=max(0, len(ended) - ENDED_SHOWN),
        in_force_max=IN_FORCE_MAX,
        limits=limits_of(visit.tools.settings, account),
        today=asking.today_of(visit).isoformat(),
        complaints=complaints or {},
        typed=visit.form,
        name_characters_max=NAME_CHARACTERS_MAX,
    )


def _keys(visit: Visit, account: Account) -> Sequence[Key]:
    return visit.tools.desk.keys(account.account_id)


async def create(visit: Visit) -> Response:
    """Issue a key and show it: now, and never again."""
    account = account_in(visit)
    if account is None:
        return no_account(visit)
    tools, signed = visit.tools, once(visit)
    now = tools.now_ms()
    typed = read_typed(visit, now)
    if typed.complaints:
        return _listed(visit, account, 422, complaints=typed.complaints)
    in_force = [key for key in _keys(visit, account) if state_of(key, now).tone == "good"]
    if len(in_force) >= IN_FORCE_MAX:
        return _listed(visit, account, 422, alert=_TOO_MANY)
    try:
        text, key = issue_key(
            tools.desk,
            tools.home,
            account,
            typed.name,
            now,
            expires_ms=typed.expires_ms,
            per_minute=typed.per_minute,
            per_day=typed.per_day,
            signed=signed,
        )
    except FormDone:
        return _listed(visit, account, 409, alert=_FORM_DONE)
    return visit.page(
        "operador/chave_criada.html",
        201,
        key=key,
        text=text,
        account=account,
        path=_address(account),
    )


async def confirm(visit: Visit) -> Response:
    """Once more, before a program stops working."""
    account = account_in(visit)
    key = None if account is None else _key(visit, account)
    if account is None or key is None:
        return _unknown(visit)
    back = _address(account)
    if key.revoked_ms is not None:
        return visit.redirect(back, feito="revogada")
    return visit.page(
        "operador/confirmar.html",
        question=f"Revogar a chave {key.name}?",
        consequences=(
            f"Ela começa com {key.prefix} e é da conta {account.name}.",
            "Em um segundo, todo programa que a usa passa a receber 401.",
            "Não se pode voltar atrás; o histórico e as cobranças dela ficam.",
        ),
        button="Revogar para sempre",
        href=f"{back}/{key.key_id}/revogar",
        back=back,
        crumbs=(
            ("Contas", "/app/operador/contas"),
            (account.name, f"/app/operador/contas/{account.account_id}"),
            ("Chaves", back),
            ("Revogar", None),
        ),
    )


async def revoke(visit: Visit) -> Response:
    """For ever. Twice is once."""
    account = account_in(visit)
    key = None if account is None else _key(visit, account)
    if account is None or key is None:
        return _unknown(visit)
    signed, now = once(visit), visit.tools.now_ms()
    try:
        visit.tools.desk.revoke_key(key.key_id, now, signed)
    except FormDone:
        return visit.redirect(_address(account), feito="ja")
    return visit.redirect(_address(account), feito="revogada")


def _key(visit: Visit, account: Account) -> Key | None:
    """The key of the address, if it is this account's."""
    number = visit.request.path_params["key_id"]
    return next((key for key in _keys(visit, account) if key.key_id == number), None)


def _unknown(visit: Visit) -> Response:
    text = "Esta conta não tem uma chave com este número."
    return visit.page("problema.html", 404, title="Chave não encontrada", text=text)
