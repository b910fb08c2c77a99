"""The desk: accounts, keys, the ledger and idempotency records, over any engine.

An acknowledged change survives power loss. An action with a `Signature` is committed together with
its entry in the audit log. Methods needed by every request are coroutines; the other reads are rare
and synchronous. All reads raise `StorageFailed` if the storage cannot be reached.
"""

import json
from collections.abc import Callable, Collection, Sequence
from functools import partial

from balcao.core.access import Account, Caller, Key, KeyRestrictions
from balcao.core.budgets import OverBudget, OwnerKind
from balcao.core.calendar import civil_month
from balcao.core.ledger import Change, KeepReceipt, Refusal, available_credits
from balcao.core.people import AT_THE_TERMINAL, Signature
from balcao.core.rate_limit import Limit, Verdict
from balcao.storage.connection import SqlConnection
from balcao.storage.contract import LedgerCheck, NewAccount, NewKey
from balcao.storage.desk import account_admin
from balcao.storage.desk.availability import Availability
from balcao.storage.desk.batch_files import BatchFiles
from balcao.storage.desk.batches import Batches
from balcao.storage.desk.budgets import BudgetNow, Budgets, budgets_covering
from balcao.storage.desk.check import check_books
from balcao.storage.desk.clock import correct_future_months, has_future_month
from balcao.storage.desk.data_subjects import DataSubjects
from balcao.storage.desk.deprecated_uses import DeprecatedUses
from balcao.storage.desk.event_readers import EventReaders
from balcao.storage.desk.events import Events
from balcao.storage.desk.exports import StoredExports
from balcao.storage.desk.extensions import Extensions
from balcao.storage.desk.folding import DailyTotals
from balcao.storage.desk.jobs import Jobs
from balcao.storage.desk.mail import MailQueue
from balcao.storage.desk.memberships import Memberships, acting_account
from balcao.storage.desk.months import Months
from balcao.storage.desk.people import People
from balcao.storage.desk.portfolio_views import PortfolioViews
from balcao.storage.desk.purchases import Purchases
from balcao.storage.desk.queries import DeskQueries, find_account
from balcao.storage.desk.receipt_marks import ReceiptMarks
from balcao.storage.desk.receipts import purge
from balcao.storage.desk.rechecks import Rechecks
from balcao.storage.desk.recovery_codes import RecoveryCodes
from balcao.storage.desk.secrets import SecretRotations
from balcao.storage.desk.wallet import Wallets
from balcao.storage.desk.wallet.calendars import Calendars
from balcao.storage.desk.wallet.clock import PortfolioClocks
from balcao.storage.desk.wallet.clock_months import ClockMonths
from balcao.storage.desk.wallet.expiries import Expiries
from balcao.storage.desk.wallet.manual_papers import ManualPapers
from balcao.storage.desk.wallet.notices import PaperNotices
from balcao.storage.desk.wallet.paper_acts import PaperActs
from balcao.storage.desk.wallet.paper_list import PaperList
from balcao.storage.desk.wallet.renewals import Renewals
from balcao.storage.desk.webhook_deliveries import WebhookDeliveries
from balcao.storage.desk.webhooks import Webhooks
from balcao.storage.engine import Engine, OnCharged
from balcao.storage.group_commit import Callback

# Revocations and plan changes are in force everywhere within 1 s (contract 7.2): a cached caller is
# at most half as old.
CALLER_AGE_MAX_MS = 500
CALLERS_MAX = 10_000

# Receipts known to be recorded, about 200 bytes each. Every delivery of a cached certificate has
# its receipt: looking it up on disk each time would cost half as much as the commit.
RECORDED_RECEIPTS_MAX = 32_768


class Desk(DeskQueries):
    """The store of accounts and ledger, as used by one process.

    Its parts: `people` (users, audit log, traces), `memberships` (operators' roles in accounts),
    `extensions` (acts that extend certificates), `jobs`, `mail` (messages to send), `batches`,
    `batch_files` (the space that batches take), `budgets`, `events`, `event_readers` (people's
    visits and messages), `webhooks`, `webhook_deliveries`, `purchases` (of portfolios), `rechecks`
    (their scheduled lookups), `renewals` (of their certificates), `paper_notices`, `wallets`
    (portfolios), `paper_list` (their certificates), `calendars`, `manual_papers` (certificates
    entered by hand), `expiries` (their last days), `paper_acts`, `portfolio_clocks` and
    `clock_months` (of test accounts), `portfolio_views` (for pages), `months` (changes of the month
    in use), `totals` (charges by day), `exports` (files that take long to write), `availability`
    (success of sources), `deprecated_uses` (of deprecated features), `recovery_codes` (of the
    second factor), `receipt_marks` (shared with the store of receipts), `secrets` (replacements of
    the installation's secret), `data_subjects` (search and erasure of personal data).
    """

    def __init__(self, engine: Engine) -> None:  # noqa: PLR0915 - a line per part
        super().__init__(engine.connection, engine.open_reader)
        self.engine = engine
        self._callers: dict[bytes, tuple[int, Caller | None]] = {}
        self._recorded: set[str] = set()  # numbers of receipts
        self.people = People(engine, self._callers.clear)
        self.memberships = Memberships(engine)
        self.extensions = Extensions(engine)
        self.jobs = Jobs(engine)
        self.mail = MailQueue(engine)
        self.recovery_codes = RecoveryCodes(engine)
        self.batches = Batches(engine)
        self.batch_files = BatchFiles(engine)
        self.budgets = Budgets(engine)
        self.webhooks = Webhooks(engine)
        self.webhook_deliveries = WebhookDeliveries(engine)
        self.events = Events(engine)
        self.event_readers = EventReaders(engine)
        self.purchases = Purchases(engine)
        self.rechecks = Rechecks(engine)
        self.renewals = Renewals(engine)
        self.paper_notices = PaperNotices(engine)
        self.wallets = Wallets(engine)
        self.paper_list = PaperList(engine)
        self.calendars = Calendars(engine)
        self.portfolio_clocks = PortfolioClocks(engine)
        self.clock_months = ClockMonths(engine)
        self.manual_papers = ManualPapers(engine)
        self.expiries = Expiries(engine)
        self.paper_acts = PaperActs(engine)
        self.months = Months(engine)
        self.portfolio_views = PortfolioViews(engine)
        self.totals = DailyTotals(engine)
        self.exports = StoredExports(engine)
        self.availability = Availability(engine)
        self.deprecated_uses = DeprecatedUses(engine)
        self.receipt_marks = ReceiptMarks(engine)
        self.secrets = SecretRotations(engine)
        self.data_subjects = DataSubjects(engine, self._recorded.clear)
        # Called with the kind of owner whenever a budget refuses a change.
        self.on_over_budget: Callable[[OwnerKind], None] = lambda owner_kind: None
        engine.on_refusal(self._report_refusal)
        # Methods of the engine, documented in `storage.engine.Engine`.
        self.commit_now = engine.commit_now
        self.find_attempt = engine.find_attempt
        self.find_attempt_nowait = engine.find_attempt_nowait
        self.has_received = engine.has_received
        self.spend = engine.spend
        self.recover = engine.recover
        self.recover_others = engine.recover_others
        self.database_clock = engine.database_clock
        self.latest_instant = engine.latest_instant
        self.set_clock_doubt = engine.set_clock_doubt
        self.safe_past = engine.safe_past
        self.forget_limits = engine.forget_limits
        self.maintain_reserve = engine.maintain_reserve
        self.state = engine.state
        self.heartbeat = engine.heartbeat
        self.purge = engine.purge
        self.close = engine.close

    # For every request.

    async def commit(self, changes: Sequence[Change]) -> Refusal | None:
        """Commit all changes, or none of them.

        Returns after they are durable. A refusal (credits short, key already bound) is returned,
        not raised, and does not affect other requests. Whatever the order of the list, a bound key
        is reported before a lack of credits (contract 9.1). Raises `StorageFailed` if the storage
        cannot write; then nothing of the list was kept.
        """
        new_receipts, changes = self._without_recorded(changes)
        refusal = await self.engine.commit(changes) if changes else None
        if new_receipts and refusal is None:
            self._remember_recorded(new_receipts)
        return refusal

    def commit_nowait(self, changes: Sequence[Change], on_done: Callback[Refusal | None]) -> None:
        """Like `commit`, without awaiting: calls `on_done` later with the refusal or the error.

        There must be a change other than `KeepReceipt`.
        """
        if len(changes) > 1:
            new_receipts, changes = self._without_recorded(changes)
            if new_receipts:
                on_done = partial(self._on_committed, new_receipts, on_done)
        self.engine.commit_nowait(changes, on_done)

    def charge_nowait(
        self,
        caller: Caller,
        limits: Sequence[Limit],
        now_ms: int,
        changes: Sequence[Change],
        on_done: OnCharged,
    ) -> None:
        """Count a request and, if no limit refuses it, commit. Without changes only count it."""
        if len(changes) > 1:
            new_receipts, changes = self._without_recorded(changes)
            if new_receipts:
                on_done = partial(self._on_charged, new_receipts, on_done)
        self.engine.charge_nowait(caller, limits, now_ms, changes, on_done)

    def _on_charged(
        self,
        new_receipts: set[str],
        on_done: OnCharged,
        verdicts: Sequence[Verdict] | None,
        outcome: Refusal | Exception | None,
    ) -> None:
        if verdicts is not None and outcome is None:
            self._remember_recorded(new_receipts)
        on_done(verdicts, outcome)

    def _report_refusal(self, outcome: Refusal | Exception | None) -> None:
        if type(outcome) is OverBudget:
            self.on_over_budget(outcome.owner_kind)

    def _on_committed(
        self,
        new_receipts: set[str],
        on_done: Callback[Refusal | None],
        outcome: Refusal | Exception | None,
    ) -> None:
        if outcome is None:
            self._remember_recorded(new_receipts)
        on_done(outcome)

    def _without_recorded(self, changes: Sequence[Change]) -> tuple[set[str], Sequence[Change]]:
        """Return the ids of new receipts, and the changes without those known to be recorded."""
        new_receipts: set[str] = set()
        others: list[Change] = []
        for change in changes:
            if type(change) is KeepReceipt:
                if change.receipt_id in self._recorded:
                    continue
                new_receipts.add(change.receipt_id)
            others.append(change)
        return new_receipts, others

    def _remember_recorded(self, recorded: set[str]) -> None:
        if len(self._recorded) >= RECORDED_RECEIPTS_MAX:
            self._recorded.clear()
        self._recorded |= recorded

    def has_recorded(self, receipt_id: str) -> bool:
        """Return whether this receipt is known to be recorded, so that it need not be committed."""
        return receipt_id in self._recorded

    def cached_caller(self, key_hash: bytes, now_ms: int) -> Caller | None:
        """Return the cached result of `caller`; None if it has to be awaited."""
        known = self._callers.get(key_hash)
        if known is None or not 0 <= now_ms - known[0] < CALLER_AGE_MAX_MS:
            return None
        return known[1]

    async def caller(self, key_hash: bytes, now_ms: int) -> Caller | None:
        """Return the holder of a key, from a cache that is at most half a second old.

        None: the key is unknown or revoked, or its account is suspended.
        """
        known = self._callers.get(key_hash)
        if known is not None and 0 <= now_ms - known[0] < CALLER_AGE_MAX_MS:
            return known[1]
        caller = await self.engine.caller(key_hash)
        if len(self._callers) >= CALLERS_MAX:
            self._callers.clear()
        self._callers[key_hash] = (now_ms, caller)
        return caller

    async def caller_for(
        self, account_id: int, key_id: int | None, user_id: int | None, now_ms: int
    ) -> Caller | None:
        """Return the caller for work that this key, or else this user, has started.

        None: the key was revoked or has expired, the user was suspended or has left the account, or
        the account is suspended.
        """
        if key_id is not None:
            sql = "SELECT hash FROM api_key WHERE key_id = ? AND account_id = ?"
            caller = None
            for _ in range(2):  # the key may be hashed again between the two reads
                rows = await self.engine.run_in_writer(
                    lambda connection: connection.execute(sql, (key_id, account_id)).fetchall()
                )
                caller = await self.caller(bytes(rows[0][0]), now_ms) if rows else None
                if caller is not None:
                    break
            expired = caller and caller.expires_ms is not None and caller.expires_ms <= now_ms
            return None if expired else caller
        account = await self.engine.run_in_writer(
            lambda connection: acting_account(connection, account_id, user_id)
        )
        return None if account is None else account.caller(user_id)

    async def spendable(
        self,
        account_id: int,
        owners: Collection[tuple[OwnerKind, str]],
        operation: str,
        now_ms: int,
    ) -> tuple[int | None, Sequence[BudgetNow]]:
        """Return the available credits (None: no end), and the budgets that an operation uses."""

        def work(connection: SqlConnection) -> tuple[int | None, Sequence[BudgetNow]]:
            account = find_account(connection, account_id)
            covering = budgets_covering(connection, account_id, owners, operation, now_ms)
            return available_credits(account, civil_month(now_ms)), covering

        return await self.engine.run_in_writer(work)

    # For operators: rare, and synchronous.

    def create_account(
        self, new: NewAccount, now_ms: int, signed: Signature = AT_THE_TERMINAL
    ) -> Account:
        """Open an account. Raises `NameTaken`, `FormDone`, `StorageFailed`."""
        with self.engine.write_in_place() as connection:
            account_id = account_admin.create_account(connection, new, now_ms, signed)
        return self.account(account_id)

    def create_key(self, new: NewKey, now_ms: int, signed: Signature = AT_THE_TERMINAL) -> Key:
        """Issue a key. Raises `FormDone`, `StorageFailed`."""
        with self.engine.write_in_place() as connection:
            account_admin.create_key(connection, new, now_ms, signed)
        return self.keys(new.account_id)[-1]

    def change_restrictions(
        self,
        key_id: int,
        restrictions: KeyRestrictions | None,
        now_ms: int,
        signed: Signature = AT_THE_TERMINAL,
    ) -> bool:
        """Change a key's restrictions; in force everywhere within a second. False: no such key.

        Nothing is logged if nothing changes. Raises `FormDone`, `StorageFailed`.
        """
        with self.engine.write_in_place() as connection:
            known = account_admin.change_restrictions(
                connection, key_id, restrictions, now_ms, signed
            )
        self._callers.clear()
        return known

    def revoke_key(self, key_id: int, now_ms: int, signed: Signature = AT_THE_TERMINAL) -> bool:
        """Revoke a key permanently; in force everywhere within a second. False: no such key.

        Nothing is logged if it was revoked before. Raises `FormDone`, `StorageFailed`.
        """
        with self.engine.write_in_place() as connection:
            known = account_admin.revoke_key(connection, key_id, now_ms, signed)
        self._callers.clear()
        return known

    def check(self) -> LedgerCheck:
        """Check that balances equal entries, holds equal open operations, and so on."""
        with self.engine.full_scan() as connection:
            return check_books(connection)

    # Periodic work.

    async def correct_future_months(self, now_ms: int) -> int:
        """Move accounts in a future month back to the present one: the clock was ahead.

        The credits of their month are summed from the ledger. Returns the count. Raises
        `StorageFailed`.
        """
        if not has_future_month(self.engine.connection, now_ms):
            return 0
        return await self.engine.run_in_writer(
            lambda connection: correct_future_months(connection, now_ms)
        )

    async def purge_receipts(self, before_ms: int, limit: int, now_ms: int) -> int:
        """Remove up to `limit` receipts recorded before an instant, oldest first; return the count.

        The same commit enqueues jobs that delete the bytes, unless a record names them by then.
        Only for the serving process, and for a `before_ms` from which no cache entry is left:
        otherwise a receipt that is delivered again now may lose its bytes. Raises `StorageFailed`.
        """
        gone = await self.engine.run_in_writer(
            lambda connection: purge(connection, before_ms, limit, now_ms)
        )
        self._recorded.difference_update(gone)
        return len(gone)

    async def is_unnamed(self, digest: str) -> bool:
        """Return whether no receipt refers to the bytes with this digest."""
        return bool(
            await self.engine.run_in_writer(lambda connection: self._unnamed(connection, [digest]))
        )

    def unnamed(self, digests: Collection[str]) -> Sequence[str]:
        """Return the digests to which no receipt refers."""
        return self._unnamed(self.engine.connection, digests)

    def _unnamed(self, connection: SqlConnection, digests: Collection[str]) -> Sequence[str]:
        sql = self.engine.queries["named_digests"]
        named = {digest for (digest,) in connection.execute(sql, (json.dumps(list(digests)),))}
        return [digest for digest in digests if digest not in named]
