"""Routes of the company lookup in the shapes of other services (contract 16.1)."""

from collections.abc import Iterable
from dataclasses import replace

from balcao.core.compat_apis import COMPAT_API_TITLES
from balcao.core.errors import InvalidStrategy, OptInNotEnabled
from balcao.http.compat.route import CompatRoute, ReadDetail, api_paths
from balcao.http.routes import IDEMPOTENCY_KEY, Route
from balcao.http.texts import TAG_FACES
from balcao.lookup.execution import look_up
from balcao.operations.contract import Operation
from balcao.operations.parameters import Parameter

# Errors of parameters that these routes do not have.
_NOT_HERE = (InvalidStrategy, OptInNotEnabled)

_AGE = Parameter(
    "dias",
    "Idade máxima, em dias, de um resultado guardado.",
    {"type": "integer", "minimum": 0, "maximum": 365},
    place="path",
    required=True,
    example=30,
)


def compat_routes(company: Operation, read: ReadDetail) -> Iterable[Route]:
    """Return the routes of the company lookup in the shapes of other services."""
    # Parameters of the original's clients are ignored; so is `cache`, which is also in the query.
    document, *others = (
        each for each in company.parameters if each.place != "query" and each.name != "cache"
    )
    others.append(IDEMPOTENCY_KEY)
    for api, address in api_paths():
        title = COMPAT_API_TITLES[api.name]
        route = Route(
            f"{address}{{cnpj}}",
            f"compat-{api.name}",
            look_up,
            needs_key=True,
            operation=company,
            compat=CompatRoute(api, read),
            id=f"compat_{api.name}",
            tag=TAG_FACES,
            summary=f"Dados cadastrais no formato de {title}",
            text=(
                f"A consulta de dados cadastrais no formato de {title}: mesmos campos e tipos,"
                " com letras no CNPJ. O preço é o mesmo, e a consulta aparece no extrato como"
                " `cnpj-receita-federal`. Erros vêm no formato original, com o nosso código no"
                " cabeçalho `X-Codigo-Erro`. Programas que não enviam cabeçalhos usam uma chave"
                f" de API compatível no endereço: `/compat/k/CHAVE/{api.name}/…`."
            ),
            parameters=(document, *others),
            problems=[kind for kind in company.problems if kind not in _NOT_HERE],
        )
        yield route
        if api.name == "receitaws":
            yield replace(
                route,
                path=f"{route.path}/days/{{dias}}",
                described_only=True,
                id=f"{route.id}_dias",
                summary=f"{route.summary}, com a idade máxima",
                parameters=(document, _AGE, *others),
            )
