"""Acts that extend certificates, applied to those of portfolios, on any engine (contract 20.5)."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from balcao.core.extensions import Extension
from balcao.core.paper_updates import extension_event, with_acts
from balcao.core.papers import KINDS_BY_SUBJECT, Paper
from balcao.core.purchases import UNPLANNED_MS
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.events import lock_accounts
from balcao.storage.desk.wallet.paper_answers import read_acts, update_paper
from balcao.storage.desk.wallet.papers import PAPER_COLUMNS, paper_of
from balcao.storage.desk.wallet.renewals import write_paper_event
from balcao.storage.engine import Engine

# The kind of its jobs; each is about a subject and its UF. Acts enqueue them in their commit.
APPLY_ACTS: Final = "carteira_prorrogar"
PAPERS_AT_ONCE: Final = 200

_COLUMNS: Final = ", ".join(PAPER_COLUMNS)
_PAGE = (
    f"SELECT {_COLUMNS} FROM wallet_paper WHERE kind = ? AND uf = ? AND paper_id > ?"  # noqa: S608
    " AND verdict IN ('CND', 'CPEND') AND validity IS NOT NULL ORDER BY paper_id LIMIT ?"
)
_ONE = f"SELECT {_COLUMNS} FROM wallet_paper WHERE paper_id = ?"  # noqa: S608 - columns of ours
_CLOCK = "SELECT clock_ms FROM wallet WHERE account_id = ? AND clock_ms IS NOT NULL"


def job_about(act: Extension) -> str:
    """Return the subject of the job that applies an act."""
    return f"{act.subject}/{act.uf or ''}"


class PaperActs:
    """The extended certificates of one desk. All methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def apply(self, about: str, after: str, now_ms: int) -> str | None:
        """Give some certificates after a number the last days that acts give them.

        `about`: of the job. Each certificate whose last day an act moves has an event. Returns the
        number of the last one; None: there are no more.
        """
        subject, _, uf = about.partition("/")

        def work(connection: SqlConnection) -> str | None:
            with connection.transaction():
                values = KINDS_BY_SUBJECT[subject], uf, after, PAPERS_AT_ONCE
                found = [paper_of(row) for row in connection.execute(_PAGE, values).fetchall()]
                acts = read_acts(connection)
                moved = [each for each in found if with_acts(each, acts) != each]
                lock_accounts(connection, {each.account_id for each in moved})
                for each in moved:
                    self._move(connection, each.paper_id, acts, now_ms)
                return found[-1].paper_id if len(found) == PAPERS_AT_ONCE else None

        return await self._engine.run_in_writer(work)

    def _move(
        self, connection: SqlConnection, paper_id: str, acts: Sequence[Extension], now_ms: int
    ) -> None:
        """Move the last day of a certificate, whose account is locked."""
        row: Any = connection.execute(_ONE, (paper_id,)).fetchone()
        before: Paper | None = None if row is None else paper_of(row)
        if before is None or (after := with_acts(before, acts)) == before:
            return
        if after.last_day != before.last_day:  # renewals and notices begin again
            after = msgspec.structs.replace(after, next_ms=UNPLANNED_MS, told=None)
        update_paper(connection, after)
        event = extension_event(before, after)
        if event is not None:
            clock = connection.execute(_CLOCK, (after.account_id,)).fetchone()
            at_ms = now_ms if clock is None else clock[0]
            write_paper_event(connection, after, event, at_ms, self._engine.find_in_month)
