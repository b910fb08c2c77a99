"""The same request twice is one lookup and one charge (decisions 2.9, 6)."""

import pytest

from balcao.core.idempotency import Attempt, Recorded, admit, digest, is_valid_key
from balcao.errors import IdempotencyKeyReused, ResultUnavailable, StillRunning

NOW = 1_000_000
DEADLINE_MS = 25_000
ANSWER = Recorded("r1", 200, b"{}")
FINISHED = Attempt("same", "finished", ANSWER)
RUNNING = Attempt("same", "running", None, bound_ms=NOW - 4_500)
DIED = Attempt("same", "died", None)


def test_a_new_key_goes_on() -> None:
    assert admit(None, "same", NOW, DEADLINE_MS) is None


def test_a_finished_request_is_answered_as_it_was() -> None:
    assert admit(FINISHED, "same", NOW, DEADLINE_MS) is ANSWER


def test_a_running_one_is_told_to_wait() -> None:
    with pytest.raises(StillRunning) as waiting:
        admit(RUNNING, "same", NOW, DEADLINE_MS)
    # Begun 4.5 s ago, it may go on for 20.5 s and then has to commit.
    assert waiting.value.retry_in_seconds == 22


def test_the_answer_of_one_that_died_cannot_be_had() -> None:
    with pytest.raises(ResultUnavailable):
        admit(DIED, "same", NOW, DEADLINE_MS)


@pytest.mark.parametrize("earlier", [FINISHED, RUNNING, DIED])
def test_another_request_under_the_same_key_is_refused_first(earlier: Attempt) -> None:
    with pytest.raises(IdempotencyKeyReused):
        admit(earlier, "other", NOW, DEADLINE_MS)


@pytest.mark.parametrize("key", ["12345678", "x" * 128, '"quoted-key"', "!~!~!~!~"])
def test_keys_of_8_to_128_visible_characters(key: str) -> None:
    assert is_valid_key(key)


@pytest.mark.parametrize(
    "key", ["", "1234567", "x" * 129, "with space", "tab\tinside", "çedilha-ç", "del\x7fdelete"]
)
def test_other_keys_are_refused(key: str) -> None:
    assert not is_valid_key(key)


def test_a_digest_tells_texts_apart_and_shows_none_of_them() -> None:
    assert digest("chave-1") == digest("chave-1")
    assert digest("chave-1") != digest("chave-2")
    assert "chave" not in digest("chave-1")
    assert len(digest("x" * 10_000)) == len(digest("")) == 32
