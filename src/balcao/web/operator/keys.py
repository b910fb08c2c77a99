"""`/app/operador/contas/{account_id}/chaves`: an account's keys, made and revoked for it.

The same as managers do on `/app/chaves` (`web.keys`), for any account.
"""

from collections.abc import Mapping, Sequence

from starlette.responses import Response

from balcao.core.access import Account, Key
from balcao.errors import FormDone
from balcao.web.application import Page, page
from balcao.web.keys import Refused, issue, key_of, listing, unknown
from balcao.web.operator.forms import account_in, no_account, once
from balcao.web.visit import Visit

_PATH = "/app/operador/contas/{account_id:int}/chaves"
_REVOKE = f"{_PATH}/{{key_id:int}}/revogar"

_DONE: Mapping[str, str] = {
    "revogada": "Chave revogada. Ela deixa de valer em um segundo.",
    "ja": "Este formulário já tinha sido enviado; foi feito uma vez só.",
}


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


def _listed(visit: Visit, account: Account, status: int = 200, **said: object) -> Response:
    values = listing(visit, account, _address(account), **said)
    return visit.page("operador/chaves.html", status, **values)


async def create(visit: Visit) -> Response:
    """Issue a key and show it: now, and never again."""
    account = account_in(visit)
    if account is None:
        return no_account(visit)
    made = issue(visit, account, once(visit))
    if isinstance(made, Refused):
        said = {"alert": made.alert, "complaints": made.complaints}
        return _listed(visit, account, made.status, **said)
    text, key = made
    path = _address(account)
    return visit.page(
        "operador/chave_criada.html", 201, key=key, text=text, account=account, path=path
    )


async def confirm(visit: Visit) -> Response:
    """Once more, before a program stops working."""
    account = account_in(visit)
    key = None if account is None else _key(visit, account)
    if account is None or key is None:
        return unknown(visit)
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
        return unknown(visit)
    signed, now = once(visit), visit.tools.now_ms()
    try:
        visit.tools.desk.revoke_key(key.key_id, now, signed)
    except FormDone:
        return visit.redirect(_address(account), feito="ja")
    return visit.redirect(_address(account), feito="revogada")


def _key(visit: Visit, account: Account) -> Key | None:
    return key_of(visit, account, visit.request.path_params["key_id"])
