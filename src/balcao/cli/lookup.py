"""`balcao lookup`: show the price, run the lookup, show answer and charge."""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeAlias
from uuid import uuid4

import typer

from balcao.cli.arguments import find_operation
from balcao.cli.failures import CommandFailed, refuse
from balcao.cli.output import AsJson, Block, Pairs, show
from balcao.cli.quote import price_pairs, price_record, quoted_in
from balcao.cli.results import OK, answer_blocks, exit_code
from balcao.cli.service_client import (
    ADDRESS_VARIABLE,
    KEY_VARIABLE,
    ServiceReply,
    access_as_account,
    access_with_key,
    local_service,
)
from balcao.core.errors import CallerError
from balcao.core.problems import problem_of
from balcao.core.writing import credits
from balcao.operations import ALL_OPERATIONS
from balcao.operations.contract import Operation, lookup_of
from balcao.service.clock import system_now_ms

if TYPE_CHECKING:
    from balcao.core.extensions import Extension
    from balcao.service.pricing import Price

_Confirm: TypeAlias = "Callable[[Price], None]"

_FROM_STDIN = "-"
# Parameters set by this command; the credit limit is the displayed price.
_RESERVED = ("cnpj", "cpf", "creditos_maximos", "x-creditos-maximos", "idempotency-key")


def lookup(
    operation: Annotated[
        str,
        typer.Argument(
            metavar="OPERAÇÃO",
            help=f"Uma destas: {', '.join(each.path for each in ALL_OPERATIONS)}.",
        ),
    ],
    document: Annotated[
        str,
        typer.Argument(
            metavar="DOCUMENTO",
            help="CNPJ ou CPF, com ou sem pontuação. Com -, é pedido no terminal ou lido da"
            " entrada padrão.",
        ),
    ],
    parameters: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NOME=VALOR", help="Parâmetros da consulta, como na API: uf=SP endereco=true."
        ),
    ] = None,
    *,
    account: Annotated[
        str | None,
        typer.Option(metavar="CONTA", help="Na máquina do serviço: a conta que consulta."),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            metavar="ENDEREÇO",
            help=f"Com {KEY_VARIABLE}: endereço do serviço; padrão: {ADDRESS_VARIABLE} ou o desta"
            " máquina.",
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "--sim", help="Não pede confirmação do preço.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Mostra o preço, pede confirmação, consulta e exibe a resposta e o valor cobrado.

    Na máquina do serviço, informe --account. Com uma chave, defina BALCAO_KEY com a chave e
    BALCAO_URL com o endereço do serviço. A cobrança nunca passa do preço mostrado.

    Um CPF na linha de comando fica no histórico do shell. Escreva - no lugar dele.

    Códigos de saída: 0, há resultado; 2, parâmetros errados; 3, chave recusada ou sem
    permissão; 4, faltam créditos; 5, não encontrado ou certidão não emitida; 6, espere e
    repita; 7, falha da fonte ou do serviço; 1, outros erros.

    Exemplo:

      $ balcao lookup suframa 90.010.002/0001-54 --account pre-pago
      $ balcao lookup sintegra 90010001000100 uf=BR --account pre-pago
      $ balcao lookup suframa 90010002000154 --url https://balcao.exemplo
    """
    requested = _operation(operation)
    if not yes and not sys.stdin.isatty():
        refuse("sem terminal não é possível pedir confirmação; use --yes.", "--yes")
    if document == _FROM_STDIN:
        document = _read_document()
    query, headers = _split_parameters(requested, parameters or ())
    path = lookup_of(requested, document, query)
    confirm = partial(_confirm_price, ask=not yes)
    if account is not None:
        if url is not None:
            refuse("--account usa o serviço desta máquina.", "--url")
        price, reply, acts = _with_account(account, requested, path, headers, confirm)
    else:
        price, reply, acts = _with_key(url, path, headers, confirm)
    blocks: Sequence[Block] = ()
    if not as_json:
        uf = query.get("uf", "").strip().upper() or None
        blocks = answer_blocks(requested, document, uf, reply, now_ms=system_now_ms(), acts=acts)
    show(as_json, _record(price, reply), *blocks)
    if code := exit_code(reply):
        raise typer.Exit(code)


def _operation(text: str) -> Operation:
    found = find_operation(text)
    if found is None:
        # The text is not repeated: it may be a CPF.
        known = ", ".join(each.path for each in ALL_OPERATIONS)
        refuse(f"operação desconhecida. Operações: {known}.", "OPERAÇÃO")
    assert found is not None, "refused"
    return found


def _read_document() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("Documento", err=True)).strip()
    return sys.stdin.readline().strip()


def _split_parameters(
    operation: Operation, given: Sequence[str]
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Split `NOME=VALOR` into query parameters and headers. Raises `BadParameter`."""
    known = {
        each.name.lower(): each
        for each in operation.parameters
        if each.place != "path" and not each.deprecated and each.name.lower() not in _RESERVED
    }
    query: dict[str, str] = {}
    headers: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        parameter = known.get(name.strip().lower())
        if parameter is None or not equals:
            names = ", ".join(each.name for each in known.values())
            refuse(f"não é um parâmetro desta consulta. Parâmetros: {names}.", "NOME=VALOR")
        assert parameter is not None, "refused"
        into = query if parameter.place == "query" else headers
        into[parameter.name] = value.strip()
    return query, headers


# Price, response, and known extensions of certificates.
_Outcome: TypeAlias = "tuple[Price | None, ServiceReply, Sequence[Extension]]"


def _with_account(
    account: str, operation: Operation, path: str, headers: Mapping[str, str], confirm: _Confirm
) -> _Outcome:
    from balcao.operations.envelope import error_fields

    with local_service() as (local, base):
        try:
            price = quoted_in(local, account, path)
        except CallerError as error:
            problem = problem_of(error)
            return None, ServiceReply(problem.status, {}, b"{" + error_fields(problem)), ()
        confirm(price)
        with access_as_account(local, base, account, operation.path) as service:
            reply = service.get(f"/consultas/v2/{path}", _with_limits(price, headers))
        return price, reply, local.desk.extensions.all() if operation.issues else ()


def _with_key(
    url: str | None, path: str, headers: Mapping[str, str], confirm: _Confirm
) -> _Outcome:
    import msgspec

    from balcao.service.pricing import Price

    service = access_with_key(url)
    if service is None:
        raise CommandFailed(
            "Informe quem consulta. Na máquina do serviço, use --account CONTA. Com uma chave,"
            f" defina {KEY_VARIABLE} com a chave e {ADDRESS_VARIABLE} com o endereço do serviço."
        )
    reply = service.get(f"/cotacoes/v2/{path}", headers)
    if reply.status != OK:
        return None, reply, ()
    try:
        price = msgspec.json.decode(reply.body, type=Price)
    except msgspec.MsgspecError:
        raise CommandFailed("A resposta não é do Balcão. Confira o endereço.") from None
    confirm(price)
    return price, service.get(f"/consultas/v2/{path}", _with_limits(price, headers)), ()


def _with_limits(price: "Price", headers: Mapping[str, str]) -> Mapping[str, str]:
    """Add the displayed price as credit limit, and an idempotency key."""
    own = {"x-creditos-maximos": str(price.creditos_max), "idempotency-key": f"cli-{uuid4()}"}
    return {**headers, **own}


def _confirm_price(price: "Price", *, ask: bool) -> None:
    """Print the price, and with `ask` confirm a price above 0. Raises `typer.Exit`."""
    Pairs(price_pairs(price), err=True).print()
    if not ask or price.recusa is not None or not price.creditos_max:
        return
    question = f"Consultar por {'' if price.exato else 'até '}{credits(price.creditos_max)}? [s/N]"
    answer = typer.prompt(question, default="n", show_default=False, prompt_suffix=" ", err=True)
    if answer.strip().casefold() not in ("s", "sim"):
        typer.echo("Nada foi consultado nem cobrado.", err=True)
        raise typer.Exit(1)


def _record(price: "Price | None", reply: ServiceReply) -> Mapping[str, object]:
    return {
        "quote": None if price is None else price_record(price),
        "status": reply.status,
        "request_id": reply.headers.get("x-request-id"),
        "credits": reply.credits,
        "answer": reply.json,
    }
