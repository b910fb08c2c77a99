"""`balcao quote`: the current price of a lookup for an account."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from balcao.cli.failures import CommandFailed
from balcao.cli.installation import Installation, open_installation, wait_for
from balcao.cli.output import AsJson, Pairs, show
from balcao.core import writing
from balcao.core.errors import CallerError, RouteNotFound
from balcao.core.problems import problem_of
from balcao.operations import ALL_OPERATIONS

if TYPE_CHECKING:
    from balcao.service.pricing import Price

# Fields of every answer over HTTP.
_ENVELOPE = ("request_id", "success", "error")

_WAYS = {
    "proprio": "da nossa cópia dos dados abertos",
    "cache": "de um resultado guardado",
    "fonte": "da fonte",
    "misto": "de resultados guardados e da fonte",
}


def quote(
    path: Annotated[
        str,
        typer.Argument(metavar="CONSULTA", help="O endereço da consulta, a partir da operação."),
    ],
    account: Annotated[
        str,
        typer.Option("--account", metavar="CONTA", help="Nome ou número da conta."),
    ],
    as_json: AsJson = False,
) -> None:
    """Mostra o preço atual de uma consulta, sem consultar nem cobrar.

    A resposta é a de GET /cotacoes/v2/, sem a situação das fontes, que só o serviço em
    funcionamento conhece.

    Exemplo:

      $ balcao quote "sintegra/90010001000100?uf=BR" --account acme
    """
    lookup = path.removeprefix("/consultas/v2/").removeprefix("/")
    with open_installation() as local:
        try:
            price = quoted_in(local, account, lookup)
        except RouteNotFound as error:
            names = ", ".join(operation.path for operation in ALL_OPERATIONS)
            raise CommandFailed(f"Consulta desconhecida. Operações: {names}.") from error
        except CallerError as error:
            raise CommandFailed(problem_of(error).message) from error
    show(as_json, price_record(price), Pairs(price_pairs(price)))


def quoted_in(local: Installation, account: str, lookup: str) -> "Price":
    """Return the current price of a lookup. Raises `CallerError`, `CommandFailed`."""
    from balcao.service.pricing import price

    found = local.account(account)
    return wait_for(price(local.settings, local.home, local.desk, local.now_ms, found, lookup))


def price_record(price: "Price") -> Mapping[str, object]:
    """Return a price's record: as over HTTP, without the fields of every answer."""
    fields = msgspec.to_builtins(price)
    return {name: fields[name] for name in fields if name not in _ENVELOPE}


def price_pairs(price: "Price") -> Sequence[tuple[str, object]]:
    """Return a price as names and values for people."""
    cost = writing.credits_between(price.creditos_min, price.creditos_max)
    if price.exato:
        cost = f"{writing.credits(price.creditos_min)}, exatamente"
    age = price.idade_dias
    return [
        ("Custo", cost),
        ("Resposta", _WAYS[price.caminho]),
        ("Regra", price.regra or None),
        ("Idade", None if age is None else writing.counted(age, "dia", "dias")),
        ("Válida até", writing.day(price.valida_ate) if price.valida_ate else None),
        ("Fontes", ", ".join(each.nome for each in price.fontes) or None),
        ("Saldo final, no pior caso", price.saldo_apos_maximo),
        ("Seria recusada", price.recusa or None),
    ]
