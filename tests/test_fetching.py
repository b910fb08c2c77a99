"""The schedule of automatic fetching, and its measurements."""

import asyncio
import sys
from datetime import datetime
from pathlib import Path

import msgspec
import pytest

from balcao.core.calendar import BRASILIA, from_ms, to_ms
from balcao.observability.metrics import FETCH_STATES, Metrics
from balcao.opendata.fetching.state import STANDINGS, FetchState, StateFile
from balcao.service.compose import open_application
from balcao.service.fetching import POLL_SECONDS_MAX, RETRY_MS, MonthFetching
from balcao.settings import Settings

NIGHT_MS = to_ms(datetime(2026, 11, 22, 3, 30, tzinfo=BRASILIA))
HOUR_MS = 3_600_000


class FetchingHarness:
    """A service's fetching, whose command only counts its calls."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, code: int = 0) -> None:
        self.folder, self.now_ms = folder, NIGHT_MS
        self.store = folder / "live"
        self.store.mkdir()
        stand_in = folder / "python"
        stand_in.write_text(f'#!/bin/sh\necho "$@" >> {folder}/runs\nexit {code}\n')
        stand_in.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(stand_in))
        self.fetching = MonthFetching(self.store, lambda: self.now_ms, lambda below: below // 2)

    def look(self) -> float:
        return asyncio.run(self.fetching.poll())

    def says(self, state: FetchState) -> None:
        (self.store / "fetch.json").write_bytes(msgspec.json.encode(state))

    @property
    def runs(self) -> int:
        runs = self.folder / "runs"
        return len(runs.read_text().splitlines()) if runs.is_file() else 0


def test_it_runs_once_a_night_at_its_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = FetchingHarness(tmp_path, monkeypatch)
    assert house.look() == POLL_SECONDS_MAX, "it is 3:30, and its minute is 4:00"
    assert house.runs == 0
    house.now_ms += HOUR_MS // 2 - 60_000
    assert house.look() == 60
    house.now_ms += 60_000
    house.look()
    assert (
        tmp_path / "runs"
    ).read_text() == "-P -m balcao.service.command_process opendata fetch --background\n"
    house.says(FetchState("esperando_mes", from_ms(house.now_ms)))
    house.now_ms += HOUR_MS
    house.look()
    assert house.runs == 1, "the state says that it was looked"
    house.now_ms += 24 * HOUR_MS
    house.look()
    assert house.runs == 2


def test_an_interrupted_run_is_resumed_at_once_but_not_forever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = FetchingHarness(tmp_path, monkeypatch, code=137)
    house.says(FetchState("importando", from_ms(NIGHT_MS - HOUR_MS), "2026-11"))
    house.look()
    house.look()
    assert house.runs == 1, "it died again: not every few minutes"
    house.now_ms += RETRY_MS
    house.look()
    assert house.runs == 2


def test_an_incomplete_month_is_checked_when_it_may_be_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = FetchingHarness(tmp_path, monkeypatch)
    at = from_ms(NIGHT_MS - HOUR_MS // 4)
    house.says(FetchState("incompleto", at, "2026-11", again_at=from_ms(NIGHT_MS + 120_000)))
    assert house.look() == 120
    house.now_ms += 120_000
    house.look()
    assert house.runs == 1


def test_a_manual_run_is_not_disturbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house = FetchingHarness(tmp_path, monkeypatch)
    house.now_ms += HOUR_MS
    with StateFile(house.store, lambda: house.now_ms) as state_file:
        state_file.update("baixando", month="2026-11")
        assert house.look() == POLL_SECONDS_MAX
    assert house.runs == 0


def test_measurements() -> None:
    assert FETCH_STATES == STANDINGS
    metrics = Metrics()
    assert b"balcao_opendata" not in metrics.exposition()
    metrics.month = lambda: (46, ("baixando", 37, 100))
    answer = metrics.exposition().decode()
    assert "balcao_opendata_age_days 46.0" in answer
    assert 'balcao_opendata_fetch_state{state="baixando"} 1.0' in answer
    assert 'balcao_opendata_fetch_state{state="falhou"} 0.0' in answer
    assert "balcao_opendata_fetch_bytes 37.0" in answer
    assert "balcao_opendata_fetch_bytes_expected 100.0" in answer


@pytest.mark.parametrize("wanted", [True, False])
def test_it_can_be_disabled(tmp_path: Path, wanted: bool) -> None:
    settings = Settings(home=tmp_path, opendata_fetch=wanted, disk_reserve_mb=0)
    application = open_application(settings)
    try:
        assert ("fetch" in application.front.metrics.work()) is wanted
    finally:
        application.close()
