"""A repeated request is one lookup and one charge (contract 2.9, 6)."""

import pytest

from balcao.core.errors import IdempotencyKeyReused, ResultUnavailable, StillRunning
from balcao.core.idempotency import IdempotencyRecord, RecordedAnswer, admit, digest, is_valid_key

NOW = 1_000_000
DEADLINE_MS = 25_000
NOW = 1_785_000_000_000
DEADLINE_MS = 25_000

ANSWER = RecordedAnswer("r1", 200, b"{}")
FINISHED = IdempotencyRecord("same", "finished", ANSWER)
RUNNING = IdempotencyRecord("same", "running", None, bound_ms=NOW)
DIED = IdempotencyRecord("same", "died", None)


def admitted(
    earlier: IdempotencyRecord | None, fingerprint: str = "same", now_ms: int = NOW
) -> object:
    return admit(earlier, fingerprint, now_ms, DEADLINE_MS)


def test_a_new_key_goes_on() -> None:
    assert admitted(None) is None


def test_a_finished_request_is_answered_as_it_was() -> None:
    assert admitted(FINISHED) is ANSWER


@pytest.mark.parametrize("after_ms", [0, 1, 999, 1_000, 24_999, 25_000, 60_000])
def test_retry_after_outlasts_the_first_execution(after_ms: int) -> None:
    """`Retry-After` covers the deadline of the sources and a commit (contract 1.8)."""
    with pytest.raises(StillRunning) as waiting:
        admitted(RUNNING, now_ms=NOW + after_ms)
    seconds = waiting.value.retry_in_seconds
    assert seconds >= 1
    assert after_ms + seconds * 1_000 > DEADLINE_MS
    assert seconds <= DEADLINE_MS / 1_000 + 5, "and not much longer"


def test_the_answer_of_one_that_died_cannot_be_had() -> None:
    with pytest.raises(ResultUnavailable):
        admitted(DIED)


@pytest.mark.parametrize("earlier", [FINISHED, RUNNING, DIED])
def test_another_request_under_the_same_key_is_refused_first(earlier: IdempotencyRecord) -> None:
    with pytest.raises(IdempotencyKeyReused):
        admitted(earlier, "other")


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
