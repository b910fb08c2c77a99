"""The accepted time when clocks disagree, case by case (contract 9.8)."""

import pytest

from balcao.core.clock import ClockEstimate, ClockReading, Jump, initial_estimate, update

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
BOOT = 1_800_000_000_000  # the offset of a clock that is right
START = 7 * DAY  # on the steady clock


def believed(first: ClockEstimate, *readings: tuple[int, int]) -> ClockEstimate:
    """Return the estimate after readings with these differences, at these times after the start."""
    belief = first
    for after_ms, apart_ms in readings:
        belief = update(belief, ClockReading(BOOT + apart_ms, 2), START + after_ms)
    return belief


def offset(belief: ClockEstimate) -> int:
    """Return the difference of the estimate from the one at the start."""
    return belief.offset_ms - BOOT


RIGHT = initial_estimate(BOOT, START, None)

# Readings and their times, and the resulting estimate.
JUMPS: dict[str, tuple[list[tuple[int, int]], int]] = {
    "nothing happens": ([(SECOND, 0), (2 * SECOND, 0)], 0),
    "a fault of reading": ([(SECOND, 2), (2 * SECOND, -2)], 0),
    "a correction by NTP": ([(SECOND, 300)], 300),
    "a leap second, back": ([(SECOND, -1_000)], -1_000),
    "the largest that is followed": ([(SECOND, 5_000)], 5_000),
    "a little more": ([(SECOND, 5_001)], 0),
    "a day ahead": ([(SECOND, DAY)], 0),
    "97 hours ahead, for a while": ([(SECOND, 97 * HOUR), (59 * MINUTE, 97 * HOUR)], 0),
    "a day ahead, undone": ([(SECOND, DAY), (10 * MINUTE, 40)], 40),
    "a day back": ([(SECOND, -DAY)], 0),
    "back to 1970": ([(SECOND, -BOOT)], 0),
    "a day ahead, and it stays so": ([(SECOND, DAY), (HOUR + SECOND, DAY)], DAY),
    "a day back, and it stays so": ([(SECOND, -DAY), (HOUR + SECOND, -DAY)], -DAY),
    "corrected while it is held": ([(SECOND, DAY), (HOUR + SECOND, DAY + 400)], DAY + 400),
    "it jumps again meanwhile": ([(SECOND, DAY), (HOUR, 2 * DAY), (HOUR + MINUTE, 2 * DAY)], 0),
    "ahead, undone, ahead": ([(SECOND, DAY), (MINUTE, 0), (HOUR + SECOND, DAY)], 0),
}


@pytest.mark.parametrize("case", JUMPS)
def test_a_jump_is_believed_when_it_was_confirmed(case: str) -> None:
    readings, expected = JUMPS[case]
    assert offset(believed(RIGHT, *readings)) == expected


def test_what_is_in_doubt_is_not_surely_past() -> None:
    ahead = believed(RIGHT, (SECOND, DAY))
    assert ahead.jump == Jump(BOOT + DAY, START + SECOND)
    assert ahead.safe_offset_ms == BOOT
    back = believed(RIGHT, (SECOND, -DAY))
    assert (back.offset_ms, back.safe_offset_ms) == (BOOT, BOOT - DAY)
    undone = believed(RIGHT, (SECOND, DAY), (MINUTE, 0))
    assert (undone.jump, undone.safe_offset_ms) == (None, BOOT)


# By how much the clock is after the latest instant in the books at a start; whether that is
# accepted without a trial.
STARTS = {
    "a restart": (3 * SECOND, True),
    "another node was a little ahead": (-2 * SECOND, True),
    "a night": (12 * HOUR, True),
    "half a year": (180 * DAY, False),
    "ten seconds before": (-10 * SECOND, False),
    "a dead battery": (-20 * 365 * DAY, False),
}


@pytest.mark.parametrize("case", STARTS)
def test_at_a_start_the_clock_is_believed_and_the_books_are_remembered(case: str) -> None:
    after_ms, accepted = STARTS[case]
    first = initial_estimate(BOOT, START, BOOT - after_ms)
    assert first.offset_ms == BOOT
    assert first.safe_offset_ms == (BOOT if accepted else min(BOOT, BOOT - after_ms))
    stood = believed(first, (HOUR - 1, 0), (HOUR, 0))
    assert stood.safe_offset_ms == BOOT
    assert believed(first, (HOUR - 1, 0)).safe_offset_ms == first.safe_offset_ms


# Since the books: by how much the clock was apart from them at the start, and to what it was set.
SET_RIGHT = {
    "a dead battery, then NTP": (-20 * 365 * DAY, 2 * HOUR, True),
    "local time in the hardware clock, after two days": (-3 * HOUR, 2 * DAY, True),
    "a day ahead at the start, then right": (2 * DAY, DAY, True),
    "97 hours ahead, then right": (97 * HOUR, 10 * SECOND, True),
    "still before the books": (-3 * HOUR, -HOUR, False),
    "even farther ahead": (2 * DAY, 3 * DAY, False),
}


@pytest.mark.parametrize("case", SET_RIGHT)
def test_a_clock_that_was_wrong_at_the_start_is_believed_when_it_is_set(case: str) -> None:
    at_start, then, at_once = SET_RIGHT[case]
    first = initial_estimate(BOOT + at_start, START, BOOT)
    after = believed(first, (MINUTE, then))
    assert offset(after) == (then if at_once else at_start)
    assert (after.jump is None) == at_once
