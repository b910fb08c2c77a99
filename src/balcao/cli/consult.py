"""`balcao lookup`: show the price, make the lookup, show the answer and the charge."""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeAlias
from uuid import uuid4

import typer

from balcao.cli.arguments import operation_called
from balcao.cli.asking import (
    ADDRESS_VARIABLE,
    KEY_VARIABLE,
    ServiceReply,
    access_of_account,
    access_of_key,
    at_the_machine,
)
from balcao.cli.failures import CommandFailed, refuse
from balcao.cli.output import AsJson, Block, Pairs, show
from balcao.cli.quote import price_pairs, price_record, quoted_in
from balcao.cli.results import OK, answer_blocks, exit_code
from balcao.core.errors import CallerError
from balcao.core.problems import problem_of
from balcao.core.writing import credits
from balcao.operations import ALL_OPERATIONS
from balcao.operations.contract import Operation, lookup_of
from balcao.service.clock import system_now_ms

if TYPE_CHECKING:
    from balcao.core.extensions import Extension
    from balcao.service.pricing import Price

_Agree: TypeAlias = "Callable[[Price], None]"

_FROM_STDIN = "-"
# Parameters that this command sends itself; the credit limit is the price that was shown.
_OURS = ("cnpj", "cpf", "creditos_maximos", "x-creditos-maximos", "idempotency-key")


def consult(
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
            help="CNPJ ou CPF, com ou sem pontuação; - pergunta, ou lê da entrada padrão.",
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
            help=f"Com {KEY_VARIABLE}: onde está o serviço; padrão: {ADDRESS_VARIABLE}, senão o"
            " desta máquina.",
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "--sim", help="Não pergunta se deve consultar por esse preço.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Diz o preço, pergunta, consulta, mostra a resposta e o que foi cobrado.

    Quem opera o serviço diz --account, na máquina dele. Quem só tem uma chave a põe na variável
    BALCAO_KEY, e o endereço do serviço em BALCAO_URL. Nunca é cobrado mais que o preço mostrado.

    Um CPF na linha de comando fica no histórico do shell: escreva - no lugar dele.

    Sai com código 0 se há resultado; 2, parâmetros errados; 3, chave recusada ou sem permissão;
    4, faltam créditos; 5, não encontrado, ou certidão não emitida; 6, espere e repita; 7, a fonte
    ou o serviço falhou; 1, o resto.

    Exemplo:

      $ balcao lookup suframa 90.010.002/0001-54 --account pre-pago
      $ balcao lookup sintegra 90010001000100 uf=BR --account pre-pago
      $ balcao lookup suframa 90010002000154 --url https://balcao.exemplo
    """
    asked = _operation(operation)
    if not yes and not sys.stdin.isatty():
        refuse("sem um terminal não é possível confirmar; use --yes.", "--yes")
    if document == _FROM_STDIN:
        document = _read_document()
    query, headers = _sent(asked, parameters or ())
    lookup = lookup_of(asked, document, query)
    agree = partial(_agreed, ask=not yes)
    if account is not None:
        if url is not None:
            refuse("com --account consulta-se o serviço desta máquina.", "--url")
        price, reply, acts = _at_the_machine(account, asked, lookup, headers, agree)
    else:
        price, reply, acts = _with_key(url, lookup, headers, agree)
    blocks: Sequence[Block] = ()
    if not as_json:
        uf = query.get("uf", "").strip().upper() or None
        blocks = answer_blocks(asked, document, uf, reply, now_ms=system_now_ms(), acts=acts)
    show(as_json, _record(price, reply), *blocks)
    if code := exit_code(reply):
        raise typer.Exit(code)


def _operation(text: str) -> Operation:
    found = operation_called(text)
    if found is None:
        # What was written there instead may be a CPF, and is not repeated.
        known = ", ".join(each.path for each in ALL_OPERATIONS)
        refuse(f"não há essa operação. São estas: {known}.", "OPERAÇÃO")
    assert found is not None, "refused"
    return found


def _read_document() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("Documento", err=True)).strip()
    return sys.stdin.readline().strip()


def _sent(
    operation: Operation, given: Sequence[str]
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return parameters of the query and headers. Raises `BadParameter`."""
    known = {
        each.name.lower(): each
        for each in operation.parameters
        if each.place != "path" and not each.deprecated and each.name.lower() not in _OURS
    }
    query: dict[str, str] = {}
    headers: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        parameter = known.get(name.strip().lower())
        if parameter is None or not equals:
            names = ", ".join(each.name for each in known.values())
            refuse(f"não é um parâmetro desta consulta. São estes: {names}.", "NOME=VALOR")
        assert parameter is not None, "refused"
        into = query if parameter.place == "query" else headers
        into[parameter.name] = value.strip()
    return query, headers


# The price, if there is one; the answer; the known extensions of certificates.
_Consulted: TypeAlias = "tuple[Price | None, ServiceReply, Sequence[Extension]]"


def _at_the_machine(
    account: str, operation: Operation, lookup: str, headers: Mapping[str, str], agree: _Agree
) -> _Consulted:
    from balcao.operations.envelope import error_fields

    with at_the_machine() as (office, base):
        try:
            price = quoted_in(office, account, lookup)
        except CallerError as error:
            problem = problem_of(error)
            return None, ServiceReply(problem.status, {}, b"{" + error_fields(problem)), ()
        agree(price)
        with access_of_account(office, base, account, operation.path) as service:
            reply = service.get(f"/consultas/v2/{lookup}", _guarded(price, headers))
        return price, reply, office.desk.extensions.all() if operation.issues else ()


def _with_key(
    url: str | None, lookup: str, headers: Mapping[str, str], agree: _Agree
) -> _Consulted:
    import msgspec

    from balcao.service.pricing import Price

    service = access_of_key(url)
    if service is None:
        raise CommandFailed(
            "Quem consulta? Na máquina do serviço, diga --account CONTA. Com uma chave, ponha-a na"
            f" variável {KEY_VARIABLE}, e o endereço do serviço em {ADDRESS_VARIABLE}."
        )
    reply = service.get(f"/cotacoes/v2/{lookup}", headers)
    if reply.status != OK:
        return None, reply, ()
    try:
        price = msgspec.json.decode(reply.body, type=Price)
    except msgspec.MsgspecError:
        raise CommandFailed("Quem respondeu não é o Balcão. Confira o endereço.") from None
    agree(price)
    return price, service.get(f"/consultas/v2/{lookup}", _guarded(price, headers)), ()


def _guarded(price: "Price", headers: Mapping[str, str]) -> Mapping[str, str]:
    """Add a credit limit, that no more is charged than shown, and an idempotency key."""
    own = {"x-creditos-maximos": str(price.creditos_max), "idempotency-key": f"cli-{uuid4()}"}
    return {**headers, **own}


def _agreed(price: "Price", *, ask: bool) -> None:
    """Print the price, and ask for consent if it may be charged. Raises `typer.Exit`."""
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
