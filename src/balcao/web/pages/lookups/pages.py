"""Lookups by hand: the forms, their prices, and the lookup itself.

The lookup is the API's own, with its order of checks, its cache, prices and idempotency. A form's
number becomes the idempotency key, so that sending it twice charges once. The form also sends back
the price it showed; a lookup that costs more by then is not made.
"""

import asyncio
import hashlib
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

from starlette.responses import Response

from balcao.core import idempotency
from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import (
    BalcaoError,
    CallerError,
    CertificatesNotEnabled,
    InvalidIdempotencyKey,
    OperationNotFound,
    Overloaded,
    ResultErased,
    ResultExpired,
    ResultUnavailable,
    RouteNotFound,
    SourceError,
    StillRunning,
    StorageFailed,
)
from balcao.core.federation import ALL
from balcao.core.idempotency import IdempotencyRecord
from balcao.core.ledger import Trace
from balcao.core.outcomes import Reply
from balcao.core.problems import Problem, problem_of
from balcao.core.questions import Question
from balcao.core.writing import ago, seconds
from balcao.http.authenticator import must_wait
from balcao.lookup.admit import admit_question
from balcao.lookup.execution import look_up
from balcao.lookup.quoting import quote, unserved_code
from balcao.operations.contract import Operation
from balcao.storage.people import TraceFilter
from balcao.web.kit.context import PageContext
from balcao.web.kit.lookups import outcomes
from balcao.web.kit.lookups.advice import sentences
from balcao.web.kit.lookups.asking import (
    attempt_of,
    button_number,
    outside_the_plan,
    refusal_of,
    suspended,
)
from balcao.web.kit.lookups.forms import FORMS, LookupForm, addressable, blank, filled, request_of
from balcao.web.kit.lookups.outcomes import Earlier, Price
from balcao.web.kit.standings import median_ms, usual_ms
from balcao.web.kit.throttle import PRICES_LIMIT
from balcao.web.pages.companies import recent_companies

# Most answers arrive within this time; a waiting page shows the others.
_AT_ONCE_SECONDS = 2.5
_PRICED = b"balcao-priced"

# A person's own result this recent is offered before another lookup is paid.
_JUST_NOW_MS = 600_000

_COMPANIES_SHOWN = 5

_JUST_NOW_MAX = 5  # the same document may have been looked up in several UFs


async def index(context: PageContext) -> Response:
    """Show all operations with their prices."""
    return context.page(
        "consultas.html",
        forms=FORMS.values(),
        has_certificates=context.account.has_certificates,
        suspended=context.account.suspended_ms is not None,
        available=context.available,
    )


async def show(context: PageContext) -> Response:
    """Show a form, filled from the address: from an earlier request (`?de=`), or by field."""
    form = _form(context)
    if (refusal := refusal_of(context, form)) is not None:
        return refusal
    typed = {**_from_earlier(context, form), **addressable(context.request.query_params)}
    return await _page(context, form, typed)


def refill(context: PageContext) -> Mapping[str, str]:
    """Return what was typed when the session had expired, to fill the form after signing in."""
    return addressable(context.form)


async def price(context: PageContext) -> Response:
    """Return the price of the typed form: a fragment for the script, else the page."""
    form = _form(context)
    if (refusal := refusal_of(context, form)) is not None:
        return refusal
    typed = filled(context.form)
    if context.is_fragment:
        price, earlier = await _price(context, form, typed)
        left = context.available
        return context.page("preco.html", price=price, earlier=earlier, available=left)
    try:
        _question(context, form, typed)
    except CallerError as error:
        return await _page(context, form, typed, error=error, status=200)
    return await _page(context, form, typed)


async def ask(context: PageContext) -> Response:
    """Look up, once per form, and redirect to the result."""
    form = _form(context)
    if context.account.suspended_ms is not None:
        return suspended(context)
    typed = filled(context.form)
    try:
        return await _looked_up(context, form, typed)
    except CertificatesNotEnabled:
        return outside_the_plan(context)
    except (CallerError, Overloaded, StorageFailed) as error:
        return await _form_with_error(context, form, typed, error)


async def wait(context: PageContext) -> Response:
    """Show that a lookup is running. A script polls it every second; 204: not yet."""
    number, form = context.request.path_params["form_id"], FORMS.get(context.query("tipo"))
    # Checked first: a lookup that ended by then is in the database.
    running = context.tools.running_lookups.is_running(context.account.account_id, number)
    attempt = await attempt_of(context, number)
    if attempt is not None and attempt.recorded is not None:
        return _redirect(context, _page_of(context, form, attempt.recorded.request_id))
    if running or (attempt is not None and attempt.state == "running"):
        if context.is_fragment:
            return Response(status_code=204)
        return await _waiting(context, form, number, attempt)
    if context.is_fragment:  # the page has the outcome
        return _redirect(context, _current_address(context))
    refused = context.tools.running_lookups.refusal(context.account.account_id, number)
    if refused is not None:
        return _refused(context, form, refused)
    if attempt is None:
        raise OperationNotFound
    died = outcomes.notice_for_code(ResultUnavailable.code)
    return context.problem(409, died.title, f"{died.text} {died.advice}")


async def _waiting(
    context: PageContext,
    form: LookupForm | None,
    number: str,
    attempt: IdempotencyRecord | None,
) -> Response:
    """Show what is being looked up, for how long by now, what is usual, and the highest price."""
    tools, now = context.tools, context.now_ms()
    asked = tools.running_lookups.question(context.account.account_id, number)
    document = None if asked is None else asked.document
    usual = None
    if form is not None:
        usual = median_ms(tools.health.lines(context.account.mode, now), form.subject)
    elapsed = 0 if attempt is None else max(0, now - attempt.bound_ms)
    return context.page(
        "aguarde.html",
        form=form,
        uf=None if asked is None else asked.uf,
        cnpj=document if isinstance(document, Cnpj) else None,
        masked_cpf=document.masked if isinstance(document, Cpf) else None,
        name=await _name_of(context, document) if isinstance(document, Cnpj) else None,
        elapsed=elapsed // 1000,
        usual=None if usual is None else usual_in_words(usual, elapsed),
        greatest=tools.parts.operations[asked.subject].greatest_price(asked) if asked else None,
        here=_current_address(context),
    )


def usual_in_words(usual_ms: float, elapsed_ms: int) -> str:
    """Return the usual duration, and whether a lookup takes longer."""
    usual = "menos de 1 s" if usual_ms < 1000 else seconds(usual_ms)
    return f"{usual}; esta está demorando" if elapsed_ms > 2 * max(usual_ms, 1000) else usual


async def _name_of(context: PageContext, cnpj: Cnpj) -> str | None:
    """Return a company's name from our own copy or the cache."""
    registry = context.tools.parts.environments[context.account.mode].registry
    with suppress(SourceError):  # a damaged file: show no name
        if (found := await registry.dated_company(cnpj)) is not None:
            return found[0].nome_empresarial
    return None


def _current_address(context: PageContext) -> str:
    url = context.request.url
    return f"{url.path}?{url.query}"


def _redirect(context: PageContext, path: str) -> Response:
    """Redirect a browser, or its script."""
    if context.is_fragment:
        return Response(status_code=204, headers={"hx-redirect": path})
    return context.redirect(path)


def _page_of(context: PageContext, form: LookupForm | None, request_id: str) -> str:
    """Return the address that shows an answer: where its form was, documentation or application."""
    documentation = _documentation(context)
    if form is not None and documentation:
        operation = _operation(context, form).path
        return f"{documentation}/operacoes/{operation}?resposta={request_id}#resposta"
    return f"/app/consultas/resultado/{request_id}"


def _documentation(context: PageContext) -> str:
    """Return the first page of the documentation that has the form; empty: another page has it."""
    given = context.typed("documentacao") or context.query("documentacao")
    return given if given in ("/docs", "/docs/en") else ""


def _refused(context: PageContext, form: LookupForm | None, problem: Problem) -> Response:
    """Return a page about a refusal that was not known yet when the form was answered."""
    manages = context.person.is_manager
    notice = outcomes.notice_for_refusal(problem, form, context.available, is_manager=manages)
    response = context.problem(problem.status, notice.title, f"{notice.text} {notice.advice}")
    if problem.retry_after_seconds is not None:
        response.headers["retry-after"] = str(problem.retry_after_seconds)
    return response


async def _looked_up(context: PageContext, form: LookupForm, typed: Mapping[str, str]) -> Response:
    """Look up, after the checks in their order (contract 2.10), and redirect to the result."""
    tools = context.tools
    caller = context.person.caller()
    verdicts = await tools.authenticator.count(caller, tools.now_ms())
    if (limited := must_wait(verdicts)) is not None:
        raise limited
    asked = _question(context, form, typed)
    number = await _number(context, asked)
    if not idempotency.is_valid_key(f"web-{number}"):
        raise InvalidIdempotencyKey
    began = time.perf_counter()
    lookup = asyncio.create_task(
        look_up(
            asked,
            caller,
            context.request_id,
            f"web-{number}",
            tools.parts,
            credits_max=_promised(context, asked),
        )
    )
    tools.running_lookups.add(caller.account_id, number, lookup, asked)
    await asyncio.wait([lookup], timeout=_AT_ONCE_SECONDS)
    if not lookup.done():
        tools.running_lookups.leave(lookup)
        lookup.add_done_callback(partial(_report, context, caller.account_id, began))
        return _to_wait(context, form, number)
    try:
        reply = lookup.result()
    except StillRunning:  # the same form was sent just before
        return _to_wait(context, form, number)
    except (ResultExpired, ResultErased):  # the result's page shows it as expired, or erased
        attempt = await attempt_of(context, number)
        if attempt is None or attempt.recorded is None:
            raise
        recorded = attempt.recorded
        reply = Reply(recorded.request_id, recorded.status, recorded.body, 0, replayed=True)
    context.reply = reply
    return context.redirect(_page_of(context, form, reply.request_id))


def _to_wait(context: PageContext, form: LookupForm, number: str) -> Response:
    also = {"documentacao": root} if (root := _documentation(context)) else {}
    return context.redirect(f"/app/consultas/andamento/{number}", tipo=form.slug, **also)


def _report(
    context: PageContext, account_id: int, began: float, lookup: "asyncio.Task[Reply]"
) -> None:
    """Report the event of a lookup that outlived its page."""
    if not lookup.cancelled() and lookup.exception() is None:
        took = time.perf_counter() - began
        context.report("app:consultar", lookup.result(), account_id, took)


async def _number(context: PageContext, asked: Question) -> str:
    """Return the number of this form; for a result's button, a hash of that result (`de`) and
    question.

    So the same button of an outdated page leads to its earlier answer, free of charge. The hash is
    keyed, since the number is in an address (`andamento`).
    """
    earlier = context.typed("de")
    return await button_number(context, asked, earlier) if earlier else context.typed("form_id")


def _promised(context: PageContext, asked: Question) -> int | None:
    """Return the highest price that the form showed for this question; None: for another one."""
    most, _, of = context.typed("prometido").partition(".")
    is_for_this = most.isdecimal() and len(most) < 6 and of == _priced(context, asked)
    return int(most) if is_for_this else None


def _priced(context: PageContext, asked: Question) -> str:
    """Return a keyed hash of the question, which may be about a person, to tie a price to it."""
    parts = context.tools.parts
    hashed = hashlib.blake2b(key=parts.receipt_numbers.pepper, digest_size=8, person=_PRICED)
    hashed.update(parts.operations[asked.subject].fingerprint(asked).encode())
    return hashed.hexdigest()


def _form(context: PageContext) -> LookupForm:
    form = FORMS.get(context.request.path_params["operacao"])
    if form is None:
        raise RouteNotFound
    return form


def _operation(context: PageContext, form: LookupForm) -> Operation:
    return context.tools.parts.operations[form.subject]


def _question(context: PageContext, form: LookupForm, typed: Mapping[str, str]) -> Question:
    """Return the question in a form, if the account may ask it. Raises `CallerError`."""
    operation = _operation(context, form)
    return admit_question(operation, context.person.caller(), *request_of(form, operation, typed))


async def _price(
    context: PageContext, form: LookupForm, typed: Mapping[str, str]
) -> tuple[Price, Earlier | None]:
    """Return the price now, and this person's own recent result, if any.

    The price is the operation's general one as long as a field is missing.
    """
    in_general = Price(form.price_sentence, "neutral")
    try:
        asked = _question(context, form, typed)
    except CallerError:
        return in_general, None
    tools = context.tools
    tries = [(PRICES_LIMIT, str(context.person.user.user_id))]
    if tools.throttle.wait_seconds(tries, tools.now_ms()):
        return in_general, None
    caller = context.person.caller()
    quoted = await quote(asked, caller, tools.parts)
    unserved = await unserved_code(asked, caller, tools.parts, quoted)
    price = outcomes.price(asked, quoted, context.available, tools.now_ms(), unserved)
    promised = replace(price, promise=f"{quoted.greatest}.{_priced(context, asked)}")
    return promised, await _just_now(context, asked)


async def _just_now(context: PageContext, asked: Question) -> Earlier | None:
    """Return this person's own recent result about the same company and UF, if any."""
    if not isinstance(asked.document, Cnpj):
        return None  # prices reveal nothing about people
    tools = context.tools
    now = tools.now_ms()
    wanted = TraceFilter(
        now - _JUST_NOW_MS,
        now + 1,
        operation=tools.parts.operations[asked.subject].path,
        user_id=context.person.user.user_id,
        document=asked.document.text,
    )
    traces = await asyncio.to_thread(
        tools.desk.people.traces, context.account.account_id, wanted, _JUST_NOW_MAX
    )
    uf = asked.uf or asked.inquiries[0].uf
    for trace in traces:
        if trace.code is None and _is_about(trace, uf):
            return Earlier(trace.request_id, ago(trace.opened_ms, now))
    return None


def _is_about(trace: Trace, uf: str | None) -> bool:
    """Return whether a request was for this UF; None: the company's own, not known yet."""
    return trace.uf != ALL if uf is None else trace.uf == uf


def _from_earlier(context: PageContext, form: LookupForm) -> Mapping[str, str]:
    """Return an untouched form with the CNPJ and UF of an earlier request."""
    typed = dict(blank(form))
    request_id = context.query("de")
    trace = request_id and context.desk.people.trace(context.account.account_id, request_id)
    if trace and context.person.sees(trace.user_id) and "*" not in trace.document:
        offered = {uf for uf, _ in form.ufs(_operation(context, form))}
        typed |= {"cnpj": trace.document, "uf": trace.uf if trace.uf in offered else ""}
    return typed


async def _form_with_error(
    context: PageContext, form: LookupForm, typed: Mapping[str, str], error: BalcaoError
) -> Response:
    """Return the form again, filled in, with advice about the error."""
    problem = problem_of(error)
    status = 422 if problem.status == 400 else problem.status
    context.reply = Reply(context.request_id, status, b"", 0, code=problem.code)
    response = await _page(context, form, typed, error=error, status=status)
    if problem.retry_after_seconds is not None:
        response.headers["retry-after"] = str(problem.retry_after_seconds)
    return response


async def _page(
    context: PageContext,
    form: LookupForm,
    typed: Mapping[str, str],
    *,
    error: BalcaoError | None = None,
    status: int = 200,
) -> Response:
    complaint, outcome, code = None, None, None
    left = context.available
    if error is not None:
        problem = problem_of(error)
        code = problem.code
        complaint = outcomes.field_error(problem, form, typed)
        if complaint is None:
            manages = context.person.is_manager
            outcome = outcomes.notice_for_refusal(problem, form, left, is_manager=manages)
    return context.page(
        "consulta.html",
        status,
        outcome=outcome,
        focus=form.focus(typed) if complaint is None else complaint.field,
        errors={} if complaint is None else {complaint.field: complaint.text},
        companies=await recent_companies(context, _COMPANIES_SHOWN) if form.takes_companies else (),
        **await form_values(context, form, typed),
        **context.form_id_values(code),
    )


async def form_values(
    context: PageContext, form: LookupForm, typed: Mapping[str, str]
) -> Mapping[str, object]:
    """Return the values of `_formulario.html`, except `errors` and `focus`."""
    price, earlier = await _price(context, form, typed)
    tools = context.tools
    usual = usual_ms(tools.health.lines(context.account.mode, tools.now_ms()), form.subject)
    return {
        "form": form,
        "ufs": form.ufs(_operation(context, form)),
        "typed": typed,
        "price": price,
        "earlier": earlier,
        "available": context.available,
        "may_optin": context.account.partner_optin,
        "sentences": sentences(form),
        "usual": None if usual is None else seconds(usual),
    }
