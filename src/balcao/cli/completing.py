"""What a shell offers while a value is typed: accounts, keys, operations, sources, UFs.

Which of these a parameter takes is told by its metavar, so that no command says it twice. Nothing
is made and nothing migrated for it; what cannot be read is not offered, and no word is said.
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
    """One value, as the parser's own items: `help` stands beside it where the shell shows that."""

    value: str
    help: str | None = None
    type: str = "plain"


def completed(metavar: str | None) -> Callable[[Any, str], Sequence[Offered]] | None:
    """What completes a parameter that is called so; None: nothing is known of its values."""
    values = _VALUES.get(metavar or "")
    if values is None:
        return None

    def offered(context: Any, incomplete: str) -> Sequence[Offered]:
        with suppress(Exception):  # a shell that completes is no place for complaints
            if metavar == _NAMED and (found := _behind_the_sign(context, incomplete)):
                return found
            return [each for each in values(context) if each.value.startswith(incomplete)]
        return []

    return offered


@contextmanager
def _desk() -> Iterator["Desk"]:
    """The desk, if it is of this version: opening an older one would bring it up to date."""
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
    """Those that are not revoked; where an account stands before, of that one."""
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
    """What may be sent with the operation that was named: `uf=SP`."""
    return [
        Offered(f"{name}={value}")
        for name, values in _values_of(context).items()
        for value in values or ("",)
    ]


def _values_of(context: Any) -> Mapping[str, Sequence[str]]:
    """By parameter; none where they are not from a list."""
    operation = operation_called(context.params.get("operation"))
    found: dict[str, Sequence[str]] = {}
    for each in operation.parameters if operation is not None else ():
        if each.place == "query" and each.name not in ("cnpj", "cpf", "creditos_maximos"):
            values = each.schema.get("enum") or ()
            assert isinstance(values, Sequence)
            found[each.name] = [str(value) for value in values if value]
    return found


def _behind_the_sign(context: Any, incomplete: str) -> Sequence[Offered]:
    """To bash, `uf=S` is three words, of which the last is to be completed: `SP`.

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
