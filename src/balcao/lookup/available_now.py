"""Answers that are available now, without I/O.

Shared by `execution.py`, which also waits for the cache and the disk, and by the fast path
(`http/fast_path.py`), which does not.
"""

from collections.abc import Hashable, Mapping, Sequence

import msgspec

from balcao.core.calendar import to_ms
from balcao.core.company import Company
from balcao.core.documents import Cnpj
from balcao.core.freshness import CACHE_FIRST, Ask, CacheEntry, Serve
from balcao.core.outcomes import Conclusion, Delivered, Outcome, ProvenAbsence
from balcao.core.questions import Inquiry, Subject
from balcao.lookup.context import LookupContext
from balcao.operations.contract import AnswerContext
from balcao.sources.contract import Absent, Found
from balcao.sources.router import SourceRouter

# Longer answers are left to `Front`, which sends them in pieces as the client reads them.
AT_ONCE_BYTES_MAX = 16_000

_NOTHING: Mapping[str, CacheEntry] = {}


class FinishedAnswer(msgspec.Struct, frozen=True, gc=False):
    """An answer of our own copy that was already encoded."""

    cache_key: str
    edition: Hashable
    delivered: Delivered
    seconds: float  # taken to read it


class AvailableOutcomes(msgspec.Struct, frozen=True, gc=False):
    """All outcomes of a lookup that needs nothing else but its charge.

    It may be discarded: nothing was counted or remembered so far.
    """

    outcomes: Sequence[Outcome]
    finished: "Sequence[FinishedAnswer]"  # to be passed to `FinishedUse.add`, if they are used
    company: Mapping[str, CacheEntry] | None  # its cache entry; None: no company is needed

    def conclude(self, context: LookupContext) -> Conclusion:
        """Return the answer and its price. Reads the company in our own copy if it is needed."""
        company = None
        if self.company is not None and isinstance(context.question.document, Cnpj):
            registry = context.environment.registry
            company = registry.company_from(context.question.document, self.company)
        return conclusion_of(context, self.outcomes, company, context.at_ms)


class FinishedUse:
    """Collects precomputed answers that were sent, to count and remember many at once."""

    __slots__ = ("_seconds",)

    def __init__(self) -> None:
        self._seconds: dict[tuple[SourceRouter, Subject], list[float]] = {}  # taken to read them

    def add(self, context: LookupContext, finished: "Sequence[FinishedAnswer]") -> None:
        """Add answers that were used, and remember them for the next request."""
        environment = context.environment
        key = environment.sources, context.question.subject
        seconds = self._seconds.get(key)
        if seconds is None:
            seconds = self._seconds[key] = []
        for each in finished:
            environment.recent.put(each.cache_key, each.edition, each.delivered)
            seconds.append(each.seconds)

    def flush(self) -> None:
        """Count the answers added since the last flush."""
        used, self._seconds = self._seconds, {}
        for (sources, subject), seconds in used.items():
            sources.count_finished(subject, seconds)


def all_available_now(context: LookupContext) -> AvailableOutcomes | None:
    """Return all outcomes if none needs waiting; None: the full lookup is needed.

    Absences, and companies without a precomputed answer, are left to the full lookup.
    """
    question = context.question
    read = context.environment.cache.read_nowait
    kept: Mapping[str, CacheEntry] | None = _NOTHING
    if question.strategy in CACHE_FIRST:
        kept = read(keys_of(context))
    if kept is None or question.home_unknown:
        return None
    finished: list[FinishedAnswer] = []
    outcomes: list[Outcome] = []
    size_bytes = 0
    for inquiry in question.inquiries:
        outcome = _finished_answer(context, inquiry, kept, finished)
        if outcome is None:
            return None
        outcomes.append(outcome)
        size_bytes += len(outcome.body)
    if size_bytes > AT_ONCE_BYTES_MAX:
        return None
    company: Mapping[str, CacheEntry] | None = None
    if context.operation.needs_company(question, outcomes) and isinstance(question.document, Cnpj):
        company = read([Inquiry("company", question.document).cache_key])
        if company is None:
            return None
    return AvailableOutcomes(outcomes, finished, company)


def outcome_available_now(
    context: LookupContext, inquiry: Inquiry, kept: Mapping[str, CacheEntry]
) -> Outcome | None:
    """Return an inquiry's outcome if no source is needed for it. `kept`: entries of the cache."""
    sources, recent = context.environment.sources, context.environment.recent
    finished: list[FinishedAnswer] = []
    delivered = _finished_answer(context, inquiry, kept, finished)
    if delivered is not None:
        if finished:
            use = FinishedUse()
            use.add(context, finished)
            use.flush()
        return delivered
    edition = sources.edition(inquiry.subject)
    answer = sources.local_answer(inquiry)
    if isinstance(answer, Found):
        body = context.operation.encode(inquiry, answer.record)
        delivered = Delivered(body, "online", answer.source, to_ms(answer.as_of))
        recent.put(inquiry.cache_key, edition, delivered)
        return delivered
    return ProvenAbsence(answer.source) if isinstance(answer, Absent) else None


def _finished_answer(
    context: LookupContext,
    inquiry: Inquiry,
    kept: Mapping[str, CacheEntry],
    finished: list[FinishedAnswer],
) -> Delivered | None:
    """Return an encoded answer, from the cache or our own copy (then also added to `finished`)."""
    cache_key = inquiry.cache_key
    if kept:
        plan = plan_of(context, inquiry, kept.get(cache_key), context.at_ms)
        if isinstance(plan, Serve):
            return from_cache(plan.kept)
    sources, recent = context.environment.sources, context.environment.recent
    edition = sources.edition(inquiry.subject)
    if (remembered := recent.get(cache_key, edition)) is not None:
        return remembered
    if (found := sources.finished(inquiry)) is None:
        return None
    ready, seconds = found
    delivered = Delivered(ready.body, "online", ready.source, ready.as_of_ms)
    finished.append(FinishedAnswer(cache_key, edition, delivered, seconds))
    return delivered


def keys_of(context: LookupContext) -> Sequence[str]:
    """Return the cache key of each inquiry."""
    return [inquiry.cache_key for inquiry in context.question.inquiries]


def plan_of(
    context: LookupContext, inquiry: Inquiry, kept: CacheEntry | None, now_ms: int
) -> Serve | Ask:
    """Decide whether an inquiry's cache entry may be served."""
    if kept is None:
        return Ask(None)
    return context.operation.cache_decision(context.question, inquiry, kept, now_ms)


def from_cache(kept: CacheEntry) -> Delivered:
    """Return a cache entry as an outcome."""
    return Delivered(kept.body, "cache", kept.source, kept.asked_ms)


def are_short(outcomes: Sequence[Outcome], bytes_max: int) -> bool:
    """Return whether the bodies are short enough to be processed on the event loop."""
    return sum([len(each.body) for each in outcomes if isinstance(each, Delivered)]) <= bytes_max


def conclusion_of(
    context: LookupContext, outcomes: Sequence[Outcome], company: Company | None, now_ms: int
) -> Conclusion:
    """Return the answer and its price. `company`: None where it is not needed."""
    receipt_numbers = context.parts.receipt_numbers
    answer_context = AnswerContext(now_ms, context.caller.account_id, receipt_numbers, company)
    return context.operation.conclude(context.question, outcomes, answer_context)
