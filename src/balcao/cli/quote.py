"""`balcao quote`: what a lookup would cost an account now."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from balcao.cli.failures import CommandFailed
from balcao.cli.office import Office, opened, wait_for
from balcao.cli.output import AsJson, Pairs, show
from balcao.core import writing
from balcao.core.errors import CallerError, RouteNotFound
from balcao.core.problems import problem_of
from balcao.operations import ALL_OPERATIONS

if TYPE_CHECKING:
    from balcao.service.pricing import Price

# Of the answer over HTTP.
_ENVELOPE = ("request_id", "success", "error")

_WAYS = {
    "proprio": "da nossa cópia dos dados abertos",
    "cache": "do cache",
    "fonte": "da fonte",
    "misto": "do cache, da fonte, ou de um pouco de cada",
}


def quote(
    path: Annotated[
        str,
        typer.Argument(metavar="CONSULTA", help="O endereço da consulta, a partir da operação."),
    ],
    account: Annotated[
        str,
        typer.Option("--account", metavar="CONTA", help="Nome ou número da conta que consultaria."),
    ],
    as_json: AsJson = False,
) -> None:
    """Diz quanto uma consulta custaria agora, sem consultar nem cobrar nada.

    É o mesmo que GET /cotacoes/v2/ responde, menos a situação das fontes, que só o serviço em
    execução conhece.

    Exemplo:

      $ balcao quote "sintegra/90010001000100?uf=BR" --account acme
    """
    lookup = path.removeprefix("/consultas/v2/").removeprefix("/")
    with opened() as office:
        try:
            price = quoted_in(office, account, lookup)
        except RouteNotFound as error:
            names = ", ".join(operation.path for operation in ALL_OPERATIONS)
            raise CommandFailed(f"Não há essa consulta. As operações são: {names}.") from error
        except CallerError as error:
            raise CommandFailed(problem_of(error).message) from error
    show(as_json, price_record(price), Pairs(price_pairs(price)))


def quoted_in(office: Office, account: str, lookup: str) -> "Price":
    """Return what a lookup would cost an account now. Raises `CallerError`, `CommandFailed`."""
    from balcao.service.pricing import price

    found = office.account(account)
    return wait_for(price(office.settings, office.home, office.desk, office.now_ms, found, lookup))


def price_record(price: "Price") -> Mapping[str, object]:
    """Return a price for programs: as over HTTP, without the fields that every answer has."""
    fields = msgspec.to_builtins(price)
    return {name: fields[name] for name in fields if name not in _ENVELOPE}


def price_pairs(price: "Price") -> Sequence[tuple[str, object]]:
    """Return a price for people, as names and values."""
    cost = writing.credits_between(price.creditos_min, price.creditos_max)
    if price.exato:
        cost = f"{writing.credits(price.creditos_min)}, exatamente"
    age = price.idade_dias
    return [
        ("Custo", cost),
        ("Resposta", _WAYS[price.caminho]),
        ("Regra", price.regra or None),
        ("Idade", None if age is None else writing.counted(age, "dia", "dias")),
        ("Válida até", price.valida_ate or None),
        ("Fontes", ", ".join(each.nome for each in price.fontes) or None),
        ("Saldo depois, no máximo do custo", price.saldo_apos_maximo),
        ("Seria recusada", price.recusa or None),
    ]
