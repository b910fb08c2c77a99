"""After kills at random instants nothing acknowledged is lost, and nothing is charged twice."""

import asyncio
import random
from pathlib import Path

import pytest

from balcao.core.ledger import KeepReceipt
from balcao.core.receipts import digest_of
from balcao.storage.blobs import open_blobs
from balcao.storage.sqlite.desk import SqliteDesk
from tests.crash.driver import compare, compare_receipts, kill_once, prepare

CYCLES = 5  # `python -m bench.crash --cycles 50` is the long one


def test_a_killed_process_loses_nothing_acknowledged(tmp_path: Path) -> None:
    database, dice = tmp_path / "balcao.db", random.Random()
    promises = prepare(database)
    cycles = [kill_once(database, f"c{number}", promises, dice) for number in range(CYCLES)]
    assert sum(cycle.acknowledged for cycle in cycles) > 0, "nobody got to do anything"


def test_a_lost_charge_is_detected(tmp_path: Path) -> None:
    """The comparison detects lost data."""
    promises = prepare(tmp_path / "balcao.db")
    desk = SqliteDesk(tmp_path / "balcao.db")
    assert compare(desk, promises) == 0

    promises.note("charged 1 never-made 3")
    with pytest.raises(AssertionError, match="never-made"):
        compare(desk, promises)
    promises.charged.clear()

    promises.note("topped-up 1 never-given 3")
    with pytest.raises(AssertionError, match="never-given"):
        compare(desk, promises)
    del promises.topped_up["never-given"]

    promises.note("bound 1 never-bound key")
    with pytest.raises(AssertionError, match="never-bound"):
        compare(desk, promises)
    desk.close()


def test_a_receipt_without_its_bytes_is_detected(tmp_path: Path) -> None:
    promises = prepare(tmp_path / "balcao.db")
    desk, folder = SqliteDesk(tmp_path / "balcao.db"), tmp_path / "receipts"
    digest = digest_of(b"bytes")
    record = KeepReceipt("number", 1, "op", digest, "application/pdf", 5, 0)
    asyncio.run(open_blobs(folder).put(digest, b"bytes"))
    compare_receipts(desk, promises, folder)  # bytes without a record: a crash may leave those

    promises.note(f"kept 1 number {digest}")
    with pytest.raises(AssertionError, match="receipt number is gone"):
        compare_receipts(desk, promises, folder)
    desk.commit_now([record])
    compare_receipts(desk, promises, folder)

    file = folder / digest[:2] / digest
    file.write_bytes(b"byte")
    with pytest.raises(AssertionError, match="half a receipt"):
        compare_receipts(desk, promises, folder)
    file.unlink()
    with pytest.raises(AssertionError, match="not there"):
        compare_receipts(desk, promises, folder)
    desk.close()
