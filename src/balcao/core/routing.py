"""Asking sources in turn: after each outcome, go on or conclude?

Why so:

- A record ends it, and so does a proof of absence: asking on could only cost money and time.
- An absence that proves nothing (an old copy, a database that says 404 when it is down) is no
  answer. One client books a company that is "not found" as one that does not exist.
- A copy of the registry that is shown to work proves that a company did not exist on the day of
  its data (contract 9.2). A source with younger data may still know it and is asked; where none
  does, it stands, whatever became of the others.
- A failure is not final while another source may know.
- At the end the worst thing seen decides. A source that was asked and failed makes it a failure,
  because nobody can promise that waiting helps; when all were merely unavailable, waiting does.
- A certificate is issued, not read: where a source was asked for one and failed, it may have
  begun, and asking another could buy it twice. There a failure is final (specification, "Other
  limits").
- A question that one source refuses as such (its data, a new certificate while one is in force),
  another would refuse too.
- One exception: our own copy of the full registry, when it is the only source there is. The
  registry is complete as of its date, so what is not in it did not exist on that date; with
  other sources configured these know about younger companies, and their word is needed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from balcao.core.errors import (
    DataRefused,
    NewIssueRefused,
    NotServed,
    OriginRefused,
    SourceError,
    SourceFailed,
    SourceUnavailable,
)

# A person has to change the configuration first.
NOT_CONFIGURED_RETRY_SECONDS = 3600
# Sources whose "not found" proves nothing say it mostly while a database of theirs is down.
UNCONFIRMED_RETRY_SECONDS = 300


class Kind(StrEnum):
    """What became of asking one source."""

    FOUND = "found"
    ABSENT = "absent"  # and its documentation says that this is proof
    ABSENT_SO_FAR = "absent so far"  # proof too, as of the day of its data
    PERHAPS_ABSENT = "perhaps absent"
    UNAVAILABLE = "unavailable"
    FAILED = "failed"
    REFUSED = "refused"  # the data as such
    ISSUED_ALREADY = "issued already"  # a new certificate, while one may be in force


REFUSALS: Mapping[Kind, type[OriginRefused]] = {
    Kind.REFUSED: DataRefused,
    Kind.ISSUED_ALREADY: NewIssueRefused,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One source's outcome."""

    source: str
    kind: Kind
    local: bool = False  # our own copy, not somebody's service
    detail: str = ""
    retry_in_seconds: int = 0  # of an unavailable one


@dataclass(frozen=True, slots=True)
class GoOn:
    """Ask the next source."""


@dataclass(frozen=True, slots=True)
class Answered:
    """It is there, as the last outcome says, or it certainly is not; `source` said so."""

    found: bool
    source: str


Verdict: TypeAlias = GoOn | Answered | SourceError


def decide(
    outcomes: Sequence[Outcome], *, more: bool, only_local: bool = False, issuing: bool = False
) -> Verdict:
    """What follows from the outcomes so far, in the order of asking.

    `more`: another source may still be asked. `only_local`: the subject has no other sources
    than our own copies. `issuing`: what is asked for is issued, and must not be bought twice. A
    verdict that is an error is for the caller to raise.
    """
    if outcomes and outcomes[-1].kind is Kind.FOUND:
        return Answered(found=True, source=outcomes[-1].source)
    if outcomes and outcomes[-1].kind is Kind.ABSENT:
        return Answered(found=False, source=outcomes[-1].source)
    if outcomes and (refused := REFUSALS.get(outcomes[-1].kind)) is not None:
        return refused(_details(outcomes))
    if more and not (issuing and outcomes and outcomes[-1].kind is Kind.FAILED):
        return GoOn()
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
        # The first one to be back may know; whoever comes then is not refused for this reason.
        soonest = min(outcome.retry_in_seconds for outcome in unavailable)
        return SourceUnavailable(_details(outcomes), max(1, soonest))
    if only_local and all(outcome.local for outcome in outcomes):
        return Answered(found=False, source=outcomes[-1].source)
    return SourceUnavailable(
        f"inexistência não confirmada ({_details(outcomes)})", UNCONFIRMED_RETRY_SECONDS
    )


def _details(outcomes: Sequence[Outcome]) -> str:
    return "; ".join(outcome.detail or f"{outcome.source}: {outcome.kind}" for outcome in outcomes)
