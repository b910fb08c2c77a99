"""`/app/empresas/{cnpj}`: the account's results about a company, and buttons for more (ADR 0018).

Opening it costs nothing and asks no source. Each button is an ordinary lookup with its own number;
several may run at once, and their results appear on the page as they arrive.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import msgspec
from starlette.responses import Response

from balcao.core.company import Company
from balcao.core.documents import Cnpj
from balcao.core.errors import (
    BalcaoError,
    CallerError,
    InvalidCnpj,
    InvalidParameter,
    Overloaded,
    RateLimited,
    ResultErased,
    ResultExpired,
    StillRunning,
    StorageFailed,
)
from balcao.core.federation import ALL
from balcao.core.ledger import Trace
from balcao.core.notices import Notice
from balcao.core.outcomes import Reply
from balcao.core.problems import problem_of
from balcao.core.wallet import WalletItem
from balcao.core.writing import ago
from balcao.http.authenticator import must_wait
from balcao.lookup.execution import look_up
from balcao.operations.contract import address_of
from balcao.web.kit import returning
from balcao.web.kit.context import PageContext
from balcao.web.kit.lookups import outcomes
from balcao.web.kit.lookups.asking import outside_the_plan, suspended
from balcao.web.kit.lookups.forms import BY_PATH, FORMS, LookupForm, blank, request_of
from balcao.web.kit.snippets.one_request import of_request
from balcao.web.kit.throttle import COMPANIES_LIMIT
from balcao.web.pages import history
from balcao.web.pages.companies import facts
from balcao.web.pages.companies.qualification import qualification_of
from balcao.web.pages.companies.registers import (
    ABSENCES,
    REGISTERS,
    LookupButton,
    Register,
    RegisterVerdict,
    Validity,
    cost_of,
    lookup_button,
    number_of,
    registers_of,
    requests_of,
    validity,
    verdict_of,
)

PATH = "/app/empresas"

EVERYTHING = "falta"  # the value of the button for everything that is missing
ANOTHER_UF = "?"  # in place of a button's UF: the one chosen in the list next to it
SHOWN_ENTRIES = 12

# Most answers arrive within this time; the page shows the others as they come.
_AT_ONCE_SECONDS = 2.5

_SOME_CHARGED = "Consultas recusadas não foram cobradas. As respondidas estão na lista abaixo."


@dataclass(frozen=True, slots=True)
class RegisterLine:
    """A register as the page shows it."""

    register: Register
    verdict: RegisterVerdict | None
    validity: Validity | None
    who: str
    attempt: str | None  # the outcome of a newer, failed attempt
    included: bool  # whether the account's plan includes it
    why_empty: str | None  # why it cannot be asked yet, and what to do

    @property
    def result(self) -> str | None:
        """The address of the result; None: there is none."""
        trace = self.register.result
        return None if trace is None else f"/app/consultas/resultado/{trace.request_id}"

    @property
    def receipt(self) -> str | None:
        """The number of its receipt."""
        trace = self.register.result
        return trace.certificate.receipt_id if trace and trace.certificate else None


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """Consecutive equal requests; `row` is the newest, `credits` the cost of all."""

    row: history.RequestRow
    times: int
    credits: int


@dataclass(frozen=True, slots=True)
class FollowingLookup:
    """A lookup in the company's own UF, which the registry's answer will give; in credits."""

    form: LookupForm
    most: int


async def show(context: PageContext) -> Response:
    """Show the page, at the CNPJ's canonical address."""
    cnpj = cnpj_of(context)
    if context.request.path_params["cnpj"] != cnpj.text:
        return context.redirect(f"{PATH}/{cnpj.text}")
    now = context.now_ms()
    tries = [(COMPANIES_LIMIT, str(context.person.user.user_id))]
    if wait := context.tools.throttle.wait_seconds(tries, now):
        response = context.problem(
            429,
            "Muitas páginas em pouco tempo",
            f"Aguarde {wait} segundos e abra a empresa de novo. Nada foi consultado nem cobrado."
            " Para consultar muitas empresas de uma vez, use os lotes.",
        )
        response.headers["retry-after"] = str(wait)
        return response
    return await _page(context, cnpj)


async def ask(context: PageContext) -> Response:
    """Start the lookups of the pressed button, and return to the page."""
    cnpj = cnpj_of(context)
    if context.account.suspended_ms is not None:
        return suspended(context)
    pressed, also = context.typed("o"), ""
    following: Sequence[FollowingLookup] = ()
    if pressed.partition(".")[0] == EVERYTHING:
        found = await _registers(context, cnpj)
        buttons = [each.button for each in found.registers if each.missing and each.button]
        following = _following(context, cnpj, found.registers)
        most = _greatest(buttons, following)
        if (shown := pressed.partition(".")[2]) != f"{most}" and most > number_of(shown):
            return await _page(context, cnpj, outcomes.price_rose(most), 402)
    else:
        slug, uf, context_id, how, shown = (pressed.split(".") + [""] * 5)[:5]
        if uf == ANOTHER_UF:
            uf = also = context.typed(f"uf_{slug}")
            if not uf:
                return context.redirect(f"{PATH}/{cnpj.text}")
        form = FORMS.get(slug)
        if form is not None and form.certificate and not context.account.has_certificates:
            return outside_the_plan(context)
        button = await lookup_button(context, cnpj, f"{slug}.{uf}.{context_id}.{how}.{shown}")
        if button is None:
            raise InvalidParameter("O formulário chegou alterado e nada foi consultado.")
        buttons = [button]
    refused = await _start_all(context, cnpj, buttons, following)
    if refused is not None:
        return await _page_with_error(context, cnpj, buttons, refused)
    return context.redirect(f"{PATH}/{cnpj.text}", **({"uf": also} if also else {}))


def _following(
    context: PageContext, cnpj: Cnpj, registers: Sequence[Register]
) -> Sequence[FollowingLookup]:
    """Return the lookups that wait for the company's UF, if the registry is about to be asked."""
    if not any(each.missing and each.button for each in registers if _is_registry(each)):
        return ()
    found = []
    for each in registers:
        if not _needs_uf(context, each):
            continue
        operation = context.tools.parts.operations[each.form.subject]
        uf = next(uf for uf, _ in each.form.ufs(operation) if uf not in ("", ALL))
        typed = {**blank(each.form), "cnpj": cnpj.text, "uf": uf}
        asked = operation.parse(*request_of(each.form, operation, typed))
        found.append(FollowingLookup(each.form, operation.greatest_price(asked)))
    return found


def _is_registry(register: Register) -> bool:
    return register.form.subject == "company"


def _needs_uf(context: PageContext, register: Register) -> bool:
    """Return whether a register is empty because the company's UF is not known."""
    form, account = register.form, context.account
    is_allowed = account.suspended_ms is None and (account.has_certificates or not form.certificate)
    return (
        is_allowed
        and register.missing
        and register.button is None
        and register.uf is None
        and "uf" in form.fields
    )


def _greatest(buttons: Sequence[LookupButton], following: Sequence[FollowingLookup]) -> int:
    """Return the highest price of all of them."""
    return sum(each.price.greatest for each in buttons) + sum(each.most for each in following)


async def _start_all(
    context: PageContext,
    cnpj: Cnpj,
    buttons: Sequence[LookupButton],
    following: Sequence[FollowingLookup],
) -> BalcaoError | None:
    """Start the lookups and wait a little; return the first error that refused one, if any."""
    tools, caller = context.tools, context.person.caller()
    tasks: list[asyncio.Task[None]] = []
    limited: RateLimited | None = None
    for button in buttons:
        verdicts = await tools.authenticator.count(caller, tools.now_ms())
        if (limited := must_wait(verdicts)) is not None:
            break
        if following and button.asked.subject == "company":
            task = asyncio.create_task(_registry_first(context, cnpj, button, following))
            tools.running_lookups.add(caller.account_id, _sequence_of(cnpj), task)
        else:
            task = asyncio.create_task(_looked_up(context, button))
        tools.running_lookups.add(caller.account_id, button.number, task)
        tasks.append(task)
    if tasks:
        _, pending = await asyncio.wait(tasks, timeout=_AT_ONCE_SECONDS)
        for task in pending:
            tools.running_lookups.leave(task)
    failed = [task.exception() for task in tasks if task.done() and not task.cancelled()]
    for error in failed:
        if isinstance(error, CallerError | Overloaded | StorageFailed):
            return error
        if error is not None:
            raise error
    return limited


def _sequence_of(cnpj: Cnpj) -> str:
    """Return the number under which a company's lookups after the registry's are tracked."""
    return f"{EVERYTHING} {cnpj.text}"


async def _registry_first(
    context: PageContext,
    cnpj: Cnpj,
    registry: LookupButton,
    following: Sequence[FollowingLookup],
) -> None:
    """Ask the registry, then what waits for the UF in its answer, each within its price."""
    await _looked_up(context, registry)
    home = await _home(context, await requests_of(context, cnpj))
    if home is None:
        return
    tools = context.tools
    for each in following:
        value = f"{each.form.slug}.{home}..n.{each.most}"
        if (button := await lookup_button(context, cnpj, value)) is None:
            continue  # no source serves this UF: its line says so
        verdicts = await tools.authenticator.count(context.person.caller(), tools.now_ms())
        if (limited := must_wait(verdicts)) is not None:
            raise limited
        await _looked_up(context, button)


async def _looked_up(context: PageContext, button: LookupButton) -> None:
    """Run one lookup, and report it as an event of its own."""
    tools, caller, started = context.tools, context.person.caller(), time.perf_counter()
    try:
        reply = await look_up(
            button.asked,
            caller,
            tools.new_id(),
            f"web-{button.number}",
            tools.parts,
            credits_max=button.most,
        )
    except (StillRunning, ResultExpired, ResultErased):  # pressed twice: its line shows the state
        return
    context.report("app:consultar", reply, caller.account_id, time.perf_counter() - started)


async def _page_with_error(
    context: PageContext, cnpj: Cnpj, buttons: Sequence[LookupButton], error: BalcaoError
) -> Response:
    """Return the page with a notice about the error."""
    problem = problem_of(error)
    status = 422 if problem.status == 400 else problem.status
    context.reply = Reply(context.request_id, status, b"", 0, code=problem.code)
    # Some of several may have been charged before one was refused.
    charged = outcomes.NO_COST if len(buttons) == 1 else _SOME_CHARGED
    form = next(each for each in REGISTERS if each.subject == buttons[0].asked.subject)
    manages = context.person.is_manager
    outcome = outcomes.notice_for_refusal(
        problem, form, context.available, is_manager=manages, charged=charged
    )
    response = await _page(context, cnpj, outcome, status)
    if problem.retry_after_seconds is not None:
        response.headers["retry-after"] = str(problem.retry_after_seconds)
    return response


@dataclass(frozen=True, slots=True)
class _Found:
    """The records of a company that the page is made from."""

    requests: Sequence[Trace]
    registers: Sequence[Register]
    month: Company | None
    home: str | None
    bought: bool  # the account has an answer of the registry


def _is_of_registry(trace: Trace) -> bool:
    form = BY_PATH.get(trace.operation)
    return form is not None and form.subject == "company"


async def _registers(context: PageContext, cnpj: Cnpj) -> _Found:
    requests = await requests_of(context, cnpj)
    bought = any(_is_of_registry(each) and each.code is None for each in requests)
    month = facts.company_in_month(context, cnpj, asked=bought)
    home = month.uf if month is not None else await _home(context, requests)
    also = [uf] if (uf := context.query("uf")) else []
    registers = await registers_of(context, cnpj, requests, home, also)
    return _Found(requests, registers, month, home, bought)


async def _home(context: PageContext, requests: Sequence[Trace]) -> str | None:
    """Return the company's own UF from the account's answers."""
    for trace in requests:
        if not _is_of_registry(trace) or trace.status != 200:
            continue
        if (recorded := await context.recorded(trace)) is not None:
            fields = msgspec.json.decode(recorded.body).get("response") or {}
            uf: str | None = fields.get("uf")
            return uf
    return None


async def _page(
    context: PageContext, cnpj: Cnpj, outcome: Notice | None = None, status: int = 200
) -> Response:
    found = await _registers(context, cnpj)
    now = context.now_ms()
    names = history.names_of(context, context.account.account_id)
    missing = [each.button for each in found.registers if each.missing and each.button]
    following = _following(context, cnpj, found.registers)
    lines = [
        _line(context, names, register, now, _why_empty(context, register, found, following))
        for register in found.registers
    ]
    greatest = _greatest(missing, following)
    answer = facts.company_of_answer(found.registers)
    company = answer or found.month
    absent = any(
        each.form.subject == "company" and each.result is not None and each.result.code in ABSENCES
        for each in found.registers
    )
    timeline = _timeline([names.row(trace) for trace in found.requests])
    cursor = context.query("filiais")
    watched = await _watched(context, cnpj)
    response = context.page(
        "empresa.html",
        status,
        cnpj=cnpj,
        company=company,
        absent=absent,
        title=facts.name_of(company, found.registers),
        lines=lines,
        running=any(each.running for each in found.registers)
        or context.tools.running_lookups.is_running(context.account.account_id, _sequence_of(cnpj)),
        missing=missing,
        missing_cost=f"até {greatest} cr"
        if following
        else cost_of([each.price for each in missing]),
        missing_most=greatest,
        others=_other_ufs(context, cnpj, found.registers),
        available=context.available,
        suspended=context.account.suspended_ms is not None,
        outcome=outcome,
        everything=EVERYTHING,
        address=f"{PATH}/{cnpj.text}",
        poll=returning.address(
            f"{PATH}/{cnpj.text}", {"uf": uf} if len(uf := context.query("uf")) == 2 else {}
        ),
        head=cnpj.first_establishment,
        partners=facts.partners_of(
            context, company, own_answer=answer is not None, bought=found.bought
        ),
        linked=await facts.linked_to(context, cnpj),
        establishments=await facts.establishments_of(context, cnpj, cursor),
        cursor=cursor,
        timeline=timeline[:SHOWN_ENTRIES],
        more_requests=len(timeline) > SHOWN_ENTRIES,
        own_only=context.person.own_only is not None,
        watched=watched,
        qualification=await qualification_of(context, found.registers, watched),
        **_of_the_api(context, cnpj, found.home),
    )
    return response


async def _watched(context: PageContext, cnpj: Cnpj) -> WalletItem | None:
    """Return an item of the portfolio about this establishment, or its root."""
    account_id = context.account.account_id
    if not context.desk.wallets.count(account_id):
        return None
    found = await asyncio.to_thread(
        context.desk.portfolio_views.items_of_root, account_id, cnpj.root
    )
    return next((item for item in found if item.document in {cnpj.text, cnpj.root}), None)


def _why_empty(
    context: PageContext,
    register: Register,
    found: _Found,
    following: Sequence[FollowingLookup],
) -> str | None:
    """Return why a register has neither a result nor a button, and what to do; None: it has."""
    if not _needs_uf(context, register):
        return None
    if found.home is not None:
        return f"Nenhuma fonte configurada atende {found.home}. Escolha outra UF abaixo."
    if any(each.form is register.form for each in following):
        return (
            "Depende da UF, que vem do cadastro. “Consultar o que falta” consulta o cadastro e,"
            " em seguida, esta certidão."
        )
    return "Depende da UF, que o cadastro não informou. Escolha a UF abaixo."


def _line(
    context: PageContext,
    names: history.Names,
    register: Register,
    now: int,
    why_empty: str | None,
) -> RegisterLine:
    trace, tried = register.result, register.attempt
    failure = None
    if tried is not None:
        word = names.row(tried).outcome.text
        failure = f"Última tentativa, {ago(tried.opened_ms, now)}: {word.lower()}, sem custo."
    return RegisterLine(
        register,
        verdict_of(context, register),
        validity(register, now),
        "" if trace is None else names.who(trace.key_id, trace.user_id),
        failure,
        context.account.has_certificates or not register.form.certificate,
        why_empty,
    )


def _timeline(rows: Sequence[history.RequestRow]) -> Sequence[TimelineEntry]:
    """Return an entry for each run of requests with the same lookup, outcome and caller."""
    runs = groupby(rows, key=lambda row: (row.operation, row.trace.uf, row.outcome, row.who))
    alike = [list(run) for _, run in runs]
    return [TimelineEntry(run[0], len(run), sum(row.trace.credits for row in run)) for run in alike]


def _other_ufs(
    context: PageContext, cnpj: Cnpj, registers: Sequence[Register]
) -> Sequence[tuple[LookupForm, Sequence[str], int]]:
    """Return for each form the UFs without a line yet, and the price of one of them."""
    left: list[tuple[LookupForm, Sequence[str], int]] = []
    for form in REGISTERS:
        operation = context.tools.parts.operations[form.subject]
        shown = {"", ALL} | {each.uf for each in registers if each.form is form}
        ufs = [uf for uf, _ in form.ufs(operation) if uf not in shown]
        if ufs and (context.account.has_certificates or not form.certificate):
            typed = {**blank(form), "cnpj": cnpj.text, "uf": ufs[0]}
            asked = operation.parse(*request_of(form, operation, typed))
            left.append((form, ufs, operation.greatest_price(asked)))
    return left


def _of_the_api(context: PageContext, cnpj: Cnpj, home: str | None) -> dict[str, object]:
    """Return the page's lookups as example requests of the API."""
    operations, base = context.tools.parts.operations, context.settings.address
    addresses = [
        (form.title, address_of(operations[form.subject], cnpj.text, home, base))
        for form in REGISTERS
        if context.account.has_certificates or not form.certificate
    ]
    return {"addresses": addresses, "snippets": of_request(addresses[0][1])}


def cnpj_of(context: PageContext) -> Cnpj:
    """Return the CNPJ in the address. Raises `EarlyResponse` if it is not valid."""
    try:
        return Cnpj.parse(context.request.path_params["cnpj"])
    except InvalidCnpj:
        raise context.not_found(
            "CNPJ inválido",
            "O endereço não tem um CNPJ válido. Digite o CNPJ na busca, no alto da página, para"
            " ver o que está errado.",
        ) from None
