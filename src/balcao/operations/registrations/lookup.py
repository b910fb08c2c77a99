"""The common part of state registrations and rural producers: requests, conclusions, prices.

Specification, endpoints 2 and 3, "State tax registrations", "Credits"; contract 2.3, 3, 4.5, 5.2.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Generic, TypeAlias, TypeVar

import msgspec

from balcao.core.company import Company
from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import CnpjNotFound, SourceError, SourceFailed, SourceUnavailable
from balcao.core.federation import ALL
from balcao.core.freshness import Ask, CacheEntry, Serve
from balcao.core.idempotency import digest
from balcao.core.ledger import Origin
from balcao.core.outcomes import Conclusion, Delivered, Failed, Outcome
from balcao.core.problems import Problem
from balcao.core.questions import Inquiry, Part, Question, Strategy, Subject
from balcao.core.registration import Registrations
from balcao.core.result_summary import ResultSummary, summary_of
from balcao.core.tariff import Rule, Rules
from balcao.operations import envelope
from balcao.operations.contract import AnswerContext, Operation
from balcao.operations.parameters import (
    BY_AGE,
    CACHE,
    CACHE_HEADER,
    Flag,
    Parameter,
    Parameters,
    StrategyChoice,
    UfChoice,
)
from balcao.operations.registrations import page
from balcao.operations.registrations.answer import RegistrationShape, UfOrigin
from balcao.operations.views import Body, RecordedResult, ResultView

STRATEGY = StrategyChoice(
    "Prioridade entre resultado guardado e fonte, e o que fazer se a fonte falhar. Vale para cada"
    " UF.",
    BY_AGE,
    default=Strategy.ONLINE_PREFERENCIAL,
)
FALLBACK = Flag(
    "error_fallback", "`true`: se a fonte falhar, aceita um resultado guardado de qualquer idade."
)
ADDRESSES = Flag(
    "endereco",
    "`true`: inclui o endereço das inscrições, se houver. Custa mais 1 crédito por requisição.",
    field="endereco",
)

_TYPES_ONLY: frozenset[Part] = frozenset({"types"})
_WITH_ADDRESSES: frozenset[Part] = frozenset({"types", "addresses"})

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode


class _InShape(msgspec.Struct, Generic[T]):
    """A cache entry, parsed with one operation's type of registrations."""

    nome: str | None = None
    uf_principal: str | None = None
    com_endereco: bool = False
    inscricoes: list[T] = []
    omitidas: int = 0


class _AtAGlance(msgspec.Struct):
    """A cache entry whose registrations are not parsed."""

    nome: str | None = None
    uf_principal: str | None = None
    com_endereco: bool = False
    inscricoes: list[msgspec.Raw] = []
    omitidas: int = 0


_glance = msgspec.json.Decoder(_AtAGlance).decode


class _Registered(msgspec.Struct):
    ativa: bool


class _InBrief(msgspec.Struct):
    """The fields of an answer that its summary needs."""

    inscricoes_estaduais: list[_Registered]
    razao_social: str | None = None


_in_brief = msgspec.json.Decoder(_InBrief).decode


Decode: TypeAlias = Callable[[bytes], _InShape[RegistrationShape]]


def rules(subject: Subject, per_uf: str) -> Rules:
    """Return the rules of one of the two operations; `per_uf` is the first one's sentence."""
    by_uf = "1 crédito por UF respondida. UFs com falha não são cobradas."
    return {
        _rule_of(subject, with_addresses=False): Rule(per_uf, by_uf),
        _rule_of(subject, with_addresses=True): Rule(
            f"{per_uf} + 1 por endereco",
            f"{by_uf} Mais 1 crédito pelos endereços, por consulta.",
            with_addresses=True,
        ),
    }


def _rule_of(subject: Subject, *, with_addresses: bool) -> str:
    return f"{subject}/uf+addresses" if with_addresses else f"{subject}/uf"


class RegistrationLookup(Operation):
    """Registrations of one document, in one UF or in all of them."""

    document_parameter: Parameter
    shape: type[msgspec.Struct]  # of one registration, in its answer: a `RegistrationShape`
    absence = CnpjNotFound
    record = Registrations
    by_uf = True
    failures = page.FAILURES
    result_labels = page.RESULT_LABELS

    @abstractmethod
    def declare_uf(self) -> UfChoice:
        """Return the parameter `uf`."""

    @abstractmethod
    def about(
        self, question: Question, found: "RegistrationsFound", company: Company | None
    ) -> Mapping[str, str | None]:
        """Return the answer's fields about the holder: document, name, UF."""

    def declare(self) -> Sequence[Parameter]:
        self.uf = self.declare_uf()
        self._decode: Decode = msgspec.json.Decoder(_InShape[self.shape]).decode  # type: ignore[name-defined]
        document = self.document_parameter
        return (document, self.uf, CACHE, STRATEGY, FALLBACK, ADDRESSES, CACHE_HEADER)

    def question(self, document: Cnpj | Cpf, uf: str | None, sent: Parameters) -> Question:
        """Return the question about one UF, all (BR), or one not yet known (None).

        Raises `InvalidInput`.
        """
        days, deprecated = CACHE.read(sent)
        strategy = STRATEGY.read(sent)
        fallback = FALLBACK.read(sent)
        addresses = ADDRESSES.read(sent)
        asked: Sequence[str | None] = self.ufs if uf == ALL else (uf,)
        return Question(
            subject=self.subject,
            inquiries=tuple(
                Inquiry(self.subject, document, each, addresses=addresses) for each in asked
            ),
            strategy=strategy,
            max_age_days=days,
            error_fallback=fallback,
            deprecated=deprecated,
            uf=uf,
            home_unknown=uf is None,
        )

    def fingerprint(self, question: Question) -> str:
        return digest(
            f"{question.subject} {question.document.text} {question.uf} {question.strategy}"
            f" {question.max_age_days} {question.error_fallback} {question.addresses_requested}"
        )

    def parts(self, inquiry: Inquiry) -> frozenset[Part]:
        return _WITH_ADDRESSES if inquiry.addresses else _TYPES_ONLY

    def greatest_price(self, question: Question) -> int:
        # One credit per UF, and one per request for the addresses (specification, "Credits").
        return len(question.inquiries) + question.addresses_requested

    def cache_decision(
        self, question: Question, inquiry: Inquiry, kept: CacheEntry, now_ms: int
    ) -> Serve | Ask:
        """Decide by age; an entry stored without addresses cannot be served with (4.5)."""
        if inquiry.addresses and not _glance(kept.body).com_endereco:
            return Ask(None)
        return super().cache_decision(question, inquiry, kept, now_ms)

    def should_cache(self, body: bytes, asked_ms: int, kept: CacheEntry | None) -> bool:
        """Return whether the answer omits no registrations (contract 4.4)."""
        return not _glance(body).omitidas

    def conclude(
        self, question: Question, outcomes: Sequence[Outcome], answer_context: AnswerContext
    ) -> Conclusion:
        company, only = answer_context.company, outcomes[0] if len(outcomes) == 1 else None
        is_short = isinstance(only, Delivered) and len(only.body) <= _REMEMBERED_BYTES_MAX
        if is_short and company is None:
            return _remembered(self, question, only)
        return self.concluded(question, outcomes, company)

    def concluded(
        self, question: Question, outcomes: Sequence[Outcome], company: Company | None
    ) -> Conclusion:
        """Compute the conclusion that `conclude` memoizes."""
        found = RegistrationsFound(question, outcomes, self._decode)
        if found.answered:
            body = self.answer(
                request_id="",
                success=True,
                error=False,
                is_cache=found.origin == "cache",
                inscricoes_estaduais=found.registrations,
                ufs=msgspec.UNSET if found.ufs is None else found.ufs,
                inscricoes_omitidas=found.omitted or msgspec.UNSET,
                **self.about(question, found, company),
            )
            return Conclusion(
                status=200,
                fields=_encode(body).removeprefix(envelope.WITHOUT_ID),
                credits=found.credits,
                rule=_rule_of(self.subject, with_addresses=found.with_addresses),
                origin=found.origin,
                source=found.sources,
                asked_ms=found.asked_ms,
            )
        error: Exception = _worst(found.failures)
        if found.absent and isinstance(question.document, Cnpj):
            error = self.absence()
        return envelope.refusal(error, question.document.text, self.error_fields)

    def clear_memos(self) -> None:
        _remembered.cache_clear()

    def result_summary(self, body: bytes) -> ResultSummary | None:
        try:
            answer = _in_brief(body)
        except msgspec.DecodeError:
            return None
        found = answer.inscricoes_estaduais
        active = sum([each.ativa for each in found])
        return summary_of(answer.razao_social, page.result_code(active, len(found)))

    def error_fields(self, problem: Problem, document: str) -> bytes:
        known = envelope.document_field(self.document, document)
        return envelope.error_fields(problem, known + b'"inscricoes_estaduais":[],')

    def view(self, recorded: RecordedResult) -> ResultView:
        return page.view(self.document, recorded)

    def brief(self, body: Body) -> str:
        return page.brief(body)

    def row_fact(self, body: Body) -> str:
        return page.brief(body)


# Memo of short answers in one UF, some 8 MB when full; cleared for erasures (`clear_memos`).
_REMEMBERED_BYTES_MAX = 2_000


@lru_cache(maxsize=2_048)
def _remembered(
    operation: RegistrationLookup, question: Question, outcome: Delivered
) -> Conclusion:
    return operation.concluded(question, [outcome], None)


def all_empty(outcomes: Sequence[Outcome]) -> bool:
    """Return whether no answer has any registration."""
    return not any(
        isinstance(outcome, Delivered) and _glance(outcome.body).inscricoes for outcome in outcomes
    )


def has_holder(outcomes: Sequence[Outcome]) -> bool:
    """Return whether the answers together have the name and the company's own UF."""
    found = [_glance(outcome.body) for outcome in outcomes if isinstance(outcome, Delivered)]
    return any(each.nome for each in found) and any(each.uf_principal for each in found)


class RegistrationsFound:
    """The outcomes of a question, combined over its UFs."""

    def __init__(self, of: Question, outcomes: Sequence[Outcome], decode: Decode) -> None:
        # In one pass, for speed: most answers are of one UF and have two registrations.
        records: list[_InShape[RegistrationShape]] = []
        sources: set[str] = set()
        registrations: list[RegistrationShape] = []
        self.failures: list[SourceError] = []
        self.absent = False
        self.omitted = 0
        self.origin: Origin = "cache"
        self.name: str | None = None
        self.home_uf: str | None = None
        self.asked_ms: int | None = None
        for outcome in outcomes:
            if isinstance(outcome, Delivered):
                record = decode(outcome.body)
                records.append(record)
                sources.add(outcome.source)
                registrations += record.inscricoes
                self.omitted += record.omitidas
                self.name = self.name or record.nome or None
                self.home_uf = self.home_uf or record.uf_principal or None
                if outcome.origin == "online":
                    self.origin = "online"
                # The age of an answer is that of its oldest part.
                if self.asked_ms is None or outcome.asked_ms < self.asked_ms:
                    self.asked_ms = outcome.asked_ms
            elif isinstance(outcome, Failed):
                self.failures.append(outcome.error)
            else:
                self.absent = True
        self.answered = len(records)
        # Addresses are charged unless no source could be asked for them (ADR 0011).
        addresses_requested = of.addresses_requested
        self.with_addresses = addresses_requested and _any_addresses(records)
        self.credits = self.answered + self.with_addresses
        self.sources = ",".join(sorted(sources))
        if len(registrations) > 1:
            registrations.sort(key=lambda each: (not each.ativa, each.uf, each.inscricao_estadual))
        self.registrations = registrations
        if not addresses_requested:
            self.registrations = [_without_address(each) for each in registrations]
        self.ufs = (
            [
                UfOrigin(
                    inquiry.uf or "",
                    outcome.origin if isinstance(outcome, Delivered) else "indisponivel",
                )
                for inquiry, outcome in zip(of.inquiries, outcomes, strict=True)
            ]
            if of.uf == ALL
            else None
        )


def _without_address(registration: RegistrationShape) -> RegistrationShape:
    """Return a registration without the address, which an earlier caller may have paid for."""
    if registration.endereco is None:
        return registration
    assert isinstance(registration, msgspec.Struct)
    return msgspec.structs.replace(registration, endereco=None)


def _any_addresses(records: Sequence[_InShape[RegistrationShape]]) -> bool:
    """Return whether a source with addresses answered, or there are no registrations."""
    registered = [record for record in records if record.inscricoes]
    return not registered or any(record.com_endereco for record in registered)


def _worst(failures: Sequence[SourceError]) -> SourceError:
    """Return the failure for the caller: unavailable only if no source failed otherwise."""
    for error in failures:
        if isinstance(error, SourceFailed):
            return error
    return min(
        (error for error in failures if isinstance(error, SourceUnavailable)),
        key=lambda error: error.retry_in_seconds,
        default=SourceFailed("nobody can know that there is no such person"),
    )
