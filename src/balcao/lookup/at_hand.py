"""Answers that are available now, without I/O.

Shared by `story.py`, which also waits for the cache and the disk, and by the fast path
(`http/fast_path.py`), which does not.
"""

from collections.abc import Hashable, Mapping, Sequence

import msgspec

from balcao.core.calendar import to_ms
from balcao.core.company import Company
from balcao.core.documents import Cnpj
from balcao.core.freshness import CACHE_FIRST, Ask, Kept, Serve
from balcao.core.outcomes import Conclusion, Delivered, Nothing, Outcome
from balcao.core.questions import Inquiry, Subject
from balcao.lookup.context import LookupContext
from balcao.operations.contract import Circumstances
from balcao.sources.asking import Sources
from balcao.sources.contract import Absent, Found

# Longer answers are the front's: they go out in pieces, as the client takes them.
AT_ONCE_BYTES_MAX = 16_000

_NOTHING: Mapping[str, Kept] = {}


class Read(msgspec.Struct, frozen=True, gc=False):
    """A finished answer of our own copy."""

    cache_key: str
    edition: Hashable
    said: Delivered
    seconds: float


class AtHand(msgspec.Struct, frozen=True, gc=False):
    """All outcomes of a lookup that needs nobody any more but the desk.

    Until `conclude` nothing was counted nor remembered: it may be put aside.
    """

    outcomes: Sequence[Outcome]
    read: "Sequence[Read]"  # for who goes on, to `use`
    company: Mapping[str, Kept] | None  # the cache's entry of it; None: it is not wanted

    def concluded(self, context: LookupContext) -> Conclusion:
        """What it comes to, if it goes on. For who wants the company, our own copy is read."""
        company = None
        if self.company is not None and isinstance(context.question.document, Cnpj):
            registry = context.environment.registry
            company = registry.company_of(context.question.document, self.company)
        return conclusion_of(context, self.outcomes, company, context.at_ms)


class Used:
    """Finished answers that went on, to be counted together."""

    __slots__ = ("_seconds",)

    def __init__(self) -> None:
        # What it took to read them.
        self._seconds: dict[tuple[Sources, Subject], list[float]] = {}

    def use(self, context: LookupContext, read: "Sequence[Read]") -> None:
        """What was read goes on, and may be asked for again."""
        environment = context.environment
        line = environment.sources, context.question.subject
        seconds = self._seconds.get(line)
        if seconds is None:
            seconds = self._seconds[line] = []
        for each in read:
            environment.recent.put(each.cache_key, each.edition, each.said)
            seconds.append(each.seconds)

    def count(self) -> None:
        """Count those that went on since the last time."""
        used, self._seconds = self._seconds, {}
        for (sources, subject), seconds in used.items():
            sources.count_finished(subject, seconds)


def all_at_hand(context: LookupContext) -> AtHand | None:
    """Return what can be answered at once, without waiting; None: the full lookup is needed.

    Leaves out rows of our own copy, which take longer than finished answers, and absences.
    """
    question = context.question
    read = context.environment.cache.at_hand
    kept: Mapping[str, Kept] | None = _NOTHING
    if question.strategy in CACHE_FIRST:
        kept = read(keys_of(context))
    if kept is None or question.home_unknown:
        return None
    read_now: list[Read] = []
    outcomes: list[Outcome] = []
    size_bytes = 0
    for inquiry in question.inquiries:
        outcome = _finished_at_hand(context, inquiry, kept, read_now)
        if outcome is None:
            return None
        outcomes.append(outcome)
        size_bytes += len(outcome.body)
    if size_bytes > AT_ONCE_BYTES_MAX:
        return None
    company: Mapping[str, Kept] | None = None
    if context.operation.wants_company(question, outcomes) and isinstance(question.document, Cnpj):
        company = read([Inquiry("company", question.document).cache_key])
        if company is None:
            return None
    return AtHand(outcomes, read_now, company)


def outcome_at_hand(
    context: LookupContext, inquiry: Inquiry, kept: Mapping[str, Kept]
) -> Outcome | None:
    """What can be said of an inquiry without asking anybody, or None. `kept`: of the cache."""
    sources, recent = context.environment.sources, context.environment.recent
    read_now: list[Read] = []
    said = _finished_at_hand(context, inquiry, kept, read_now)
    if said is not None:
        if read_now:
            used = Used()
            used.use(context, read_now)
            used.count()
        return said
    edition = sources.edition(inquiry.subject)
    answer = sources.at_hand(inquiry)
    if isinstance(answer, Found):
        body = context.operation.encode(inquiry, answer.record)
        delivered = Delivered(body, "online", answer.source, to_ms(answer.as_of))
        recent.put(inquiry.cache_key, edition, delivered)
        return delivered
    return Nothing(answer.source) if isinstance(answer, Absent) else None


def _finished_at_hand(
    context: LookupContext, inquiry: Inquiry, kept: Mapping[str, Kept], read_now: list[Read]
) -> Delivered | None:
    """The same of what needs no more work: an entry, or what our own copy has ready."""
    cache_key = inquiry.cache_key
    if kept:
        plan = plan_of(context, inquiry, kept.get(cache_key), context.at_ms)
        if isinstance(plan, Serve):
            return from_cache(plan.kept)
    sources, recent = context.environment.sources, context.environment.recent
    edition = sources.edition(inquiry.subject)
    if (said := recent.get(cache_key, edition)) is not None:
        return said
    if (found := sources.finished(inquiry)) is None:
        return None
    ready, seconds = found
    delivered = Delivered(ready.body, "online", ready.source, ready.as_of_ms)
    read_now.append(Read(cache_key, edition, delivered, seconds))
    return delivered


def keys_of(context: LookupContext) -> Sequence[str]:
    """Where the cache keeps the answers, by inquiry."""
    return [inquiry.cache_key for inquiry in context.question.inquiries]


def plan_of(
    context: LookupContext, inquiry: Inquiry, kept: Kept | None, now_ms: int
) -> Serve | Ask:
    """Whether what the cache has of it may be served."""
    if kept is None:
        return Ask(None)
    return context.operation.plan(context.question, inquiry, kept, now_ms)


def from_cache(kept: Kept) -> Delivered:
    """An entry as an outcome."""
    return Delivered(kept.body, "cache", kept.source, kept.asked_ms)


def are_short(outcomes: Sequence[Outcome], bytes_max: int) -> bool:
    """Whether they are read and written in no time."""
    return sum([len(each.body) for each in outcomes if isinstance(each, Delivered)]) <= bytes_max


def conclusion_of(
    context: LookupContext, outcomes: Sequence[Outcome], company: Company | None, now_ms: int
) -> Conclusion:
    """What all outcomes come to. `company`: where it is wanted."""
    numbering = context.parts.numbering
    circumstances = Circumstances(now_ms, context.caller.account_id, numbering, company)
    return context.operation.conclude(context.question, outcomes, circumstances)
