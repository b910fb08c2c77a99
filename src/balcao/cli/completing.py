"""Shell completion of values: accounts, keys, operations, sources, UFs.

A parameter's metavar decides which of these it takes. Nothing is created or migrated for it; what
cannot be read is not offered, without a message.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from balcao.cli.arguments import operation_called
from balcao.cli.configuration import read_settings
from balcao.core.access import PLANS
from balcao.core.federation import UFS
from balcao.operations import ALL_OPERATIONS
from balcao.providers import OFFERS

if TYPE_CHECKING:
    from balcao.storage.desk.desk import Desk

_NAMED = "NOME=VALOR"


@dataclass(frozen=True, slots=True)
class Offered:
    """One value, in the form of the parser's own items; some shells show `help` beside it."""

    value: str
    help: str | None = None
    type: str = "plain"


def completed(metavar: str | None) -> Callable[[Any, str], Sequence[Offered]] | None:
    """Return the completion of parameters with this metavar; None if there is none."""
    values = _VALUES.get(metavar or "")
    if values is None:
        return None

    def offered(context: Any, incomplete: str) -> Sequence[Offered]:
        with suppress(Exception):  # a shell that completes is no place for complaints
            if metavar == _NAMED and (found := _after_equals_sign(context, incomplete)):
                return found
            return [each for each in values(context) if each.value.startswith(incomplete)]
        return []

    return offered


@contextmanager
def _desk() -> Iterator["Desk"]:
    """Open the desk if it is of this version: opening an older one would migrate it."""
    from balcao.home import Home
    from balcao.storage.places import place_of

    settings = read_settings()
    place = place_of(settings)
    if not place.is_begun():
        raise LookupError("nothing there")
    with place.look() as look:
        if look.schema() != look.newest:
            raise LookupError("of another version")
    with closing(place.open_desk(pepper=Home(settings.home).pepper())) as desk:
        yield desk


def _accounts(_: Any) -> Sequence[Offered]:
    with _desk() as desk:
        return [Offered(each.name, f"conta {each.account_id}") for each in desk.accounts()]


def _keys(context: Any) -> Sequence[Offered]:
    """Return the keys that are not revoked; of one account if it was given before."""
    wanted = context.params.get("account")
    with _desk() as desk:
        return [
            Offered(str(key.key_id), f"{key.prefix}… {key.name}, de {account.name}")
            for account in desk.accounts()
            if wanted in (None, account.name, str(account.account_id))
            for key in desk.keys(account.account_id)
            if key.revoked_ms is None
        ]


def _parameters(context: Any) -> Sequence[Offered]:
    """Return the parameters of the operation that was given, such as `uf=SP`."""
    return [
        Offered(f"{name}={value}")
        for name, values in _values_of(context).items()
        for value in values or ("",)
    ]


def _values_of(context: Any) -> Mapping[str, Sequence[str]]:
    """Return the values of each parameter that has a list of them."""
    operation = operation_called(context.params.get("operation"))
    found: dict[str, Sequence[str]] = {}
    for each in operation.parameters if operation is not None else ():
        if each.place == "query" and each.name not in ("cnpj", "cpf", "creditos_maximos"):
            values = each.schema.get("enum") or ()
            assert isinstance(values, Sequence)
            found[each.name] = [str(value) for value in values if value]
    return found


def _after_equals_sign(context: Any, incomplete: str) -> Sequence[Offered]:
    """Complete the value after `=`: to bash, `uf=S` is three words, the last of them `S`.

    Of `uf=` the parser leaves us the first alone.
    """
    before = list(context.params.get("parameters") or ())
    if before and before[-1] == "=":
        before.pop()
    elif incomplete:
        return []
    values = _values_of(context).get(before[-1], ()) if before else ()
    return [Offered(value) for value in values if value.startswith(incomplete)]


_VALUES: Mapping[str, Callable[[Any], Sequence[Offered]]] = {
    "CONTA": _accounts,
    "CHAVE": _keys,
    "OPERAÇÃO": lambda _: [Offered(each.path, each.form.title) for each in ALL_OPERATIONS],
    "ASSUNTO": lambda _: [Offered(each.subject, each.form.title) for each in ALL_OPERATIONS],
    "FONTE": lambda _: [Offered(each.name, each.title) for each in OFFERS],
    _NAMED: _parameters,
    "PLANO": lambda _: [Offered(each) for each in PLANS],
    "UF": lambda _: [Offered(each) for each in UFS],
}
