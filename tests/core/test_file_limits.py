"""Limits of files: which upload may come, which unread file goes, which one is read next."""

import pytest

from balcao.core.file_limits import (
    READERS_BYTES,
    READING_AT_ONCE,
    SMALL_FILE_BYTES,
    FileLimits,
    FilesKept,
    ReadingFile,
    SharedLimits,
    UnreadFile,
    UploadLimit,
    WaitingFile,
    decayed,
    exceeded_byte_limit,
    exceeded_count_limit,
    files_to_drop,
    is_disk_short,
    next_file,
    reading_time,
)

LIMITS = FileLimits(
    file_bytes=10, kept_bytes=100, open_batches=5, unread_files=2, cells=1, result_files=1
)
SHARED = SharedLimits(kept_bytes=1_000, disk_free_bytes=50)
LARGE = SMALL_FILE_BYTES + 1


def kept(
    own: int = 0, batches: int = 0, unread: int = 0, everybody: int = 0, free: int | None = 10_000
) -> FilesKept:
    return FilesKept(own, batches, unread, everybody, free)


@pytest.mark.parametrize(
    ("now", "over"),
    [
        (kept(), None),
        (kept(batches=4, unread=1), None),
        (kept(batches=4, unread=2), "unread"),
        (kept(batches=5, unread=1), "open"),
        (kept(batches=9, unread=9), "unread"),
    ],
)
def test_one_more_file(now: FilesKept, over: UploadLimit | None) -> None:
    assert exceeded_count_limit(LIMITS, now) == over


@pytest.mark.parametrize(
    ("now", "more", "over"),
    [
        (kept(own=90), 10, None),
        (kept(own=90), 11, "kept"),
        (kept(everybody=990), 10, None),
        (kept(everybody=991), 10, "all"),
        (kept(free=60), 10, None),
        (kept(free=59), 10, "disk"),
        (kept(free=None), 10, None),
        (kept(free=49), 0, "disk"),
        (kept(own=100, everybody=1_000, free=0), 1, "kept"),
    ],
)
def test_more_bytes(now: FilesKept, more: int, over: UploadLimit | None) -> None:
    assert exceeded_byte_limit(LIMITS, SHARED, now, more) == over


def test_the_disk_is_short_at_half_of_what_uploads_need() -> None:
    assert [is_disk_short(SHARED, free) for free in (None, 26, 25, 24)] == [
        False, False, False, True,
    ]  # fmt: skip


def test_files_of_plans_that_pay_nothing_go_first_then_the_largest() -> None:
    files = [
        UnreadFile("paid", 900, True),
        UnreadFile("small", 10, False),
        UnreadFile("large", 500, False),
    ]
    assert files_to_drop(files, 0) == []
    assert files_to_drop(files, 400) == ["large"]
    assert files_to_drop(files, 505) == ["large", "small"]
    assert files_to_drop(files, 9_999) == ["large", "small", "paid"]


def choice(
    *waiting: tuple[int, int, int],
    reading: tuple[ReadingFile, ...] = (),
    used: dict[int, float] | None = None,
    memory: int = 1,
) -> int | None:
    """The account that is next. Waiting: account, bytes, since when."""
    files = [WaitingFile(job_id, *each) for job_id, each in enumerate(waiting)]
    chosen = next_file(files, reading, used or {}, {each.job_id: memory for each in files})
    return None if chosen is None else files[chosen].account_id


def test_nothing_waits() -> None:
    assert choice() is None


def test_small_files_first_then_the_oldest() -> None:
    assert choice((1, 50, 1), (2, 40, 9)) == 2
    assert choice((1, 50, 9), (2, 50, 1)) == 2


def test_the_account_that_used_least_comes_first_however_large_its_file() -> None:
    assert choice((1, 1, 1), (2, 90_000, 9), used={1: 0.2}) == 2
    assert choice((1, 1, 1), (2, 90_000, 9), used={1: 0.2, 2: 0.3}) == 1


def test_one_file_of_an_account_at_a_time() -> None:
    reading = (ReadingFile(1, 10, 1),)
    assert choice((1, 1, 1), reading=reading) is None
    assert choice((1, 1, 1), (2, 5, 2), reading=reading) == 2


def test_the_last_place_is_for_small_files() -> None:
    large = tuple(ReadingFile(number, LARGE, 1) for number in range(READING_AT_ONCE - 1))
    assert choice((8, LARGE, 1), reading=large[1:]) == 8
    assert choice((8, LARGE, 1), reading=large) is None
    assert choice((8, LARGE, 1), (9, SMALL_FILE_BYTES, 1), reading=large) == 9
    assert choice((9, 1, 1), reading=(*large, ReadingFile(8, 1, 1))) is None


def test_readers_share_their_memory() -> None:
    most = READERS_BYTES
    reading = (ReadingFile(1, LARGE, most - 5),)
    assert choice((2, 1, 1), reading=reading, memory=6) is None
    assert choice((2, 1, 1), reading=reading, memory=5) == 2
    assert choice((2, 1, 1), memory=most + 1) == 2  # alone it may


def test_reading_time_is_forgotten_by_half_in_a_minute() -> None:
    assert decayed(8.0, 60) == 4.0
    assert decayed(8.0, 180) == 1.0
    assert decayed(8.0, -5) == 8.0
    assert reading_time(8.0, 60, 2.0) == 6.0
    assert reading_time(0.0, 0, 0.0) > 0  # each file counts
