"""What is remembered is bounded, and what comes once is told from what comes again."""

import pytest

from balcao.core.memo import Doorkeeper, Memo


def test_what_is_not_used_for_two_turns_is_forgotten() -> None:
    memo: Memo[str, int] = Memo(100)
    memo.put("used", 1)
    memo.put("unused", 2)
    memo.turn()
    assert memo.get("used") == 1
    memo.turn()
    assert memo.get("used") == 1
    assert memo.get("unused") is None


def test_a_memo_stays_small() -> None:
    memo: Memo[int, int] = Memo(10)
    for number in range(1_000):
        memo.put(number, number)
    assert sum(memo.get(number) is not None for number in range(1_000)) <= 10
    assert memo.get(999) == 999


def test_a_doorkeeper_knows_who_came_before() -> None:
    door = Doorkeeper(1_024)
    assert not door.knows("a")
    assert door.knows("a")
    assert door.knows("a")


def test_few_strangers_pass() -> None:
    """A key is a stranger whose mark another one made: the marks are eight times the keys."""
    door = Doorkeeper(1_024)
    keys = [f"{number}".encode() for number in range(1_024)]
    assert sum(map(door.knows, keys)) < 200
    assert all(map(door.knows, keys))


def test_a_doorkeeper_forgets_all_when_it_has_seen_as_many_as_it_may() -> None:
    door = Doorkeeper(2)
    seen = [door.knows(each) for each in (1, 2, 3, 1)]
    assert seen == [False, False, False, False], "the third began anew"
    with pytest.raises(AssertionError):
        Doorkeeper(3)
