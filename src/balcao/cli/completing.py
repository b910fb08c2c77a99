"""Shell completion of values: accounts, keys, operations, sources, UFs.

A parameter's metavar selects its kind of values. Completion creates and migrates nothing; without
readable data there are no suggestions and no message.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from balcao.storage.desk.desk import Desk

_NAMED = "NOME=VALOR"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggestion, with the attributes of the parser's own; some shells display `help`."""

    value: str
    help: str | None = None
    type: str = "plain"


def completion_for(metavar: str | None) -> Callable[[Any, str], Sequence[Suggestion]] | None:
    """Return the completion function for parameters with this metavar, None if there is none."""
    values = _VALUES.get(metavar or "")
    if values is None:
        return None

    def suggest(context: Any, incomplete: str) -> Sequence[Suggestion]:
        with suppress(Exception):  # an error would garble the command line
            if metavar == _NAMED and (found := _after_equals_sign(context, incomplete)):
                return found
            return [each for each in values(context) if each.value.startswith(incomplete)]
        return []

    return suggest


@contextmanager
def _desk() -> Iterator["Desk"]:
    """Open the desk. Raises `LookupError` if it has another schema, which would be migrated."""
    from balcao.cli.configuration import read_settings
    from balcao.home import Home
    from balcao.storage.places import place_of

    settings = read_settings()
    place = place_of(settings)
    if not place.is_initialized():
        raise LookupError("nothing there")
    with place.inspect() as look:
        if look.schema() != look.newest:
            raise LookupError("of another version")
    with closing(place.open_desk(pepper=Home(settings.home).pepper())) as desk:
        yield desk


def _accounts(_: Any) -> Sequence[Suggestion]:
    with _desk() as desk:
        return [Suggestion(each.name, f"conta {each.account_id}") for each in desk.accounts()]


def _keys(context: Any) -> Sequence[Suggestion]:
    """Return the keys that are not revoked, only of the given account if there is one."""
    given = context.params.get("account")
    with _desk() as desk:
        return [
            Suggestion(str(key.key_id), f"{key.prefix}… {key.name}, de {account.name}")
            for account in desk.accounts()
            if given in (None, account.name, str(account.account_id))
            for key in desk.keys(account.account_id)
            if key.revoked_ms is None
        ]


def _parameters(context: Any) -> Sequence[Suggestion]:
    """Return the parameters of the given operation, such as `uf=SP`."""
    return [
        Suggestion(f"{name}={value}")
        for name, values in _values_of(context).items()
        for value in values or ("",)
    ]


def _values_of(context: Any) -> Mapping[str, Sequence[str]]:
    """Return the query parameters of the given operation with their enumerated values."""
    from balcao.cli.arguments import find_operation

    operation = find_operation(context.params.get("operation"))
    found: dict[str, Sequence[str]] = {}
    for each in operation.parameters if operation is not None else ():
        if each.place == "query" and each.name not in ("cnpj", "cpf", "creditos_maximos"):
            values = each.schema.get("enum") or ()
            assert isinstance(values, Sequence)
            found[each.name] = [str(value) for value in values if value]
    return found


def _after_equals_sign(context: Any, incomplete: str) -> Sequence[Suggestion]:
    """Complete the value after `=`: bash splits `uf=S` into the words `uf`, `=`, `S`.

    For `uf=` the parser passes only the first.
    """
    before = list(context.params.get("parameters") or ())
    if before and before[-1] == "=":
        before.pop()
    elif incomplete:
        return []
    values = _values_of(context).get(before[-1], ()) if before else ()
    return [Suggestion(value) for value in values if value.startswith(incomplete)]


def _operations(_: Any) -> Sequence[Suggestion]:
    from balcao.operations import ALL_OPERATIONS

    return [Suggestion(each.path, each.form.title) for each in ALL_OPERATIONS]


def _subjects(_: Any) -> Sequence[Suggestion]:
    from balcao.operations import ALL_OPERATIONS

    return [Suggestion(each.subject, each.form.title) for each in ALL_OPERATIONS]


def _sources(_: Any) -> Sequence[Suggestion]:
    from balcao.providers import OFFERS

    return [Suggestion(each.name, each.title) for each in OFFERS]


def _plans(_: Any) -> Sequence[Suggestion]:
    from balcao.core.access import PLANS

    return [Suggestion(each) for each in PLANS]


def _ufs(_: Any) -> Sequence[Suggestion]:
    from balcao.core.federation import UFS

    return [Suggestion(each) for each in UFS]


_VALUES: Mapping[str, Callable[[Any], Sequence[Suggestion]]] = {
    "CONTA": _accounts,
    "CHAVE": _keys,
    "OPERAÇÃO": _operations,
    "ASSUNTO": _subjects,
    "FONTE": _sources,
    _NAMED: _parameters,
    "PLANO": _plans,
    "UF": _ufs,
}
