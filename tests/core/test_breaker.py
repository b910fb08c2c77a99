"""A source that keeps failing is left alone, and found again soon after it recovers."""

from balcao.core import breaker
from balcao.core.breaker import Admitted, BreakerSettings, Circuit, Refused

CLOSED = Circuit()
SETTINGS = BreakerSettings(failures=5, seconds=15.0)


def failing(times: int, *, now: float = 100.0, circuit: Circuit = CLOSED) -> Circuit:
    for _ in range(times):
        circuit = breaker.failed(circuit, SETTINGS, now)
    return circuit


def test_four_failures_leave_it_closed_and_the_fifth_opens_it() -> None:
    assert breaker.state(failing(4), 100.0) == "closed"
    assert isinstance(breaker.admit(failing(4), SETTINGS, 100.0), Admitted)

    assert breaker.state(failing(5), 100.0) == "open"
    assert breaker.admit(failing(5), SETTINGS, 100.0) == Refused(15)


def test_only_failures_in_a_row_count() -> None:
    circuit = failing(4)
    circuit = breaker.succeeded(circuit)
    assert breaker.state(failing(4, circuit=circuit), 100.0) == "closed"


def test_the_stated_wait_is_true_to_the_second() -> None:
    opened = failing(5)
    for now in (100.0, 107.3, 114.9):
        refused = breaker.admit(opened, SETTINGS, now)
        assert isinstance(refused, Refused)
        assert refused.retry_in_seconds >= 1
        assert isinstance(breaker.admit(opened, SETTINGS, now + refused.retry_in_seconds), Admitted)


def test_the_wait_of_who_failed_is_that_of_who_is_refused() -> None:
    assert breaker.wait_seconds(failing(4), 100.0) == 0
    opened = failing(5)
    for now in (100.0, 107.3, 114.9):
        assert breaker.admit(opened, SETTINGS, now) == Refused(breaker.wait_seconds(opened, now))
    assert breaker.wait_seconds(opened, 115.0) == 0


def test_half_open_lets_one_probe_through() -> None:
    opened = failing(5)
    assert breaker.state(opened, 115.0) == "half-open"

    probe = breaker.admit(opened, SETTINGS, 115.0)
    assert isinstance(probe, Admitted)
    assert breaker.admit(probe.circuit, SETTINGS, 115.0) == Refused(15)


def test_a_successful_probe_closes_it() -> None:
    probe = breaker.admit(failing(5), SETTINGS, 115.0)
    assert isinstance(probe, Admitted)
    closed = breaker.succeeded(probe.circuit)
    assert closed == Circuit()
    assert breaker.state(closed, 115.1) == "closed"


def test_a_failed_probe_waits_from_when_it_set_out_not_from_when_it_gave_up() -> None:
    probe = breaker.admit(failing(5), SETTINGS, 115.0)
    assert isinstance(probe, Admitted)
    still_open = breaker.failed(probe.circuit, SETTINGS, 125.0)  # it hung for ten seconds
    assert breaker.admit(still_open, SETTINGS, 129.9) == Refused(1)
    assert isinstance(breaker.admit(still_open, SETTINGS, 130.0), Admitted)


def test_a_probe_never_heard_of_again_keeps_nobody_out_for_longer() -> None:
    lost = breaker.admit(failing(5), SETTINGS, 115.0)
    assert isinstance(lost, Admitted)
    assert isinstance(breaker.admit(lost.circuit, SETTINGS, 130.0), Admitted)


def test_calls_that_fail_late_do_not_move_the_next_probe() -> None:
    """Hundred calls were under way when it opened; each gives up at its own time."""
    circuit = failing(5, now=100.0)
    for now in range(101, 115):
        circuit = breaker.failed(circuit, SETTINGS, float(now))
    assert isinstance(breaker.admit(circuit, SETTINGS, 115.0), Admitted)


def test_a_recovered_source_is_in_use_within_thirty_seconds() -> None:
    """
    The source hangs for 25 s per call and recovers one second after a probe set out; somebody
    asks once a second. Calls end in the order they would.
    """
    circuit = failing(5, now=100.0)
    recovered_at = 116.0
    ends: list[tuple[float, bool]] = []
    for now in range(100, 160):
        for end in sorted(end for end in ends if end[0] <= now):
            ends.remove(end)
            circuit = (
                breaker.succeeded(circuit) if end[1] else breaker.failed(circuit, SETTINGS, now)
            )
        if breaker.state(circuit, now) == "closed" and now > recovered_at:
            assert now - recovered_at <= 30
            return
        admission = breaker.admit(circuit, SETTINGS, now)
        if isinstance(admission, Admitted):
            circuit = admission.circuit
            well = now >= recovered_at
            ends.append((now + (0.2 if well else 25.0), well))
    raise AssertionError("it never closed")


def test_switched_off_it_never_refuses() -> None:
    circuit = Circuit()
    for _ in range(100):
        circuit = breaker.failed(circuit, None, 100.0)
    assert breaker.admit(circuit, None, 100.0) == Admitted(Circuit())
