"""`/app/chaves`: an account's API keys. A new one is shown once, in the answer to its form."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BeforeValidator, Field, ValidationInfo
from starlette.responses import Response

from balcao.accounts.keys import issue_key
from balcao.accounts.statement import read_day
from balcao.core.access import (
    NETWORKS_MAX,
    UNRESTRICTED,
    Account,
    Key,
    KeyRestrictions,
    network_text,
)
from balcao.core.calendar import day_starts_ms
from balcao.core.compat_apis import COMPAT_API_TITLES
from balcao.core.deprecations import SHOWN_DAYS
from balcao.core.errors import FormDone
from balcao.core.key_expiry import REPLACEMENT, WITHIN_DAYS, expiring, is_in_force
from balcao.core.writing import listed
from balcao.operations.contract import curl_line
from balcao.operations.names import SHORT
from balcao.web.kit import filters
from balcao.web.kit.account_pages import ACCOUNTS
from balcao.web.kit.context import PageContext
from balcao.web.kit.deprecated_uses import uses_of
from balcao.web.kit.ordering import OrderBy, ordering_of
from balcao.web.kit.snippets import for_reader
from balcao.web.kit.typed import NAME, TypedForm, read
from balcao.web.kit.words.vocabulary import Word

IN_FORCE_MAX = 50
# Number of revoked and expired keys shown, the newest.
ENDED_SHOWN = 20
_LIMIT_MAX = 10**9
_SHOWN_CHARACTERS_MAX = 60

OPERATIONS: Sequence[tuple[str, str]] = [*SHORT.items()]
_BOX = "op_"  # prefix of an operation's path: the name of its box
_RULES = ("ips", "cliente_obrigatorio", "administra", *(_BOX + path for path, _ in OPERATIONS))

_DONE: Mapping[str, str] = {
    "revogada": "Chave revogada. Ela deixa de valer em um segundo.",
    "mudada": "Regras salvas. Elas valem em um segundo.",
    "ja": "Este formulário já tinha sido enviado. Nada foi feito de novo.",
}
_FORM_DONE = (
    "Esta chave já foi criada e mostrada, e não pode ser mostrada de novo. Se você não a guardou,"
    " revogue-a e crie outra com o formulário abaixo."
)
_FACE_NETWORKS = "Uma chave de API compatível só vale em endereços definidos. Deixe ao menos um."
_TOO_MANY = f"Cada conta pode ter até {IN_FORCE_MAX} chaves ativas. Revogue uma antes."


_ORDERS: Mapping[str, OrderBy[Key]] = {
    "nome": OrderBy(lambda key: key.name),
    "criada": OrderBy(lambda key: key.created_ms, largest_first=True),
    "vale": OrderBy(lambda key: key.expires_ms),
    "uso": OrderBy(lambda key: key.last_used_ms, largest_first=True),
}


def _end_of_day(text: str, info: ValidationInfo) -> int | None:
    """Return the end of the typed day, in Brasília."""
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
    if not filters.is_number(text) or not 1 <= int(text) <= _LIMIT_MAX:
        raise ValueError("Use um número inteiro a partir de 1 ou deixe em branco.")
    return int(text)


def _networks_in(text: str) -> tuple[str, ...]:
    found = []
    for line in text.replace(",", "\n").split():
        try:
            found.append(network_text(line))
        except ValueError:
            shown = line[:_SHOWN_CHARACTERS_MAX]
            raise ValueError(f"“{shown}” não é um endereço IP nem uma rede.") from None
    networks = tuple(dict.fromkeys(found))
    if len(networks) > NETWORKS_MAX:
        raise ValueError(f"No máximo {NETWORKS_MAX} endereços ou redes.")
    return networks


def operations_in(form: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the paths with ticked boxes; None: no box is ticked, which means every operation."""
    return tuple(path for path, _ in OPERATIONS if form.get(_BOX + path)) or None


def boxes_of(paths: Sequence[str] | None) -> Mapping[str, str]:
    """Return the form fields that tick the boxes of these paths."""
    return {_BOX + path: "1" for path in paths or ()}


class KeyRulesForm(TypedForm):
    """The restrictions of a key. `restrictions` also reads the boxes of operations."""

    networks: Annotated[tuple[str, ...], BeforeValidator(_networks_in)] = Field(alias="ips")
    client_required: Annotated[bool, BeforeValidator(bool)] = Field(alias="cliente_obrigatorio")
    administers: Annotated[bool, BeforeValidator(bool)] = Field(alias="administra")

    def restrictions(self, form: Mapping[str, str]) -> KeyRestrictions:
        """Return the restrictions in this form. No ticked box: every operation is allowed."""
        return KeyRestrictions(
            self.networks, operations_in(form), self.client_required, self.administers
        )


class NewKeyForm(KeyRulesForm):
    """The form of a new key."""

    name: Annotated[str, NAME] = Field(alias="nome")
    expires_ms: Annotated[int | None, BeforeValidator(_end_of_day)] = Field(alias="vale_ate")
    per_minute: Annotated[int | None, BeforeValidator(_limit)] = Field(alias="por_minuto")
    per_day: Annotated[int | None, BeforeValidator(_limit)] = Field(alias="por_dia")


def rules_of(key: Key) -> Sequence[str]:
    """Return the restrictions of a key in words; empty if it has none."""
    restrictions = key.restrictions or UNRESTRICTED
    names = dict(OPERATIONS)
    rules = [f"de {listed(restrictions.networks)}"] if restrictions.networks else []
    if (face := _face_of(key)) is not None:
        rules.append(f"só a API compatível com {face}")
    elif restrictions.operations is not None:
        rules.append(f"só {listed([names.get(path, path) for path in restrictions.operations])}")
    if restrictions.client_required:
        rules.append("exige X-Cliente")
    if restrictions.administers:
        rules.append("pode administrar a conta")
    return rules


def _face_of(key: Key) -> str | None:
    """Return the compatible API that a key is restricted to, by its title (contract 16.4)."""
    face = (key.restrictions or UNRESTRICTED).compat_api
    return None if face is None else COMPAT_API_TITLES.get(face, face)


def _as_typed(restrictions: KeyRestrictions) -> Mapping[str, str]:
    """Return the form fields that produce these restrictions."""
    return {
        "ips": "\n".join(restrictions.networks),
        "cliente_obrigatorio": "1" if restrictions.client_required else "",
        "administra": "1" if restrictions.administers else "",
        **boxes_of(restrictions.operations),
    }


def state_of(key: Key, now_ms: int) -> Word:
    """Return whether a key is in force, as a word."""
    if key.revoked_ms is not None:
        return Word("Revogada", "neutral")
    if not is_in_force(key, now_ms):
        return Word("Vencida", "warn")
    return Word("Em vigor", "good")


async def show(context: PageContext, account: Account, base: str) -> Response:
    """Show the list, and the form for a new key."""
    return await _listed(context, account, base, message=_DONE.get(context.query("feito")))


async def create(context: PageContext, account: Account, base: str) -> Response:
    """Issue a key and show it, once."""
    tools, now = context.tools, context.now_ms()
    form_id = context.typed("form_id")
    typed = read(NewKeyForm, context.form, {"now_ms": now})
    if not isinstance(typed, NewKeyForm) or not form_id:
        complaints = {} if isinstance(typed, NewKeyForm) else typed
        return await _listed(context, account, base, 422, complaints=complaints)
    # No await from here to the key's entry, so that two forms cannot exceed the limit together.
    if len(_in_force(tools.desk.keys(account.account_id), now)) >= IN_FORCE_MAX:
        return await _listed(context, account, base, 422, alert=_TOO_MANY)
    signed = context.signature(form_id)
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
            restrictions=typed.restrictions(context.form),
            signed=signed,
        )
    except FormDone:
        return await _listed(context, account, base, 409, alert=_FORM_DONE)
    example = curl_line(tools.parts.operations["company"], text, tools.settings.address)
    # Operators pass the key on, and get no programs with it.
    programs = () if context.person.is_operator else for_reader(tools.settings.address, text)
    return context.page(
        "chave_criada.html",
        201,
        key=key,
        text=text,
        example=example,
        programs=programs,
        account=account,
        path=base,
    )


async def show_rules(context: PageContext, account: Account, base: str) -> Response:
    """Show the form that changes what a key may be used for."""
    key = _key_in(context, account)
    return _rules(context, account, base, key, typed=_as_typed(key.restrictions or UNRESTRICTED))


async def change_rules(context: PageContext, account: Account, base: str) -> Response:
    """Change a key's restrictions. Idempotent per form."""
    key, now = _key_in(context, account), context.now_ms()
    typed, form_id = read(KeyRulesForm, context.form), context.typed("form_id")
    if not isinstance(typed, KeyRulesForm) or not form_id or key.revoked_ms is not None:
        complaints = {} if isinstance(typed, KeyRulesForm) else typed
        return _rules(context, account, base, key, 422, complaints=complaints)
    if _face_of(key) is not None and not typed.networks:
        return _rules(context, account, base, key, 422, complaints={"ips": _FACE_NETWORKS})
    try:
        restrictions = typed.restrictions(context.form)
        context.desk.change_restrictions(key.key_id, restrictions, now, context.signature(form_id))
    except FormDone:
        return context.redirect(base, feito="ja")
    return context.redirect(base, feito="mudada")


def _rules(
    context: PageContext, account: Account, base: str, key: Key, status: int = 200, **values: object
) -> Response:
    above = [("Contas", ACCOUNTS), (account.name, f"{ACCOUNTS}/{account.account_id}")]
    return context.page(
        "chave_mudar.html",
        status,
        key=key,
        state=state_of(key, context.now_ms()),
        path=base,
        operations=OPERATIONS,
        face=_face_of(key),
        crumbs=[*above * context.person.is_operator, ("Chaves", base), ("Regras", None)],
        **values,
    )


async def confirm(context: PageContext, account: Account, base: str) -> Response:
    """Ask for confirmation before a key is revoked."""
    key = _key_in(context, account)
    if not context.person.is_operator:
        state = state_of(key, context.now_ms())
        return context.page("chave_revogar.html", key=key, state=state, path=base)
    if key.revoked_ms is not None:
        return context.redirect(base, feito="revogada")
    return context.page(
        "operador/confirmar.html",
        question=f"Revogar a chave {key.name}?",
        consequences=(
            f"A chave começa com {key.prefix} e é da conta {account.name}.",
            "Em um segundo, todos os programas que usam esta chave passam a receber 401.",
            "Esta ação não pode ser desfeita. O histórico e as cobranças da chave continuam.",
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


async def revoke(context: PageContext, account: Account, base: str) -> Response:
    """Revoke a key for good. Idempotent per form."""
    key, now = _key_in(context, account), context.now_ms()
    try:
        context.desk.revoke_key(key.key_id, now, context.signature(context.typed("form_id")))
    except FormDone:
        return context.redirect(base, feito="ja")
    return context.redirect(base, feito="revogada")


def _key_in(context: PageContext, account: Account) -> Key:
    """Return the key of the address, if it is this account's."""
    number = context.request.path_params["key_id"]
    for key in context.desk.keys(account.account_id):
        if filters.is_number(number) and key.key_id == int(number):
            return key
    text = "Esta conta não tem uma chave com este número."
    raise context.not_found("Chave não encontrada", text)


def _in_force(keys: Sequence[Key], now_ms: int) -> Sequence[Key]:
    return [key for key in keys if is_in_force(key, now_ms)]


async def _listed(
    context: PageContext, account: Account, base: str, status: int = 200, **values: object
) -> Response:
    """Return the list and the form; `values` is the outcome of a form."""
    now = context.now_ms()
    keys = context.desk.keys(account.account_id)
    in_force = _in_force(keys, now)
    order = ordering_of(context, _ORDERS, "-criada")
    ended = [key for key in reversed(keys) if key not in in_force]
    return context.page(
        "chaves.html",
        status,
        account=account,
        path=base,
        in_force=[(key, state_of(key, now)) for key in order.apply(in_force[::-1])],
        order=order,
        ended=[(key, state_of(key, now)) for key in ended[:ENDED_SHOWN]],
        ended_more=max(0, len(ended) - ENDED_SHOWN),
        in_force_max=IN_FORCE_MAX,
        expiring=expiring(keys, now),
        within_days=WITHIN_DAYS,
        replacement=REPLACEMENT,
        uses=await uses_of(context, account.account_id),
        shown_days=SHOWN_DAYS,
        limits=context.settings.limits_by_plan[account.plan],
        today=filters.today_of(context).isoformat(),
        operations=OPERATIONS,
        rules_of=rules_of,
        ruled=any(context.form.get(name) for name in _RULES),
        **values,
    )
