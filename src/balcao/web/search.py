"""`/app/busca`: company search with the API's filters, at the API's price (decisions 14).

What is searched for comes by POST and stands in no address. A page's number is made of its form,
of who sends it and of all that is asked: sent again, it is the same page, charged once; what the
page offers (more, a file, a batch) finds it by the same number.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import IO
from urllib.parse import urlencode

import msgspec
from starlette.responses import Response

from balcao.accounts.statement import write_csv
from balcao.core.outcomes import Reply
from balcao.core.problems import problem_of
from balcao.core.search import FILTER_NAMES
from balcao.core.search_answers import CompanyFound
from balcao.core.writing import cnpj
from balcao.errors import (
    BalcaoError,
    CallerError,
    FilterRequired,
    InvalidParameter,
    Overloaded,
    SearchUnavailable,
    StorageFailed,
)
from balcao.http.authenticator import must_wait
from balcao.http.read import Request
from balcao.http.searches import (
    COMPANIES,
    COUNT,
    PREFIX,
    CompaniesAnswer,
    CountAnswer,
    sees_people,
)
from balcao.opendata.errors import OpenDataError
from balcao.opendata.search.index import search_of
from balcao.opendata.snapshot import current_path
from balcao.operations.views import Notice
from balcao.web import consult, outcomes
from balcao.web.batches.form import begun_with
from balcao.web.exports import CSV
from balcao.web.visit import FORM_ID_CHARACTERS_MAX, Visit

PATH = "/app/busca"

SIZES = ("20", "50", "100")
_USUAL_SIZE = "50"
_CHARACTERS_MAX = 500
_FIELDS = (*FILTER_NAMES, "pessoas", "limite", "cursor")
# What they are called on the page; errors of the API name its parameters.
_LABELS = {
    "q": "Nome",
    "uf": "UF",
    "municipio": "Município",
    "cnae": "CNAE",
    "situacao": "Situação",
    "porte": "Porte",
    "matriz": "Estabelecimentos",
    "limite": "Por página",
    "aberta_desde": "Aberta desde",
    "aberta_ate": "Aberta até",
    "situacao_desde": "Nesta situação desde",
    "situacao_ate": "Nesta situação até",
    "capital_min": "Capital mínimo, em reais",
    "capital_max": "Capital máximo, em reais",
    "simples": "Simples Nacional",
    "mei": "MEI",
    "cnae_principal": "CNAE principal",
    "divisao": "Divisão da CNAE",
    "natureza": "Natureza jurídica",
    "motivo": "Motivo da situação",
    "cep": "CEP, ou como começa",
    "ddd": "DDD",
    "dominio": "Domínio do e-mail",
    "raiz": "Raiz do CNPJ",
    "pessoas": "Também empresários individuais e produtores",
}
_NAMED = re.compile(r"\b(?:O parâmetro )?(" + "|".join(_LABELS) + r")\b")
_AMOUNTS = ("capital_min", "capital_max")
# A company's box to be ticked; a form has each name once.
_TICKED = "e_"


async def show(visit: Visit) -> Response:
    """The empty form."""
    return _page(visit, {})


async def seek(visit: Visit) -> Response:
    """One page of what is found, or how many there are."""
    if visit.account.suspended_ms is not None:
        return consult.suspended(visit)
    typed = _typed(visit)
    counting = visit.typed("acao") == "contar"
    try:
        reply = await _answer(visit, COUNT if counting else COMPANIES, typed)
    except (CallerError, Overloaded, SearchUnavailable, StorageFailed) as error:
        return _refused(visit, typed, error)
    visit.reply = reply
    if counting:
        tally = msgspec.json.decode(reply.body, type=CountAnswer)
        return _page(visit, typed, tally=tally, cost=_cost(reply))
    page = msgspec.json.decode(reply.body, type=CompaniesAnswer)
    return _page(visit, typed, found=page, cost=_cost(reply))


async def as_table(visit: Visit) -> Response:
    """A page that was bought, as a file."""
    page = await _bought(visit)

    def write(file: IO[bytes]) -> None:
        write_csv(file, _COLUMNS, map(_cells, page.itens))

    return await visit.export(write, CSV, f"busca-de-empresas-{page.data_base}")


async def to_batch(visit: Visit) -> Response:
    """A new batch of the companies that are ticked, or of the whole page."""
    page = await _bought(visit)
    ticked = {name.removeprefix(_TICKED) for name in visit.form if name.startswith(_TICKED)}
    everybody = visit.typed("quais") == "todas"
    chosen = [each.cnpj for each in page.itens if everybody or each.cnpj in ticked]
    if not chosen:
        alert = "Marque ao menos uma empresa, ou abra o lote com todas."
        return _page(visit, _typed(visit), 422, found=page, alert=alert)
    return begun_with(visit, "\n".join(map(cnpj, chosen)))


def is_searchable(visit: Visit) -> bool:
    """Whether the month in use of this account has its index."""
    try:
        return search_of(current_path(visit.tools.store(visit.account.mode))).is_file()
    except OpenDataError:
        return False


def _typed(visit: Visit) -> Mapping[str, str]:
    """The filters that were filled in."""
    typed = {name: visit.typed(name)[:_CHARACTERS_MAX] for name in _FIELDS}
    for name in _AMOUNTS:  # as people write them: 1.000,50
        if "," in typed[name]:
            typed[name] = typed[name].replace(".", "").replace(",", ".")
    if typed["limite"] not in SIZES:
        typed["limite"] = _USUAL_SIZE
    return {name: value for name, value in typed.items() if value}


def _number(visit: Visit, path: str, typed: Mapping[str, str]) -> str:
    """Of this page: for the same person, form and filters always the same."""
    form_id = visit.typed("form_id")
    if not form_id or len(form_id) > FORM_ID_CHARACTERS_MAX:
        raise InvalidParameter("O formulário chegou alterado, e nada foi buscado.")
    pepper = visit.tools.parts.numbering.pepper
    told = hashlib.blake2b(key=pepper, digest_size=16, person=b"balcao-search")
    told.update(f"{visit.person.user.user_id} {form_id} {path} ".encode())
    told.update(urlencode(sorted(typed.items())).encode())
    return told.hexdigest()


async def _answer(visit: Visit, path: str, typed: Mapping[str, str]) -> Reply:
    """The API's own answer to the same request, charged as it is."""
    tools, caller = visit.tools, visit.person.caller()
    key = f"web-{_number(visit, path, typed)}"
    verdicts = await tools.authenticator.count(caller, tools.now_ms())
    if (limited := must_wait(verdicts)) is not None:
        raise limited
    sent = {name: value for name, value in typed.items() if path == COMPANIES or name != "limite"}
    return await tools.searches.answer(
        path,
        Request(
            "GET",
            PREFIX + path,
            urlencode(sent).encode(),
            {b"idempotency-key": key.encode()},
            caller=caller,
            request_id=visit.request_id,
        ),
    )


async def _bought(visit: Visit) -> CompaniesAnswer:
    """The page that this form brought. 404 when it is not kept any more."""
    attempt = await consult.attempt_of(visit, _number(visit, COMPANIES, _typed(visit)))
    if attempt is None or attempt.recorded is None or attempt.recorded.erased:
        raise visit.missing(
            "Esta página da busca não está guardada",
            "Ela fica por um tempo, só para quem a buscou. Busque de novo e, nessa página, baixe o"
            " arquivo ou abra o lote.",
        )
    return msgspec.json.decode(attempt.recorded.body, type=CompaniesAnswer)


def _page(
    visit: Visit,
    typed: Mapping[str, str],
    status: int = 200,
    *,
    found: CompaniesAnswer | None = None,
    tally: CountAnswer | None = None,
    cost: str = "",
    outcome: Notice | None = None,
    alert: str | None = None,
) -> Response:
    return visit.page(
        "busca.html",
        status,
        filters={name: typed.get(name, "") for name in _FIELDS}
        | {"limite": typed.get("limite", _USUAL_SIZE)},
        asked={name: value for name, value in typed.items() if name != "cursor"},
        form_id=visit.typed("form_id"),
        labels=_LABELS,
        sizes=SIZES,
        price=visit.tools.settings.preco_busca_creditos,
        available=visit.available,
        searchable=is_searchable(visit),
        may_people=sees_people(visit.person.caller()),
        more_filters=any(typed.get(name) for name in _FURTHER),
        found=found,
        tally=tally,
        cost=cost,
        outcome=outcome,
        alert=alert,
    )


# Those that are folded away as long as nobody fills them in.
_FURTHER = (
    "cnae_principal", "divisao", "natureza", "motivo", "simples", "mei", "aberta_desde",
    "aberta_ate", "situacao_desde", "situacao_ate", "capital_min", "capital_max", "cep", "ddd",
    "dominio", "raiz",
)  # fmt: skip


def _cost(reply: Reply) -> str:
    """What it cost, as a sentence."""
    if reply.replayed:
        return "Esta página já tinha sido buscada: nada mais foi cobrado."
    return outcomes.cost(reply.credits)


def _refused(visit: Visit, typed: Mapping[str, str], error: BalcaoError) -> Response:
    problem = problem_of(error)
    status = 422 if problem.status == 400 else problem.status
    visit.reply = Reply(visit.request_id, status, b"", 0, code=problem.code)
    if isinstance(error, FilterRequired):
        outcome = Notice(
            "warn",
            "Falta dizer o que buscar",
            "Nada foi cobrado.",
            "Preencha um filtro ou mais.",
            problem.code,
        )
    elif problem.status == 400:
        outcome = Notice(
            "warn",
            "Um filtro não foi entendido",
            _in_words(problem.message),
            "Nada foi cobrado.",
            problem.code,
        )
    else:
        outcome = outcomes.of_refusal(
            problem, None, visit.available, is_manager=visit.person.is_manager
        )
    response = _page(visit, typed, status, outcome=outcome)
    if problem.retry_after_seconds is not None:
        response.headers["retry-after"] = str(problem.retry_after_seconds)
    return response


def _in_words(message: str) -> str:
    """An error of the API with the labels of the form in the place of its parameters."""
    return _NAMED.sub(lambda match: f"“{_LABELS[match[1]]}”", message)


_COLUMNS = (
    "cnpj", "nome_empresarial", "nome_fantasia", "situacao", "data_situacao", "uf", "municipio",
    "cnae_principal", "cnae_descricao", "natureza", "natureza_descricao", "porte",
    "data_de_abertura", "matriz", "capital_social",
)  # fmt: skip


def _cells(each: CompanyFound) -> Sequence[str | None]:
    activity, nature = each.cnae_principal, each.natureza
    return (
        each.cnpj,
        each.nome_empresarial,
        each.nome_fantasia,
        each.situacao,
        each.data_situacao,
        each.uf,
        each.municipio,
        None if activity is None else activity.codigo,
        None if activity is None else activity.descricao,
        None if nature is None else nature.codigo,
        None if nature is None else nature.descricao,
        each.porte,
        each.data_de_abertura,
        "matriz" if each.matriz else "filial",
        None if each.capital_social is None else f"{each.capital_social}".replace(".", ","),
    )
