"""What `serve` says when it starts: keys and first requests once, later only where it is."""

import shlex
from collections.abc import Sequence
from urllib.parse import quote, urlencode

from balcao.cli.output import program
from balcao.first_start import OPENINGS, Issued
from balcao.links import FIRST_OPERATOR_HOURS
from balcao.settings import Settings
from balcao.subjects import OPERATIONS
from balcao.subjects.contract import Operation, Parameter

# A document that is not in the path is a parameter that is not required: there may be another.
_DOCUMENTS = ("cnpj", "cpf")

# The account whose key stands in the examples: it has everything.
EXAMPLE_ACCOUNT = "pre-pago"

_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}  # noqa: S104 - recognised only

_NOTES = {
    "gratuito": "plano gratuito, sem certidões",
    "pre-pago": "plano pre_pago, certidões e CPF dos sócios (optin=1)",
    "pos-pago": "plano pos_pago, sem certidões",
    "pos-pago-certidoes": "plano pos_pago, com certidões",
    "um-credito": "plano pre_pago, com exatamente 1 crédito",
}


def address(settings: Settings) -> str:
    """Where the service is reached, for links and examples."""
    if settings.public_url:
        return settings.public_url.rstrip("/")
    host = settings.host
    host = _ANYWHERE.get(host, f"[{host}]" if ":" in host else host)
    scheme = "https" if settings.tls_certificate is not None else "http"
    return f"{scheme}://{host}:{settings.port}"


def curl_line(operation: Operation, key: str, base: str) -> str:
    """One request of an operation, ready to be pasted into a shell."""
    path = operation.path
    query: dict[str, str] = {}
    for parameter in operation.parameters:
        example = parameter.example
        if parameter.place == "path":
            path += f"/{quote(str(example), safe='')}"
        elif parameter.place == "query" and example is not None and _shown(parameter):
            query[parameter.name] = str(example)
    url = f"{base}/consultas/v2/{path}" + (f"?{urlencode(query)}" if query else "")
    return f"curl -sS -H {shlex.quote(f'x-api-key: {key}')} {shlex.quote(url)}"


def _shown(parameter: Parameter) -> bool:
    return parameter.required or parameter.name in _DOCUMENTS


def invitation(base: str, token: str) -> str:
    """The address of a one-time link."""
    return f"{base}/app/convite/{token}"


def first_words(
    settings: Settings, issued: Sequence[Issued], operator_token: str | None = None
) -> str:
    """The first start: the keys, which are shown only now, and what to do with them.

    `operator_token` is that of the first operator's link, while nobody has used it.
    """
    base = address(settings)
    here = program(settings.home)
    width = max((len(one.account.name) for one in issued), default=0)
    example = next(
        (one for one in issued if one.account.name == EXAMPLE_ACCOUNT),
        next(iter(issued), None),
    )
    lines = [
        "",
        "Balcão: primeiro início.",
        "",
        "CONTAS DE TESTE. As chaves são mostradas só agora; guarde-as.",
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
            f"PRIMEIRO OPERADOR. Abra uma vez, em até {FIRST_OPERATOR_HOURS} horas, e escolha a sua"
            f" senha: {invitation(base, operator_token)}",
        ]
    if example is not None:
        lines += ["", "EXPERIMENTE. Uma consulta de cada operação:", ""]
        for operation in OPERATIONS.values():
            lines += [
                f"  # {operation.title}",
                f"  {curl_line(operation, example.key, base)}",
                "",
            ]
    lines += [
        *_places(base),
        "",
        "ATENÇÃO: quem responde é a SANDBOX, com empresas e pessoas fictícias. É assim para toda",
        "conta de teste (chaves balcao_test_...). Contas de produção (balcao_live_...) são",
        "respondidas pelo mês importado dos dados abertos e pelas fontes configuradas:",
        "",
        f"  {here} opendata build PASTA_COM_OS_ZIPS",
        f"  {here} account create NOME --plan pre_pago",
        f'  {here} credit add NOME 1000 --reason "primeira compra"',
        f"  {here} key create NOME",
        f"  {here} source list    # quem responde o quê, e o que liga cada fonte",
        "",
        _ending(settings),
    ]
    return "\n".join(lines)


def later_words(settings: Settings, *, without_operator: bool = False) -> str:
    """Every other start."""
    base = address(settings)
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
