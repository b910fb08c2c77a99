"""Endpoints and their deliveries on every engine (contract 19.4)."""

import json
from typing import Any

import pytest

from balcao.core.access import Account
from balcao.core.errors import ResendUnderWay, TooManyWebhooks, WebhookIsOff, WebhookNotFound
from balcao.core.events import NewEvent, event_id
from balcao.core.people import Signature
from balcao.core.webhooks import Attempt
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.webhook_deliveries import RESENT_AT_ONCE, WEBHOOK_JOB, MadeAttempt
from balcao.storage.desk.webhooks import WebhookChange
from balcao.storage.webhooks import DueDelivery, NewWebhook, Webhook
from tests.storage.engines import Engine
from tests.storage.people import deeds
from tests.storage.world import DAY_MS, NOW

BY = Signature("api", key_id=1)
HOUR_MS = 3_600_000


class Hooks:
    """The endpoints of an account, at an instant that a test sets."""

    def __init__(self, engine: Engine, desk: Desk, account: Account) -> None:
        self.engine, self.desk, self.account, self.now = engine, desk, account, NOW

    def create(self, name: str = "w1", **more: Any) -> Webhook:
        fields = {"kinds": None, "clients": None, "description": None} | more
        new = NewWebhook(
            name, self.account.account_id, "https://a.test", **fields,
            secret=b"\0s", secret_tail="abcd",
        )  # fmt: skip
        made: Webhook = self.run(self.desk.webhooks.create(new, BY, self.now))
        return made

    def run(self, work: Any) -> Any:
        return self.engine.run(work)

    def one(self, name: str = "w1") -> Webhook:
        found: Webhook = self.run(self.desk.webhooks.one(self.account.account_id, name))
        return found

    def happen(self, kind: str = "saldo.baixo", count: int = 1, **more: Any) -> None:
        event = NewEvent(self.account.account_id, kind, self.now, '{"saldo":1}', **more)
        assert self.engine.commit(self.desk, *[event] * count) is None
        self.plan()

    def plan(self) -> int:
        count: int = self.run(self.desk.webhook_deliveries.plan(self.now))
        return count

    def due(self, name: str = "w1") -> list[DueDelivery]:
        found = self.run(self.desk.webhook_deliveries.due(name, self.now, 1_000))
        return [] if found is None else [*found[1]]

    def attempt(self, status: int | None, name: str = "w1") -> list[str | None]:
        """Make an attempt of all that is due, with this outcome; return the new states."""
        outcome = Attempt(self.now, 0, status, "ok")
        account = self.account.account_id
        made = [MadeAttempt(name, account, one, outcome, 0.5) for one in self.due(name)]
        return [*self.run(self.desk.webhook_deliveries.record(made))]

    def switch(self, *, on: bool) -> None:
        def changes(before: Webhook) -> WebhookChange:
            return WebhookChange(before.url, before.kinds, before.clients, None, on)

        account = self.account.account_id
        self.run(self.desk.webhooks.change(account, "w1", changes, BY, self.now))

    def listed(self, **filters: Any) -> list[tuple[str, str, int]]:
        store = self.desk.webhook_deliveries
        found = self.run(store.of_webhook("w1", NOW - DAY_MS, limit=1_000, **filters))
        return [(event_id(one.event_id), one.state, one.attempts) for one in found]

    def resend(self, *, failed_only: bool = True) -> int:
        count: int = self.run(
            self.desk.webhook_deliveries.resend(
                self.one(), NOW, self.now, self.now, failed_only=failed_only
            )
        )
        return count

    def kinds(self) -> list[str]:
        return [one.kind for one in self.desk.events.after(self.account.account_id, 0, 1_000)]


@pytest.fixture
def hooks(engine: Engine, desk: Desk, ana: Account) -> Hooks:
    return Hooks(engine, desk, ana)


def test_an_endpoint_is_sent_each_later_event_once(
    hooks: Hooks, engine: Engine, bruno: Account
) -> None:
    hooks.happen()
    hooks.create()
    hooks.create("w2", kinds=["certidao.*"], clients=["loja"])
    hooks.happen(count=2)
    hooks.happen("certidao.vencida", client="loja")
    hooks.happen(silent=True)
    assert engine.commit(hooks.desk, NewEvent(bruno.account_id, "saldo.baixo", NOW, "{}")) is None
    assert hooks.plan() == 0
    numbers = [one.event_id for one in hooks.due()]
    assert numbers == sorted(numbers)
    assert len(numbers) == 3
    assert [one.kind for one in hooks.due("w2")] == ["certidao.vencida"]
    jobs = f"SELECT about, state FROM job WHERE kind = '{WEBHOOK_JOB}' ORDER BY about"
    assert engine.sql(jobs) == [("w1", "waiting"), ("w2", "waiting")]
    assert hooks.attempt(200) == ["entregue"] * 3
    assert hooks.due() == []
    assert (hooks.one().success_ms, hooks.one().waiting) == (NOW, 0)


def test_a_failed_delivery_comes_again_until_it_is_given_up(hooks: Hooks) -> None:
    hooks.create()
    hooks.create("w2", kinds=["webhook.*"])
    hooks.happen()
    for number in range(10):
        (state,) = hooks.attempt(500)
        assert hooks.attempt(500) == []  # not at once
        assert state == ("falhou" if number < 9 else "desistiu")
        if state == "falhou":
            hooks.now = hooks.one().next_ms or 0
    assert hooks.listed() == [("evt_" + "1".zfill(13), "desistiu", 10)]
    assert hooks.kinds() == ["saldo.baixo", "webhook.falhando", "webhook.esgotado"]
    assert hooks.one().state == "falhando"
    hooks.plan()
    assert hooks.due() == []  # never about itself
    bodies = [json.loads(one.body) for one in hooks.due("w2")]
    assert [body["webhook"] for body in bodies] == ["w1", "w1"]
    assert bodies[0]["ultimo_status"] == 500
    assert bodies[1]["evento"] == "evt_" + "1".zfill(13)
    assert hooks.resend() == 1
    assert hooks.attempt(204) == ["entregue"]
    assert (hooks.one().state, hooks.one().failing_ms) == ("ativo", None)


def test_an_endpoint_that_is_gone_or_dead_is_switched_off_once(hooks: Hooks) -> None:
    hooks.create()
    hooks.happen(count=2)
    assert hooks.attempt(410) == ["desistiu", None]  # the second was open, too
    assert {attempts for _, _, attempts in hooks.listed()} == {1}
    assert (hooks.one().state, hooks.one().reason) == ("desligado", "http_410")
    hooks.switch(on=True)
    hooks.happen()
    hooks.attempt(500)
    hooks.now += 5 * DAY_MS  # a jump of the clock
    assert hooks.attempt(500) == ["falhou"]
    states: list[str | None] = []
    for _ in range(4):
        hooks.now += DAY_MS
        hooks.happen()
        assert hooks.one().state == "falhando"
        states = hooks.attempt(500)
    assert [*filter(None, states)] == ["desistiu"]
    assert None in states
    assert (hooks.one().state, hooks.one().reason) == ("desligado", "sem_sucesso")
    assert hooks.kinds().count("webhook.desligado") == 2
    assert hooks.kinds().count("webhook.esgotado") == 0


def test_nothing_is_lost_while_an_endpoint_is_off(hooks: Hooks, engine: Engine) -> None:
    hooks.create()
    hooks.happen()
    hooks.attempt(200)
    hooks.happen()
    hooks.switch(on=False)
    hooks.happen(count=RESENT_AT_ONCE + 3)
    assert (hooks.due(), hooks.one().waiting, hooks.one().next_ms) == ([], 0, None)
    with pytest.raises(WebhookIsOff):
        hooks.resend()
    hooks.switch(on=True)
    hooks.happen()
    assert len(hooks.due()) == 1  # the rest when it is asked for
    hooks.attempt(200)
    before = hooks.listed()
    assert hooks.resend() == RESENT_AT_ONCE + 4
    with pytest.raises(ResendUnderWay):
        hooks.resend()
    assert [one.event_id for one in hooks.due()] == [*range(2, RESENT_AT_ONCE + 2)]
    hooks.attempt(200)
    assert len(hooks.attempt(200)) == 4
    with pytest.raises(ResendUnderWay):
        hooks.resend()
    assert hooks.due() == []
    assert hooks.one().resend is None
    assert {name for name, _, _ in hooks.listed()} == {name for name, _, _ in before}
    assert {(state, attempts) for _, state, attempts in hooks.listed()} == {("entregue", 1)}
    assert hooks.resend() == 0
    assert hooks.resend(failed_only=False) == RESENT_AT_ONCE + 6
    for _ in range(2):
        hooks.due()  # queues some
        with pytest.raises(ResendUnderWay):
            hooks.resend(failed_only=False)
        hooks.attempt(200)
    assert hooks.due() == []
    assert hooks.resend(failed_only=False) == RESENT_AT_ONCE + 6


def test_a_test_goes_to_one_endpoint_even_if_it_is_off(hooks: Hooks) -> None:
    hooks.create()
    hooks.create("w2")
    hooks.switch(on=False)
    number = hooks.run(hooks.desk.webhooks.ping(hooks.account.account_id, "w1", NOW))
    hooks.plan()
    assert [event_id(one.event_id) for one in hooks.due()] == [number]
    assert hooks.due("w2") == []
    assert hooks.attempt(500) == ["desistiu"]  # a person waits for the outcome
    assert hooks.one().state == "desligado"
    assert hooks.kinds() == ["balcao.ping"]


def test_limits_owners_and_the_audit_log(hooks: Hooks, desk: Desk, bruno: Account) -> None:
    for number in range(10):
        hooks.create(f"w{number}")
    with pytest.raises(TooManyWebhooks):
        hooks.create("w10")
    with pytest.raises(WebhookNotFound):
        hooks.run(desk.webhooks.one(bruno.account_id, "w1"))
    hooks.happen()
    rotate = desk.webhooks.rotate(
        hooks.account.account_id, "w1", (b"\0new", "wxyz"), BY, both_ms=HOUR_MS, now_ms=NOW
    )
    after: Webhook = hooks.run(rotate)
    assert (after.secret, after.secret_tail) == (b"\0new", "wxyz")
    assert (after.old_secret, after.old_until_ms) == (b"\0s", NOW + HOUR_MS)
    hooks.run(desk.webhooks.remove(hooks.account.account_id, "w1", BY, NOW))
    assert len(hooks.run(desk.webhooks.of_account(hooks.account.account_id))) == 9
    assert hooks.due() == []
    log = [action for action, *_ in deeds(desk)]
    assert [log.count(f"webhook.{what}") for what in ("create", "rotate", "delete")] == [10, 1, 1]
