"""The next source to ask, and the conclusion: one case per row."""

import pytest

from balcao.core.errors import SourceFailed, SourceUnavailable
from balcao.core.routing import (
    NOT_CONFIGURED_RETRY_SECONDS,
    UNCONFIRMED_RETRY_SECONDS,
    Answered,
    AskNext,
    Kind,
    Outcome,
    Verdict,
    decide,
)

FOUND = Outcome("b", Kind.FOUND)
ABSENT = Outcome("b", Kind.ABSENT)
SO_FAR = Outcome("f", Kind.ABSENT_SO_FAR)
PERHAPS = Outcome("a", Kind.PERHAPS_ABSENT)
NOT_IN_OURS = Outcome("snapshot", Kind.PERHAPS_ABSENT, local=True)
DOWN_20 = Outcome("c", Kind.UNAVAILABLE, detail="c: fora", retry_in_seconds=20)
DOWN_7 = Outcome("d", Kind.UNAVAILABLE, detail="d: fora", retry_in_seconds=7)
BROKEN = Outcome("e", Kind.FAILED, detail="e: HTTP 500")
OURS_BROKEN = Outcome("snapshot", Kind.FAILED, local=True, detail="snapshot: Error")


@pytest.mark.parametrize("before", [(), (PERHAPS,), (NOT_IN_OURS, DOWN_7, BROKEN)])
@pytest.mark.parametrize("more", [True, False])
@pytest.mark.parametrize(("last", "found"), [(FOUND, True), (ABSENT, False)])
def test_a_record_or_a_proof_of_absence_ends_it(
    before: tuple[Outcome, ...], more: bool, last: Outcome, found: bool
) -> None:
    assert decide([*before, last], more=more) == Answered(found, last.source)


@pytest.mark.parametrize("last", [PERHAPS, SO_FAR, NOT_IN_OURS, DOWN_20, BROKEN, OURS_BROKEN])
def test_anything_else_goes_on_while_somebody_is_left(last: Outcome) -> None:
    assert decide([last], more=True) == AskNext()
    assert decide([BROKEN, last], more=True) == AskNext()
    assert decide([last], more=True, only_local=True) == AskNext()


def test_nobody_asked_yet_goes_on() -> None:
    assert decide([], more=True) == AskNext()


@pytest.mark.parametrize(
    "outcomes",
    [[BROKEN], [DOWN_7, BROKEN], [BROKEN, DOWN_7], [PERHAPS, BROKEN], [OURS_BROKEN, PERHAPS]],
)
def test_one_failure_makes_it_a_failure(outcomes: list[Outcome]) -> None:
    verdict = decide(outcomes, more=False)
    assert isinstance(verdict, SourceFailed)
    assert "HTTP 500" in verdict.detail or "snapshot: Error" in verdict.detail


@pytest.mark.parametrize(
    ("outcomes", "retry_in_seconds"),
    [
        ([DOWN_20], 20),
        ([DOWN_20, DOWN_7], 7),
        ([PERHAPS, DOWN_20], 20),
        ([NOT_IN_OURS, DOWN_20, DOWN_7], 7),
        ([Outcome("c", Kind.UNAVAILABLE)], 1),
    ],
)
def test_all_unavailable_says_when_the_first_is_back(
    outcomes: list[Outcome], retry_in_seconds: int
) -> None:
    assert unavailable(decide(outcomes, more=False)).retry_in_seconds == retry_in_seconds


def test_nobody_configured() -> None:
    verdict = unavailable(decide([], more=False))
    assert verdict.detail.startswith("nenhuma fonte configurada")
    assert verdict.retry_in_seconds == NOT_CONFIGURED_RETRY_SECONDS


@pytest.mark.parametrize("outcomes", [[PERHAPS], [NOT_IN_OURS, PERHAPS], [PERHAPS, PERHAPS]])
def test_absences_that_prove_nothing_are_not_added_up(outcomes: list[Outcome]) -> None:
    verdict = unavailable(decide(outcomes, more=False))
    assert "não confirmada" in verdict.detail
    assert verdict.retry_in_seconds == UNCONFIRMED_RETRY_SECONDS


@pytest.mark.parametrize(
    "outcomes",
    [
        [SO_FAR],
        [NOT_IN_OURS, SO_FAR],
        [SO_FAR, PERHAPS],
        [SO_FAR, DOWN_7],
        [BROKEN, SO_FAR],
        [SO_FAR, BROKEN, DOWN_20],
    ],
)
def test_a_copy_that_works_proves_absence_unless_a_younger_one_knows_better(
    outcomes: list[Outcome],
) -> None:
    assert decide(outcomes, more=True) == AskNext()
    assert decide(outcomes, more=False) == Answered(False, SO_FAR.source)
    assert decide([*outcomes, FOUND], more=False) == Answered(True, FOUND.source)


def test_our_own_copy_proves_absence_only_when_there_is_nobody_else() -> None:
    assert decide([NOT_IN_OURS], more=False, only_local=True) == Answered(False, NOT_IN_OURS.source)
    assert isinstance(decide([NOT_IN_OURS], more=False), SourceUnavailable)
    assert isinstance(decide([OURS_BROKEN], more=False, only_local=True), SourceFailed)


def unavailable(verdict: Verdict) -> SourceUnavailable:
    assert isinstance(verdict, SourceUnavailable)
    return verdict
