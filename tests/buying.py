"""A portfolio whose purchases are made by the test: certificates renewed, notices written."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec

from balcao.core.calendar import day_starts_ms, from_ms
from balcao.core.people import Signature
from balcao.core.wallet import Renewal
from balcao.lookup.wallet import SealedPerson
from balcao.service.paper_notices import ExpiringPapers
from balcao.service.purchasing import Purchasing
from balcao.service.renewing import Renewing
from balcao.storage.desk.wallet.renewals import RENEW
from tests.records import BIRTH, CPF
from tests.service import Client, Service, open_with_source
from tests.watching import a_paper, an_item

HOUR_MS, DAY_MS = 3_600_000, 86_400_000


@dataclass
class Buyer:
    """An account's portfolio, its renewals and its notices, by the clock of a service."""

    world: Service
    client: Client
    renewing: Renewing
    notices: ExpiringPapers
    outcomes: list[str] = field(default_factory=list)

    @property
    def now_ms(self) -> int:
        return self.world.clock()

    @property
    def today(self) -> date:
        return from_ms(self.now_ms).date()

    def sql(self, statement: str, *values: Any) -> list[Any]:
        rows: list[Any] = self.world.desk.engine.connection.execute(statement, values).fetchall()
        return rows

    def settings(self, ceiling: int | None, renew: Renewal | None = None) -> None:
        """Set the portfolio's terms, and the ceiling of a month by the client's key."""
        self.world.run(
            self.world.desk.wallets.change_settings(
                self.client.account_id,
                lambda before: msgspec.structs.replace(before, renew=renew or Renewal()),
                ceiling,
                lambda: "orcamento",
                Signature("api", key_id=self.client.key_id),
                self.now_ms,
            )
        )

    def item(self, document: str, *watched: str, **more: Any) -> str:
        execute = self.world.desk.engine.connection.execute
        return an_item(execute, self.client.account_id, document, *watched, **more)

    def paper(self, kind: str, *items: str, days: int | None = None, **more: Any) -> str:
        """Add a certificate that ends in so many days and is valid for 180; None: not known."""
        if days is not None:
            end = self.today + timedelta(days=days)
            more = {
                "verdict": "CND", "validity": end.isoformat(), "answered_ms": 1,
                "issued_on": (end - timedelta(days=180)).isoformat(), **more,
            }  # fmt: skip
        execute = self.world.desk.engine.connection.execute
        return a_paper(execute, self.client.account_id, kind, *items, **more)

    def stored(self, paper_id: str, *columns: str) -> Any:
        sql = f"SELECT {', '.join(columns)} FROM wallet_paper WHERE paper_id = ?"
        ((*values,),) = self.sql(sql, paper_id)
        return values[0] if len(values) == 1 else tuple(values)

    def work(self) -> int:
        """Do all that is due now, until nothing is. Return the number of new questions."""
        asked, run = self.world.source.asked, self.world.run
        run(self.notices.run())
        run(self.renewing.purchasing.resume())
        while True:
            run(self.renewing.plan())
            jobs = self.sql("DELETE FROM job WHERE kind = ? RETURNING about", RENEW)
            if not jobs:
                return self.world.source.asked - asked
            for (paper_id,) in jobs:
                run(self.renewing.run(paper_id))

    def live(self, days: float) -> Sequence[float]:
        """Let time pass. Return when the source was asked, in hours from now."""
        began, end = self.now_ms, self.now_ms + round(days * DAY_MS)
        asked = []
        while True:
            asked += [(self.now_ms - began) / HOUR_MS] * self.work()
            if self.now_ms >= end:
                return asked
            self.world.clock.at_ms = min(self._next_ms(), end)

    def _next_ms(self) -> int:
        """Return the next instant at which something is due: a renewal, or a day's notices."""
        tomorrow = day_starts_ms(self.today + timedelta(days=1))
        ((renewal,),) = self.sql(
            "SELECT min(next_ms) FROM wallet_paper WHERE next_ms > ?", self.now_ms
        )
        return min(tomorrow, renewal or tomorrow)

    def events(self, *without: str) -> Sequence[tuple[str, Any]]:
        found = self.world.desk.events.after(self.client.account_id, 0, 10_000)
        return [
            (one.kind, msgspec.json.decode(one.body))
            for one in found
            if one.kind not in without and not one.kind.startswith("teto.")
        ]

    def kinds(self, *without: str) -> Sequence[str]:
        return [kind for kind, _ in self.events(*without)]

    def next_purchase(self) -> Any:
        return self.world.get("/carteira/v1", self.client).json["proxima_compra_em"]

    @property
    def spent(self) -> int:
        """The credits of the portfolio's ceiling that are used."""
        ((spent,),) = self.sql("SELECT sum(spent_credits) FROM budget_use")
        return int(spent or 0)

    def charges(self) -> list[Any]:
        return self.sql(
            "SELECT client, reference, -balance_change FROM ledger_entry"
            " WHERE kind = 'post' ORDER BY entry_id"
        )


@contextmanager
def open_buyer(folder: Path, credits: int = 100) -> Iterator[Buyer]:
    """Open a service whose portfolio buys from a fake source."""
    with (
        patch("balcao.service.renewing.RENEW", "of no worker"),  # its own would compete
        open_with_source(folder) as world,
    ):
        client = world.account("bela", credits=credits)
        numbers = iter(range(100_000))
        outcomes: list[str] = []
        renewing = Renewing(
            Purchasing(world.parts, lambda: f"renewal-{next(numbers)}"),
            lambda caller, question: world.standing == "down",
            lambda sealed: SealedPerson(CPF, BIRTH) if sealed else None,
            outcomes.append,
        )
        notices = ExpiringPapers(world.desk, world.clock)
        yield Buyer(world, client, renewing, notices, outcomes)
