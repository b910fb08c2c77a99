"""`/app/busca`: company search with the API's filters, at the API's price (contract 14).

What is searched for comes by POST and stands in no address. A page's number is made of its form,
of who sends it and of all that is asked: sent again, it is the same page, charged once. What was
found is shown at the number's own address, from what is recorded: one comes back to it freely.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import IO
from urllib.parse import urlencode

import msgspec
from starlette.responses import Response

from balcao.core import idempotency
from balcao.core.calendar import HOUR_MS
from balcao.core.csv_table import write_csv
from balcao.core.document_reader import Reading, read, unlabelled
from balcao.core.documents import CNPJ_CHARACTERS, Cnpj
from balcao.core.errors import (
    BalcaoError,
    CallerError,
    FilterRequired,
    InvalidParameter,
    Overloaded,
    SearchUnavailable,
    StorageFailed,
)
from balcao.core.idempotency import Recorded
from balcao.core.ledger import Finish
from balcao.core.notices import Notice
from balcao.core.outcomes import Reply
from balcao.core.problems import problem_of
from balcao.core.search import FILTER_NAMES
from balcao.core.search_answers import CompanyFound
from balcao.core.writing import cnpj
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
from balcao.web.kit.context import FORM_ID_CHARACTERS_MAX, EarlyResponse, PageContext
from balcao.web.kit.exports import CSV
from balcao.web.kit.lookups import outcomes
from balcao.web.kit.lookups.asking import attempt_of, suspended
from balcao.web.pages.batches import begun_with

PATH = "/app/busca"
PAGES = f"{PATH}/resultado"

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
# Before the number of a page: under this is recorded what its form asked.
_FORM = "form-"


class SearchSent(msgspec.Struct, frozen=True):
    """The question of a form, recorded with the answer, so that its page can show both."""

    form_id: str = ""
    path: str = COMPANIES
    filters: Mapping[str, str] = {}


async def show(context: PageContext) -> Response:
    """The empty form."""
    return _page(context, SearchSent())


async def seek(context: PageContext) -> Response:
    """Look, once per form, and go on to the page of what was found, or of how many there are."""
    if context.account.suspended_ms is not None:
        return suspended(context)
    path = COUNT if context.typed("acao") == "contar" else COMPANIES
    sent = SearchSent(context.typed("form_id"), path, _typed(context))
    if path == COMPANIES and (company := _company_alone(sent.filters.get("q", ""))):
        return context.redirect(f"/app/empresas/{company.text}")
    try:
        context.reply = await _answer(context, sent)
    except (CallerError, Overloaded, SearchUnavailable, StorageFailed) as error:
        return _refused(context, sent, error)
    return context.redirect(f"{PAGES}/{_number(context, sent)}")


def _company_alone(text: str) -> Cnpj | None:
    """Return the company whose number is all of a text. With words beside it, it is a search."""
    found = _reading(unlabelled(text))
    return found.document if found.alone and isinstance(found.document, Cnpj) else None


def _root(text: str) -> str:
    """Return the root of a company whose whole number was typed; else the text."""
    company = _reading(text).document
    return company.root if isinstance(company, Cnpj) else text


def _reading(text: str) -> Reading:
    return read(text, {"cnpj"}, only=False, digits_least=CNPJ_CHARACTERS)


async def show_found(context: PageContext) -> Response:
    """The result of a form, shown again free of charge."""
    sent, answer = await _bought(context)
    booked = context.desk.operation(context.account.account_id, answer.request_id)
    cost = outcomes.cost(booked.charged_credits if booked else 0)
    if booked:
        cost += " Voltar a esta página não custa mais nada."
    if isinstance(answer, CountAnswer):
        return _page(context, sent, tally=answer, cost=cost)
    return _page(context, sent, found=answer, cost=cost)


async def as_table(context: PageContext) -> Response:
    """A page that was bought, as a file."""
    _, page = await _bought_page(context)

    def write(file: IO[bytes]) -> None:
        write_csv(file, _COLUMNS, map(_cells, page.itens))

    return await context.export(write, CSV, f"busca-de-empresas-{page.data_base}")


async def to_batch(context: PageContext) -> Response:
    """A new batch of the companies that are ticked, or of the whole page."""
    sent, page = await _bought_page(context)
    ticked = {name.removeprefix(_TICKED) for name in context.form if name.startswith(_TICKED)}
    everybody = context.typed("quais") == "todas"
    chosen = [each.cnpj for each in page.itens if everybody or each.cnpj in ticked]
    if not chosen:
        alert = "Marque ao menos uma empresa, ou abra o lote com todas."
        return _page(context, sent, 422, found=page, alert=alert)
    return begun_with(context, "\n".join(map(cnpj, chosen)))


def is_searchable(context: PageContext) -> bool:
    """Whether the month in use of this account has its index."""
    try:
        return search_of(current_path(context.tools.store(context.account.mode))).is_file()
    except OpenDataError:
        return False


def _typed(context: PageContext) -> Mapping[str, str]:
    """The filters that were filled in."""
    typed = {name: context.typed(name)[:_CHARACTERS_MAX] for name in _FIELDS}
    for name in _AMOUNTS:  # as people write them: 1.000,50
        if "," in typed[name]:
            typed[name] = typed[name].replace(".", "").replace(",", ".")
    typed["raiz"] = ",".join(map(_root, typed["raiz"].split(",")))
    if typed["limite"] not in SIZES:
        typed["limite"] = _USUAL_SIZE
    return {name: value for name, value in typed.items() if value}


def _number(context: PageContext, sent: SearchSent) -> str:
    """Return the number of a page, a hash of person, form and filters."""
    if not sent.form_id or len(sent.form_id) > FORM_ID_CHARACTERS_MAX:
        raise InvalidParameter("O formulário chegou alterado, e nada foi buscado.")
    pepper = context.tools.parts.numbering.pepper
    told = hashlib.blake2b(key=pepper, digest_size=16, person=b"balcao-search")
    told.update(f"{context.person.user.user_id} {sent.form_id} {sent.path} ".encode())
    told.update(urlencode(sorted(sent.filters.items())).encode())
    return told.hexdigest()


async def _answer(context: PageContext, sent: SearchSent) -> Reply:
    """The API's own answer to the same request, charged as it is."""
    tools, caller, path = context.tools, context.person.caller(), sent.path
    number = _number(context, sent)
    verdicts = await tools.authenticator.count(caller, tools.now_ms())
    if (limited := must_wait(verdicts)) is not None:
        raise limited
    filters = {
        name: value for name, value in sent.filters.items() if path == COMPANIES or name != "limite"
    }
    return await tools.searches.answer(
        path,
        Request(
            "GET",
            PREFIX + path,
            urlencode(filters).encode(),
            {b"idempotency-key": f"web-{number}".encode()},
            caller=caller,
            request_id=context.request_id,
        ),
        (_kept_with(context, number, sent),),
    )


def _kept_with(context: PageContext, number: str, sent: SearchSent) -> Finish:
    """Return the question of the form, to be recorded with the answer and as long as that."""
    parts, now_ms = context.tools.parts, context.now_ms()
    return Finish(
        context.account.account_id,
        idempotency.digest(f"web-{_FORM}{number}"),
        number,
        Recorded(context.request_id, 200, msgspec.json.encode(sent)),
        now_ms,
        now_ms + parts.idempotency_hours * HOUR_MS,
    )


async def _bought(context: PageContext) -> tuple[SearchSent, CompaniesAnswer | CountAnswer]:
    """Return the question of the form in this address, and its answer.

    404 when that is not kept any more, or is another person's: their number would be another.
    """
    number = context.request.path_params["number"]
    asked, answer = await _recorded(context, _FORM + number), await _recorded(context, number)
    sent = msgspec.json.decode(asked, type=SearchSent) if asked and answer else None
    if sent is None or _number(context, sent) != number:
        raise _gone(context)
    try:
        if sent.path == COUNT:
            return sent, msgspec.json.decode(answer, type=CountAnswer)
        return sent, msgspec.json.decode(answer, type=CompaniesAnswer)
    except msgspec.ValidationError:  # recorded by another version
        raise _gone(context) from None


async def _bought_page(context: PageContext) -> tuple[SearchSent, CompaniesAnswer]:
    sent, page = await _bought(context)
    if isinstance(page, CountAnswer):
        raise _gone(context)
    return sent, page


async def _recorded(context: PageContext, number: str) -> bytes:
    """Return the body recorded under this number; empty if there is none or it was erased."""
    attempt = await attempt_of(context, number)
    return attempt.recorded.body if attempt and attempt.recorded else b""


def _gone(context: PageContext) -> EarlyResponse:
    outcome = Notice(
        "info",
        "Esta página da busca não está guardada",
        "Ela fica por um tempo, só para quem a buscou. Nada foi cobrado agora.",
        "Busque de novo; custa como da primeira vez.",
    )
    return EarlyResponse(_page(context, SearchSent(), 404, outcome=outcome))


def _page(
    context: PageContext,
    sent: SearchSent,
    status: int = 200,
    *,
    found: CompaniesAnswer | None = None,
    tally: CountAnswer | None = None,
    cost: str = "",
    outcome: Notice | None = None,
    alert: str | None = None,
) -> Response:
    typed = sent.filters
    return context.page(
        "busca.html",
        status,
        filters={name: typed.get(name, "") for name in _FIELDS}
        | {"limite": typed.get("limite", _USUAL_SIZE)},
        asked={name: value for name, value in typed.items() if name != "cursor"},
        form_id=sent.form_id,
        number=context.request.path_params.get("number"),
        labels=_LABELS,
        sizes=SIZES,
        price=context.settings.preco_busca_creditos,
        available=context.available,
        searchable=is_searchable(context),
        may_people=sees_people(context.person.caller()),
        more_filters=any(typed.get(name) for name in _FURTHER),
        found=found,
        tally=tally,
        cost=cost,
        outcome=outcome,
        **context.form_of(None if outcome is None else outcome.code),
        alert=alert,
    )


# Those that are folded away as long as nobody fills them in.
_FURTHER = (
    "cnae_principal", "divisao", "natureza", "motivo", "simples", "mei", "aberta_desde",
    "aberta_ate", "situacao_desde", "situacao_ate", "capital_min", "capital_max", "cep", "ddd",
    "dominio", "raiz",
)  # fmt: skip


def _refused(context: PageContext, sent: SearchSent, error: BalcaoError) -> Response:
    problem = problem_of(error)
    status = 422 if problem.status == 400 else problem.status
    context.reply = Reply(context.request_id, status, b"", 0, code=problem.code)
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
            problem, None, context.available, is_manager=context.person.is_manager
        )
    response = _page(context, sent, status, outcome=outcome)
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
