"""A circuit breaker: after several failures in a row a source is not called for a while.

closed ── N failures in a row ──▶ open ── S seconds ──▶ half-open: one probe goes through
   ▲                               ▲                          │
   └────────── any success ────────┼──────────────────────────┤
                                   └── no success within S ◀──┘

A probe is a lease, not a lock. Allowing it opens the circuit for another S seconds, so a probe that
hangs or is lost blocks no caller for longer. A failure while the circuit is not closed changes
nothing: the time of the next probe is already fixed. So a recovered source is called within S
seconds of the first request for it, however long earlier calls take to fail.
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class BreakerSettings:
    """Failures after which a circuit opens, and for how long."""

    failures: int = 5
    seconds: float = 15.0  # half of the 30 s within which a recovered source is in use again


@dataclass(frozen=True, slots=True)
class Circuit:
    """The state of one source's breaker. Instants are of a monotonic clock."""

    failures_in_a_row: int = 0
    next_probe_at: float | None = None  # None: closed


@dataclass(frozen=True, slots=True)
class Admitted:
    """The call is allowed; pass `circuit` to `succeeded` or `failed` afterwards."""

    circuit: Circuit


@dataclass(frozen=True, slots=True)
class Refused:
    """The call is refused. A probe is allowed after `retry_in_seconds`."""

    retry_in_seconds: int


State: TypeAlias = Literal["closed", "open", "half-open"]


def wait_seconds(circuit: Circuit, now: float) -> int:
    """Return the time until the next call is allowed, in whole seconds."""
    if circuit.next_probe_at is None:
        return 0
    return max(0, math.ceil(circuit.next_probe_at - now))


def admit(circuit: Circuit, settings: BreakerSettings | None, now: float) -> Admitted | Refused:
    """Decide whether the source may be called now. Without settings it always may."""
    if settings is None or circuit.next_probe_at is None:
        return Admitted(circuit)
    if now < circuit.next_probe_at:
        return Refused(wait_seconds(circuit, now))
    return Admitted(Circuit(circuit.failures_in_a_row, now + settings.seconds))


def succeeded(circuit: Circuit) -> Circuit:
    """Return the circuit after an answer: closed, without failures."""
    return circuit if circuit == Circuit() else Circuit()


def failed(circuit: Circuit, settings: BreakerSettings | None, now: float) -> Circuit:
    """Return the circuit after a failure."""
    if settings is None or circuit.next_probe_at is not None:
        return circuit
    failures = circuit.failures_in_a_row + 1
    return Circuit(failures, now + settings.seconds if failures >= settings.failures else None)


def state(circuit: Circuit, now: float) -> State:
    """Return the state, for metrics and the health page."""
    if circuit.next_probe_at is None:
        return "closed"
    return "open" if now < circuit.next_probe_at else "half-open"
