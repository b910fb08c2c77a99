"""Passing an account's own answers on to its portfolio, with the charge (contract 20.4, 20.5)."""

from collections.abc import Sequence

from balcao.core.observations import Observation
from balcao.core.observed_items import FindInMonth
from balcao.storage.connection import Statements
from balcao.storage.desk.clock_runs import clock_run_of
from balcao.storage.desk.observations import write_answers
from balcao.storage.desk.wallet.paper_answers import write_certificate


def write_observations(
    connection: Statements, observations: Sequence[Observation], find_in_month: FindInMonth
) -> None:
    """Update what answers are about, within the transaction of their charges."""
    for seen in observations:
        # A portfolio whose clock is ahead changes by its own lookups alone.
        if seen.mode == "test" and clock_run_of(connection, seen.account_id) != seen.clock_run:
            continue
        if seen.certificate is None:
            write_answers(connection, seen, find_in_month)
        else:
            write_certificate(connection, seen, find_in_month)


def paper_values(seen: Observation) -> tuple[str | None, str | None, str | None]:
    """Return kind, UF and subject of the certificate that an observation is about, if any."""
    answer = seen.certificate
    return (None, None, None) if answer is None else answer.key[:3]
