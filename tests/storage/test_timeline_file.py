"""The file of timelines in the data folder."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from balcao.storage.postgresql import timeline
from balcao.storage.postgresql.timeline import OldTimeline, Timelines

CLUSTER = 7


def check(timelines: Timelines, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    connection: Any = None
    monkeypatch.setattr(timeline, "place_of", lambda _: (CLUSTER, number))
    timelines.check(connection)


def test_a_full_disk_keeps_the_old_file_and_no_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "timelines.json"
    timelines = Timelines()
    timelines.keep_in(file)
    check(timelines, 2, monkeypatch)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        check(timelines, 3, monkeypatch)
    assert list(tmp_path.iterdir()) == [file]
    anew = Timelines()
    anew.keep_in(file)
    with pytest.raises(OldTimeline):
        check(anew, 1, monkeypatch)
    check(anew, 2, monkeypatch)
