"""Consulting by hand: the forms, what they would cost, and the lookup itself.

The lookup is the API's own, with its order of checks, its cache, its prices and its idempotency:
a form carries a number that becomes the key, so that sending it twice charges once. It also sends
back the price that stood beside it, and what is dearer by then is not asked.
"""

import asyncio
import hashlib
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from starlette.responses import Response

from balcao.core import idempotency
from balcao.core.documents import Cnpj
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
    StillRunning,
    StorageFailed,
)
from balcao.core.federation import ALL
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
from balcao.web.kit.standings import usual_ms
from balcao.web.kit.throttle import OF_PRICES
from balcao.web.pages.companies import recent_companies

# Most answers are here by then; the page of what is under way waits for the others.
_AT_ONCE_SECONDS = 2.5
_PRICED = b"balcao-priced"

# Who asked a moment ago is shown that result, before paying for another.
_JUST_NOW_MS = 600_000

_COMPANIES_BESIDE = 5

_JUST_NOW_MAX = 5  # the same document may have been asked about in several UFs


async def index(context: PageContext) -> Response:
    """All operations with their prices."""
    return context.page(
        "consultas.html",
        forms=FORMS.values(),
        certifies=context.account.certifies,
        suspended=context.account.suspended_ms is not None,
        available=context.available,
    )


async def show(context: PageContext) -> Response:
    """A form, filled as far as an address may: from an earlier request (`?de=`), field by field."""
    form = _form(context)
    if (shut := refusal_of(context, form)) is not None:
        return shut
    typed = {**_from_earlier(context, form), **addressable(context.request.query_params)}
    return await _page(context, form, typed)


def offered(context: PageContext) -> Mapping[str, str]:
    """Return what was typed when the session had expired, to fill the form after signing in."""
    return addressable(context.form)


async def price(context: PageContext) -> Response:
    """The price of the typed form: a fragment for the script, else the page."""
    form = _form(context)
    if (shut := refusal_of(context, form)) is not None:
        return shut
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
    """Look it up, once per form, and go on to the result."""
    form = _form(context)
    if context.account.suspended_ms is not None:
        return suspended(context)
    typed = filled(context.form)
    try:
        return await _looked_up(context, form, typed)
    except CertificatesNotEnabled:
        return outside_the_plan(context)
    except (CallerError, Overloaded, StorageFailed) as error:
        return await _again(context, form, typed, error)


async def wait(context: PageContext) -> Response:
    """A form whose source is still thinking. A script asks for it every second: 204, not yet."""
    number, form = context.request.path_params["form_id"], FORMS.get(context.query("tipo"))
    # Asked first: what is over by then is in the books.
    running = context.tools.under_way.is_running(context.account.account_id, number)
    attempt = await attempt_of(context, number)
    if attempt is not None and attempt.recorded is not None:
        return _onward(context, _page_of(context, form, attempt.recorded.request_id))
    if running or (attempt is not None and attempt.state == "running"):
        return Response(status_code=204) if context.is_fragment else _waiting(context, form)
    if context.is_fragment:  # what there is to say stands on the page
        return _onward(context, _here(context))
    refused = context.tools.under_way.refusal(context.account.account_id, number)
    if refused is not None:
        return _refused(context, form, refused)
    if attempt is None:
        raise OperationNotFound
    died = outcomes.of_code(ResultUnavailable.code)
    return context.problem(409, died.title, f"{died.text} {died.advice}")


def _waiting(context: PageContext, form: LookupForm | None) -> Response:
    usual = None
    if form is not None:
        tools = context.tools
        lines = tools.health.lines(context.account.mode, tools.now_ms())
        usual = usual_ms(lines, form.subject)
    told = None if usual is None else seconds(usual)
    return context.page("aguarde.html", form=form, usual=told, here=_here(context))


def _here(context: PageContext) -> str:
    url = context.request.url
    return f"{url.path}?{url.query}"


def _onward(context: PageContext, path: str) -> Response:
    """There, for a browser or its script."""
    if context.is_fragment:
        return Response(status_code=204, headers={"hx-redirect": path})
    return context.redirect(path)


def _page_of(context: PageContext, form: LookupForm | None, request_id: str) -> str:
    """Return the address of an answer: its page, or the documentation, if the form was there."""
    if form is not None and (context.typed("documentacao") or context.query("documentacao")):
        operation = _operation(context, form).path
        return f"/docs/operacoes/{operation}?resposta={request_id}#resposta"
    return f"/app/consultas/resultado/{request_id}"


def _refused(context: PageContext, form: LookupForm | None, problem: Problem) -> Response:
    """Return the page of a refusal that came after the form's page had gone on."""
    manages = context.person.is_manager
    said = outcomes.of_refusal(problem, form, context.available, is_manager=manages)
    response = context.problem(problem.status, said.title, f"{said.text} {said.advice}")
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
    tools.under_way.add(caller.account_id, number, lookup)
    await asyncio.wait([lookup], timeout=_AT_ONCE_SECONDS)
    if not lookup.done():
        tools.under_way.leave(lookup)
        lookup.add_done_callback(partial(_told, context, caller.account_id, began))
        return _to_wait(context, form, number)
    try:
        reply = lookup.result()
    except StillRunning:  # the same form, quicker by a moment
        return _to_wait(context, form, number)
    except (ResultExpired, ResultErased):  # its page shows it, marked as expired, or says so
        attempt = await attempt_of(context, number)
        if attempt is None or attempt.recorded is None:
            raise
        recorded = attempt.recorded
        reply = Reply(recorded.request_id, recorded.status, recorded.body, 0, replayed=True)
    context.reply = reply
    return context.redirect(_page_of(context, form, reply.request_id))


def _to_wait(context: PageContext, form: LookupForm, number: str) -> Response:
    also = {"documentacao": "1"} if context.typed("documentacao") else {}
    return context.redirect(f"/app/consultas/andamento/{number}", tipo=form.slug, **also)


def _told(
    context: PageContext, account_id: int, began: float, lookup: "asyncio.Task[Reply]"
) -> None:
    """The event of a lookup whose page has gone on."""
    if not lookup.cancelled() and lookup.exception() is None:
        took = time.perf_counter() - began
        context.tell("app:consultar", lookup.result(), account_id, took)


async def _number(context: PageContext, asked: Question) -> str:
    """Return the number of this form; for a result's button, which asks once more, one made of that
    result (`de`) and the question.

    So the same button of the same old page leads to its earlier answer, free of charge. The
    question goes in through a keyed hash: the number stands in an address (`andamento`).
    """
    earlier = context.typed("de")
    return await button_number(context, asked, earlier) if earlier else context.typed("form_id")


def _promised(context: PageContext, asked: Question) -> int | None:
    """Return the highest price that the form showed for this question; None: for another one."""
    most, _, of = context.typed("prometido").partition(".")
    told = most.isdecimal() and len(most) < 6 and of == _priced(context, asked)
    return int(most) if told else None


def _priced(context: PageContext, asked: Question) -> str:
    """Tells by which price of a page this is meant. It may be a person's: a keyed hash."""
    parts = context.tools.parts
    told = hashlib.blake2b(key=parts.numbering.pepper, digest_size=8, person=_PRICED)
    told.update(parts.operations[asked.subject].fingerprint(asked).encode())
    return told.hexdigest()


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
    """Return the price now (in general, as long as a field is missing), and this person's own
    result of the last minutes, if any.
    """
    in_general = Price(form.price_sentence, "neutral")
    try:
        asked = _question(context, form, typed)
    except CallerError:
        return in_general, None
    tools = context.tools
    looking = [(OF_PRICES, str(context.person.user.user_id))]
    if tools.throttle.wait_seconds(looking, tools.now_ms()):
        return in_general, None
    caller = context.person.caller()
    quoted = await quote(asked, caller, tools.parts)
    unserved = await unserved_code(asked, caller, tools.parts, quoted)
    price = outcomes.price(asked, quoted, context.available, tools.now_ms(), unserved)
    promised = replace(price, promise=f"{quoted.greatest}.{_priced(context, asked)}")
    return promised, await _just_now(context, asked)


async def _just_now(context: PageContext, asked: Question) -> Earlier | None:
    """This person's own result of the last minutes, about the same company in the same place."""
    if not isinstance(asked.document, Cnpj):
        return None  # looking at prices tells nothing about people
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
    """Whether it was asked about this UF; None: the company's own, which is not known yet."""
    return trace.uf != ALL if uf is None else trace.uf == uf


def _from_earlier(context: PageContext, form: LookupForm) -> Mapping[str, str]:
    """The form as it is at first, with a CNPJ and UF that were asked about before."""
    typed = dict(blank(form))
    request_id = context.query("de")
    trace = request_id and context.desk.people.trace(context.account.account_id, request_id)
    if trace and context.person.sees(trace.user_id) and "*" not in trace.document:
        offered = {uf for uf, _ in form.ufs(_operation(context, form))}
        typed |= {"cnpj": trace.document, "uf": trace.uf if trace.uf in offered else ""}
    return typed


async def _again(
    context: PageContext, form: LookupForm, typed: Mapping[str, str], error: BalcaoError
) -> Response:
    """The form once more, filled as it was, with what is to be done about it."""
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
            outcome = outcomes.of_refusal(problem, form, left, is_manager=manages)
    return context.page(
        "consulta.html",
        status,
        outcome=outcome,
        focus=form.focus(typed) if complaint is None else complaint.field,
        errors={} if complaint is None else {complaint.field: complaint.text},
        companies=await recent_companies(context, _COMPANIES_BESIDE)
        if "cnpj" in form.fields
        else (),
        **await form_values(context, form, typed),
        **context.form_of(code),
    )


async def form_values(
    context: PageContext, form: LookupForm, typed: Mapping[str, str]
) -> Mapping[str, object]:
    """Return the values of `_formulario.html`, but for `errors` and `focus`."""
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
        "say": sentences(form),
        "usual": None if usual is None else seconds(usual),
    }
