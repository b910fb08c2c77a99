"""`balcao quote`: what a lookup would cost an account now."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from balcao.cli.failures import CommandFailed
from balcao.cli.office import Office, opened, wait_for
from balcao.cli.output import AsJson, print_json, print_pairs, whole
from balcao.core import writing

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
        typer.Argument(
            metavar="CONSULTA",
            help="O endereço da consulta, a partir da operação.",
            show_default=False,
        ),
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
    from balcao.core.errors import CallerError, RouteNotFound
    from balcao.core.problems import problem_of
    from balcao.operations import ALL_OPERATIONS

    lookup = path.removeprefix("/consultas/v2/").removeprefix("/")
    with opened() as office:
        try:
            said = quoted_in(office, account, lookup)
        except RouteNotFound as error:
            names = ", ".join(operation.path for operation in ALL_OPERATIONS)
            raise CommandFailed(f"Não há essa consulta. As operações são: {names}.") from error
        except CallerError as error:
            raise CommandFailed(problem_of(error).message) from error
    if as_json:
        print_json(price_record(said))
    else:
        print_pairs(price_pairs(said))


def quoted_in(office: Office, account: str, lookup: str) -> "Price":
    """What it would cost this account now. Raises `CallerError`, `CommandFailed`."""
    from balcao.service.pricing import price

    found = office.account(account)
    asking = price(office.settings, office.home, office.desk, office.now_ms, found, lookup)
    return wait_for(asking)


def price_record(said: "Price") -> Mapping[str, object]:
    """The same for machines: as over HTTP, without what every answer has."""
    fields = msgspec.to_builtins(said)
    return {name: fields[name] for name in fields if name not in _ENVELOPE}


def price_pairs(said: "Price") -> Sequence[tuple[str, str]]:
    """The same for people."""
    least, greatest = said.creditos_min, said.creditos_max
    left, age = said.saldo_apos_maximo, said.idade_dias
    pairs = [
        ("Custo", writing.credits_between(least, greatest)),
        ("Resposta", _WAYS[said.caminho]),
        ("Regra", said.regra or ""),
        ("Idade", "" if age is None else writing.counted(age, "dia", "dias")),
        ("Válida até", said.valida_ate or ""),
        ("Fontes", ", ".join(each.nome for each in said.fontes)),
        ("Saldo depois, no máximo do custo", "" if left is None else whole(left)),
        ("Seria recusada", said.recusa or ""),
    ]
    if said.exato:
        pairs[0] = ("Custo", f"{writing.credits(least)}, exatamente")
    return [pair for pair in pairs if pair[1]]
