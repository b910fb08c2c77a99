"""The clock of a process: it continues when the system's jumps, and reports it."""

import pytest

from balcao.core.clock import ClockReading
from balcao.service.clock import Clock, steady_now_ms, system_now_ms
from tests.clocks import Clocks

DAY, HOUR = 86_400_000, 3_600_000


def test_it_continues_when_the_systems_jumps() -> None:
    clocks = Clocks()
    clock = clocks.clock()
    before = clock.now_ms()
    clocks.jump(97 * HOUR)
    clocks.go_on(1_500)
    assert clock.now_ms() == before + 1_500, "even before anybody looks"
    clock.look(None)
    assert clock.now_ms() == clock.safe_past_ms() == before + 1_500
    state = clock.state()
    assert (state.jump_ms, state.jumps, state.in_doubt, state.is_off) == (97 * HOUR, 1, True, False)

    clocks.jump(-97 * HOUR)
    clock.look(None)
    assert clock.now_ms() == before + 1_500
    state = clock.state()
    assert (state.jump_ms, state.jumps, state.in_doubt) == (0, 1, False)


def test_sleep_of_the_machine_is_no_jump() -> None:
    clocks = Clocks()
    clock = clocks.clock()
    clocks.go_on(9 * HOUR)
    clock.look(None)
    assert clock.now_ms() == clocks.system
    assert clock.state().jumps == 0


def test_after_days_of_sleep_nothing_has_surely_expired() -> None:
    """Nor after a jump of all clocks of the machine, including the monotonic one."""
    clocks = Clocks()
    clock = clocks.clock()
    before = clock.now_ms()
    clocks.go_on(97 * HOUR)
    assert clock.now_ms() == before + 97 * HOUR
    assert clock.safe_past_ms() == before + DAY, "before anybody has looked"
    clock.look(None)
    assert clock.safe_past_ms() == before
    assert clock.state().in_doubt
    clocks.go_on(HOUR)
    clock.look(None)
    assert clock.safe_past_ms() == clocks.system

    clocks.go_on(-97 * HOUR)
    clock.look(None)
    assert clock.now_ms() == clock.safe_past_ms() == clocks.system
    assert not clock.state().in_doubt


def test_a_setback_is_reported_when_it_is_accepted() -> None:
    clocks = Clocks()
    clock = clocks.clock()
    clocks.jump(-DAY)
    assert not clock.look(None)
    assert clock.safe_past_ms() == clocks.system
    clocks.go_on(HOUR)
    assert clock.look(None), "what was counted a day ahead is to be forgotten"
    assert clock.now_ms() == clocks.system
    clocks.jump(DAY)
    assert not clock.look(None)
    clocks.go_on(HOUR)
    assert not clock.look(None), "ahead: nothing is to be forgotten"
    assert clock.now_ms() == clocks.system


@pytest.mark.parametrize("apart", [-HOUR, -5_001, 5_001, 30_000, HOUR, 400 * DAY])
def test_the_databases_clock_takes_precedence_over_the_systems(apart: int) -> None:
    clocks = Clocks()
    clock = clocks.clock()
    database = ClockReading(clocks.system - apart - clocks.steady, 1)
    clock.begin(database, None)
    assert clock.now_ms() == clocks.system - apart
    state = clock.state()
    assert (state.system_ahead_ms, state.is_off, state.in_doubt) == (apart, True, False)
    assert clock.safe_past_ms() == min(clocks.system, clocks.system - apart)

    clocks.jump(-apart)
    assert not clock.look(None), (
        "the database cannot be heard now; the system's is read all the same"
    )
    assert not clock.state().is_off
    clock.look(database)
    assert clock.now_ms() == clocks.system


def test_the_databases_clock_may_jump_too() -> None:
    clocks = Clocks()
    clock = clocks.clock()
    right = clocks.system - clocks.steady
    clock.begin(ClockReading(right, 1), None)
    clock.look(ClockReading(right + 97 * HOUR, 1))
    assert clock.now_ms() == clocks.system
    state = clock.state()
    assert (state.jump_ms, state.is_off, state.in_doubt) == (97 * HOUR, False, True)


@pytest.mark.parametrize("apart", [-HOUR, 30_000, 97 * HOUR])
def test_a_clock_that_jumped_together_with_the_databases_is_not_off(apart: int) -> None:
    """As on one machine, or with a common time server; otherwise no node would be ready."""
    clocks = Clocks()
    clock = clocks.clock()
    right = clocks.system - clocks.steady
    clock.begin(ClockReading(right, 1), None)
    clocks.jump(apart)
    clock.look(ClockReading(right + apart, 1))
    state = clock.state()
    assert (state.jump_ms, state.is_off, state.in_doubt) == (apart, False, True)

    clocks.jump(2 * HOUR)
    clock.look(ClockReading(right + apart, 1))
    assert clock.state().is_off, "it is neither what is believed nor what the database says"


def test_a_clock_behind_the_ledger_at_the_start() -> None:
    clocks = Clocks()
    clock = clocks.clock()
    assert clock.begin(None, clocks.system + DAY)
    assert clock.now_ms() == clocks.system
    assert clock.state().ledger_ahead_ms == DAY
    assert not clocks.clock().begin(None, clocks.system - DAY // 2)


def test_the_real_clocks() -> None:
    clock = Clock()
    assert abs(clock.now_ms() - system_now_ms()) < 5_000
    assert 0 <= steady_now_ms() - clock.steady_ms() + 1 <= 5_000
    clock.look(None)
    assert clock.state().jumps == 0
