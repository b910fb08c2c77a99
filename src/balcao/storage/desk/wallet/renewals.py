"""Renewals of certificates, on any engine: plans, due ones, and their outcomes (contract 20.6)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from balcao.core.documents import first_establishment
from balcao.core.errors import NewIssueRefused
from balcao.core.freshness import DAY_MS
from balcao.core.ledger import Enqueue
from balcao.core.observed_items import FindInMonth
from balcao.core.paper_updates import PaperEvent, item_events
from balcao.core.papers import ROOT_CHARACTERS, Paper, PaperKind
from balcao.core.purchases import UNPLANNED_MS
from balcao.core.questions import Mode
from balcao.core.renewals import plan_of
from balcao.core.wallet import Renewal
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.events import lock_account, lock_accounts
from balcao.storage.desk.item_events import write_item_events
from balcao.storage.desk.jobs import enqueue
from balcao.storage.desk.purchases import HAS_CEILING, MAY_BUY, has_no_job
from balcao.storage.desk.wallet.paper_answers import heads_of, is_natural_person, update_paper
from balcao.storage.desk.wallet.papers import PAPER_COLUMNS, paper_of
from balcao.storage.engine import Engine

RENEW: Final = "carteira_renovar"  # the kind of its jobs; each is about a certificate
PLANNED_AT_ONCE = 500

# Whether the federal sources of a mode issue new certificates, of persons or of companies.
Reissues: TypeAlias = Callable[[Mode, bool], bool]

_COLUMNS = ", ".join(f"p.{name}" for name in PAPER_COLUMNS)
_TERMS = "coalesce(i.renew, w.renew)"
# The oldest item that has the certificate and terms to renew it: its marks are those of the lookup.
_ITEM = (
    "(SELECT min(x.item_id) FROM wallet_item_paper AS l JOIN wallet_item AS x"
    " ON x.item_id = l.item_id WHERE l.paper_id = p.paper_id AND x.ended_ms IS NULL"
    " AND coalesce(x.renew, w.renew, 'false') <> 'false')"
)
_RENEWALS = (
    f"SELECT {_COLUMNS}, i.item_id, i.document, i.sealed, i.client, i.reference, {_TERMS},"  # noqa: S608 - ours
    f" a.mode, w.buyer_key_id, w.buyer_user_id, CASE WHEN {HAS_CEILING} THEN 1 ELSE 0 END,"
    f" CASE WHEN {MAY_BUY} THEN 1 ELSE 0 END, w.clock_ms, w.clock_run"
    " FROM wallet_paper AS p JOIN wallet AS w ON w.account_id = p.account_id"
    " JOIN account AS a ON a.account_id = p.account_id"
    f" LEFT JOIN wallet_item AS i ON i.item_id = {_ITEM}"
)
_UNPLANNED = f"{_RENEWALS} WHERE p.next_ms = ? AND w.clock_ms IS NULL LIMIT ?"
_UNPLANNED_OF_CLOCK = f"{_RENEWALS} WHERE p.next_ms = ? AND p.account_id = ?"
_HAS_UNPLANNED = "SELECT 1 FROM wallet_paper WHERE next_ms = ? LIMIT 1"
_ONE = f"{_RENEWALS} WHERE p.paper_id = ?"
_FIRST_DUE = (
    f"{_RENEWALS} WHERE p.account_id = ? AND p.next_ms > ? AND p.next_ms <= ?"
    " ORDER BY p.next_ms LIMIT 1"
)
_PLAN = "UPDATE wallet_paper SET next_ms = ?, reason = ? WHERE paper_id = ? AND next_ms = ?"
_DUE = (
    "SELECT p.paper_id FROM wallet_paper AS p JOIN wallet AS w ON w.account_id = p.account_id"  # noqa: S608 - ours
    f" WHERE p.next_ms > ? AND p.next_ms <= ? AND w.clock_ms IS NULL AND {MAY_BUY}"
    f" AND {has_no_job('p.paper_id')} ORDER BY p.next_ms LIMIT ?"
)
_BEGIN = (
    "UPDATE wallet_paper SET renewing_ms = ?"
    " WHERE paper_id = ? AND next_ms = ? AND attempts = ? RETURNING 1"
)
_POSTPONE = (
    "UPDATE wallet_paper SET next_ms = ?, renewing_ms = NULL"
    " WHERE paper_id = ? AND next_ms = ? AND attempts = ?"
)
# What waits for its end is left out: it was refused, and would be again.
_WAKE = (
    "UPDATE wallet_paper SET next_ms = ? WHERE kind = ? AND uf = ? AND failures > 0"
    " AND next_ms > ? AND reason <> ? AND account_id IN (SELECT a.account_id FROM account AS a"
    " JOIN wallet AS w ON w.account_id = a.account_id WHERE a.mode = ? AND w.clock_ms IS NULL)"
)
_MODE = "SELECT mode FROM account WHERE account_id = ?"
_PRESENT = f"SELECT {_COLUMNS} FROM wallet_paper AS p WHERE p.paper_id = ?"  # noqa: S608 - ours


@dataclass(frozen=True, slots=True)
class PaperRenewal:
    """A certificate with all that its renewal needs. Its `repr` shows no CPF."""

    paper: Paper
    item_id: str | None  # the item that it is renewed for; None: no item's terms renew it
    document: str | None  # a CNPJ, or a masked CPF
    sealed: bytes | None
    client: str | None
    reference: str | None
    terms: Renewal | None  # None: nothing may be bought
    mode: Mode
    buyer_key_id: int | None
    buyer_user_id: int | None
    may_buy: bool  # the portfolio has a ceiling and is not stopped
    clock_run: int | None  # of a test portfolio's clock; None: real time

    @property
    def is_person(self) -> bool:
        """Whether it is the certificate of a CPF."""
        return self.paper.subject is None


class Renewals:
    """The renewals of one desk. All methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._run_in_writer = engine.run_in_writer

    async def plan(self, now_ms: int, reissues: Reissues, account_id: int | None = None) -> int:
        """Compute when some certificates without a plan are renewed. Return the count.

        `account_id`: of the portfolio whose clock shows `now_ms`; others with a clock are left out.
        """

        def work(connection: SqlConnection) -> int:
            with connection.transaction():
                if account_id is None:
                    values: tuple[int, int] = (UNPLANNED_MS, PLANNED_AT_ONCE)
                    rows = connection.execute(_UNPLANNED, values).fetchall()
                else:
                    values = (UNPLANNED_MS, account_id)
                    rows = connection.execute(_UNPLANNED_OF_CLOCK, values).fetchall()
                found = [*map(_renewal_of, rows)]
                # Own lookups lock the account before its certificates.
                lock_accounts(connection, {each.paper.account_id for each in found})
                for each in found:
                    paper = each.paper
                    able = reissues(each.mode, each.is_person)
                    plan = plan_of(paper, each.terms, now_ms, reissues=able)
                    connection.execute(_PLAN, (*plan, paper.paper_id, UNPLANNED_MS))
            return len(rows)

        return await self._run_in_writer(work)

    async def has_unplanned(self) -> bool:
        """Return whether some certificates have no plan yet."""
        rows: Any = await self._run_in_writer(
            lambda connection: connection.execute(_HAS_UNPLANNED, (UNPLANNED_MS,)).fetchall()
        )
        return bool(rows)

    async def enqueue_due(self, now_ms: int) -> int:
        """Enqueue jobs for some certificates that are due. Return the count."""

        def work(connection: SqlConnection) -> int:
            with connection.transaction():
                values = (UNPLANNED_MS, now_ms, RENEW, now_ms - DAY_MS, PLANNED_AT_ONCE)
                rows = connection.execute(_DUE, values).fetchall()
                enqueue(connection, [Enqueue(RENEW, paper_id, now_ms) for (paper_id,) in rows])
            return len(rows)

        return await self._run_in_writer(work)

    async def one(self, paper_id: str) -> PaperRenewal | None:
        """Return a certificate with all that its renewal needs; None: it is gone."""
        rows: Any = await self._run_in_writer(
            lambda connection: connection.execute(_ONE, (paper_id,)).fetchall()
        )
        return _renewal_of(rows[0]) if rows else None

    async def first_due(self, account_id: int, now_ms: int) -> PaperRenewal | None:
        """Return the certificate of an account that has been due for longest."""
        values = (account_id, UNPLANNED_MS, now_ms)
        rows: Any = await self._run_in_writer(
            lambda connection: connection.execute(_FIRST_DUE, values).fetchall()
        )
        found = _renewal_of(rows[0]) if rows else None
        return found if found is not None and found.terms is not None else None

    async def begin(self, paper: Paper, now_ms: int) -> bool:
        """Mark a certificate as being renewed. Return False if it was changed meanwhile."""
        values = (now_ms, paper.paper_id, paper.next_ms, paper.attempts)

        def work(connection: SqlConnection) -> bool:
            with connection.transaction():
                return bool(connection.execute(_BEGIN, values).fetchall())

        return await self._run_in_writer(work)

    async def postpone(self, paper: Paper, next_ms: int | None) -> None:
        """Set the next renewal without an attempt, unless the certificate was changed meanwhile."""
        values = (next_ms, paper.paper_id, paper.next_ms, paper.attempts)

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                connection.execute(_POSTPONE, values)

        await self._run_in_writer(work)

    async def wake(self, mode: Mode, kind: PaperKind, uf: str, now_ms: int) -> None:
        """Let the failed renewals of a kind be tried again now, of portfolios in real time."""
        values = (now_ms, kind, uf, now_ms, NewIssueRefused.code, mode)

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                connection.execute(_WAKE, values)

        await self._run_in_writer(work)

    async def finish(
        self, before: Paper, after: Paper, event: PaperEvent | None, now_ms: int
    ) -> bool:
        """Write the outcome of an attempt that no answer has written, and its event for each item.

        Return False if the certificate was changed meanwhile, as it is by the charge.
        """

        def work(connection: SqlConnection) -> bool:
            with connection.transaction():
                lock_account(connection, before.account_id)
                row = connection.execute(_PRESENT, (before.paper_id,)).fetchone()
                if row is None or _attempt(paper_of(row)) != _attempt(before):
                    return False
                update_paper(connection, after)
                if event is not None:
                    write_paper_event(connection, after, event, now_ms, self._engine.find_in_month)
                return True

        return await self._run_in_writer(work)


def write_paper_event(
    connection: SqlConnection,
    paper: Paper,
    event: PaperEvent,
    now_ms: int,
    find_in_month: FindInMonth,
) -> None:
    """Write an event about a certificate for each item that has it, within a transaction."""
    heads = heads_of(connection, paper.paper_id)
    ((mode,),) = connection.execute(_MODE, (paper.account_id,)).fetchall()
    cnpj = paper.subject
    if cnpj is not None and len(cnpj) == ROOT_CHARACTERS:
        cnpj = first_establishment(cnpj)
    person = bool(heads) and is_natural_person(mode, cnpj, find_in_month)
    for head, each in item_events(event, paper, heads, now_ms, is_person=person):
        write_item_events(connection, head, [each])


def _attempt(paper: Paper) -> tuple[str | None, int, int | None]:
    return paper.validity, paper.attempts, paper.next_ms


def _renewal_of(row: Sequence[Any]) -> PaperRenewal:
    columns = len(PAPER_COLUMNS)
    (
        item_id, document, sealed, client, reference, terms, mode, key_id, user_id, has_ceiling,
        may_buy, clock_ms, clock_run,
    ) = row[columns:]  # fmt: skip
    wanted = item_id is not None and has_ceiling
    return PaperRenewal(
        paper_of(row[:columns]),
        item_id,
        document,
        None if sealed is None else bytes(sealed),
        client or None,
        reference,
        _terms(terms) if wanted else None,
        mode,
        key_id,
        user_id,
        bool(may_buy),
        None if clock_ms is None else clock_run,
    )


_terms = msgspec.json.Decoder(Renewal).decode
