"""`/app/chaves`: an account's API keys. A new one is shown once, in the answer to its form."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.responses import Response

from balcao.accounts.keys import issue_key
from balcao.accounts.statement import read_day
from balcao.core.access import Account, Key
from balcao.core.calendar import day_starts_ms
from balcao.core.people import Signature
from balcao.errors import FormDone
from balcao.operations.contract import curl_line
from balcao.web import asking
from balcao.web.application import Page, page
from balcao.web.home import limits_of
from balcao.web.visit import Visit
from balcao.web.vocabulary import Word

PATH = "/app/chaves"
IN_FORCE_MAX = 50
NAME_CHARACTERS_MAX = 100
# Of those that are no good any more, the newest: the list stays short.
ENDED_SHOWN = 20
_LIMIT_MAX = 10**9

_DONE: Mapping[str, str] = {"revogada": "Chave revogada. Ela deixa de valer em um segundo."}
_FORM_DONE = (
    "Esta chave já foi criada e já foi mostrada; ela não pode ser mostrada de novo. Se não a"
    " guardou, revogue-a e crie outra com o formulário abaixo."
)
_TOO_MANY = f"Cada conta tem no máximo {IN_FORCE_MAX} chaves em vigor. Revogue uma antes."


def pages() -> Sequence[Page]:
    """The addresses of this file."""
    return (
        page(PATH, "app:chaves", "manager", show),
        page(PATH, "app:chave-nova", "manager", create, method="POST"),
        page(f"{PATH}/{{key_id}}/revogar", "app:chave-revogar", "manager", confirm),
        page(f"{PATH}/{{key_id}}/revogar", "app:chave-revogar", "manager", revoke, method="POST"),
    )


@dataclass(frozen=True, slots=True)
class Typed:
    """A form for a new key, checked: `complaints` by field."""

    name: str
    expires_ms: int | None
    per_minute: int | None
    per_day: int | None
    complaints: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Refused:
    """A form for a new key that came to nothing, and why."""

    status: int
    alert: str | None
    complaints: Mapping[str, str] | None = None


def state_of(key: Key, now_ms: int) -> Word:
    """Whether a key is in force."""
    if key.revoked_ms is not None:
        return Word("Revogada", "neutral")
    if key.expires_ms is not None and key.expires_ms <= now_ms:
        return Word("Vencida", "warn")
    return Word("Em vigor", "good")


async def show(visit: Visit) -> Response:
    """The list, and the form for another one."""
    return _listed(visit, message=_DONE.get(visit.query("feito")))


async def create(visit: Visit) -> Response:
    """Issue a key and show it: now, and never again."""
    form_id = visit.typed("form_id")
    if not form_id:
        return _listed(visit, 422)
    made = issue(visit, visit.account, visit.signed(form_id))
    if isinstance(made, Refused):
        return _listed(visit, made.status, alert=made.alert, complaints=made.complaints)
    text, key = made
    tools = visit.tools
    example = curl_line(tools.parts.operations["company"], text, tools.settings.address)
    return visit.page("chave_criada.html", 201, key=key, text=text, example=example)


def issue(visit: Visit, account: Account, signed: Signature) -> tuple[str, Key] | Refused:
    """Make the key that the form describes, for any account: its text and what is kept of it."""
    tools = visit.tools
    now = tools.now_ms()
    typed = _read(visit, now)
    if typed.complaints:
        return Refused(422, None, typed.complaints)
    # From here to the key's entry nothing is awaited, so that two forms cannot both be the last.
    if len(_in_force(tools.desk.keys(account.account_id), now)) >= IN_FORCE_MAX:
        return Refused(422, _TOO_MANY)
    try:
        return issue_key(
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
        return Refused(409, _FORM_DONE)


async def confirm(visit: Visit) -> Response:
    """Once more, before a program stops working."""
    key = _own(visit)
    if key is None:
        return unknown(visit)
    return visit.page(
        "chave_revogar.html", key=key, state=state_of(key, visit.tools.now_ms()), path=PATH
    )


async def revoke(visit: Visit) -> Response:
    """For ever. Twice is once."""
    key = _own(visit)
    if key is None:
        return unknown(visit)
    visit.tools.desk.revoke_key(key.key_id, visit.tools.now_ms(), visit.signed())
    return visit.redirect(PATH, feito="revogada")


def _own(visit: Visit) -> Key | None:
    """The key of the address, if it is this account's."""
    number = visit.request.path_params["key_id"]
    return key_of(visit, visit.account, int(number)) if asking.is_number(number) else None


def key_of(visit: Visit, account: Account, key_id: int) -> Key | None:
    """The key of this number, if it is this account's."""
    keys = visit.tools.desk.keys(account.account_id)
    return next((key for key in keys if key.key_id == key_id), None)


def unknown(visit: Visit) -> Response:
    """What is said where there is none."""
    return visit.page(
        "problema.html",
        404,
        title="Chave não encontrada",
        text="Esta conta não tem uma chave com este número.",
    )


def _in_force(keys: Sequence[Key], now_ms: int) -> Sequence[Key]:
    return [key for key in keys if state_of(key, now_ms).tone == "good"]


def _listed(visit: Visit, status: int = 200, **said: object) -> Response:
    return visit.page("chaves.html", status, **listing(visit, visit.account, PATH, **said))


def listing(visit: Visit, account: Account, path: str, **said: object) -> dict[str, object]:
    """What a page of any account's keys shows; `said` is what became of a form."""
    now = visit.tools.now_ms()
    keys = visit.tools.desk.keys(account.account_id)
    in_force = _in_force(keys, now)
    ended = [key for key in reversed(keys) if key not in in_force]
    return {
        "account": account,
        "path": path,
        "in_force": [(key, state_of(key, now)) for key in reversed(in_force)],
        "ended": [(key, state_of(key, now)) for key in ended[:ENDED_SHOWN]],
        "ended_more": max(0, len(ended) - ENDED_SHOWN),
        "in_force_max": IN_FORCE_MAX,
        "limits": limits_of(visit.tools.settings, account),
        "today": asking.today_of(visit).isoformat(),
        "typed": visit.form,
        "name_characters_max": NAME_CHARACTERS_MAX,
        **said,
        "complaints": said.get("complaints") or {},
    }


def _read(visit: Visit, now_ms: int) -> Typed:
    complaints: dict[str, str] = {}
    name = visit.typed("nome")
    if not name or not name.isprintable() or len(name) > NAME_CHARACTERS_MAX:
        complaints["nome"] = f"Dê um nome de até {NAME_CHARACTERS_MAX} caracteres."
    expires_ms = None
    if (until := visit.typed("vale_ate")) != "":
        try:
            # The whole of its last day, in Brasília.
            expires_ms = day_starts_ms(read_day(until) + datetime.timedelta(days=1))
        except ValueError:
            complaints["vale_ate"] = "Esta data não existe."
        else:
            if expires_ms <= now_ms:
                complaints["vale_ate"] = "Esta data já passou."
    return Typed(
        name,
        expires_ms,
        _limit(visit, "por_minuto", complaints),
        _limit(visit, "por_dia", complaints),
        complaints,
    )


def _limit(visit: Visit, field: str, complaints: dict[str, str]) -> int | None:
    if (text := visit.typed(field)) == "":
        return None
    if asking.is_number(text) and 1 <= int(text) <= _LIMIT_MAX:
        return int(text)
    complaints[field] = "Use um número inteiro, de 1 em diante, ou deixe vazio."
    return None
