"""The portfolios of accounts on any engine (contract 20.1, 20.2)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

import msgspec

from balcao.core.errors import ItemNotFound
from balcao.core.papers import Paper
from balcao.core.people import Signature
from balcao.core.wallet import WalletItem, WalletSettings
from balcao.storage.connection import OpenReader, SqlConnection
from balcao.storage.desk.account_admin import signed_transaction
from balcao.storage.desk.budgets import owned_budgets
from balcao.storage.desk.events import lock_account
from balcao.storage.desk.purchases import next_purchase_ms
from balcao.storage.desk.recorded_answer import MakeAnswer, record_answer
from balcao.storage.desk.wallet import items
from balcao.storage.desk.wallet.items import ItemFilter
from balcao.storage.desk.wallet.papers import read_papers
from balcao.storage.desk.wallet.planning import (
    NO_REGISTRY,
    Entry,
    Key,
    NewCompany,
    Outcome,
    Plan,
    RegistryOf,
    RegistryOfNew,
    SyncCounts,
    plan_list,
    plan_sync,
)
from balcao.storage.desk.wallet.settings import (
    OWNER_KIND,
    ceiling_of,
    change_settings,
    read_settings,
)
from balcao.storage.engine import Engine

_TOTAL = "SELECT CAST(coalesce(sum(watched), 0) AS BIGINT), count(*) FROM account WHERE watched > 0"


T = TypeVar("T")

ReadRegistry: TypeAlias = Callable[[Sequence[NewCompany]], Awaitable[RegistryOf]]


async def no_registry(companies: Sequence[NewCompany]) -> RegistryOf:
    """Return nothing: new items have no registry data until the next comparison."""
    return NO_REGISTRY


class Added(msgspec.Struct, frozen=True, gc=False):
    """An item after a request that adds it, whether it is new, its certificates and portfolio."""

    item: WalletItem
    new: bool
    papers: Sequence[Paper]
    settings: WalletSettings


class ItemPage(msgspec.Struct, frozen=True, gc=False):
    """Items with their certificates, by item id, and the settings of their portfolio."""

    items: Sequence[WalletItem]
    papers: Mapping[str, Sequence[Paper]]
    settings: WalletSettings


class ListAdded(msgspec.Struct, frozen=True, gc=False):
    """The outcomes of a list, in the order of its lines, and the ids of new items."""

    outcomes: Sequence[Outcome]
    created: Sequence[str]


class Synced(msgspec.Struct, frozen=True, gc=False):
    """The outcome of a synchronization. `failed`: of lines that turned out invalid."""

    counts: SyncCounts
    failed: Sequence[Outcome]
    created: Sequence[str]


class _Unread(NamedTuple):
    """New companies whose registry data were not read before the commit."""

    companies: Sequence[NewCompany]


class Wallets:
    """The portfolios of one desk. All methods raise `StorageFailed`.

    Reads are synchronous. Every change locks its account; all items of a request are written in one
    transaction. `items_max`: of the account's plan; `WalletFull` is raised beyond it.
    """

    def __init__(self, engine: Engine) -> None:
        self._run_in_writer = engine.run_in_writer
        self._connection = engine.connection
        self._open_reader: OpenReader = engine.open_reader

    # Settings

    def settings(self, account_id: int) -> WalletSettings:
        """Return the settings and standing of a portfolio; those of a new one if there is none."""
        return read_settings(self._connection, account_id)

    def ceiling(self, account_id: int, now_ms: int) -> int:
        """Return the credits that purchases may cost in a month; 0 until it was set."""
        owner = OWNER_KIND, str(account_id)
        return ceiling_of(owned_budgets(self._connection, account_id, owner, now_ms))

    def next_purchase_ms(self, account_id: int) -> int | None:
        """Return when a portfolio buys next by itself; None: nothing is planned."""
        return next_purchase_ms(self._connection, account_id)

    async def change_settings(  # noqa: PLR0917
        self,
        account_id: int,
        edit: Callable[[WalletSettings], WalletSettings],
        ceiling: int | None,
        new_number: Callable[[], str],
        signed: Signature,
        now_ms: int,
    ) -> WalletSettings:
        """Change settings, and the ceiling of a month unless it is None.

        The key or person of the signature is the buyer from then on, if the ceiling was given.
        Raises `InvalidParameter`, `FormDone`, and the errors of `edit`.
        """

        def work(connection: SqlConnection) -> WalletSettings:
            with signed_transaction(connection, signed):
                return change_settings(
                    connection, account_id, edit, ceiling, new_number, signed, now_ms
                )

        return await self._run_in_writer(work)

    # Reading items

    def one(self, account_id: int, item_id: str) -> WalletItem:
        """Return an item in force. Raises `ItemNotFound`, also for another account's."""
        found = items.read_item(self._connection, account_id, item_id)
        if found is None:
            raise ItemNotFound
        return found

    def page(
        self, account_id: int, chosen: ItemFilter, *, after: str = "", limit: int = 1_000
    ) -> Sequence[WalletItem]:
        """Return items in force whose ids are greater than `after`, oldest first."""
        return items.read_page(self._connection, account_id, chosen, after, limit)

    async def read_page(
        self,
        account_id: int,
        chosen: ItemFilter,
        make: Callable[[ItemPage], T],
        *,
        after: str = "",
        limit: int = 1_000,
    ) -> T:
        """Read a page as `page` does, and make something of it, both in a thread."""

        def read() -> T:
            with self._open_reader() as reading, reading.snapshot():
                found = items.read_page(reading, account_id, chosen, after, limit)
                papers = read_papers(reading, [item.item_id for item in found])
                settings = read_settings(reading, account_id)
            return make(ItemPage(found, papers, settings))

        return await asyncio.to_thread(read)

    def papers(self, item_ids: Sequence[str]) -> Mapping[str, Sequence[Paper]]:
        """Return the certificates of items by item id. Items without any are left out."""
        return read_papers(self._connection, item_ids)

    def sealed(self, account_id: int, item_id: str) -> bytes | None:
        """Return the sealed CPF and birth date of a person's item in force."""
        return items.read_sealed(self._connection, account_id, item_id)

    def count(self, account_id: int) -> int:
        """Return the number of items in force of an account."""
        return items.count_items(self._connection, account_id)

    def total(self) -> tuple[int, int]:
        """Return the number of items in force and of accounts that have some."""
        row = self._connection.execute(_TOTAL).fetchone()
        return int(row[0]), int(row[1])

    # Changing items

    async def add(  # noqa: PLR0917
        self,
        account_id: int,
        entry: Entry,
        items_max: int,
        new_id: Callable[[], str],
        now_ms: int,
        keep: MakeAnswer[Added] = lambda added: None,
        *,
        registry: RegistryOf = NO_REGISTRY,
    ) -> Added:
        """Add one item, or change the terms of the one that is there. Records the answer.

        `registry`: of the item if it is new.

        Raises `WalletFull`, `StillRunning`, and the errors of `core.wallet.merged`.
        """

        def work(connection: SqlConnection) -> Added:
            with connection.transaction():
                lock_account(connection, account_id)
                plan = _plan(connection, account_id, items_max, new_id, now_ms)
                known = {
                    (one.key, one.client): one
                    for one in items.known_of(connection, account_id, [entry])
                }
                (outcome,) = plan_list(plan, [entry], known)
                if outcome.error is not None:
                    raise outcome.error
                assert outcome.item_id is not None
                items.write_plan(connection, plan, registry)
                item = items.read_item(connection, account_id, outcome.item_id)
                assert item is not None, "it was just written"
                papers = read_papers(connection, [item.item_id]).get(item.item_id, ())
                settings = read_settings(connection, account_id)
                added = Added(item, outcome.new, papers, settings)
                record_answer(connection, keep(added))
                return added

        return await self._run_in_writer(work)

    async def add_list(  # noqa: PLR0917
        self,
        account_id: int,
        entries: Sequence[Entry],
        items_max: int,
        new_id: Callable[[], str],
        now_ms: int,
        keep: MakeAnswer[ListAdded] = lambda added: None,
        *,
        read_registry: ReadRegistry = no_registry,
    ) -> ListAdded:
        """Add items, each by itself: an error is the outcome of its lines. Records the answer.

        `read_registry` reads that of new items.
        """

        def plan(connection: SqlConnection) -> tuple[Plan, ListAdded]:
            planned = _plan(connection, account_id, items_max, new_id, now_ms)
            known = {
                (one.key, one.client): one
                for one in items.known_of(connection, account_id, entries)
            }
            outcomes = plan_list(planned, entries, known)
            return planned, ListAdded(outcomes, planned.created)

        return await self._planned(account_id, plan, keep, read_registry)

    async def sync(
        self,
        account_id: int,
        entries: Sequence[Entry],
        items_max: int,
        new_id: Callable[[], str],
        now_ms: int,
        *,
        client: str | None = None,
        tag: str | None = None,
        kept: frozenset[Key] = frozenset(),
        simulate: bool = False,
        keep: MakeAnswer[Synced] = lambda synced: None,
        read_registry: ReadRegistry = no_registry,
    ) -> Synced:
        """Make the part of a client, or with a label, equal to a list; see `plan_sync`.

        `read_registry` reads that of new items.

        `simulate` writes nothing, not even the answer. Raises `WalletFull`: then nothing changes.
        """

        def plan(connection: SqlConnection) -> tuple[Plan, Synced]:
            planned = _plan(connection, account_id, items_max, new_id, now_ms)
            known = items.known_all(connection, account_id)
            counts, failed = plan_sync(planned, entries, known, client=client, tag=tag, kept=kept)
            return planned, Synced(counts, failed, planned.created)

        return await self._planned(account_id, plan, keep, read_registry, simulate=simulate)

    async def _planned(
        self,
        account_id: int,
        plan: Callable[[SqlConnection], tuple[Plan, T]],
        keep: MakeAnswer[T],
        read_registry: ReadRegistry,
        *,
        simulate: bool = False,
    ) -> T:
        """Plan outside the writer, write within it, and record the answer; see ADR 0112.

        Other accounts' commits wait for 10,000 new items no longer than for any list. If other
        items become new meanwhile, nothing is written before their registry data are read too.
        """

        def plan_beside() -> tuple[int, Plan, T]:
            with self._open_reader() as reading, reading.snapshot():
                return items.read_edits(reading, account_id), *plan(reading)

        edits, planned, outcome = await asyncio.to_thread(plan_beside)
        if simulate:
            return outcome
        registry, read = dict[tuple[str, str], RegistryOfNew](), set[NewCompany]()

        def work(connection: SqlConnection) -> T | _Unread:
            with connection.transaction():
                lock_account(connection, account_id)
                current, done = planned, outcome
                if items.read_edits(connection, account_id) != edits:
                    current, done = plan(connection)
                unread = [each for each in current.new_companies if each not in read]
                if unread:
                    return _Unread(unread)
                items.write_plan(connection, current, registry)
                record_answer(connection, keep(done))
                return done

        unread = planned.new_companies
        while True:
            registry |= await read_registry(unread)
            read.update(unread)
            written = await self._run_in_writer(work)
            if not isinstance(written, _Unread):
                return written
            unread = written.companies

    async def change(
        self,
        account_id: int,
        item_id: str,
        make_entry: Callable[[WalletItem], Entry],
        new_id: Callable[[], str],
        now_ms: int,
        *,
        handled: bool | None = None,
    ) -> WalletItem:
        """Change an item's terms, and whether a person has handled its last events.

        `make_entry` gets the item as it is. Raises `ItemNotFound`, and the errors of `make_entry`
        and `core.wallet.merged`.
        """

        def work(connection: SqlConnection) -> WalletItem:
            with connection.transaction():
                lock_account(connection, account_id)
                item = items.read_item(connection, account_id, item_id)
                known = items.known_one(connection, account_id, item_id)
                if item is None or known is None:
                    raise ItemNotFound
                plan = Plan(account_id, now_ms, new_id, 0)
                plan.change(make_entry(item), known)
                items.write_plan(connection, plan)
                if handled is not None:
                    items.mark_handled(connection, item_id, now_ms if handled else None)
                changed = items.read_item(connection, account_id, item_id)
                assert changed is not None, "it is locked"
                return changed

        return await self._run_in_writer(work)

    async def end(self, account_id: int, item_id: str, now_ms: int) -> WalletItem:
        """Remove an item, and return it as it was. Raises `ItemNotFound`."""

        def work(connection: SqlConnection) -> WalletItem:
            with connection.transaction():
                lock_account(connection, account_id)
                item = items.read_item(connection, account_id, item_id)
                if item is None:
                    raise ItemNotFound
                items.note_edit(connection, account_id, now_ms)
                items.end_items(connection, [item_id], now_ms)
                return item

        return await self._run_in_writer(work)

    # Periodic work

    async def purge(self, before_ms: int, now_ms: int) -> int:
        """Delete some items that ended before an instant. Return the count."""

        def work(connection: SqlConnection) -> int:
            with connection.transaction():
                return items.purge_items(connection, before_ms, now_ms)

        return await self._run_in_writer(work)


def _plan(
    connection: SqlConnection,
    account_id: int,
    items_max: int,
    new_id: Callable[[], str],
    now_ms: int,
) -> Plan:
    room = items_max - items.count_items(connection, account_id)
    return Plan(account_id, now_ms, new_id, room, items_max)


__all__ = [
    "Added",
    "Entry",
    "ItemFilter",
    "ItemPage",
    "ListAdded",
    "NewCompany",
    "RegistryOf",
    "RegistryOfNew",
    "Synced",
    "Wallets",
]
