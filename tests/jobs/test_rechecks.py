"""Scheduled lookups of watched subjects, bought by their portfolio (contract 20.4)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import pytest

from balcao.core.budgets import Budget
from balcao.core.data_subject import document_hash
from balcao.core.errors import StorageFailed
from balcao.core.people import Signature
from balcao.core.registration import Registrations
from balcao.core.wallet import Recheck
from balcao.lookup.wallet import SealedPerson
from balcao.service.purchasing import Purchasing
from balcao.service.rechecking import Rechecking
from balcao.storage.people import NewUser
from tests.records import CNPJ, CPF, OTHER_CNPJ, a_registration
from tests.service import PEPPER, Client, Service, open_with_source
from tests.watching import an_item

DAY_MS = 86_400_000
WEEKLY = {"a_cada_dias": 7}


@dataclass
class Portfolio:
    """An account's portfolio, and its scheduled lookups."""

    world: Service
    client: Client
    rechecking: Rechecking
    outcomes: list[str] = field(default_factory=list)

    def sql(self, statement: str, *values: Any) -> list[Any]:
        rows: list[Any] = self.world.desk.engine.connection.execute(statement, values).fetchall()
        return rows

    def ceiling(
        self, credits: int, recheck: Recheck | None = None, signed: Signature | None = None
    ) -> None:
        """Set the ceiling of a month, by the client's key unless signed otherwise."""
        signed = signed or Signature("api", key_id=self.client.key_id)
        self.world.run(
            self.world.desk.wallets.change_settings(
                self.client.account_id,
                lambda before: msgspec.structs.replace(before, recheck=recheck),
                credits,
                lambda: "orcamento",
                signed,
                self.world.clock(),
            )
        )

    def watch(self, document: str, *watched: str, **more: Any) -> str:
        execute = self.world.desk.engine.connection.execute
        more.setdefault("recheck", WEEKLY)
        return an_item(execute, self.client.account_id, document, *watched, recheck_ms=0, **more)

    def work(self, days: float = 0) -> int:
        """Do all that is due, then advance the clock. Return the number of new questions."""
        asked = self.world.source.asked
        self.world.clock.advance(days=days)
        self.world.run(self.rechecking.purchasing.resume())
        self.world.run(self.rechecking.plan())
        jobs = self.sql("SELECT about FROM job WHERE kind = 'carteira_reconsultar'")
        self.sql("DELETE FROM job WHERE kind = 'carteira_reconsultar'")
        for (item_id,) in jobs:
            self.world.run(self.rechecking.run(item_id))
        return self.world.source.asked - asked

    def state(self, item_id: str) -> Any:
        sql = "SELECT recheck_ms, recheck_attempts FROM wallet_item WHERE item_id = ?"
        ((due_ms, attempts),) = self.sql(sql, item_id)
        return due_ms - self.world.clock(), attempts

    def told(self) -> list[tuple[str, Any]]:
        events = self.world.desk.events.after(self.client.account_id, 0, 100)
        return [
            (one.kind, msgspec.json.decode(one.body)) for one in events if "teto." not in one.kind
        ]

    def charges(self) -> list[Any]:
        return self.sql(
            "SELECT client, reference, -balance_change FROM ledger_entry"
            " WHERE kind = 'post' ORDER BY entry_id"
        )


@pytest.fixture
def portfolio(tmp_path: Path) -> Iterator[Portfolio]:
    with (
        patch("balcao.service.rechecking.RECHECK", "of no worker"),  # its own would compete
        open_with_source(tmp_path) as world,
    ):
        client = world.account("bela", credits=10)
        world.clock.advance(seconds=9 * 3_600)  # after the hours of the day
        numbers = iter(range(1_000))
        outcomes: list[str] = []
        rechecking = Rechecking(
            Purchasing(world.parts, lambda: f"recheck-{next(numbers)}"),
            lambda caller, question: world.standing == "down",
            lambda sealed: SealedPerson(sealed.decode(), None),
            outcomes.append,
        )
        yield Portfolio(world, client, rechecking, outcomes)


def test_nothing_is_asked_until_there_is_a_ceiling(portfolio: Portfolio) -> None:
    portfolio.watch(CNPJ, "inscricoes:SP", "suframa")
    assert [portfolio.work(days=1) for _ in range(40)] == [0] * 40
    portfolio.ceiling(0, Recheck(1))
    assert [portfolio.work(days=1) for _ in range(40)] == [0] * 40
    assert portfolio.told() == []


def test_it_is_asked_and_charged_every_so_many_days(portfolio: Portfolio) -> None:
    portfolio.ceiling(10)
    item = portfolio.watch(CNPJ, "inscricoes:SP", "suframa", client="loja")
    never = portfolio.watch(CNPJ, "inscricoes:RJ", recheck=False)
    assert portfolio.work() == 0
    assert portfolio.work(days=1) == 2
    assert portfolio.charges() == [("loja", "r1", 1)] * 2
    assert [portfolio.work(days=1) for _ in range(7)] == [0] * 6 + [2]
    assert portfolio.outcomes == ["respondida"] * 4
    blocked = a_registration(situacao_pj="Bloqueado como destinatário na UF")
    portfolio.world.source.finds(Registrations(CNPJ, "SP", inscricoes=(blocked,)))
    portfolio.sql("UPDATE wallet_item SET watched = '[\"inscricoes:SP\"]' WHERE item_id = ?", item)
    assert portfolio.work(days=7) == 1
    ((kind, body),) = portfolio.told()
    assert (kind, body["grave"], body["item"]["cliente"]) == ("inscricao.situacao", True, "loja")
    # An own lookup counts as well: what it brought is not bought again.
    portfolio.world.clock.advance(days=6)
    portfolio.world.source.finds(Registrations(CNPJ, "SP", inscricoes=(blocked,)))
    path = f"/consultas/v2/sintegra/{CNPJ}?uf=SP&cache_strategy=SO_ONLINE"
    assert portfolio.world.get(path, portfolio.client).status == 200
    assert [portfolio.work(days=1) for _ in range(8)] == [0] * 6 + [1, 0]
    assert portfolio.sql("SELECT recheck_ms FROM wallet_item WHERE item_id = ?", never) == [(None,)]
    portfolio.world.assert_books_agree()


def test_a_failure_costs_nothing_and_is_tried_again(portfolio: Portfolio) -> None:
    portfolio.ceiling(10)
    item = portfolio.watch(CNPJ, "suframa")
    portfolio.world.source.fails()
    portfolio.work()
    minutes = []
    assert portfolio.work(days=1) == 1
    for attempt in range(1, 6):
        left_ms, attempts = portfolio.state(item)
        assert attempts == attempt
        minutes.append(left_ms / 60_000)
        assert portfolio.work(days=(left_ms - 1) / DAY_MS) == 0
        assert portfolio.work(days=2 / DAY_MS) == 1
    assert [round(each) for each in minutes] == [20, 60, 180, 1440, 1440]
    assert portfolio.charges() == []
    portfolio.world.source.finds()
    assert portfolio.work(days=1.1) == 1
    assert portfolio.state(item)[1] == 0
    assert portfolio.told() == []


def test_the_ceiling_stops_and_the_next_month_resumes(portfolio: Portfolio) -> None:
    """The clock stands on the fifth of August."""
    portfolio.ceiling(1)
    first = portfolio.watch(CNPJ, "suframa")
    portfolio.watch(OTHER_CNPJ, "suframa")
    portfolio.work()
    assert portfolio.work(days=1) == 1
    assert [portfolio.work(days=1) for _ in range(10)] == [0] * 10
    ((kind, body),) = portfolio.told()
    assert (kind, body["motivo"], body["volta_em"]) == (
        "carteira.parada", "teto", "2026-09-01T00:00:00.000-03:00",
    )  # fmt: skip
    assert portfolio.work(days=20) == 1
    kinds = [(kind, body["motivo"]) for kind, body in portfolio.told()]
    # The ceiling of September is used up, too.
    assert kinds == [
        ("carteira.parada", "teto"), ("carteira.retomada", "teto"), ("carteira.parada", "teto"),
    ]  # fmt: skip
    portfolio.ceiling(5)
    portfolio.work()
    assert portfolio.work(days=1) == 1
    assert len(portfolio.charges()) == 3
    assert portfolio.sql("SELECT stopped_reason FROM wallet") == [(None,)]
    assert portfolio.state(first)[0] > 0


def test_balance_key_and_sources_stop_as_well(portfolio: Portfolio) -> None:
    portfolio.ceiling(100)
    portfolio.watch(CNPJ, "suframa", recheck={"a_cada_dias": 1})
    portfolio.work()
    portfolio.world.top_up(portfolio.client, -10)
    assert portfolio.work(days=1) == 0
    portfolio.world.top_up(portfolio.client, 10)
    assert portfolio.work() == 1
    portfolio.world.standing = "down"
    assert portfolio.work(days=1) == 0
    portfolio.world.standing = "quiet"
    assert portfolio.work() == 0
    assert portfolio.work(days=0.02) == 1
    portfolio.world.desk.revoke_key(portfolio.client.key_id, portfolio.world.clock())
    assert portfolio.work(days=1) == 0
    assert [(kind, body["motivo"]) for kind, body in portfolio.told()] == [
        ("carteira.parada", "saldo"),
        ("carteira.retomada", "saldo"),
        ("carteira.parada", "fonte"),
        ("carteira.retomada", "fonte"),
        ("carteira.parada", "chave"),
    ]
    assert portfolio.told()[0][1]["atingidos"] == 1


def test_a_process_that_dies_after_the_charge_charges_no_more(
    portfolio: Portfolio, monkeypatch: pytest.MonkeyPatch
) -> None:
    portfolio.ceiling(10)
    portfolio.watch(CPF, "produtor:SP", person=document_hash(PEPPER, CPF))
    portfolio.sql("UPDATE wallet_item SET sealed = ?", CPF.encode())
    portfolio.work()

    async def dies(*_: Any) -> None:
        raise StorageFailed("dead")

    with monkeypatch.context() as patched:
        patched.setattr(portfolio.world.desk.rechecks, "note_asked", dies)
        with pytest.raises(StorageFailed):
            portfolio.work(days=1)
    assert len(portfolio.charges()) == 1
    portfolio.sql("UPDATE wallet_item SET checked = NULL")  # else it would not be due any more
    assert portfolio.work() == 0
    assert portfolio.work(days=1) == 0
    assert len(portfolio.charges()) == 1
    assert portfolio.outcomes == ["respondida", "respondida"]
    assert CPF.encode() not in portfolio.world.logged


def test_a_person_who_may_not_act_any_more_buys_nothing(portfolio: Portfolio) -> None:
    world, account_id = portfolio.world, portfolio.client.account_id
    new = NewUser("lia@exemplo.com.br", "Lia", "manager", account_id)
    lia = world.run(world.desk.people.add_user(new, Signature("web"), world.clock())).user_id
    portfolio.ceiling(100, signed=Signature("web", lia))
    portfolio.watch(CNPJ, "suframa", recheck={"a_cada_dias": 1})
    portfolio.work()
    assert portfolio.work(days=1) == 1
    suspend = world.desk.people.suspend_user
    world.run(suspend(lia, True, Signature("web"), world.clock()))
    assert portfolio.work(days=1) == 0
    world.run(suspend(lia, False, Signature("web"), world.clock()))
    assert portfolio.work() == 1
    # An operator acts in the account as long as a role was given.
    ida = world.run(
        world.desk.people.add_user(
            NewUser("ida@exemplo.com.br", "Ida", "operator", None), Signature("web"), world.clock()
        )
    ).user_id
    seats = world.desk.memberships
    world.run(seats.give(ida, account_id, "manager", Signature("web"), world.clock()))
    portfolio.ceiling(100, signed=Signature("web", ida))
    portfolio.work()
    assert portfolio.work(days=1) == 1
    world.run(seats.take(ida, account_id, Signature("web"), world.clock()))
    assert portfolio.work(days=1) == 0
    portfolio.ceiling(100)
    portfolio.work()
    assert portfolio.work(days=1) == 1
    # The reason has one event in a month.
    assert [(kind, body["motivo"]) for kind, body in portfolio.told()] == [
        ("carteira.parada", "chave"),
        ("carteira.retomada", "chave"),
    ]


def test_a_job_that_failed_for_good_is_made_again_after_a_day(portfolio: Portfolio) -> None:
    portfolio.ceiling(100)
    item = portfolio.watch(CNPJ, "suframa")
    portfolio.work()
    portfolio.world.clock.advance(days=1)
    portfolio.world.run(portfolio.rechecking.plan())
    failed = "UPDATE job SET state = 'failed', error = 'X', changed_ms = ? WHERE about = ?"
    portfolio.sql(failed, portfolio.world.clock(), item)
    state = "SELECT state, attempts FROM job WHERE kind = 'carteira_reconsultar'"
    portfolio.world.run(portfolio.rechecking.plan())
    assert portfolio.sql(state) == [("failed", 0)]
    assert portfolio.work(days=1.1) == 1


def test_only_budgets_of_what_is_due_keep_it_stopped(portfolio: Portfolio) -> None:
    """A used-up budget of the key for another operation is no reason to wait."""
    portfolio.ceiling(1)
    portfolio.watch(CNPJ, "suframa")
    portfolio.watch(OTHER_CNPJ, "suframa")
    portfolio.work()
    assert portfolio.work(days=1) == 1
    world, key = portfolio.world, portfolio.client
    other = next(each.path for each in world.parts.operations.values() if each.subject == "company")
    budget = Budget(
        0, key.account_id, "zero", "", "chave", str(key.key_id), "mes", 0, None, (other,), 80, 0
    )
    world.run(world.desk.budgets.make(budget, Signature("api", key_id=key.key_id)))
    portfolio.ceiling(5)
    portfolio.work()
    assert portfolio.work(days=1) == 1
    assert portfolio.sql("SELECT stopped_reason FROM wallet") == [(None,)]
