"""Batches on every engine: a row is charged at most once, and the sums match."""

import asyncio
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from balcao.core.access import Account
from balcao.core.batches import ERASE, BatchQuote, RowState
from balcao.core.budgets import Budget, OverBudget
from balcao.core.data_subject import data_subject
from balcao.core.documents import Cpf
from balcao.core.errors import StorageFailed
from balcao.core.ledger import Change, Charge, Hold, InsufficientFunds, RowGone, RowMoved, Settle
from balcao.core.people import AT_THE_TERMINAL
from balcao.storage.batches import NewBatch, NewRow, StoredBatch
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.batch_ceilings import end_ceiling, raise_ceiling
from balcao.storage.desk.budgets import make_budget
from balcao.storage.desk.desk import Desk
from tests.storage.engines import Engine, PostgresEngine
from tests.storage.people import a_trace, together
from tests.storage.test_charged_lookups import number
from tests.storage.world import NOW, OPERATION, a_keep, balance, open_account

NUMBER = "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b8"
PEPPER = b"p" * 32
CPF = Cpf.parse("90010000100")


def new_batch(account: Account, number: str = NUMBER, key: str | None = None) -> NewBatch:
    return NewBatch(
        number, account.account_id, account.account_id, None, "n", None, OPERATION, "", "{}",
        "text/csv", None, key, f"f{key}", NOW,
    )  # fmt: skip


def a_row(
    line: int, state: RowState = "pendente", same: bytes | None = None, **more: Any
) -> NewRow:
    fields: dict[str, Any] = {
        "ref": None, "client": None, "document": "90010001000100", "document_hash": None,
        "least": 0, "greatest": 2, "at_hand": False, "code": None, "cells": b"cells",
    } | more  # fmt: skip
    return NewRow(line=line, state=state, same=same or b"%016d" % line, **fields)


def moved(  # noqa: PLR0917 - what there is to say of a row
    account: Account,
    line: int,
    state: RowState,
    request: str,
    credits: int = 0,
    code: str | None = None,
) -> RowMoved:
    return RowMoved(account.account_id, NUMBER, line, request, state, credits, code, b"answer", NOW)


def of_batch_charge(account: Account, request: str, credits: int = 1) -> Charge:
    number = account.account_id
    return Charge(
        number, number, request, OPERATION, credits, "consulta", "cache", NOW, batch_id=NUMBER
    )


def of_batch_hold(account: Account, request: str, credits: int = 2) -> Hold:
    number = account.account_id
    return Hold(number, number, request, OPERATION, credits, NOW, batch_id=NUMBER)


def settle(account: Account, request: str, credits: int) -> Settle:
    return Settle(account.account_id, request, credits, "consulta", "online", NOW)


def running(
    engine: Engine, desk: Desk, account: Account, ceiling: int, rows: Sequence[NewRow]
) -> None:
    """A confirmed batch."""
    batches = desk.batches
    engine.run(batches.receive(new_batch(account), ()))
    assert engine.run(batches.begin(NUMBER))
    engine.run(batches.store_layout(NUMBER, b"header", "{}"))
    engine.run(batches.add_rows(NUMBER, rows))
    while engine.run(batches.mark_repeated(NUMBER)):
        pass
    valid, least, greatest, at_hand = engine.run(batches.totals(NUMBER))
    quote = BatchQuote("d", least, greatest, valid, at_hand, NOW, NOW + 1)
    assert engine.run(batches.quote(NUMBER, quote, state="validando"))
    budget = Budget(
        0, account.account_id, "b", "n", "lote", NUMBER, "uma_vez", ceiling, None, None, 80, NOW
    )

    def also(connection: SqlConnection) -> None:
        make_budget(connection, budget, AT_THE_TERMINAL)

    assert engine.run(batches.confirm(NUMBER, ceiling, NOW, (), also))


def shown(engine: Engine, desk: Desk) -> StoredBatch:
    batch = engine.run(desk.batches.batch(NUMBER))
    assert batch is not None
    return batch


def states(engine: Engine, desk: Desk) -> list[str]:
    return [row.state for row in engine.run(desk.batches.rows(NUMBER, 0, 100))]


def agree(desk: Desk) -> None:
    assert desk.check().complaints == []


def test_a_row_is_charged_once_in_the_commit_that_ends_it(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    running(engine, desk, ana, 9, [a_row(2), a_row(3)])
    first: list[Change] = [of_batch_charge(ana, "r1"), moved(ana, 2, "concluida", "r1", 1)]
    second: list[Change] = [of_batch_charge(ana, "r2"), moved(ana, 2, "concluida", "r2", 1)]
    assert engine.together(desk, first, second) == [None, RowGone()]
    assert isinstance(engine.commit(engine.open(), *second), RowGone)
    assert states(engine, desk) == ["concluida", "pendente"]
    assert (shown(engine, desk).spent, shown(engine, desk).rows("concluida")) == (1, 1)
    agree(desk)


def test_a_finished_row_is_not_charged_again(engine: Engine, desk: Desk, ana: Account) -> None:
    """Also if charge and trace are one row."""
    running(engine, desk, ana, 9, [a_row(2)])
    charges = [of_batch_charge(ana, number(NOW, n)) for n in (1, 2)]
    lists: list[list[Change]] = [
        [
            together(charge, a_trace(ana, charge.request_id)),
            moved(ana, 2, "concluida", charge.request_id, 1),
        ]
        for charge in charges
    ]
    before = balance(desk, ana)
    assert engine.together(desk, *lists) == [None, RowGone()]
    assert balance(desk, ana).credits == before.credits - 1
    assert engine.sql("SELECT count(*) FROM charged_lookup") == [(1,)]
    assert shown(engine, desk).spent == 1
    agree(desk)


def test_a_row_with_a_new_receipt(engine: Engine, desk: Desk, ana: Account) -> None:
    running(engine, desk, ana, 9, [a_row(2)])
    charge = of_batch_charge(ana, number(NOW, 1))
    both = together(charge, a_trace(ana, charge.request_id))
    row = moved(ana, 2, "concluida", charge.request_id, 1)
    assert engine.commit(desk, both, a_keep(ana, "n1"), row) is None
    assert engine.sql("SELECT receipt_id FROM receipt") == [("n1",)]
    assert engine.sql("SELECT count(*) FROM ledger_entry WHERE kind = 'charge'") == [(1,)]
    assert desk.people.trace(ana.account_id, charge.request_id) is not None
    assert states(engine, desk) == ["concluida"]
    agree(desk)


def test_a_row_under_way_belongs_to_one_request(engine: Engine, desk: Desk, ana: Account) -> None:
    running(engine, desk, ana, 9, [a_row(2)])
    taken = moved(ana, 2, "em_andamento", "r1", 2)
    assert engine.commit(desk, of_batch_hold(ana, "r1"), taken) is None
    assert shown(engine, desk).held == 2
    other = moved(ana, 2, "em_andamento", "r2", 2)
    assert isinstance(engine.commit(desk, of_batch_hold(ana, "r2"), other), RowGone)
    ended: list[Change] = [settle(ana, "r1", 2), moved(ana, 2, "concluida", "r1", 2)]
    assert engine.commit(desk, *ended) is None
    assert (shown(engine, desk).held, shown(engine, desk).spent) == (0, 2)
    agree(desk)


def test_a_row_taken_and_a_row_returned_in_one_commit(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    """The two moves cancel out in the counts, but the rows change."""
    running(engine, desk, ana, 9, [a_row(2), a_row(3)])
    taken = moved(ana, 2, "em_andamento", "r1", 2)
    assert engine.commit(desk, of_batch_hold(ana, "r1"), taken) is None
    back: list[Change] = [Settle(ana.account_id, "r1", 0, "error", None, NOW)]
    back.append(moved(ana, 2, "pendente", "r1"))
    other: list[Change] = [of_batch_hold(ana, "r2"), moved(ana, 3, "em_andamento", "r2", 2)]
    assert engine.together(desk, back, other) == [None, None]
    assert states(engine, desk) == ["pendente", "em_andamento"]
    assert (shown(engine, desk).held, shown(engine, desk).rows("pendente")) == (2, 1)
    agree(desk)


def test_ceiling_and_balance_are_never_exceeded(engine: Engine, desk: Desk, ana: Account) -> None:
    rows = [a_row(line) for line in range(2, 30)]
    running(engine, desk, ana, 3, rows)
    lists: list[list[Change]] = [
        [of_batch_charge(ana, f"r{row.line}"), moved(ana, row.line, "concluida", f"r{row.line}", 1)]
        for row in rows
    ]
    told = engine.together(desk, *lists)
    assert told[:3] == [None] * 3
    assert all(isinstance(each, OverBudget) for each in told[3:])
    assert states(engine, desk).count("pendente") == 25

    engine.run(desk.batches.pause(NUMBER, "teto", "TETO_DO_LOTE", now_ms=NOW))

    def raised(connection: SqlConnection) -> None:
        raise_ceiling(connection, ana.account_id, NUMBER, 100, AT_THE_TERMINAL, NOW)

    # The ceiling shown is that of the budget, however it was changed.
    assert engine.run(desk.batches.resume(NUMBER, None, (), raised))
    assert shown(engine, desk).ceiling == 100
    told = engine.together(desk, *lists[3:])
    assert told[:7] == [None] * 7
    assert all(isinstance(each, InsufficientFunds) for each in told[7:])
    assert shown(engine, desk).spent == 10
    agree(desk)


def test_a_row_of_a_dead_process_is_reopened_and_free(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    running(engine, desk, ana, 9, [a_row(2), a_row(3)])
    for line in (2, 3):
        taken = moved(ana, line, "em_andamento", f"r{line}", 2)
        assert engine.commit(desk, of_batch_hold(ana, f"r{line}"), taken) is None
    ended: list[Change] = [settle(ana, "r3", 1), moved(ana, 3, "concluida", "r3", 1)]
    assert engine.commit(desk, *ended) is None
    assert engine.run(desk.batches.reopen_lost(NUMBER)) == 0, "its hold exists"
    engine.kill(desk)
    desk = engine.open()
    assert desk.recover(NOW) == 1
    assert engine.run(desk.batches.reopen_lost(NUMBER)) == 1
    assert states(engine, desk) == ["pendente", "concluida"]
    late: list[Change] = [settle(ana, "r2", 1), moved(ana, 2, "concluida", "r2", 1)]
    assert engine.commit(desk, *late) is not None
    agree(desk)


def test_a_row_that_is_taken_while_others_are_cancelled_stays_taken(tmp_path: Path) -> None:
    """The row was open when the other node read it, and is not when that node writes."""
    engine = PostgresEngine(tmp_path)
    with closing(engine):
        desk = engine.open()
        ana = open_account(engine, desk, "ana", credits=10)
        running(engine, desk, ana, 9, [a_row(2), a_row(3)])

        async def cancelled(taking: psycopg.Connection[Any]) -> int:
            cancelling = asyncio.create_task(desk.batches.cancel_rows(NUMBER, NOW))
            async with asyncio.timeout(20):
                while engine.sql(_WAITING) != [(1,)]:  # noqa: ASYNC110 - of the database
                    await asyncio.sleep(0.01)
            taking.commit()
            return await cancelling

        with psycopg.connect(engine.address) as taking:
            taking.execute(_TAKE)
            assert engine.run(cancelled(taking)) == 1
        assert states(engine, desk) == ["em_andamento", "cancelada"]


_TAKE = "UPDATE batch_row SET state = 'em_andamento', request_id = 'r2', credits = 2 WHERE line = 2"
_WAITING = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


def test_a_batch_paused_by_its_user_does_not_resume_by_itself(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    running(engine, desk, ana, 9, [a_row(2)])
    batches = desk.batches

    def nothing(connection: SqlConnection) -> None:
        pass

    assert engine.run(batches.pause(NUMBER, "fonte", "SERVICO_INDISPONIVEL", now_ms=NOW))
    assert engine.run(batches.pause(NUMBER, "usuario", now_ms=NOW))
    assert not engine.run(batches.pause(NUMBER, "usuario", now_ms=NOW))
    assert not engine.run(batches.resume(NUMBER, None, (), nothing, reason="fonte"))
    assert (shown(engine, desk).reason, shown(engine, desk).code) == ("usuario", None)
    assert engine.run(batches.resume(NUMBER, None, (), nothing))
    assert engine.run(batches.pause(NUMBER, "saldo", "SALDO_INSUFICIENTE", now_ms=NOW))
    assert not engine.run(batches.pause(NUMBER, "usuario", now_ms=NOW)), (
        "it waits for its user anyway"
    )
    assert engine.run(batches.pause(NUMBER, "saldo", now_ms=NOW)) is False


def test_a_second_reader_of_the_file_changes_nothing(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    running(engine, desk, ana, 9, [a_row(2)])
    assert not engine.run(desk.batches.begin(NUMBER))
    with pytest.raises(StorageFailed):
        engine.run(desk.batches.add_rows(NUMBER, [a_row(3)]))
    assert shown(engine, desk).rows("pendente") == 1
    agree(desk)


def test_equal_rows_are_looked_up_once(engine: Engine, desk: Desk, ana: Account) -> None:
    same = b"s" * 16
    rows = [
        a_row(2, same=same),
        a_row(3),
        a_row(4, same=same),
        a_row(5, "invalida"),
        a_row(6, same=same),
    ]
    running(engine, desk, ana, 9, rows)
    found = engine.run(desk.batches.rows(NUMBER, 0, 100))
    assert [(row.state, row.repeated_of) for row in found] == [
        ("pendente", None), ("pendente", None), ("repetida", 2), ("invalida", None),
        ("repetida", 2),
    ]  # fmt: skip
    quote = shown(engine, desk).quote
    assert quote is not None
    assert (quote.valid, quote.greatest) == (2, 4)
    only = engine.run(desk.batches.rows(NUMBER, 2, 1, "repetida"))
    assert [row.line for row in only] == [4]
    agree(desk)


def test_one_key_makes_one_batch(engine: Engine, desk: Desk, ana: Account, bruno: Account) -> None:
    engine.run(desk.batches.receive(new_batch(ana, key="k"), ()))
    again = engine.run(desk.batches.receive(new_batch(ana, "other", "k"), ()))
    assert again.batch_id == NUMBER
    others = engine.run(desk.batches.receive(new_batch(bruno, "of-bruno", "k"), ()))
    assert others.batch_id == "of-bruno"
    assert engine.run(desk.batches.batch(NUMBER, bruno.account_id)) is None
    assert [one.batch_id for one in engine.run(desk.batches.page(ana.account_id, 9))] == [NUMBER]


def test_a_batch_ends_when_no_row_is_open(engine: Engine, desk: Desk, ana: Account) -> None:
    running(engine, desk, ana, 9, [a_row(2)])

    def also(connection: SqlConnection) -> None:
        end_ceiling(connection, ana.account_id, NUMBER, NOW)

    assert not engine.run(desk.batches.end(NUMBER, "concluido", NOW, also))
    assert engine.run(desk.batches.stop(NUMBER, ()))
    assert engine.run(desk.batches.cancel_rows(NUMBER, NOW)) == 1
    assert engine.run(desk.batches.end(NUMBER, "encerrado", NOW, also))
    assert shown(engine, desk).state == "encerrado"
    assert not engine.run(desk.batches.stop(NUMBER, ()))
    with pytest.raises(engine.wall):
        engine.sql("UPDATE batch SET state = 'executando'")
    with pytest.raises(engine.wall):
        engine.sql("UPDATE batch_row SET state = 'concluida'")
    agree(desk)


def test_a_batch_still_adds_up_after_an_erasure(engine: Engine, desk: Desk, ana: Account) -> None:
    person = data_subject(PEPPER, CPF)
    mine: dict[str, Any] = {"document": "***", "document_hash": person.document_hash}
    running(engine, desk, ana, 9, [a_row(2, **mine), a_row(3, **mine), a_row(4)])
    ended = moved(ana, 2, "concluida", "r1", 1)
    assert engine.commit(desk, of_batch_charge(ana, "r1"), ended) is None
    held, _ = engine.run(desk.data_subjects.erase(person, NOW))
    assert [row.line for row in held.rows] == [2, 3]
    assert desk.data_subjects.held(person).rows == []
    found = [*desk.batches.results(NUMBER)]
    assert [(row.state, row.document, row.cells, row.answer) for row in found] == [
        ("concluida", "apagado", None, None), ("cancelada", "apagado", None, None),
        ("pendente", "90010001000100", b"cells", None),
    ]  # fmt: skip
    assert shown(engine, desk).spent == 1
    agree(desk)


def test_old_data_are_erased_and_the_counts_stay(engine: Engine, desk: Desk, ana: Account) -> None:
    engine.run(desk.batches.store_piece(NUMBER, 0, b"piece", NOW))
    engine.run(desk.batches.store_piece("nobody's", 0, b"piece", NOW))
    running(engine, desk, ana, 9, [a_row(2)])
    assert not engine.run(desk.batches.erase(NUMBER, NOW)), "it is not over"
    ended = moved(ana, 2, "concluida", "r1", 1)
    assert engine.commit(desk, of_batch_charge(ana, "r1"), ended) is None
    assert engine.run(desk.batches.end(NUMBER, "concluido", NOW))
    assert engine.run(desk.batches.outdated(NOW)) == []
    assert engine.run(desk.batches.outdated(NOW + 1)) == [NUMBER]
    assert engine.run(desk.batches.erase(NUMBER, NOW + 1))
    assert engine.run(desk.batches.outdated(NOW + 2)) == []
    assert engine.run(desk.batches.rows(NUMBER, 0, 9)) == []
    assert (shown(engine, desk).spent, shown(engine, desk).name) == (1, "")
    assert engine.run(desk.batches.purge_pieces(NOW + 1)) == 1
    agree(desk)


def test_an_interrupted_erasure_still_adds_up_and_is_resumed(
    engine: Engine, desk: Desk, ana: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    running(engine, desk, ana, 9, [a_row(2)])
    ended = moved(ana, 2, "concluida", "r1", 1)
    assert engine.commit(desk, of_batch_charge(ana, "r1"), ended) is None
    assert engine.run(desk.batches.end(NUMBER, "concluido", NOW))

    async def cut_short(batch_id: str) -> None:
        raise StorageFailed("cut short")

    noted: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(desk.batches, "forget_pieces", cut_short)
        for _ in range(2):  # a repeated request has the same result
            with pytest.raises(StorageFailed):
                engine.run(desk.batches.erase(NUMBER, NOW, lambda _: noted.append("done")))
    assert noted == ["done"]
    assert engine.run(desk.batches.rows(NUMBER, 0, 9)) == []
    agree(desk)
    assert shown(engine, desk).erased_ms is None
    (job,) = engine.run(desk.jobs.counts())
    assert job.kind == ERASE
    engine.run(desk.batches.erase_rest(NUMBER, NOW + 1))
    engine.run(desk.batches.erase_rest(NUMBER, NOW + 2))
    assert shown(engine, desk).erased_ms == NOW + 1
    agree(desk)


def test_quotes_expire(engine: Engine, desk: Desk, ana: Account) -> None:
    engine.run(desk.batches.receive(new_batch(ana), ()))
    engine.run(desk.batches.begin(NUMBER))
    quote = BatchQuote("d", 0, 0, 0, 0, NOW, NOW + 1)
    engine.run(desk.batches.quote(NUMBER, quote, state="validando"))
    assert engine.run(desk.batches.unconfirmed(NOW)) == []
    assert engine.run(desk.batches.unconfirmed(NOW + 1)) == [NUMBER]
    assert engine.run(desk.batches.expire(NUMBER, NOW + 1))
    assert shown(engine, desk).state == "expirado"
    kinds = [event.kind for event in desk.events.after(ana.account_id, 0, 9)]
    assert kinds == ["lote.cotado", "lote.concluido"]
