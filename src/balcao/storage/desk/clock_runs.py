"""The run of a test portfolio's clock, which marks what is written by it (contract 20.8)."""

from balcao.storage.connection import Statements

_RUN = "SELECT clock_run FROM wallet WHERE account_id = ? AND clock_ms IS NOT NULL"


def clock_run_of(connection: Statements, account_id: int) -> int | None:
    """Return the number of the run of a portfolio's clock; None: it has the real time."""
    row = connection.execute(_RUN, (account_id,)).fetchone()
    return None if row is None else int(row[0])
