"""After power cuts at random writes and syncs, everything acknowledged before is stored."""

import asyncio
import copy
import random
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from balcao.storage.sqlite import files, writer
from balcao.storage.sqlite.desk import SqliteDesk
from tests.crash import worker
from tests.crash.driver import Promises, inspect, prepare
from tests.crash.power import Disk, watched_disk

CUTS = 40
INSTANTS_APART = 10  # on average, in writes and syncs
CLIENTS = 8


@dataclass(frozen=True)
class Cut:
    """A copy of the disk as a power cut leaves it, and what was acknowledged before."""

    folder: Path
    promises: Promises


def work_and_cut(folder: Path, seed: str, monkeypatch: pytest.MonkeyPatch) -> list[Cut]:
    """Let clients work on a recorded disk; return copies of it, cut at random instants."""
    dice = random.Random(seed)
    cuts: list[Cut] = []
    enough = threading.Event()
    with watched_disk() as disk:
        promises = prepare(folder / "balcao.db")

        def report_line(*words: object) -> None:
            with disk.lock:
                promises.note(" ".join(map(str, words)))

        monkeypatch.setattr(worker, "report_line", report_line)

        def at_any_instant() -> None:
            if len(cuts) == CUTS:
                enough.set()
            elif dice.randrange(INSTANTS_APART) == 0:
                cuts.append(cut_now(disk, folder / f"cut-{len(cuts)}", promises, dice))

        disk.at_any_instant = at_any_instant
        desk = SqliteDesk(folder / "balcao.db")
        try:
            asyncio.run(serve_until(desk, enough, seed))
        finally:
            desk.close()
    return cuts


def cut_now(disk: Disk, folder: Path, promises: Promises, dice: random.Random) -> Cut:
    # Copy the promises first: the disk may already contain later ones.
    cut = Cut(folder, copy.deepcopy(promises))
    folder.mkdir()
    disk.cut(folder, dice)
    return cut


async def serve_until(desk: SqliteDesk, enough: threading.Event, seed: str) -> None:
    accounts = desk.accounts()
    clients = [worker.Client(f"{seed}-{number}", desk, accounts) for number in range(CLIENTS)]
    work = asyncio.gather(*(client.work() for client in clients))
    end = asyncio.ensure_future(asyncio.to_thread(enough.wait))
    either: list[asyncio.Future[Any]] = [work, end]
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    enough.set()
    work.cancel()
    with suppress(asyncio.CancelledError):
        await work


def test_a_power_cut_loses_nothing_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "WAL_PAGES_MAX", 20)  # many checkpoints
    cuts = work_and_cut(tmp_path, "power", monkeypatch)

    assert len(cuts) == CUTS
    for cut in cuts:
        inspect(cut.folder / "balcao.db", cut.promises)
    assert len(cuts[-1].promises) > 50, "nobody got to do anything"


@pytest.mark.parametrize("share", [0.25, pytest.param(1.0, marks=pytest.mark.nightly)])
def test_a_power_cut_during_the_first_start_leaves_a_usable_folder(
    tmp_path: Path, share: float
) -> None:
    dice, cuts = random.Random("first start"), list[Path]()

    def cut() -> None:
        if dice.random() >= share:
            return
        cuts.append(tmp_path / f"cut-{len(cuts)}")
        cuts[-1].mkdir()
        disk.cut(cuts[-1], dice)

    with watched_disk() as disk:
        disk.at_any_instant = cut
        promises = prepare(tmp_path / "balcao.db")

    assert len(cuts) > 20
    for folder in cuts:
        assert inspect(folder / "balcao.db", Promises()) == (0, 0)
    disk.cut(tmp_path, dice)
    inspect(tmp_path / "balcao.db", promises)


def test_a_desk_that_does_not_sync_is_detected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The simulated disk detects missing syncs: synchronous=NORMAL fails."""
    connect = files.connect
    monkeypatch.setattr(
        "balcao.storage.sqlite.engine.connect",
        lambda path, *, synchronous: connect(path, synchronous="NORMAL"),
    )
    cuts = work_and_cut(tmp_path, "lazy", monkeypatch)

    broken = 0
    for cut in cuts:
        try:
            inspect(cut.folder / "balcao.db", cut.promises)
        except AssertionError:
            broken += 1
    assert broken > 0
