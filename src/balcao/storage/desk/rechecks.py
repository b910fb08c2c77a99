"""Scheduled lookups of watched subjects, on any engine: plans and due items (contract 20.4)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from balcao.core.freshness import DAY_MS
from balcao.core.ledger import Enqueue
from balcao.core.observed_items import Checked
from balcao.core.purchases import UNPLANNED_MS
from balcao.core.rechecks import Lookup, due_lookups, lookups_of, next_ms
from balcao.core.wallet import Recheck
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.events import lock_account, lock_accounts
from balcao.storage.desk.jobs import enqueue
from balcao.storage.desk.observations import checked_of, checked_text
from balcao.storage.desk.purchases import HAS_CEILING, MAY_BUY, has_no_job
from balcao.storage.engine import Engine

RECHECK: Final = "carteira_reconsultar"  # the kind of its jobs; each is about an item
PLANNED_AT_ONCE = 500

_ITEM = (
    "i.item_id, i.account_id, i.document, i.sealed, i.client, i.reference, i.watched, i.recheck,"
    " i.checked, i.recheck_ms, i.recheck_attempts, w.recheck, w.buyer_key_id, w.buyer_user_id,"
    f" CASE WHEN {MAY_BUY} THEN 1 ELSE 0 END,"
    f" CASE WHEN {HAS_CEILING} THEN 1 ELSE 0 END,"
    " CASE WHEN w.clock_ms IS NOT NULL THEN w.clock_run END"
    " FROM wallet_item AS i JOIN wallet AS w ON w.account_id = i.account_id"
)
_UNPLANNED = (
    f"SELECT {_ITEM} WHERE i.recheck_ms = ? AND i.ended_ms IS NULL AND w.clock_ms IS NULL LIMIT ?"
)
_UNPLANNED_OF_CLOCK = (
    f"SELECT {_ITEM} WHERE i.recheck_ms = ? AND i.ended_ms IS NULL AND i.account_id = ?"
)
_ONE = f"SELECT {_ITEM} WHERE i.item_id = ? AND i.ended_ms IS NULL"
_FIRST_DUE = (
    f"SELECT {_ITEM} WHERE i.account_id = ? AND i.recheck_ms > ? AND i.recheck_ms <= ?"
    " AND i.ended_ms IS NULL ORDER BY i.recheck_ms LIMIT 1"
)
_PLAN = (
    "UPDATE wallet_item SET recheck_ms = ?, recheck_attempts = 0"
    " WHERE item_id = ? AND recheck_ms = ? AND ended_ms IS NULL"
)
# Items without an open job, of portfolios that may buy.
_DUE = (
    "SELECT i.item_id FROM wallet_item AS i JOIN wallet AS w ON w.account_id = i.account_id"  # noqa: S608 - ours
    " WHERE i.recheck_ms > ? AND i.recheck_ms <= ? AND i.ended_ms IS NULL"
    f" AND w.clock_ms IS NULL AND {MAY_BUY} AND {has_no_job('i.item_id')}"
    " ORDER BY i.recheck_ms LIMIT ?"
)
_ACCOUNT = "SELECT account_id FROM wallet_item WHERE item_id = ?"
_CHECKED = "SELECT checked FROM wallet_item WHERE item_id = ? AND ended_ms IS NULL"
_NOTE = "UPDATE wallet_item SET checked = ? WHERE item_id = ?"
_FINISH = (
    "UPDATE wallet_item SET recheck_ms = ?, recheck_attempts = ?"
    " WHERE item_id = ? AND recheck_ms = ? AND ended_ms IS NULL"
)


@dataclass(frozen=True, slots=True)
class RecheckItem:
    """An item with all that its scheduled lookups need. Its `repr` shows no CPF."""

    item_id: str
    account_id: int
    document: str  # a CNPJ, a root, or a masked CPF
    sealed: bytes | None
    client: str | None
    reference: str | None
    watched: tuple[str, ...]
    recheck: Recheck | None  # in force: its own or the portfolio's
    checked: Mapping[str, Checked]
    recheck_ms: int | None
    attempts: int
    buyer_key_id: int | None
    buyer_user_id: int | None
    may_buy: bool  # it has a ceiling and is not stopped
    has_ceiling: bool
    clock_run: int | None  # of a test portfolio's clock; None: real time

    @property
    def lookups(self) -> Sequence[Lookup]:
        """The lookups that are asked again."""
        if self.recheck is None:
            return ()
        return lookups_of(self.watched, self.recheck.assuntos)

    def due_lookups(self, now_ms: int) -> Sequence[Lookup]:
        """Return the lookups that are due."""
        if self.recheck is None:
            return ()
        return due_lookups(self.lookups, self.checked, self.recheck.a_cada_dias, now_ms)

    def next_ms(self, now_ms: int, checked: Mapping[str, Checked] | None = None) -> int | None:
        """Return when it is looked up next; None: never. `checked`: in place of the stored ones."""
        if self.recheck is None or not self.has_ceiling:
            return None
        known = self.checked if checked is None else checked
        return next_ms(self.item_id, self.lookups, known, self.recheck.a_cada_dias, now_ms)


class Rechecks:
    """The scheduled lookups of one desk. All methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._run_in_writer = engine.run_in_writer

    async def plan(self, now_ms: int, account_id: int | None = None) -> int:
        """Compute the schedule of some items that have none yet. Return the count.

        `account_id`: of the portfolio whose clock shows `now_ms`; others with a clock are left out.
        """

        def work(connection: SqlConnection) -> int:
            with connection.transaction():
                if account_id is None:
                    some = _UNPLANNED, (UNPLANNED_MS, PLANNED_AT_ONCE)
                else:
                    some = _UNPLANNED_OF_CLOCK, (UNPLANNED_MS, account_id)
                rows = connection.execute(*some).fetchall()
                items = [*map(_item, rows)]
                # Own lookups lock the account before its items.
                lock_accounts(connection, {item.account_id for item in items})
                for item in items:
                    values = (item.next_ms(now_ms), item.item_id, UNPLANNED_MS)
                    connection.execute(_PLAN, values)
            return len(rows)

        return await self._run_in_writer(work)

    async def enqueue_due(self, now_ms: int) -> int:
        """Enqueue jobs for some due items. Return the count."""

        def work(connection: SqlConnection) -> int:
            with connection.transaction():
                values = (UNPLANNED_MS, now_ms, RECHECK, now_ms - DAY_MS, PLANNED_AT_ONCE)
                rows = connection.execute(_DUE, values).fetchall()
                enqueue(connection, [Enqueue(RECHECK, item_id, now_ms) for (item_id,) in rows])
            return len(rows)

        return await self._run_in_writer(work)

    async def item(self, item_id: str) -> RecheckItem | None:
        """Return an item in force."""
        rows: Any = await self._run_in_writer(
            lambda connection: connection.execute(_ONE, (item_id,)).fetchall()
        )
        return _item(rows[0]) if rows else None

    async def first_due(self, account_id: int, now_ms: int) -> RecheckItem | None:
        """Return the item of an account that has been due for longest."""
        values = (account_id, UNPLANNED_MS, now_ms)
        rows: Any = await self._run_in_writer(
            lambda connection: connection.execute(_FIRST_DUE, values).fetchall()
        )
        return _item(rows[0]) if rows else None

    async def note_asked(self, item_id: str, topics: Collection[str], now_ms: int) -> None:
        """Record that these topics were looked up and answered."""

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                found = connection.execute(_ACCOUNT, (item_id,)).fetchone()
                if found is None:
                    return
                lock_account(connection, found[0])  # own lookups write the same column
                row = connection.execute(_CHECKED, (item_id,)).fetchone()
                if row is None:
                    return
                checked = dict(checked_of(row[0]))
                for topic in topics:
                    known = checked.get(topic, Checked())
                    checked[topic] = msgspec.structs.replace(known, asked_ms=now_ms)
                connection.execute(_NOTE, (checked_text(checked), item_id))

        await self._run_in_writer(work)

    async def finish(self, item: RecheckItem, next_ms: int | None, attempts: int) -> None:
        """Set an item's next lookup, unless its schedule was changed meanwhile."""
        values = (next_ms, attempts, item.item_id, item.recheck_ms)

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                connection.execute(_FINISH, values)

        await self._run_in_writer(work)


def _item(row: Any) -> RecheckItem:
    (
        item_id, account_id, document, sealed, client, reference, watched, recheck, checked,
        recheck_ms, attempts, of_wallet, key_id, user_id, may_buy, has_ceiling, clock_run,
    ) = row  # fmt: skip
    own = None if recheck is None else _recheck(recheck)
    if own is None and of_wallet is not None:
        own = _recheck(of_wallet)
    return RecheckItem(
        item_id,
        account_id,
        document,
        None if sealed is None else bytes(sealed),
        client or None,
        reference,
        _topics(watched),
        own or None,
        checked_of(checked),
        recheck_ms,
        attempts,
        key_id,
        user_id,
        bool(may_buy),
        bool(has_ceiling),
        clock_run,
    )


_topics = msgspec.json.Decoder(tuple[str, ...]).decode
_recheck = msgspec.json.Decoder(Recheck | Literal[False]).decode
