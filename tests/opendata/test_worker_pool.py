"""The processes of an import: order, errors, crashes."""

import os
import signal

import pytest

from balcao.cli.progress import RichProgress
from balcao.opendata.errors import BadInput, OpenDataError
from balcao.opendata.progress import downloading
from balcao.opendata.worker_pool import Report, WorkerPool


def square(number: int, report: Report) -> int:
    report("file", number, 1)
    return number * number


def refuse(number: int, report: Report) -> int:
    raise BadInput(f"zip {number} is damaged")


def stumble(number: int, report: Report) -> int:
    raise ZeroDivisionError


def die(number: int, report: Report) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.parametrize("workers", [0, 2])
def test_results_come_in_the_order_of_the_tasks(workers: int) -> None:
    reported: list[int] = []
    with WorkerPool(workers) as pool:
        results = pool.run(square, range(20), lambda _, done, rows: reported.append(done * rows))
        assert list(results) == [n * n for n in range(20)]
        assert list(pool.run(square, [7], ignore_report)) == [49]
        assert list(pool.run(square, [], ignore_report)) == []
    assert sorted(reported) == list(range(20))


def ignore_report(file: str, done: int, rows: int) -> None:
    """A report callback that does nothing."""


@pytest.mark.parametrize("workers", [0, 1])
def test_an_error_of_a_worker_is_raised_here(workers: int) -> None:
    with WorkerPool(workers) as pool, pytest.raises(BadInput, match="zip 3 is damaged"):
        list(pool.run(refuse, [3], ignore_report))


def test_an_unexpected_error_has_its_trace() -> None:
    with WorkerPool(1) as pool, pytest.raises(RuntimeError, match="in stumble"):
        list(pool.run(stumble, [3], ignore_report))


def test_the_death_of_a_worker_is_noticed() -> None:
    with (
        WorkerPool(2) as pool,
        pytest.raises(OpenDataError, match="um processo da importação morreu"),
    ):
        list(pool.run(die, [1, 2, 3], ignore_report))


def test_progress_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    with RichProgress() as progress:
        progress.advance("too early", 1, 1)
        progress.begin("Lendo", 1000)
        progress.advance("Empresas0.zip", 400, 12_345)
        progress.begin("Ordenando", 10)
        progress.advance("Empresas0.zip", 10, 1)
    drawn = capsys.readouterr().out
    assert "Lendo" in drawn
    assert "12.345 linhas" in drawn
    assert "Ordenando" in drawn


def test_a_line_of_progress_fits_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with RichProgress() as progress:
        for phase in ("Ordenando estabelecimentos", "Verificando"):
            progress.begin(phase, 2_000_000_000)
            progress.advance("Estabelecimentos0.zip", 1_999_000_000, 69_123_456)
    sorting, verifying = capsys.readouterr().out.splitlines()
    assert max(len(sorting), len(verifying)) <= 80
    assert "69.123.456 linhas, " in sorting
    assert "69.123.456 CNPJs, " in verifying
    assert sorting.count("/s") == verifying.count("/s") == 1


def test_a_download_is_drawn_in_bytes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with RichProgress() as progress:
        progress.begin(downloading("2026-11"), 7_700_000_000)
        progress.advance("Estabelecimentos0.zip", 6_000_000_000, 0)
        progress.advance("Estabelecimentos0.zip", -1_000_000_000, 0)  # it restarted
    (drawn,) = capsys.readouterr().out.splitlines()
    assert len(drawn) <= 80
    assert "Baixando 2026-11" in drawn
    assert "5.000 MB, " in drawn
    assert "linhas" not in drawn
