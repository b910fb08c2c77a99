"""States of batches and rows, case by case (contract 13)."""

import pytest

from balcao.core.batches import (
    BATCH_STATES,
    FINISHED_STATES,
    TRANSITIONS,
    TRIES_MAX,
    BatchQuote,
    BatchState,
    RowState,
    RowStatus,
    RowTally,
    can_move,
    can_transition,
    expected_credits,
    expected_seconds,
    quote_digest,
    row_of_key,
    state_after,
)

DRAWN = {
    ("recebido", "validando"),
    ("validando", "cotado"),
    ("validando", "recusado"),
    ("cotado", "executando"),
    ("cotado", "encerrando"),
    ("cotado", "expirado"),
    ("executando", "pausado"),
    ("executando", "concluido"),
    ("executando", "encerrando"),
    ("pausado", "executando"),
    ("pausado", "encerrando"),
    ("encerrando", "encerrado"),
}


def test_the_arrows_are_those_of_the_drawing() -> None:
    found = {
        (one, other) for one in BATCH_STATES for other in BATCH_STATES if can_transition(one, other)
    }
    assert found == DRAWN
    assert {state for state in BATCH_STATES if not TRANSITIONS[state]} == FINISHED_STATES


@pytest.mark.parametrize(
    ("before", "to", "by", "may"),
    [
        (RowStatus("pendente"), "em_andamento", "me", True),
        (RowStatus("pendente"), "concluida", "me", True),  # available
        (RowStatus("pendente"), "falha", "me", True),
        (RowStatus("pendente"), "pendente", "me", False),
        (RowStatus("em_andamento", "me", 2), "concluida", "me", True),
        (RowStatus("em_andamento", "me", 2), "pendente", "me", True),
        (RowStatus("em_andamento", "me", 2), "em_andamento", "me", False),
        (RowStatus("em_andamento", "me", 2), "concluida", "other", False),
        (RowStatus("concluida", "me", 2), "concluida", "me", False),
        (RowStatus("cancelada"), "concluida", "me", False),
        (RowStatus("repetida"), "em_andamento", "me", False),
        (None, "concluida", "me", False),
    ],
)
def test_who_may_make_what_of_a_row(
    before: RowStatus | None, to: RowState, by: str, may: bool
) -> None:
    assert can_move(before, to, by) is may


@pytest.mark.parametrize(
    ("status", "tries", "end"),
    [
        (200, 0, "concluida"),
        (404, 0, "concluida"),
        (403, 0, "recusada"),
        (400, 0, "falha"),
        (500, 0, "falha"),
        (503, 0, "pendente"),
        (503, TRIES_MAX - 2, "pendente"),
        (503, TRIES_MAX - 1, "falha"),
    ],
)
def test_what_a_reply_makes_of_its_row(status: int, tries: int, end: RowState) -> None:
    assert state_after(status, tries) == end


def test_a_digest_is_of_rows_prices_operation_and_parameters() -> None:
    usual = (b"rows", "tariff", "operation", "uf=SP")
    assert quote_digest(*usual) == quote_digest(*usual)
    others = [
        (b"other", *usual[1:]),
        (b"rows", "other", *usual[2:]),
        (b"rows", "tariff", "other", "uf=SP"),
        (*usual[:3], "uf=RJ"),
        (b"rowst", "ariff", *usual[2:]),
    ]
    assert len({quote_digest(*each) for each in (usual, *others)}) == 6


@pytest.mark.parametrize(
    ("past", "expected"),
    [
        (RowTally(99, 99), None),
        (RowTally(100, 150), 15),
        (RowTally(100, 900), 20),  # no more than the quote's own
        (RowTally(1_000, 0), 5),
    ],
)
def test_what_is_expected_needs_a_hundred_rows(past: RowTally, expected: int | None) -> None:
    quote = BatchQuote("d", 5, 20, 10, 5, 0, 1)
    assert expected_credits(past, quote) == expected


def test_a_quote_says_how_many_may_have_to_be_asked() -> None:
    assert BatchQuote("d", 5, 20, 10, 4, 0, 1).to_ask == 6


@pytest.mark.parametrize(
    ("at_hand", "usual", "places", "seconds"),
    [
        (20_000, [], 8, 4),  # 0.2 ms a row
        (20_000, [(5, None)], 8, 4),
        (10_000, [(10_000, 500.0)], 8, 629),  # 1,250 turns of half a second, and the rows
        (10_000, [(10_000, 500.0)], 16, 317),
        (10_000, [(7_500, 400.0), (2_500, 800.0), (0, 9_000.0)], 8, 629),  # who comes second: no
        (10_000, [(5_000, 500.0), (5_000, None)], 8, 629),  # as those that are known
        (10_000, [(10_000, None)], 8, None),
        (10_000, [], 8, None),
    ],
)
def test_how_long_it_will_take(
    at_hand: int, usual: list[tuple[int, float | None]], places: int, seconds: int | None
) -> None:
    quote = BatchQuote("d", 5, 20, 20_000, at_hand, 0, 1)
    assert expected_seconds(quote, usual, places) == seconds


def test_states_are_written_once() -> None:
    states: set[BatchState] = set(BATCH_STATES)
    assert len(states) == len(BATCH_STATES) == 10


@pytest.mark.parametrize(
    ("key", "row"),
    [
        ("lote/a/2", ("a", 2)),
        ("lote/a/2/3", None),
        ("lote/a/x", None),
        ("lote/a/²", None),
        ("outro/a/2", None),
    ],
)
def test_the_key_of_a_row(key: str, row: tuple[str, int] | None) -> None:
    assert row_of_key(key) == row
