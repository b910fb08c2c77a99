"""`/app/chaves`: an account's API keys. A new one is shown once, in the answer to its form."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BeforeValidator, Field, ValidationInfo
from starlette.responses import Response

from balcao.accounts.keys import issue_key
from balcao.accounts.statement import read_day
from balcao.core.access import Account, Key
from balcao.core.calendar import day_starts_ms
from balcao.core.people import NAME_CHARACTERS_MAX
from balcao.errors import FormDone
from balcao.operations.contract import curl_line
from balcao.web import asking
from balcao.web.home import limits_of
from balcao.web.mounting import ACCOUNTS
from balcao.web.typed import TypedForm, checked, is_name, read
from balcao.web.visit import Visit
from balcao.web.vocabulary import Word

IN_FORCE_MAX = 50
# Of those that are no good any more, the newest: the list stays short.
ENDED_SHOWN = 20
_LIMIT_MAX = 10**9

_DONE: Mapping[str, str] = {
    "revogada": "Chave revogada. Ela deixa de valer em um segundo.",
    "ja": "Este formulário já tinha sido enviado; foi feito uma vez só.",
}
_FORM_DONE = (
    "Esta chave já foi criada e já foi mostrada; ela não pode ser mostrada de novo. Se não a"
    " guardou, revogue-a e crie outra com o formulário abaixo."
)
_TOO_MANY = f"Cada conta tem no máximo {IN_FORCE_MAX} chaves em vigor. Revogue uma antes."


def _end_of_day(text: str, info: ValidationInfo) -> int | None:
    """The whole of its last day, in Brasília."""
    if not text:
        return None
    try:
        ends_ms = day_starts_ms(read_day(text) + datetime.timedelta(days=1))
    except ValueError:
        raise ValueError("Esta data não existe.") from None
    assert info.context is not None
    if ends_ms <= info.context["now_ms"]:
        raise ValueError("Esta data já passou.")
    return ends_ms


def _limit(text: str) -> int | None:
    if not text:
        return None
    if not asking.is_number(text) or not 1 <= int(text) <= _LIMIT_MAX:
        raise ValueError("Use um número inteiro, de 1 em diante, ou deixe vazio.")
    return int(text)


class NewKeyForm(TypedForm):
    """A key that is wanted."""

    name: Annotated[
        str, checked(is_name, f"Dê um nome de até {NAME_CHARACTERS_MAX} caracteres.")
    ] = Field(alias="nome")
    expires_ms: Annotated[int | None, BeforeValidator(_end_of_day)] = Field(alias="vale_ate")
    per_minute: Annotated[int | None, BeforeValidator(_limit)] = Field(alias="por_minuto")
    per_day: Annotated[int | None, BeforeValidator(_limit)] = Field(alias="por_dia")


def state_of(key: Key, now_ms: int) -> Word:
    """Whether a key is in force."""
    if key.revoked_ms is not None:
        return Word("Revogada", "neutral")
    if key.expires_ms is not None and key.expires_ms <= now_ms:
        return Word("Vencida", "warn")
    return Word("Em vigor", "good")


async def show(visit: Visit, account: Account, base: str) -> Response:
    """The list, and the form for another one."""
    return _listed(visit, account, base, message=_DONE.get(visit.query("feito")))


async def create(visit: Visit, account: Account, base: str) -> Response:
    """Issue a key and show it: now, and never again."""
    tools, now = visit.tools, visit.tools.now_ms()
    form_id = visit.typed("form_id")
    typed = read(NewKeyForm, visit.form, {"now_ms": now})
    if not isinstance(typed, NewKeyForm) or not form_id:
        complaints = {} if isinstance(typed, NewKeyForm) else typed
        return _listed(visit, account, base, 422, complaints=complaints)
    # From here to the key's entry nothing is awaited, so that two forms cannot both be the last.
    if len(_in_force(tools.desk.keys(account.account_id), now)) >= IN_FORCE_MAX:
        return _listed(visit, account, base, 422, alert=_TOO_MANY)
    signed = visit.signed(form_id)
    try:
        text, key = issue_key(
            tools.desk, tools.home, account, now_ms=now, signed=signed, **typed.model_dump()
        )
    except FormDone:
        return _listed(visit, account, base, 409, alert=_FORM_DONE)
    example = curl_line(tools.parts.operations["company"], text, tools.settings.address)
    return visit.page(
        "chave_criada.html", 201, key=key, text=text, example=example, account=account, path=base
    )


async def confirm(visit: Visit, account: Account, base: str) -> Response:
    """Once more, before a program stops working."""
    key = _key_in(visit, account)
    if not visit.person.is_operator:
        state = state_of(key, visit.tools.now_ms())
        return visit.page("chave_revogar.html", key=key, state=state, path=base)
    if key.revoked_ms is not None:
        return visit.redirect(base, feito="revogada")
    return visit.page(
        "operador/confirmar.html",
        question=f"Revogar a chave {key.name}?",
        consequences=(
            f"Ela começa com {key.prefix} e é da conta {account.name}.",
            "Em um segundo, todo programa que a usa passa a receber 401.",
            "Não se pode voltar atrás; o histórico e as cobranças dela ficam.",
        ),
        button="Revogar para sempre",
        href=f"{base}/{key.key_id}/revogar",
        back=base,
        crumbs=(
            ("Contas", ACCOUNTS),
            (account.name, f"{ACCOUNTS}/{account.account_id}"),
            ("Chaves", base),
            ("Revogar", None),
        ),
    )


async def revoke(visit: Visit, account: Account, base: str) -> Response:
    """For ever. Twice is once."""
    key, now = _key_in(visit, account), visit.tools.now_ms()
    try:
        visit.tools.desk.revoke_key(key.key_id, now, visit.signed(visit.typed("form_id")))
    except FormDone:
        return visit.redirect(base, feito="ja")
    return visit.redirect(base, feito="revogada")


def _key_in(visit: Visit, account: Account) -> Key:
    """The key of the address, if it is this account's."""
    number = visit.request.path_params["key_id"]
    for key in visit.tools.desk.keys(account.account_id):
        if asking.is_number(number) and key.key_id == int(number):
            return key
    text = "Esta conta não tem uma chave com este número."
    raise visit.missing("Chave não encontrada", text)


def _in_force(keys: Sequence[Key], now_ms: int) -> Sequence[Key]:
    return [key for key in keys if state_of(key, now_ms).tone == "good"]


def _listed(
    visit: Visit, account: Account, base: str, status: int = 200, **said: object
) -> Response:
    """The list and the form; `said` is what became of a form."""
    now = visit.tools.now_ms()
    keys = visit.tools.desk.keys(account.account_id)
    in_force = _in_force(keys, now)
    ended = [key for key in reversed(keys) if key not in in_force]
    return visit.page(
        "chaves.html",
        status,
        account=account,
        path=base,
        in_force=[(key, state_of(key, now)) for key in reversed(in_force)],
        ended=[(key, state_of(key, now)) for key in ended[:ENDED_SHOWN]],
        ended_more=max(0, len(ended) - ENDED_SHOWN),
        in_force_max=IN_FORCE_MAX,
        limits=limits_of(visit.tools.settings, account),
        today=asking.today_of(visit).isoformat(),
        **said,
    )
