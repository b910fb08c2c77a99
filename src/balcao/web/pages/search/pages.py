"""`/app/busca`: company search with the API's filters, at the API's price (contract 14).

The search terms come by POST and are in no address. A page's number is a hash of form, person and
question: sent again, it is the same page, charged once. Results are shown at the number's address,
from the recorded answer, free of charge.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import IO
from urllib.parse import urlencode

import msgspec
from msgspec.structs import replace
from starlette.responses import Response

from balcao.core import idempotency
from balcao.core.calendar import HOUR_MS, civil_day
from balcao.core.csv_table import write_csv
from balcao.core.document_reader import unlabelled
from balcao.core.documents import Cnpj
from balcao.core.errors import (
    BalcaoError,
    CallerError,
    FilterRequired,
    InvalidParameter,
    Overloaded,
    SearchUnavailable,
    StorageFailed,
)
from balcao.core.idempotency import RecordedAnswer
from balcao.core.ledger import Finish
from balcao.core.notices import Notice
from balcao.core.outcomes import Reply
from balcao.core.problems import problem_of
from balcao.core.search import HitCount
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
from balcao.opendata.search.index import index_path
from balcao.opendata.snapshot import current_path
from balcao.web.kit.context import FORM_ID_CHARACTERS_MAX, EarlyResponse, PageContext
from balcao.web.kit.exports import CSV
from balcao.web.kit.lookups import outcomes
from balcao.web.kit.lookups.asking import attempt_of, suspended
from balcao.web.pages.batches import begun_with
from balcao.web.pages.search.activities import (
    LevelCount,
    counted,
    levels_of,
    narrowed_filters,
    narrowing,
)
from balcao.web.pages.search.terms import (
    ACTIVITIES,
    FIELDS,
    LABELS,
    SIZES,
    TOWNS,
    USUAL_SIZE,
    Choice,
    MonthNames,
    Terms,
    complaint_about,
    names_of,
    reading,
    suggested,
    typed_filters,
    understood,
)

PATH = "/app/busca"
PAGES = f"{PATH}/resultado"

# Prefix of a company's checkbox; each has its own name.
_TICKED = "e_"
# Prefix of a page's number: the key of the recorded question.
_FORM = "form-"


class SubmittedSearch(msgspec.Struct, frozen=True):
    """The question of a form, recorded with the answer, so that its page can show both."""

    form_id: str = ""
    path: str = COMPANIES
    filters: Mapping[str, str] = {}
    hits: HitCount | None = None  # of the whole search, with its first page


async def show(context: PageContext) -> Response:
    """Show the empty form."""
    return _page(context, SubmittedSearch())


async def submit(context: PageContext) -> Response:
    """Search, once per form, and redirect to the page of the results or of the count."""
    if context.account.suspended_ms is not None:
        return suspended(context)
    path = COUNT if context.typed("acao") == "contar" else COMPANIES
    typed = typed_filters(context)
    if path == COMPANIES and (company := _company_alone(typed.get("q", ""))):
        return context.redirect(f"/app/empresas/{company.text}")
    search = SubmittedSearch(context.typed("form_id"), path, typed)
    names = _names(context)
    if names is not None:
        terms = understood(typed, context.form, names, civil_day(context.now_ms()).isoformat())
        narrower = narrowing(context.typed("atividade"))
        search = replace(search, filters={**terms.filters, **narrower})
        if terms.complaints:
            return _complaining(context, search, terms)
    try:
        search = replace(search, hits=await _counted_beside(context, search))
        context.reply = await _answer(context, search)
    except (CallerError, Overloaded, SearchUnavailable, StorageFailed) as error:
        return _refused(context, search, error)
    return context.redirect(f"{PAGES}/{_number(context, search)}")


async def suggest(context: PageContext) -> Response:
    """Return the options of a field for the text typed so far, for a script."""
    name, names = context.typed("campo"), _names(context)
    found: Sequence[Choice] = ()
    if names is not None and name in (*ACTIVITIES, *TOWNS):
        found = suggested(name, context.typed("texto"), context.typed("uf"), names)
    return context.page("_sugestoes.html", choices=found, name=name)


def _names(context: PageContext) -> MonthNames | None:
    """Return the names of the account's month; None if there is no month."""
    try:
        return names_of(current_path(context.tools.store(context.account.mode)))
    except OpenDataError:
        return None


async def _counted_beside(context: PageContext, search: SubmittedSearch) -> HitCount | None:
    """Return the number of hits of a first page; None for others."""
    if search.path == COUNT or "cursor" in search.filters:
        return None
    filters = {name: value for name, value in search.filters.items() if name != "limite"}
    caller = context.person.caller()
    return (await context.tools.searches.counts(caller, [filters]))[0]


def _company_alone(text: str) -> Cnpj | None:
    """Return the company if a text is its number alone. With more words, it is a search."""
    found = reading(unlabelled(text))
    return found.document if found.alone and isinstance(found.document, Cnpj) else None


async def show_found(context: PageContext) -> Response:
    """Show the result of a form again, free of charge."""
    search, answer = await _paid_result(context)
    booked = context.desk.operation(context.account.account_id, answer.request_id)
    cost = outcomes.cost(booked.charged_credits if booked else 0)
    if booked:
        cost += " Voltar a esta página é grátis."
    if isinstance(answer, CountAnswer):
        return _page(context, search, tally=answer, cost=cost)
    return _page(context, search, found=answer, cost=cost)


async def by_activity(context: PageContext) -> Response:
    """Show the result again, with its counts by main activity; free of charge."""
    search, answer = await _paid_result(context)
    names = _names(context)
    levels = [] if names is None else levels_of(search.filters, names)
    try:
        hits = await context.tools.searches.counts(
            context.person.caller(), narrowed_filters(search.filters, levels)
        )
    except (CallerError, Overloaded, SearchUnavailable) as error:
        return _refused(context, search, error)
    return _page(
        context,
        search,
        found=answer if isinstance(answer, CompaniesAnswer) else None,
        tally=answer if isinstance(answer, CountAnswer) else None,
        by_activity=counted(levels, hits),
    )


async def as_table(context: PageContext) -> Response:
    """Download a page that was paid for."""
    _, page = await _paid_page(context)

    def write(file: IO[bytes]) -> None:
        write_csv(file, _COLUMNS, map(_cells, page.itens))

    return await context.export(write, CSV, f"busca-de-empresas-{page.data_base}")


async def to_batch(context: PageContext) -> Response:
    """Begin a batch of the companies that are ticked, or of the whole page."""
    search, page = await _paid_page(context)
    ticked = {name.removeprefix(_TICKED) for name in context.form if name.startswith(_TICKED)}
    all_of_them = context.typed("quais") == "todas"
    chosen = [each.cnpj for each in page.itens if all_of_them or each.cnpj in ticked]
    if not chosen:
        alert = "Selecione ao menos uma empresa ou crie o lote com todas."
        return _page(context, search, 422, found=page, alert=alert)
    return begun_with(context, "\n".join(map(cnpj, chosen)))


def is_searchable(context: PageContext) -> bool:
    """Return whether the month in use of this account has a search index."""
    try:
        return index_path(current_path(context.tools.store(context.account.mode))).is_file()
    except OpenDataError:
        return False


def _number(context: PageContext, search: SubmittedSearch) -> str:
    """Return the number of a page, a hash of person, form and filters."""
    if not search.form_id or len(search.form_id) > FORM_ID_CHARACTERS_MAX:
        raise InvalidParameter("O formulário chegou alterado e nada foi buscado.")
    pepper = context.tools.parts.receipt_numbers.pepper
    hashed = hashlib.blake2b(key=pepper, digest_size=16, person=b"balcao-search")
    hashed.update(f"{context.person.user.user_id} {search.form_id} {search.path} ".encode())
    hashed.update(urlencode(sorted(search.filters.items())).encode())
    return hashed.hexdigest()


async def _answer(context: PageContext, search: SubmittedSearch) -> Reply:
    """Return the API's own answer to the same request, charged as there."""
    tools, caller, path = context.tools, context.person.caller(), search.path
    number = _number(context, search)
    verdicts = await tools.authenticator.count(caller, tools.now_ms())
    if (limited := must_wait(verdicts)) is not None:
        raise limited
    filters = {
        name: value
        for name, value in search.filters.items()
        if path == COMPANIES or name != "limite"
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
        (_question_record(context, number, search),),
    )


def _question_record(context: PageContext, number: str, search: SubmittedSearch) -> Finish:
    """Return the record of the submitted search, kept as long as its answer."""
    parts, now_ms = context.tools.parts, context.now_ms()
    return Finish(
        context.account.account_id,
        idempotency.digest(f"web-{_FORM}{number}"),
        number,
        RecordedAnswer(context.request_id, 200, msgspec.json.encode(search)),
        now_ms,
        now_ms + parts.idempotency_hours * HOUR_MS,
    )


async def _paid_result(
    context: PageContext,
) -> tuple[SubmittedSearch, CompaniesAnswer | CountAnswer]:
    """Return the recorded search that this address identifies, and its answer.

    404 if they are no longer recorded, or belong to another person (the number is a hash of it).
    """
    number = context.request.path_params["number"]
    asked, answer = await _recorded(context, _FORM + number), await _recorded(context, number)
    search = msgspec.json.decode(asked, type=SubmittedSearch) if asked and answer else None
    if search is None or _number(context, search) != number:
        raise _expired(context)
    try:
        if search.path == COUNT:
            return search, msgspec.json.decode(answer, type=CountAnswer)
        return search, msgspec.json.decode(answer, type=CompaniesAnswer)
    except msgspec.ValidationError:  # recorded by another version
        raise _expired(context) from None


async def _paid_page(context: PageContext) -> tuple[SubmittedSearch, CompaniesAnswer]:
    search, page = await _paid_result(context)
    if isinstance(page, CountAnswer):
        raise _expired(context)
    return search, page


async def _recorded(context: PageContext, number: str) -> bytes:
    """Return the body recorded under this number; empty if there is none or it was erased."""
    attempt = await attempt_of(context, number)
    return attempt.recorded.body if attempt and attempt.recorded else b""


def _expired(context: PageContext) -> EarlyResponse:
    outcome = Notice(
        "info",
        "Esta página da busca não está mais disponível",
        "Ela fica guardada por um tempo, só para quem fez a busca. Nada foi cobrado agora.",
        "Faça a busca de novo. O preço é o mesmo da primeira vez.",
    )
    return EarlyResponse(_page(context, SubmittedSearch(), 404, outcome=outcome))


def _page(
    context: PageContext,
    search: SubmittedSearch,
    status: int = 200,
    *,
    found: CompaniesAnswer | None = None,
    tally: CountAnswer | None = None,
    cost: str = "",
    outcome: Notice | None = None,
    alert: str | None = None,
    terms: Terms | None = None,
    by_activity: Sequence[LevelCount] | None = None,
) -> Response:
    typed = search.filters
    names = _names(context)
    return context.page(
        "busca.html",
        status,
        filters={name: typed.get(name, "") for name in FIELDS}
        | {"limite": typed.get("limite", USUAL_SIZE)},
        asked={name: value for name, value in typed.items() if name != "cursor"},
        form_id=search.form_id,
        number=context.request.path_params.get("number"),
        labels=LABELS,
        sizes=SIZES,
        price=context.settings.preco_busca_creditos,
        available=context.available,
        searchable=is_searchable(context),
        may_people=sees_people(context.person.caller()),
        more_filters=any(typed.get(name) for name in _FURTHER),
        errors={} if terms is None else terms.complaints,
        choices={} if terms is None else terms.choices,
        hits=search.hits,
        by_activity=by_activity,
        narrows=names is not None and bool(levels_of(typed, names)),
        found=found,
        tally=tally,
        cost=cost,
        outcome=outcome,
        **context.form_id_values(None if outcome is None else outcome.code),
        alert=alert,
    )


# Filters that are collapsed as long as they are empty.
_FURTHER = (
    "cnae_principal", "divisao", "natureza", "motivo", "simples", "mei", "aberta_desde",
    "aberta_ate", "situacao_desde", "situacao_ate", "capital_min", "capital_max", "cep", "ddd",
    "dominio", "raiz",
)  # fmt: skip


def _complaining(context: PageContext, search: SubmittedSearch, terms: Terms) -> Response:
    """Return the form with its errors at their fields."""
    context.reply = Reply(context.request_id, 422, b"", 0, code=InvalidParameter.code)
    asks = all(terms.choices.get(name) for name in terms.complaints)
    outcome = Notice(
        "info" if asks else "warn",
        "Escolha uma das opções" if asks else "Confira os campos marcados",
        ", ".join(f"“{LABELS[name]}”" for name in terms.complaints) + ".",
        "Nada foi cobrado.",
    )
    return _page(context, search, 422, outcome=outcome, terms=terms)


def _refused(context: PageContext, search: SubmittedSearch, error: BalcaoError) -> Response:
    problem = problem_of(error)
    status = 422 if problem.status == 400 else problem.status
    context.reply = Reply(context.request_id, status, b"", 0, code=problem.code)
    if isinstance(error, FilterRequired):
        outcome = Notice(
            "warn",
            "Nenhum filtro preenchido",
            "Nada foi cobrado.",
            "Preencha ao menos um filtro.",
            problem.code,
        )
    elif problem.status == 400 and (about := complaint_about(problem.message)) is not None:
        return _complaining(context, search, Terms(search.filters, dict([about])))
    elif problem.status == 400:
        outcome = Notice(
            "warn", "Filtro inválido", problem.message, "Nada foi cobrado.", problem.code
        )
    else:
        outcome = outcomes.notice_for_refusal(
            problem, None, context.available, is_manager=context.person.is_manager
        )
    response = _page(context, search, status, outcome=outcome)
    if problem.retry_after_seconds is not None:
        response.headers["retry-after"] = str(problem.retry_after_seconds)
    return response


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
