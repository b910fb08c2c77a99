"""A process to be killed: 32 clients on one desk.

    python -m tests.crash.worker DATABASE NAME

It writes each acknowledgement to stdout as a line, only after `commit` has returned, so that the
database must contain each of them. NAME makes requests, keys and reasons unique between runs. Bytes
of receipts are stored in a folder next to the database, before their record.
"""

import asyncio
import os
import random
import sys
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from balcao.core.access import Account
from balcao.core.idempotency import RecordedAnswer
from balcao.core.ledger import (
    Bind,
    Change,
    Finish,
    Hold,
    InsufficientFunds,
    KeepReceipt,
    Settle,
    TopUp,
    TracedCharge,
)
from balcao.core.receipts import digest_of
from balcao.storage.blobs import open_blobs
from balcao.storage.contract import Blobs
from balcao.storage.numbers import least_number
from balcao.storage.sqlite.desk import SqliteDesk

CLIENTS = 32
OPERATION = "cnpj-receita-federal"
KEPT_MS = 96 * 3_600_000
SOURCE_SECONDS_MAX = 0.004
RECEIPTS = "receipts"  # the folder's name
WITH_RECEIPT = 0.3
SHARED_RECEIPTS = 8  # bytes that several accounts obtain repeatedly


def report_line(*words: object) -> None:
    """Write one line atomically."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Client:
    """A client that sends one request after another."""

    def __init__(
        self,
        name: str,
        desk: SqliteDesk,
        accounts: Sequence[Account],
        blobs: Blobs | None = None,
    ) -> None:
        self.name = name
        self.desk = desk
        self.accounts = accounts
        self.blobs = blobs
        self.dice = random.Random(name)

    async def work(self) -> None:
        """Send requests without end."""
        for number in count():
            account = self.dice.choice(self.accounts).account_id
            request = f"{least_number(now_ms())}-7abc-{self.name}-{number}"
            kind = self.dice.random()
            if kind < 0.05:
                await self.top_up(account, request)
            elif kind < 0.5:
                await self.answer_at_once(account, request)
            else:
                await self.ask_a_source(account, request)

    async def top_up(self, account: int, reason: str) -> None:
        credits = self.dice.randint(1, 30)
        assert await self.desk.commit([TopUp(account, credits, reason, now_ms())]) is None
        report_line("topped-up", account, reason, credits)

    async def answer_at_once(self, account: int, request: str) -> None:
        """Charge and record in one commit; every other request has a key.

        Without key and receipt, the charge and its trace are one row.
        """
        credits, key = self.dice.randint(1, 3), self.dice.choice([None, f"key-{request}"])
        now = now_ms()
        charged_lookup = TracedCharge(
            account, request, now, 1, None, OPERATION, "90010001000100", None, "CACHE_FIRST", False,
            200, None, "cache", "snapshot", now, credits, "consulta", now,
        )  # fmt: skip
        receipts = await self.obtain_receipts(account, request)
        changes: list[Change] = [charged_lookup, *receipts]
        if key is not None:
            charge, trace = charged_lookup.split()
            finish = self.finish(account, key, request, credits)
            changes = [charge, *receipts, finish, trace]
        if isinstance(await self.desk.commit(changes), InsufficientFunds):
            return
        report_line("charged", account, request, credits)
        self.report(receipts)
        if key is not None:
            report_line("finished", account, request, key)

    async def ask_a_source(self, account: int, request: str) -> None:
        """Hold credits, wait, then settle."""
        price, key = self.dice.randint(1, 4), f"key-{request}"
        now = now_ms()
        hold = Hold(account, 1, request, OPERATION, price, now)
        bind = Bind(account, key, "f", request, now, now + KEPT_MS)
        if isinstance(await self.desk.commit([hold, bind]), InsufficientFunds):
            return
        report_line("bound", account, request, key)

        await asyncio.sleep(self.dice.random() * SOURCE_SECONDS_MAX)

        posted = self.dice.randint(0, price)
        rule, origin = ("consulta", "online") if posted else ("error", None)
        settle = Settle(account, request, posted, rule, origin, now_ms())  # type: ignore[arg-type]
        receipts = await self.obtain_receipts(account, request) if posted else []
        finish = self.finish(account, key, request, posted)
        assert await self.desk.commit([settle, *receipts, finish]) is None
        if posted:
            report_line("charged", account, request, posted)
        self.report(receipts)
        report_line("finished", account, request, key)

    async def obtain_receipts(self, account: int, request: str) -> Sequence[KeepReceipt]:
        """Return sometimes a receipt, its bytes stored: unique or shared with other accounts."""
        if self.dice.random() >= WITH_RECEIPT:
            return []
        shared = self.dice.randrange(SHARED_RECEIPTS * 2)
        content = (request if shared >= SHARED_RECEIPTS else f"shared-{shared}").encode() * 100
        digest = digest_of(content)
        if self.blobs is not None:
            await self.blobs.put(digest, content)
        number = f"{account}-{digest[:32]}"
        return [
            KeepReceipt(
                number, account, OPERATION, digest, "application/pdf", len(content), now_ms()
            )
        ]

    def report(self, receipts: Sequence[KeepReceipt]) -> None:
        for receipt in receipts:
            report_line("kept", receipt.account_id, receipt.receipt_id, receipt.digest)

    def finish(self, account: int, key: str, request: str, credits: int) -> Finish:
        """Return the record; its body is the number of charged credits, for the comparison."""
        now = now_ms()
        recorded = RecordedAnswer(request, 200, str(credits).encode())
        return Finish(account, key, "f", recorded, now, now + KEPT_MS)


async def serve(desk: SqliteDesk, blobs: Blobs, name: str) -> None:
    report_line("ready", desk.recover(now_ms()))
    accounts = desk.accounts()
    clients = [Client(f"{name}-{number}", desk, accounts, blobs) for number in range(CLIENTS)]
    await asyncio.gather(*(client.work() for client in clients))


if __name__ == "__main__":
    database, run_name = Path(sys.argv[1]), sys.argv[2]
    desk = SqliteDesk(database)
    asyncio.run(serve(desk, open_blobs(database.parent / RECEIPTS), run_name))
