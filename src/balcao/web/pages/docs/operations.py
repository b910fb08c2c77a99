"""`/docs/operacoes/{name}`: one operation, its present price, and a form to try it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
from starlette.responses import Response

from balcao.core.ledger import Trace
from balcao.core.outcomes import Reply
from balcao.core.writing import credits
from balcao.http.texts import HEADERS
from balcao.http.write import lookup_headers, rate_limit_policy
from balcao.operations.contract import Operation
from balcao.web.kit import guard, theme
from balcao.web.kit.context import PageContext
from balcao.web.kit.lookups.advice import sentences
from balcao.web.kit.lookups.asking import may_ask
from balcao.web.kit.lookups.forms import (
    BY_PATH,
    LookupForm,
    addressable,
    blank,
    filled,
    request_values,
)
from balcao.web.kit.returning import address
from balcao.web.kit.words.vocabulary import Word
from balcao.web.pages.docs.contents import documentation_of
from balcao.web.pages.docs.language import language_of
from balcao.web.pages.docs.markdown import anchor
from balcao.web.pages.docs.pages import framed
from balcao.web.pages.docs.reference import Entry
from balcao.web.pages.lookups import form_values
from balcao.web.pages.status import BOARD

_SEARCHES = ("busca-de-empresas", "contagem-de-empresas", "busca-de-socios")
_UNKNOWN = ("Operação não encontrada", "Não existe uma operação com este nome na API.")
# The cookie with the language of requests, set by the pages' script.
_CHOICE = "balcao-linguagem"
_YEAR_SECONDS = 365 * 86_400


@dataclass(frozen=True, slots=True)
class Tab:
    """The request in one language."""

    name: str  # in addresses, and in the cookie
    title: str
    text: str
    href: str


@dataclass(frozen=True, slots=True)
class Console:
    """The answer to the form on the page."""

    trace: Trace
    headers: Sequence[tuple[str, str]]
    body: str  # empty: no longer recorded


async def show(context: PageContext) -> Response:
    """Show one operation, with the form of a lookup filled from the address."""
    entry, operation = await _entry(context)
    console = None if operation is None else await _console(context, operation)
    asked = (
        {} if console is None else {"cnpj": console.trace.document, "uf": console.trace.uf or ""}
    )
    return await _page(
        context,
        entry,
        operation,
        {**addressable(asked), **addressable(context.request.query_params)},
        console,
    )


async def follow(context: PageContext) -> Response:
    """Return the request for the values of the form: a fragment for the script, else the page."""
    entry, operation = await _entry(context)
    if operation is None:
        raise context.not_found(*_UNKNOWN)
    typed = filled(context.form)
    if not context.is_fragment:
        return await _page(context, entry, operation, typed)
    form = BY_PATH[operation.path]
    requests = _requests(entry, form, typed)
    say = language_of(context.request.url.path).say
    values = _tabs(context, requests)
    return context.page("docs/_requisicao.html", 200, say=say, form=form, **values)


async def _entry(context: PageContext) -> tuple[Entry, Operation | None]:
    """Return the operation of the address, and its lookup, if it is one."""
    language = language_of(context.request.url.path)
    documentation = await documentation_of(context.tools, language)
    entry = documentation.entries.get(context.request.path_params["name"])
    if entry is None:
        raise context.not_found(*_UNKNOWN)
    operations = context.tools.parts.operations.values()
    return entry, next((each for each in operations if each.path == entry.name), None)


async def _page(
    context: PageContext,
    entry: Entry,
    operation: Operation | None,
    given: Mapping[str, str],
    console: Console | None = None,
) -> Response:
    values: dict[str, object] = {"form": None, "standing": None, "price_now": None, "errors": {}}
    requests = entry.sample.requests()
    if entry.name in _SEARCHES:
        values["price_now"] = credits(context.settings.preco_busca_creditos)
    if operation is not None:
        form = BY_PATH[operation.path]
        typed = {**blank(form), **given}
        requests = _requests(entry, form, typed)
        values["standing"] = await _standing(context, operation)
        values |= await _form(context, operation, form, typed)
    tabs = _tabs(context, requests)
    response = await framed(
        context,
        "docs/operacao.html",
        entry=entry,
        console=console,
        refusals=await _by_status(context, entry),
        entrance=address("/app/entrar", {"para": theme.back(context.request)}),
        focus="",
        documented=True,
        **tabs,
        **values,
    )
    if context.query("linguagem") == tabs["chosen"]:
        chosen = str(tabs["chosen"])
        guard.set_cookie(response, _CHOICE, chosen, secure=context.is_secure, max_age=_YEAR_SECONDS)
    return response


async def _standing(context: PageContext, operation: Operation) -> Word | None:
    board = await BOARD.of(context.tools)
    words = [each.word for each in board.subjects if each.subject == operation.subject]
    return words[0] if words else None


async def _form(
    context: PageContext, operation: Operation, form: LookupForm, typed: Mapping[str, str]
) -> Mapping[str, object]:
    """Return the form's values; without a user of an account it only writes the request."""
    if context.visitor is None or context.visitor.account is None:
        return {
            "form": form,
            "typed": typed,
            "ufs": form.ufs(operation),
            "may_optin": True,
            "sentences": sentences(form),
            "asking": False,
        }
    if not may_ask(context, form):
        return {"shut": True}
    return {**await form_values(context, form, typed), "asking": True}


async def _console(context: PageContext, operation: Operation) -> Console | None:
    """Return the API's answer to the form, if this person may see it."""
    if context.visitor is None or context.visitor.account is None:
        return None
    if not (request_id := context.query("resposta")):
        return None
    trace = context.desk.people.trace(context.account.account_id, request_id)
    if trace is None or trace.operation != operation.path or not context.person.sees(trace.user_id):
        return None
    headers = _headers(context, trace)
    recorded = await context.recorded(trace)
    if recorded is None:
        return Console(trace, headers, "")
    body = msgspec.json.decode(recorded.body)
    return Console(trace, headers, json.dumps(body, ensure_ascii=False, indent=2))


def _headers(context: PageContext, trace: Trace) -> Sequence[tuple[str, str]]:
    """Return the headers that the API sends with this answer.

    What was left of the limits at that time is not stored: only the limits themselves are shown.
    """
    reply = Reply(
        trace.request_id,
        trace.status,
        b"",
        trace.credits,
        code=trace.code,
        origin=trace.origin,
        asked_ms=trace.asked_ms,
    )
    sent = dict(lookup_headers(reply, (), trace.settled_ms, deprecated=None))
    limits = context.tools.authenticator.limits_of(context.person.caller())
    sent[b"ratelimit-policy"] = rate_limit_policy(limits)
    return [
        (name, sent[key].decode()) for name in HEADERS if (key := name.lower().encode()) in sent
    ]


def _requests(
    entry: Entry, form: LookupForm, typed: Mapping[str, str]
) -> Sequence[tuple[str, str]]:
    """Return the request that the form sends, in each language."""
    document, parameters = request_values(form, typed)
    in_path = {form.document: document} if form.document else {}
    return entry.sample.requests({**in_path, **parameters})


def _tabs(context: PageContext, requests: Sequence[tuple[str, str]]) -> Mapping[str, object]:
    """Return the request's tabs; one is chosen by the address or by an earlier choice."""
    path, query = context.request.url.path, context.request.query_params
    tabs = [
        Tab(name, language, text, f"{address(path, {**query, 'linguagem': name})}#pedido")
        for language, text in requests
        if (name := anchor(language))
    ]
    names = [each.name for each in tabs]
    earlier = context.request.cookies.get(guard.cookie_name(_CHOICE, secure=context.is_secure), "")
    asked = (context.query("linguagem"), earlier)
    return {"tabs": tabs, "chosen": next((each for each in asked if each in names), names[0])}


async def _by_status(context: PageContext, entry: Entry) -> Sequence[tuple[int, str, str, str]]:
    """Return status, code, sentence, and the address of the code's own page.

    The API's messages are in Portuguese: in English, the sentence is the title of that page.
    """
    language = language_of(context.request.url.path)
    codes = (await documentation_of(context.tools, language)).codes
    return [
        (
            each.status,
            each.code,
            each.text if language.is_source else codes[each.code].title,
            language.page_of(each.code),
        )
        for each in entry.refusals
    ]
