"""Messages of `serve` at its start: keys and examples the first time, then addresses."""

from collections.abc import Sequence

from balcao.accounts.links import FIRST_OPERATOR_HOURS
from balcao.cli.output import program
from balcao.core.addresses import one_time_link
from balcao.operations import OPERATIONS
from balcao.operations.contract import curl_line
from balcao.service.first_start import OPENINGS, Issued
from balcao.settings import Settings

__all__ = ["EXAMPLE_ACCOUNT", "curl_line", "first_start_message", "start_message"]

# The examples have this account's key: it may use every operation.
EXAMPLE_ACCOUNT = "pre-pago"

_NOTES = {
    "gratuito": "plano gratuito, sem certidões",
    "pre-pago": "plano pré-pago, certidões e CPF dos sócios (optin=1)",
    "pos-pago": "plano pós-pago, sem certidões",
    "pos-pago-certidoes": "plano pós-pago, com certidões",
    "um-credito": "plano pré-pago, com exatamente 1 crédito",
}


def first_start_message(
    settings: Settings, issued: Sequence[Issued], operator_token: str | None = None
) -> str:
    """Return the message of the first start, the only one with the keys.

    `operator_token`: the token of the first operator's link, None once it was used.
    """
    base = settings.address
    here = program(settings.home)
    width = max((len(one.account.name) for one in issued), default=0)
    example = next(
        (one for one in issued if one.account.name == EXAMPLE_ACCOUNT), next(iter(issued), None)
    )
    lines = [
        "",
        "Balcão: primeiro início.",
        "",
        "CONTAS DE TESTE. As chaves só são mostradas agora. Guarde-as.",
        "",
        *(
            f"  {one.account.name:<{width}}  {one.key}  {_NOTES.get(one.account.name, '')}"
            for one in issued
        ),
    ]
    have = {one.account.name for one in issued}
    lines += [
        f"  {name}: já existia uma conta com esse nome, que não foi alterada"
        for name in (opening.account.name for opening in OPENINGS)
        if name not in have
    ]
    if operator_token is not None:
        lines += [
            "",
            f"PRIMEIRO OPERADOR. Abra o link em até {FIRST_OPERATOR_HOURS} horas e escolha a sua"
            f" senha: {one_time_link(base, operator_token)}",
        ]
    if example is not None:
        lines += ["", "EXPERIMENTE. Uma consulta de cada operação:", ""]
        for operation in OPERATIONS.values():
            lines += [f"  # {operation.title}", f"  {curl_line(operation, example.key, base)}", ""]
    lines += [
        *_places(base),
        "",
        "ATENÇÃO: estas contas usam a SANDBOX, com empresas e pessoas fictícias, como toda",
        "conta de teste (chaves balcao_test_...). Contas de produção (balcao_live_...) são",
        "respondidas pelo mês importado dos dados abertos e pelas fontes configuradas:",
        "",
        f"  {here} opendata build PASTA_COM_OS_ZIPS",
        f"  {here} account create NOME --plan pre_pago",
        f'  {here} credit add NOME 1000 --reason "primeira compra"',
        f"  {here} key create NOME",
        f"  {here} source list    # as fontes de cada consulta e como ativar",
        "",
        _ending(settings),
    ]
    return "\n".join(lines)


def start_message(settings: Settings, *, without_operator: bool = False) -> str:
    """Return the message of later starts."""
    base = settings.address
    lines = [f"Balcão em {base} (dados em {settings.home}).", *_places(base)]
    if without_operator:
        here = program(settings.home)
        lines.append(f"Ainda não há operador: {here} user create EMAIL --name NOME --operator")
    return "\n".join([*lines, _ending(settings)])


def _places(base: str) -> Sequence[str]:
    return (
        f"  Aplicação     {base}/app",
        f"  Documentação  {base}/docs",
        f"  OpenAPI       {base}/openapi.json",
        f"  Prontidão     {base}/readyz",
    )


def _ending(settings: Settings) -> str:
    shown = "" if settings.public_url else f" Ouvindo em {settings.host}, porta {settings.port}."
    return f"Ctrl+C encerra.{shown}"
