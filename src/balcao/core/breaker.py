"""A circuit breaker: after several failures in a row a source is left alone for a while.

closed ── N failures in a row ──▶ open ── S seconds ──▶ half-open: one probe goes through
   ▲                               ▲                          │
   └────────── any success ────────┼──────────────────────────┤
                                   └── no success within S ◀──┘

A probe is a lease, not a lock. Letting it through opens the circuit for another S seconds, so a
probe that hangs or is never heard of again keeps nobody out for longer, and a failure while the
circuit is not closed changes nothing: the instant of the next probe is fixed already. So a
source that recovers is asked again within S seconds of the first request for it, however long
earlier calls take to fail.
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class BreakerSettings:
    """When to open, and for how long."""

    failures: int = 5
    seconds: float = 15.0  # half of the 30 s within which a recovered source is in use again


@dataclass(frozen=True, slots=True)
class Circuit:
    """All that is remembered of one source. Instants are of a clock that never goes back."""

    failures_in_a_row: int = 0
    next_probe_at: float | None = None  # None: closed


@dataclass(frozen=True, slots=True)
class Admitted:
    """Go on and ask; afterwards say `succeeded` or `failed` of this circuit."""

    circuit: Circuit


@dataclass(frozen=True, slots=True)
class Refused:
    """Leave the source alone. From `retry_in_seconds` on a probe is let through."""

    retry_in_seconds: int


State: TypeAlias = Literal["closed", "open", "half-open"]


def wait_seconds(circuit: Circuit, now: float) -> int:
    """How long nobody is let through from now on; 0: the next one is."""
    if circuit.next_probe_at is None:
        return 0
    return max(0, math.ceil(circuit.next_probe_at - now))


def admit(circuit: Circuit, settings: BreakerSettings | None, now: float) -> Admitted | Refused:
    """May the source be asked now? Without settings the breaker is off: always."""
    if settings is None or circuit.next_probe_at is None:
        return Admitted(circuit)
    if now < circuit.next_probe_at:
        return Refused(wait_seconds(circuit, now))
    return Admitted(Circuit(circuit.failures_in_a_row, now + settings.seconds))


def succeeded(circuit: Circuit) -> Circuit:
    """The source answered: closed, and what was before is forgotten."""
    return circuit if circuit == Circuit() else Circuit()


def failed(circuit: Circuit, settings: BreakerSettings | None, now: float) -> Circuit:
    """The source let us down once more."""
    if settings is None or circuit.next_probe_at is not None:
        return circuit
    failures = circuit.failures_in_a_row + 1
    return Circuit(failures, now + settings.seconds if failures >= settings.failures else None)


def state(circuit: Circuit, now: float) -> State:
    """For measurements and the health page."""
    if circuit.next_probe_at is None:
        return "closed"
    return "open" if now < circuit.next_probe_at else "half-open"
