"""The decision after each source's outcome: ask the next source, or conclude.

Reasons:

- A record concludes, and so does a proof of absence: more calls would only cost money and time.
- An absence without proof (an old copy, a database that returns 404 while it is down) is no answer:
  clients record a company that is "not found" as one that does not exist.
- A copy of the registry that is known to work proves that a company did not exist on the day of its
  data (contract 9.2). Sources with newer data are still asked; if none has the company, the absence
  stands, even if other sources failed.
- A failure is not final while another source may answer.
- At the end the worst outcome decides. If a source was asked and failed, the result is a failure,
  since waiting may not help; if all were only unavailable, it does.
- A certificate is issued, not read: after a failure the issuance may have begun, and another source
  could be paid for a second one. So the failure is final (specification, "Other limits").
- A question that one source refuses as such (its data, a new certificate while one is in force),
  the others would refuse too.
- One exception: our own copy of the full registry, if there is no other source. The registry is
  complete as of its date, so a company that is not in it did not exist on that date. Other sources
  may have newer companies, so with any of them configured their answer is needed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from balcao.core.errors import (
    DataRefused,
    NewIssueRefused,
    NotServed,
    SourceError,
    SourceFailed,
    SourceRefused,
    SourceUnavailable,
)

# An operator has to change the configuration first.
NOT_CONFIGURED_RETRY_SECONDS = 3600
# Sources whose "not found" proves nothing mostly return it while their database is down.
UNCONFIRMED_RETRY_SECONDS = 300


class Kind(StrEnum):
    """The kind of a source's outcome."""

    FOUND = "found"
    ABSENT = "absent"  # a proof, by the source's documentation
    ABSENT_SO_FAR = "absent so far"  # a proof as of the day of its data
    PERHAPS_ABSENT = "perhaps absent"
    UNAVAILABLE = "unavailable"
    FAILED = "failed"
    REFUSED = "refused"  # the data as such
    ISSUED_ALREADY = "issued already"  # a new certificate, while one may be in force


REFUSALS: Mapping[Kind, type[SourceRefused]] = {
    Kind.REFUSED: DataRefused,
    Kind.ISSUED_ALREADY: NewIssueRefused,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One source's outcome."""

    source: str
    kind: Kind
    local: bool = False  # our own copy, not an external service
    detail: str = ""
    retry_in_seconds: int = 0  # if unavailable


@dataclass(frozen=True, slots=True)
class AskNext:
    """The next source is to be asked."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The question is answered by `source`: found, or proven absent."""

    found: bool
    source: str


Verdict: TypeAlias = AskNext | Answered | SourceError


def decide(
    outcomes: Sequence[Outcome], *, more: bool, only_local: bool = False, issuing: bool = False
) -> Verdict:
    """Return the decision after the outcomes so far, in the order of the calls.

    `more`: another source may still be asked. `only_local`: the subject has only our own copies as
    sources. `issuing`: the answer is issued and must not be paid for twice. The caller raises a
    verdict that is an error.
    """
    if outcomes and outcomes[-1].kind is Kind.FOUND:
        return Answered(found=True, source=outcomes[-1].source)
    if outcomes and outcomes[-1].kind is Kind.ABSENT:
        return Answered(found=False, source=outcomes[-1].source)
    if outcomes and (refused := REFUSALS.get(outcomes[-1].kind)) is not None:
        return refused(_details(outcomes))
    if more and not (issuing and outcomes and outcomes[-1].kind is Kind.FAILED):
        return AskNext()
    return _conclude(outcomes, only_local=only_local)


def _conclude(outcomes: Sequence[Outcome], *, only_local: bool) -> Verdict:
    if not outcomes:
        return NotServed(
            "nenhuma fonte configurada para esta consulta", NOT_CONFIGURED_RETRY_SECONDS
        )
    for outcome in outcomes:
        if outcome.kind is Kind.ABSENT_SO_FAR:
            return Answered(found=False, source=outcome.source)
    if any(outcome.kind is Kind.FAILED for outcome in outcomes):
        return SourceFailed(_details(outcomes))
    unavailable = [outcome for outcome in outcomes if outcome.kind is Kind.UNAVAILABLE]
    if unavailable:
        # The first source to be available again may answer.
        soonest = min(outcome.retry_in_seconds for outcome in unavailable)
        return SourceUnavailable(_details(outcomes), max(1, soonest))
    if only_local and all(outcome.local for outcome in outcomes):
        return Answered(found=False, source=outcomes[-1].source)
    return SourceUnavailable(
        f"inexistência não confirmada ({_details(outcomes)})", UNCONFIRMED_RETRY_SECONDS
    )


def _details(outcomes: Sequence[Outcome]) -> str:
    return "; ".join(outcome.detail or f"{outcome.source}: {outcome.kind}" for outcome in outcomes)
