"""Helpers of the tests of the storage: accounts, changes of requests, balances."""

from datetime import date, datetime
from typing import NamedTuple

from balcao.accounts.statement import ChargeFilter, Period, rows_of
from balcao.core.access import Account, Plan
from balcao.core.calendar import BRASILIA, to_ms
from balcao.core.idempotency import RecordedAnswer
from balcao.core.ledger import Bind, Charge, Finish, Hold, KeepReceipt, Settle, TopUp
from balcao.core.receipts import digest_of
from balcao.storage.contract import ConsumptionRow, LedgerEntry, NewAccount, NewKey
from balcao.storage.desk.desk import Desk
from tests.storage.engines import Engine

OPERATION = "cnpj-receita-federal"
DAY_MS = 86_400_000
KEPT_MS = 96 * 3_600_000


def brasilia(text: str) -> int:
    """Return the instant of a wall clock in Brasília, such as `2026-08-05 13:15:30`."""
    return to_ms(datetime.fromisoformat(text).replace(tzinfo=BRASILIA))


NOW = brasilia("2026-08-05 13:15:30")


class Balance(NamedTuple):
    credits: int
    held: int


def open_account(
    engine: Engine,
    desk: Desk,
    name: str,
    *,
    credits: int = 0,
    plan: Plan = "pre_pago",
    ceiling_credits: int | None = None,
    at_ms: int = NOW,
) -> Account:
    """An account with one key whose hash is its name."""
    new = NewAccount(name, plan, "live", ceiling_credits=ceiling_credits)
    account = desk.create_account(new, at_ms)
    desk.create_key(NewKey(account.account_id, "principal", "balcao_live_A", a_hash(name)), at_ms)
    if credits:
        assert engine.commit(desk, a_top_up(account, credits, at_ms=at_ms)) is None
    return account


def a_hash(name: str) -> bytes:
    return name.encode().rjust(32, b"\0")


def a_top_up(account: Account, credits: int, *, reason: str = "carga", at_ms: int = NOW) -> TopUp:
    return TopUp(account.account_id, credits, reason, at_ms)


def a_charge(account: Account, request: str, credits: int = 1, *, at_ms: int = NOW) -> Charge:
    number = account.account_id
    return Charge(number, number, request, OPERATION, credits, "consulta", "cache", at_ms)


def a_hold(account: Account, request: str, credits: int = 1, *, at_ms: int = NOW) -> Hold:
    return Hold(account.account_id, account.account_id, request, OPERATION, credits, at_ms)


def a_settle(account: Account, request: str, credits: int, *, at_ms: int = NOW) -> Settle:
    rule, origin = ("consulta", "online") if credits else ("error", None)
    return Settle(account.account_id, request, credits, rule, origin, at_ms)  # type: ignore[arg-type]


def a_bind(
    account: Account, key: str, request: str, *, at_ms: int = NOW, fingerprint: str = "f"
) -> Bind:
    return Bind(account.account_id, key, fingerprint, request, at_ms, at_ms + KEPT_MS)


def a_finish(
    account: Account, key: str, request: str, *, body: bytes = b"{}", at_ms: int = NOW
) -> Finish:
    recorded = RecordedAnswer(request, 200, body)
    return Finish(account.account_id, key, "f", recorded, at_ms, at_ms + KEPT_MS)


def a_keep(
    account: Account | None, number: str, content: str = "um recibo", *, at_ms: int = NOW
) -> KeepReceipt:
    """The record of a receipt with this content, public without an account."""
    owner = None if account is None else account.account_id
    digest, size = digest_of(content.encode()), len(content.encode())
    return KeepReceipt(number, owner, OPERATION, digest, "application/pdf", size, at_ms)


def account_of(desk: Desk, account: Account) -> Account:
    """Return the present state of an account."""
    return next(one for one in desk.accounts() if one.account_id == account.account_id)


def balance(desk: Desk, account: Account) -> Balance:
    now = account_of(desk, account)
    return Balance(now.balance_credits, now.held_credits)


def entries(desk: Desk, account: Account) -> list[LedgerEntry]:
    """Return all accounts."""
    return list(desk.entries(account.account_id, 0, NOW * 2))


def consumption(
    desk: Desk, account_id: int, first: str = "2026-07-20", last: str = "2026-08-20"
) -> list[ConsumptionRow]:
    """Return the lines of an account's statement; by default of the days around `NOW`."""
    period = Period(date.fromisoformat(first), date.fromisoformat(last))
    with desk.totals.snapshot() as moment:
        return [*rows_of(moment, account_id, period, ChargeFilter())]


def charged(desk: Desk, account: Account) -> dict[str, int]:
    """Return credits charged by request; fails if a request was charged twice."""
    found: dict[str, int] = {}
    for entry in entries(desk, account):
        if entry.request_id is not None:
            assert entry.request_id not in found, f"{entry.request_id} was charged twice"
            found[entry.request_id] = -entry.credits
    return found
