"""`/docs/operacoes/{name}`: one operation, its present price, and a form to try it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
from starlette.responses import Response

from balcao.core.documents import Cnpj
from balcao.core.errors import InvalidCnpj
from balcao.core.ledger import Trace
from balcao.core.problems import PAGES
from balcao.core.tariff import SEARCH_COUNT, SEARCH_PAGE, SEARCH_PARTNERS, SEARCHES
from balcao.core.writing import credits
from balcao.operations.contract import Operation
from balcao.web.kit import theme
from balcao.web.kit.context import PageContext
from balcao.web.kit.lookups.asking import may_ask
from balcao.web.kit.lookups.forms import BY_PATH, addressable, blank
from balcao.web.kit.returning import address
from balcao.web.kit.words.vocabulary import Word
from balcao.web.pages.docs.contents import documentation_of
from balcao.web.pages.docs.pages import framed
from balcao.web.pages.docs.reference import Entry
from balcao.web.pages.lookups import form_values
from balcao.web.pages.status import BOARD

_OF_SEARCHES: Mapping[str, str] = {
    "busca-de-empresas": SEARCH_PAGE,
    "contagem-de-empresas": SEARCH_COUNT,
    "busca-de-socios": SEARCH_PARTNERS,
}


@dataclass(frozen=True, slots=True)
class Console:
    """The answer to the form on the page."""

    trace: Trace
    body: str  # empty: no longer recorded


async def show(context: PageContext) -> Response:
    """Show one operation; for users of an account, a lookup with its form."""
    entry = documentation_of(context.tools).entries.get(context.request.path_params["name"])
    if entry is None:
        raise context.not_found(
            "Operação não encontrada", "Não existe uma operação com este nome na API."
        )
    operation = _lookup(context, entry)
    values: dict[str, object] = {"form": None, "console": None, "standing": None}
    if (rule := _OF_SEARCHES.get(entry.name)) is not None:
        values["rules"] = [SEARCHES[rule]]
        values["price_sentence"] = f"{credits(context.settings.preco_busca_creditos)}."
    if operation is not None:
        values["standing"] = await _standing(context, operation)
        values["rules"] = operation.rules.values()
        values["price_sentence"] = operation.form.price_sentence
        if context.visitor is not None and context.visitor.account is not None:
            values |= await _form(context, operation)
    return framed(
        context,
        "docs/operacao.html",
        entry=entry,
        asked_here=operation is not None,
        refusals=_by_status(entry),
        requests=_requests(context, entry),
        entrance=address("/app/entrar", {"para": theme.back(context.request)}),
        errors={},
        focus="",
        documented=True,
        account=context.visitor and context.visitor.account,
        **values,
    )


def _lookup(context: PageContext, entry: Entry) -> Operation | None:
    return next(
        (each for each in context.tools.parts.operations.values() if each.path == entry.name), None
    )


async def _standing(context: PageContext, operation: Operation) -> Word | None:
    board = await BOARD.of(context.tools)
    words = [each.word for each in board.subjects if each.subject == operation.subject]
    return words[0] if words else None


async def _form(context: PageContext, operation: Operation) -> Mapping[str, object]:
    form = BY_PATH[operation.path]
    if not may_ask(context, form):
        return {"shut": True}
    console = await _console(context, operation)
    asked = (
        {} if console is None else {"cnpj": console.trace.document, "uf": console.trace.uf or ""}
    )
    typed = {**blank(form), **addressable(asked), **addressable(context.request.query_params)}
    return {**await form_values(context, form, typed), "console": console}


async def _console(context: PageContext, operation: Operation) -> Console | None:
    """Return the API's answer to the form, if this person may see it."""
    if not (request_id := context.query("resposta")):
        return None
    trace = context.desk.people.trace(context.account.account_id, request_id)
    if trace is None or trace.operation != operation.path or not context.person.sees(trace.user_id):
        return None
    recorded = await context.recorded(trace)
    if recorded is None:
        return Console(trace, "")
    body = msgspec.json.decode(recorded.body)
    return Console(trace, json.dumps(body, ensure_ascii=False, indent=2))


def _requests(context: PageContext, entry: Entry) -> Sequence[tuple[str, str]]:
    """Return the example request by language, about the company in the address, if any."""
    cnpj = addressable(context.request.query_params).get("cnpj")
    if not cnpj or not entry.cnpj:
        return entry.requests
    try:
        bare = Cnpj.parse(cnpj).text
    except InvalidCnpj:
        return entry.requests
    return [(language, text.replace(entry.cnpj, bare)) for language, text in entry.requests]


def _by_status(entry: Entry) -> Sequence[tuple[int, str, str, str]]:
    """Return status, code, sentence, and the address of the code's own page."""
    return [(each.status, each.code, each.text, PAGES + each.code) for each in entry.refusals]
