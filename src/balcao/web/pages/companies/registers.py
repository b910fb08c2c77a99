"""The registers of a company's page: the account's results, and buttons for lookups.

A register is an operation, in one UF if it is asked by UF. Only requests that this person may see
count (ADR 0018). No source is asked: prices are quotes.
"""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from balcao.core.calendar import civil_day, civil_day_text
from balcao.core.documents import Cnpj
from balcao.core.errors import CallerError, CnpjNotFound, RegistrationNotFound, StillRunning
from balcao.core.extensions import Extended
from balcao.core.federation import ALL
from balcao.core.ledger import Trace
from balcao.core.outcomes import Quote
from balcao.core.questions import Question
from balcao.core.writing import day
from balcao.examination.inventory import SNAPSHOT
from balcao.lookup.admit import admit_question
from balcao.lookup.quoting import quote
from balcao.operations.certificates.lookup import by_act, by_act_of
from balcao.operations.views import Body, RecordedResult
from balcao.storage.people import TraceFilter
from balcao.web.kit.context import PageContext
from balcao.web.kit.lookups.asking import attempt_of, button_number
from balcao.web.kit.lookups.forms import BY_PATH, FORMS, LookupForm, blank, request_of
from balcao.web.kit.month_age import in_use
from balcao.web.kit.words.vocabulary import CODES, last_day, outcome_of
from balcao.web.pages import history
from balcao.web.pages.companies.expiring import days_left

# Requests read for one company; if programs filled these, each operation is read separately.
REQUESTS_READ_MAX = 200
_REQUESTS_READ_BY_OPERATION_MAX = 60

SOON_DAYS = 15

# "Not found" is a result, too, though a free one.
ABSENCES = frozenset({CnpjNotFound.code, RegistrationNotFound.code})

REGISTERS: Sequence[LookupForm] = [form for form in FORMS.values() if form.takes_companies]


@dataclass(frozen=True, slots=True)
class LookupButton:
    """A button's question, number and price."""

    value: str  # the value it sends; see `lookup_button`
    asked: Question
    number: str
    price: Quote
    renews: bool
    most: int  # the price it showed, which it must not exceed

    @property
    def cost(self) -> str:
        """The price in words: `1 cr`, `até 2 cr`, `sem custo`."""
        return cost_of([self.price])


@dataclass(frozen=True, slots=True)
class Register:
    """One line of the page."""

    form: LookupForm
    uf: str | None
    result: Trace | None  # the newest with a result
    body: Body | None  # of the result, while it is recorded
    attempt: Trace | None  # a newer one that failed
    button: LookupButton | None  # None: it cannot be asked here, or nothing newer exists
    running: bool
    missing: bool  # never asked, or expired
    in_force_until: str | None  # YYYY-MM-DD; of certificates, by their source
    by_act: Extended | None  # extended to a later day by an act (contract 4.12)

    @property
    def title(self) -> str:
        name = "Cadastro (Receita Federal)" if self.form.subject == "company" else self.form.title
        if self.uf is None:
            return name
        return f"{name}, todas as UFs" if self.uf == ALL else f"{name} {self.uf}"


@dataclass(frozen=True, slots=True)
class RegisterVerdict:
    """The verdict of a register's result, for the page."""

    tone: str
    text: str
    note: str = ""


def cost_of(prices: Sequence[Quote]) -> str:
    """Return the price of several lookups, as a button shows it."""
    most = sum(price.greatest for price in prices)
    if most == 0:
        return "sem custo"
    return f"{most} cr" if all(price.exact for price in prices) else f"até {most} cr"


async def requests_of(context: PageContext, cnpj: Cnpj) -> Sequence[Trace]:
    """Return the requests about a company that this person may see, newest first."""
    now = context.now_ms()

    def wanted(path: str | None) -> TraceFilter:
        return TraceFilter(0, now + 1, path, user_id=context.person.own_only, document=cnpj.text)

    found = list(await history.read(context, wanted(None), REQUESTS_READ_MAX))
    if len(found) == REQUESTS_READ_MAX:  # one operation may account for all of them
        known = {trace.request_id for trace in found}
        for form in REGISTERS:
            path = context.tools.parts.operations[form.subject].path
            older = await history.read(context, wanted(path), _REQUESTS_READ_BY_OPERATION_MAX)
            found += [trace for trace in older if trace.request_id not in known]
    return await history.with_company_names(context, found)


async def registers_of(
    context: PageContext,
    cnpj: Cnpj,
    found: Sequence[Trace],
    home: str | None,
    also: Sequence[str] = (),
) -> Sequence[Register]:
    """Return the lines of a company's page. `home`: its UF, if known; `also`: further UFs."""
    lines: list[Register] = []
    for form in REGISTERS:
        of_form = [trace for trace in found if BY_PATH.get(trace.operation) is form]
        for uf, requests in _by_uf(context, form, of_form, home, also).items():
            lines.append(await _register(context, cnpj, form, uf, requests))
    return lines


def _by_uf(
    context: PageContext,
    form: LookupForm,
    found: Sequence[Trace],
    home: str | None,
    also: Sequence[str],
) -> Mapping[str | None, Sequence[Trace]]:
    """Return requests by UF: the company's own first, all UFs together last."""
    offered = {uf for uf, _ in form.ufs(context.tools.parts.operations[form.subject]) if uf}
    if not offered:
        return {None: found}
    asked: dict[str, list[Trace]] = {home: []} if home in offered and home else {}
    for uf in also:
        if uf in offered:
            asked.setdefault(uf, [])
    for trace in found:
        uf = trace.uf or home or ""
        if uf in offered:
            asked.setdefault(uf, []).append(trace)
    if ALL not in also and all(map(_was_refused, asked.get(ALL, []))):
        # The form for all UFs has shown the reason already.
        asked.pop(ALL, None)
    if not asked:
        return {None: []}
    order = sorted(asked, key=lambda uf: (uf != home, uf == ALL, uf))
    return {uf: asked[uf] for uf in order}


def _was_refused(trace: Trace) -> bool:
    """Return whether a request was refused for a reason that the caller can correct."""
    if trace.code is None or trace.code == StillRunning.code or trace.code in ABSENCES:
        return False
    return trace.code in CODES and CODES[trace.code].tone == "warn"


async def _register(
    context: PageContext, cnpj: Cnpj, form: LookupForm, uf: str | None, found: Sequence[Trace]
) -> Register:
    result = next((trace for trace in found if trace.code is None or trace.code in ABSENCES), None)
    # The second request of a double click was refused; it is not a failed attempt.
    newest = next((trace for trace in found if trace.code != StillRunning.code), None)
    attempt = newest if newest is not None and newest is not result else None
    body: Body | None = None
    if result is not None and (recorded := await context.recorded(result)) is not None:
        body = msgspec.json.decode(recorded.body)
    until = result.certificate.validity if result and result.certificate else None
    today = civil_day_text(context.now_ms())
    later = _later(context, form, result, body)
    over = until is not None and (until[:10] if later is None else later.until) < today
    missing = result is None or over
    button = None
    if not _is_newest_month(context, result):
        context_id, how = result.request_id if result else "", "n" if missing else "r"
        button = await lookup_button(context, cnpj, f"{form.slug}.{uf or ''}.{context_id}.{how}")
    running = button is not None and await is_running(context, button)
    missing = missing and not running
    return Register(form, uf, result, body, attempt, button, running, missing, until, later)


def _later(
    context: PageContext, form: LookupForm, result: Trace | None, body: Body | None
) -> Extended | None:
    """Return a certificate's extension by an act, from its request or else from its answer."""
    if result is None or not form.certificate:
        return None
    acts = context.desk.extensions.all()
    of_request = by_act_of(acts, form.subject, result)
    if of_request is not None or body is None:
        return of_request
    return by_act(acts, form.subject, result.uf, body)


def _is_newest_month(context: PageContext, result: Trace | None) -> bool:
    """Return whether our own copy answered, which goes first, and no newer month came since."""
    if result is None or result.source != SNAPSHOT or result.asked_ms is None:
        return False
    now = context.now_ms()
    month = in_use(context.tools.store(context.account.mode), civil_day(now))
    return month is not None and month.extraction <= civil_day(result.asked_ms)


def number_of(text: str) -> int:
    """Return the credits that a form sends; 0 if the text is not a number."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else 0


async def lookup_button(context: PageContext, cnpj: Cnpj, value: str) -> LookupButton | None:
    """Return the button that sends this value; None if the account cannot ask it.

    A value has, separated by points: form, UF, the result that the button is next to, how to look
    (`n`: kept results first, `r`: the source), and the price it showed; without that, the present
    price counts. The number is derived from the question and the result: pressed twice, even on an
    outdated page, it asks once (ADR 0018). Raises `CallerError` for values that no button sends.
    """
    slug, uf, context_id, how = (value.split(".") + [""] * 4)[:4]
    shown = "".join(value.split(".")[4:5])
    form = FORMS.get(slug)
    if form not in REGISTERS or context.account.suspended_ms is not None:
        return None
    assert form is not None
    tools, caller, renews = context.tools, context.person.caller(), how == "r"
    operation = tools.parts.operations[form.subject]
    if not uf and "uf" in form.fields and not form.uf_may_be_left_out:
        return None
    typed = {**blank(form), "cnpj": cnpj.text, "uf": uf}
    if renews:
        typed |= {"modo": "online"} if form.certificate else {"onde": "fonte"}
    try:
        asked = admit_question(operation, caller, *request_of(form, operation, typed))
    except CallerError:
        return None
    price = await quote(asked, caller, tools.parts)
    number = await button_number(context, asked, f"empresa {context_id}")
    most = number_of(shown) if shown else price.greatest
    return LookupButton(
        f"{slug}.{uf}.{context_id}.{how}.{most}", asked, number, price, renews, most
    )


async def is_running(context: PageContext, button: LookupButton) -> bool:
    """Return whether the button was pressed and its lookup is still running."""
    attempt = await attempt_of(context, button.number)
    return attempt is not None and attempt.state == "running"


def verdict_of(context: PageContext, register: Register) -> RegisterVerdict | None:
    """Return the verdict of a register's result; None: there is no result."""
    trace = register.result
    if trace is None:
        return None
    word = outcome_of(trace)
    if trace.code is not None or register.body is None:
        return RegisterVerdict(word.tone, word.text)
    operation = context.tools.parts.operations[register.form.subject]
    now = context.now_ms()
    try:
        view = operation.view(RecordedResult(register.body, trace, now))
        brief = operation.brief(register.body)
    except (KeyError, TypeError):  # of another version
        return RegisterVerdict(word.tone, word.text)
    headline = view.headline
    # A certificate's verdict has the same words as in the timeline and the history.
    text = word.text if register.form.certificate else headline.short or headline.text
    return RegisterVerdict(headline.tone, text, brief)


@dataclass(frozen=True, slots=True)
class Validity:
    """The last day of validity, in words."""

    text: str
    note: str = ""
    tone: str = "neutral"
    act: str = ""  # the act that extends it, and to which day


def validity(register: Register, now_ms: int) -> Validity | None:
    """Return a certificate's last day, or the day of the registry's data."""
    until, result = register.in_force_until, register.result
    if until is None:
        if result is not None and (unknown := last_day(result.certificate)) is not None:
            return Validity(unknown)
        as_of = (register.body or {}).get("data_base")
        return Validity(f"dados de {day(as_of)}") if as_of else None
    today, later = civil_day(now_ms), register.by_act
    act = "" if later is None else f"prorrogada até {day(later.until)} por {later.act}"
    left = (datetime.date.fromisoformat(until[:10]) - today).days
    if left < 0:
        extended = later is not None and later.until >= today.isoformat()
        note, tone = ("venceu pela fonte", "warn") if extended else ("venceu", "bad")
        return Validity(day(until), note, tone, act)
    tone = "warn" if left <= SOON_DAYS else "neutral"
    return Validity(day(until), days_left(left), tone, act)
