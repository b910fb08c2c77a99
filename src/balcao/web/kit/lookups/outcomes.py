"""Texts of pages about refusals, failures and prices: what happened, its cost, what to do.

The texts of an error are on its class (`core.errors`). Here they are chosen, and completed with the
numbers of the account and the form.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from balcao.core.calendar import civil_day
from balcao.core.errors import (
    CeilingOfRequest,
    CnpjNotFound,
    CommitUncertain,
    DocumentRequired,
    InvalidCpf,
    InvalidParameter,
    NothingInCache,
    SourceUnavailable,
    UfRequired,
    errors_by_code,
    public_errors,
)
from balcao.core.federation import ALL
from balcao.core.notices import Notice
from balcao.core.outcomes import Quote
from balcao.core.problems import Problem
from balcao.core.questions import Question
from balcao.core.writing import counted, credits, day, instant, whole
from balcao.web.kit.lookups.advice import advice
from balcao.web.kit.lookups.forms import DOCUMENTS, LookupForm
from balcao.web.kit.words.vocabulary import CODES


@dataclass(frozen=True, slots=True)
class FieldError:
    """A text shown at one field of a form."""

    field: str
    text: str


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a lookup before it is made, and whether the account can pay it."""

    text: str
    tone: str = "info"
    in_button: str = ""  # shown in the button; empty: unknown, or the account cannot pay it
    promise: str = ""  # the price as the form sends it back


@dataclass(frozen=True, slots=True)
class Earlier:
    """A result that the account has already paid for."""

    request_id: str
    ago: str


_FIELD_ERRORS: Mapping[str, FieldError] = {
    code: FieldError(kind.field, kind.hint)
    for code, kind in errors_by_code().items()
    if kind.field is not None
}
_HOME_UNKNOWN = UfRequired.notice.text


def field_error(problem: Problem, form: LookupForm, typed: Mapping[str, str]) -> FieldError | None:
    """Return the text for a field; None: the problem is not about a field."""
    if problem.code == DocumentRequired.code and typed["quem"] == "cpf":
        return _FIELD_ERRORS[InvalidCpf.code]
    if problem.code == UfRequired.code and form.uf_may_be_left_out:
        return FieldError("uf", _HOME_UNKNOWN)
    notice = _FIELD_ERRORS.get(problem.code)
    if notice is not None and problem.code == InvalidParameter.code:
        return FieldError(notice.field, notice.text.format(days_max=form.days_max))
    for field in DOCUMENTS:
        if notice is not None and notice.field == field:
            text = advice(form, field, typed)
            return notice if text is None else FieldError(field, text)
    return notice


NO_COST = "Nada foi cobrado."

_BY_CODE: Mapping[str, Notice] = {
    code: kind.notice for code, kind in errors_by_code().items() if kind.notice is not None
}

# Several errors share this code; the API's message distinguishes them.
_BY_MESSAGE: Mapping[str, Notice] = {
    kind.message: kind.notice
    for kind in public_errors()
    if kind.code == SourceUnavailable.code and kind.notice is not None
}


def notice_for_code(
    code: str | None, message: str | None = None, form: LookupForm | None = None
) -> Notice:
    """Return the notice for an internal code. `message`: that of the API's answer."""
    return replace(_notice(code, message, form), code=code if code in CODES else None)


def _notice(code: str | None, message: str | None, form: LookupForm | None) -> Notice:
    if message is not None and message in _BY_MESSAGE:
        return _BY_MESSAGE[message]
    own = {} if form is None else form.failures
    notice = own.get(code or "") or _BY_CODE.get(code or "")
    if notice is None:
        text = message or "A consulta não pôde ser respondida."
        return Notice("bad", "Sem resultado", text, "Confira os dados e consulte de novo.")
    if code == SourceUnavailable.code and message:
        return Notice(notice.tone, notice.title, message, notice.advice)
    return notice


def cost(charged: int) -> str:
    """Return a sentence about the cost."""
    return f"Cobrado: {credits(charged)}." if charged else NO_COST


def price_rose(needed: int, charged: str = NO_COST) -> Notice:
    """Return the notice for a price that rose after the button was shown."""
    return Notice(
        "warn",
        "O preço mudou",
        f"O preço aumentou desde que a página foi aberta: até {credits(needed)}. {charged}",
        "Confira o preço no botão e clique de novo se quiser continuar.",
    )


def notice_for_refusal(
    problem: Problem,
    form: LookupForm | None,
    available: int | None,
    *,
    is_manager: bool,
    charged: str = NO_COST,
) -> Notice:
    """Return the notice for a refused form, where the refusal is not about one of its fields.

    `form`: that of a lookup; `charged`: the sentence about the cost.
    """
    match problem.status:
        case 402:
            needed = problem.fields["creditos_necessarios"]
            assert isinstance(needed, int), "a count of credits"
            if problem.code == CeilingOfRequest.code:  # the ceiling is the price on the button
                return price_rose(needed, charged)
            left = problem.fields["creditos_disponiveis"]
            assert isinstance(left, int), "forms have no key and no tag, so no budget applies"
            who = (
                "Peça créditos ao operador do serviço" if is_manager else "Avise o gestor da conta"
            )
            return Notice(
                "warn",
                "Créditos insuficientes",
                f"Esta consulta precisa de {_at_disposal(needed)}. Disponíveis: {whole(left)}."
                f" {charged}",
                f"{who} ou faça uma consulta mais barata, como a de um resultado guardado.",
                problem.code,
            )
        case 429:
            wait = problem.retry_after_seconds or 1
            return Notice(
                "warn",
                "Muitas consultas em pouco tempo",
                f"A conta atingiu o limite de consultas do seu plano. {charged}"
                + ("" if available is None else f" Créditos disponíveis: {whole(available)}."),
                f"Espere {_wait(wait)} e consulte de novo.",
                problem.code,
            )
        case _:
            notice = notice_for_code(problem.code, problem.message, form)
            if problem.code == CommitUncertain.code:
                return notice
            return replace(notice, text=f"{notice.text} {charged}")


def _at_disposal(needed: int) -> str:
    return counted(needed, "crédito disponível", "créditos disponíveis")


def _wait(seconds: int) -> str:
    if seconds < 100:
        return f"{seconds} segundos" if seconds > 1 else "1 segundo"
    minutes = -(-seconds // 60)
    return f"{minutes} minutos" if minutes < 100 else f"{-(-minutes // 60)} horas"


def price(
    of: Question, quote: Quote, available: int | None, now_ms: int, unserved: str | None = None
) -> Price:
    """Return the price of a question now. `unserved`: the refusal, if no source serves it."""
    if available is not None and quote.greatest > available:
        needed = _at_disposal(quote.greatest)
        short = f"Esta consulta precisa de {needed}. Disponíveis: {whole(max(available, 0))}."
        return Price(short, "warn")
    if quote.code == NothingInCache.code:
        text = "Não há certidão guardada válida: sem resultado e sem custo."
        return Price(text, "warn", _FREE)
    if not quote.at_hand:
        if unserved is None:
            return _at_most(of, quote.greatest)
        return _UNSERVED.get(unserved, _UNANSWERED)
    if quote.code is not None:
        return _ABSENT
    cost = credits(quote.greatest)
    if quote.way == "own":
        return Price(f"A resposta está na nossa cópia do mês: {cost}.", "good", cost)
    asked = when(quote.asked_ms, now_ms)
    if of.uf == ALL:
        count = len(of.inquiries)
        return Price(
            f"Há resultados guardados das {count} UFs, desde {asked}: {cost}.", "good", cost
        )
    return Price(f"Há um resultado guardado de {asked}: {cost}.", "good", cost)


def when(at_ms: int | None, now_ms: int) -> str:
    """Return a day as text; for today, the time."""
    if at_ms is None:
        return ""
    at, today = civil_day(at_ms), civil_day(now_ms)
    return instant(at_ms) if at == today else day(at)


def _at_most(of: Question, most: int) -> Price:
    addresses = ", mais 1 pelos endereços" if of.addresses_requested else ""
    at_most = f"até {credits(most)}"
    if of.uf == ALL:
        return Price(
            f"São {len(of.inquiries)} UFs{addresses}: {at_most}; só as que responderem"
            " são cobradas.",
            in_button=at_most,
        )
    within = " (1 pelos endereços)" if addresses else ""
    return Price(
        f"A{at_most[1:]}{within} se a fonte responder. Falhas não são cobradas.", in_button=at_most
    )


_FREE = "sem custo"
_ABSENT = Price("Segundo a nossa cópia do mês, não existe: sem custo.", "good", _FREE)
_UNANSWERED = Price(
    "Nenhuma fonte pode responder esta consulta agora: sem resultado e sem custo.",
    "warn",
    _FREE,
)
_UNSERVED: Mapping[str, Price] = {
    CnpjNotFound.code: _ABSENT,
    UfRequired.code: Price(_HOME_UNKNOWN, "warn", _FREE),
}
