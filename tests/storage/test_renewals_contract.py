"""Renewals and notices of certificates, on every engine (contract 20.6)."""

from typing import Any

import msgspec
import pytest

from balcao.core.access import Account
from balcao.core.calendar import civil_day
from balcao.core.paper_notices import failure_event
from balcao.core.people import AT_THE_TERMINAL
from balcao.core.renewals import after_failure
from balcao.core.wallet import Renewal
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.purchases import next_purchase_ms, oldest_due
from balcao.storage.desk.wallet.renewals import RENEW
from tests.records import CNPJ
from tests.storage.engines import Engine
from tests.storage.world import DAY_MS, NOW
from tests.watching import a_paper, an_item

ROOT = CNPJ[:8]


class World:
    """An account with two items of one root and a certificate that both have."""

    def __init__(self, engine: Engine, desk: Desk, account: Account) -> None:
        self.engine, self.desk, self.account_id = engine, desk, account.account_id
        an_item(self.execute, self.account_id, CNPJ, "certidao_federal", item_id="b")
        an_item(
            self.execute, self.account_id, CNPJ, "certidao_federal", item_id="a", client="loja",
            renew={"dias_antes": 20},
        )  # fmt: skip

    def execute(self, sql: str, values: tuple[Any, ...]) -> None:
        self.engine.sql(sql, *values)

    def settings(self, ceiling: int | None, renew: Renewal | None = None) -> None:
        self.engine.run(
            self.desk.wallets.change_settings(
                self.account_id,
                lambda before: msgspec.structs.replace(before, renew=renew),
                ceiling,
                lambda: "orcamento",
                AT_THE_TERMINAL,
                NOW,
            )
        )

    def paper(self, last_day: str, *items: str, **more: Any) -> str:
        return a_paper(
            self.execute, self.account_id, "certidao_federal", *items, subject=ROOT,
            paper_id="p", verdict="CND", validity=last_day, issued_on="2026-03-01", answered_ms=1,
            **more,
        )  # fmt: skip

    def stored(self, *columns: str) -> Any:
        return self.engine.sql(f"SELECT {', '.join(columns)} FROM wallet_paper")[0]

    def kinds(self) -> list[tuple[str, str | None]]:
        found = self.desk.events.after(self.account_id, 0, 100)
        return [(each.kind, each.item_id) for each in found]


@pytest.fixture
def world(engine: Engine, desk: Desk, ana: Account) -> World:
    return World(engine, desk, ana)


def reissues(mode: str, is_person: bool) -> bool:
    assert not is_person
    return True


def test_plans_attempts_and_their_failures(world: World) -> None:
    """The clock stands on the fifth of August."""
    run, stored = world.engine.run, world.desk.renewals
    world.settings(0)
    world.paper("2026-08-27", "a", "b")
    assert run(stored.plan(NOW, reissues)) == 1
    assert world.stored("next_ms") == (None,)
    world.settings(5)
    assert run(stored.plan(NOW, reissues)) == 1
    (due_ms,) = world.stored("next_ms")
    assert DAY_MS < due_ms - NOW < 3 * DAY_MS  # by the terms of `a`
    with_desk = world.desk.engine.connection
    assert next_purchase_ms(with_desk, world.account_id) == due_ms
    assert oldest_due(with_desk, due_ms).renewal_ms == due_ms
    assert oldest_due(with_desk, due_ms - 1).renewal_ms is None
    assert run(stored.enqueue_due(due_ms - 1)) == 0
    assert run(stored.enqueue_due(due_ms)) == 1
    assert run(stored.enqueue_due(due_ms)) == 0
    assert world.engine.sql("SELECT kind, about FROM job") == [(RENEW, "p")]
    due = run(stored.one("p"))
    assert due is not None
    assert (due.item_id, due.client, due.terms, due.may_buy) == (
        "a", "loja", Renewal(dias_antes=20), True,
    )  # fmt: skip
    assert run(stored.begin(due.paper, due_ms))
    failed = after_failure(due.paper, "FALHA", due.terms, due_ms, reissues=True)
    event = failure_event(due.paper, failed, civil_day(due_ms))
    assert run(stored.finish(due.paper, failed, event, due_ms))
    assert not run(stored.finish(due.paper, failed, event, due_ms))
    assert not run(stored.begin(due.paper, due_ms))
    run(stored.postpone(due.paper, None))
    columns = world.stored("attempts", "failures", "purchases", "reason", "renewing_ms", "next_ms")
    assert columns == (1, 1, 0, "FALHA", None, due_ms + 20 * 60_000)
    assert world.kinds() == [("certidao.nao_renovada", "a"), ("certidao.nao_renovada", "b")]
    # New terms do not ask a failing source at once.
    world.settings(None, Renewal())
    assert world.stored("next_ms") == (due_ms + 20 * 60_000,)
    assert next_purchase_ms(with_desk, world.account_id) == due_ms + 20 * 60_000
    world.settings(0)
    assert next_purchase_ms(with_desk, world.account_id) is None


def test_a_portfolio_with_a_clock_is_left_to_it(world: World) -> None:
    run, stored = world.engine.run, world.desk.renewals
    world.settings(5, Renewal())
    world.paper("2026-08-01", "b")
    world.engine.sql("UPDATE wallet SET clock_ms = ?, clock_run = 3", NOW)
    assert run(stored.plan(NOW, reissues)) == 0
    assert run(world.desk.paper_notices.accounts(NOW)) == []
    assert run(stored.plan(NOW, reissues, world.account_id)) == 1
    due = run(stored.one("p"))
    assert due is not None
    assert due.clock_run == 3
    assert run(stored.enqueue_due(NOW + DAY_MS)) == 0
    assert run(world.desk.paper_notices.write(world.account_id, NOW)) == 1
    assert world.engine.sql("SELECT kind, clock_run FROM event") == [("certidao.vencida", 3)]


def test_each_notice_is_written_once(world: World) -> None:
    notices = world.desk.paper_notices
    world.settings(0)
    world.paper("2026-08-12", "a", "b")
    manual = a_paper(
        world.execute, world.account_id, "outra", "b", validity="2026-08-06", name="Alvará",
        paper_id="m",
    )  # fmt: skip

    def written(now_ms: int) -> int:
        if world.engine.run(notices.accounts(now_ms)) == []:
            assert world.engine.run(notices.write(world.account_id, now_ms)) == 0
            return 0
        return world.engine.run(notices.write(world.account_id, now_ms))

    assert [written(NOW + days * DAY_MS) for days in range(12)] == [
        2,
        0,
        2,
        0,
        0,
        0,
        1,
        0,
        1,
        0,
        0,
        0,
    ]
    assert [written(NOW + days * DAY_MS) for days in range(12, -1, -1)] == [0] * 13
    told = {row[0]: row[1] for row in world.engine.sql("SELECT paper_id, told FROM wallet_paper")}
    assert told == {"p": 0, manual: 0}
    bodies = [
        msgspec.json.decode(each.body) for each in world.desk.events.after(world.account_id, 0, 99)
    ]
    assert [(body["papel"]["id"], body["item"]["id"], body.get("aviso")) for body in bodies] == [
        ("m", "b", 1), ("p", "a", 10), ("p", "b", 10), ("m", "b", None), ("p", "a", 5),
        ("p", "b", 5), ("p", "a", 1), ("p", "b", 1), ("p", "a", None), ("p", "b", None),
    ]  # fmt: skip


def test_a_certificate_that_fails_is_reported_again_near_its_end(world: World) -> None:
    world.settings(0)
    world.paper("2026-08-12", "a", failures=2, attempts=2, reason="FALHA", told=1)
    written = [
        world.engine.run(world.desk.paper_notices.write(world.account_id, NOW + days * DAY_MS))
        for days in range(7)
    ]
    assert written == [0, 0, 0, 0, 1, 0, 0]
    assert world.kinds() == [("certidao.nao_renovada", "a")]


def test_without_terms_nothing_is_renewed(world: World) -> None:
    world.settings(5)
    world.paper("2026-08-28", "b")
    assert world.engine.run(world.desk.renewals.plan(NOW, reissues)) == 1
    assert world.stored("next_ms") == (None,)  # `b` has no terms, nor has the portfolio
