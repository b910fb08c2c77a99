"""A small server that is there to be killed: 32 clients on one desk.

    python -m tests.crash.worker DATABASE NAME

It says on stdout what was acknowledged, one line each and only after `commit` has returned;
whoever reads the lines may hold the database to every one of them. NAME makes its requests,
keys and reasons different from those of other runs. Receipts' bytes go into a folder beside the
database, before the record that names them.
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
from balcao.core.idempotency import Recorded
from balcao.core.ledger import (
    Bind,
    Change,
    Finish,
    Hold,
    KeepReceipt,
    Settle,
    Short,
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
SHARED_RECEIPTS = 8  # bytes that several accounts obtain, again and again


def say(*words: object) -> None:
    """One line, written at once and whole."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Client:
    """One caller who sends one request after another."""

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
        """For ever: somebody else says when it ends."""
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
        say("topped-up", account, reason, credits)

    async def answer_at_once(self, account: int, request: str) -> None:
        """The charge and the record are one commit; every other request has a key.

        Without a key, and without a receipt, the charge and its trace are one row.
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
            charge, trace = charged_lookup.apart()
            finish = self.finish(account, key, request, credits)
            changes = [charge, *receipts, finish, trace]
        if isinstance(await self.desk.commit(changes), Short):
            return
        say("charged", account, request, credits)
        self.tell_of(receipts)
        if key is not None:
            say("finished", account, request, key)

    async def ask_a_source(self, account: int, request: str) -> None:
        """Hold and bind; wait; settle and finish."""
        price, key = self.dice.randint(1, 4), f"key-{request}"
        now = now_ms()
        hold = Hold(account, 1, request, OPERATION, price, now)
        bind = Bind(account, key, "f", request, now, now + KEPT_MS)
        if isinstance(await self.desk.commit([hold, bind]), Short):
            return
        say("bound", account, request, key)

        await asyncio.sleep(self.dice.random() * SOURCE_SECONDS_MAX)

        posted = self.dice.randint(0, price)
        rule, origin = ("consulta", "online") if posted else ("error", None)
        settle = Settle(account, request, posted, rule, origin, now_ms())  # type: ignore[arg-type]
        receipts = await self.obtain_receipts(account, request) if posted else []
        finish = self.finish(account, key, request, posted)
        assert await self.desk.commit([settle, *receipts, finish]) is None
        if posted:
            say("charged", account, request, posted)
        self.tell_of(receipts)
        say("finished", account, request, key)

    async def obtain_receipts(self, account: int, request: str) -> Sequence[KeepReceipt]:
        """One now and then: bytes of its own, or such as others have, too. Stored already."""
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

    def tell_of(self, receipts: Sequence[KeepReceipt]) -> None:
        for receipt in receipts:
            say("kept", receipt.account_id, receipt.receipt_id, receipt.digest)

    def finish(self, account: int, key: str, request: str, credits: int) -> Finish:
        """The answer that is recorded says what was charged, so that both can be compared."""
        now = now_ms()
        recorded = Recorded(request, 200, str(credits).encode())
        return Finish(account, key, "f", recorded, now, now + KEPT_MS)


async def serve(desk: SqliteDesk, blobs: Blobs, name: str) -> None:
    say("ready", desk.recover(now_ms()))
    accounts = desk.accounts()
    clients = [Client(f"{name}-{number}", desk, accounts, blobs) for number in range(CLIENTS)]
    await asyncio.gather(*(client.work() for client in clients))


if __name__ == "__main__":
    database, run_name = Path(sys.argv[1]), sys.argv[2]
    desk = SqliteDesk(database)
    asyncio.run(serve(desk, open_blobs(database.parent / RECEIPTS), run_name))
