"""Progress of an import, read by other processes; and the months available for a rollback."""

import errno
import fcntl
import json
import os
from datetime import date, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

from balcao.opendata import importer
from balcao.opendata.errors import BadInput, BuildRunning, OpenDataError
from balcao.opendata.importer import build, rollback
from balcao.opendata.progress import Listeners, ProgressListener
from balcao.opendata.progress_file import FileProgress, ImportProgress, read_progress
from balcao.opendata.snapshot import Edition
from balcao.opendata.store import Month as Stored
from balcao.opendata.store import is_building, months
from tests.opendata.months import DAY, TODAY, Month
from tests.opendata.test_import import JULY, Events, kill_a_build

STARTED_MS = 1_790_780_400_000  # 30/09/2026 12:00 in Brasília


class Clocks:
    """The two clocks of a `FileProgress`, moved by hand."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def clock(self) -> float:
        return self.seconds

    def now_ms(self) -> int:
        return STARTED_MS + round((self.seconds - 100) * 1000)


class Held:
    """Holds the store's lock, as an import does."""

    def __init__(self, folder: Path) -> None:
        self.file = (folder / "lock").open("w")
        fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self.file.close()


def progress_in(folder: Path, clocks: Clocks) -> FileProgress:
    return FileProgress(folder, DAY, now_ms=clocks.now_ms, clock=clocks.clock)


def written(folder: Path) -> Any:
    return json.loads((folder / "progress.json").read_bytes())


def read(folder: Path) -> ImportProgress:
    progress = read_progress(folder)
    assert progress is not None
    return progress


def test_written_progress_is_read(tmp_path: Path) -> None:
    clocks = Clocks()
    with Held(tmp_path), progress_in(tmp_path, clocks) as progress:
        at_first = read(tmp_path)
        assert (at_first.state, at_first.phase, at_first.share) == ("running", "Preparando", None)
        clocks.seconds += 8
        progress.begin("Lendo empresas", 4000)
        clocks.seconds += 2
        progress.advance("Empresas0.zip", 1000, 50)
        assert read(tmp_path) == ImportProgress(
            state="running",
            extraction_date=DAY,
            phase="Lendo empresas",
            bytes_done=1000,
            bytes_total=4000,
            rows=50,
            rows_per_second=25,
            started_at=datetime.fromisoformat("2026-09-30T12:00:00-03:00"),
            updated_at=datetime.fromisoformat("2026-09-30T12:00:10-03:00"),
            pid=os.getpid(),
        )
        assert (read(tmp_path).share, read(tmp_path).unit) == (0.25, "linhas")
        progress.begin("Verificando", 10)
        assert (read(tmp_path).rows, read(tmp_path).unit) == (0, "CNPJs")
    assert read(tmp_path).state == "done"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", "progress.json"]


def test_twice_a_second_at_most(tmp_path: Path) -> None:
    clocks = Clocks()
    progress = progress_in(tmp_path, clocks)
    progress.begin("Lendo empresas", 4000)
    rows = []
    for _ in range(20):
        clocks.seconds += 0.1
        progress.advance("Empresas0.zip", 1, 1)
        rows.append(written(tmp_path)["rows"])
    assert rows[:4] == [0] * 4
    assert len(set(rows)) <= 5  # the beginning, and two seconds
    assert rows[-1] >= 15


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    """The file is replaced: readers that have it open read the old one to its end."""
    progress = progress_in(tmp_path, Clocks())
    progress.begin("Lendo empresas", 1)
    with (tmp_path / "progress.json").open() as before:
        progress.begin("Ordenando empresas", 1)
        assert json.load(before)["phase"] == "Lendo empresas"
    assert written(tmp_path)["phase"] == "Ordenando empresas"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (BadInput("Empresas0.zip está danificado"), "Empresas0.zip está danificado"),
        (
            OpenDataError("Empresas: 9 registros ilegíveis; estão em STORE/sobra/rejects.jsonl"),
            "Empresas: 9 registros ilegíveis; estão em sobra/rejects.jsonl",
        ),
        (
            OpenDataError("STORE precisa de cerca de 9 MiB livres. Livres agora: 1 MiB"),
            "a pasta dos dados abertos precisa de cerca de 9 MiB livres. Livres agora: 1 MiB",
        ),
        (OpenDataError("/home/fulana/x/a.zip e /tmp/a.zip: 1 / 2"), "a.zip e a.zip: 1 / 2"),
        (OpenDataError("nome ilegível: \udcff.zip"), "nome ilegível: ?.zip"),
        (OSError(errno.ENOSPC, "No space left", "/home/fulana/x"), "o disco está cheio"),
        (apsw.FullError("/home/fulana/x"), "o disco está cheio"),
        (OSError(errno.EIO, "I/O", "/home/fulana/x"), "o sistema operacional recusou (EIO)"),
        (OSError("FULANA DE TAL"), "o sistema operacional recusou (OSError)"),
        (ValueError("FULANA DE TAL"), "erro inesperado (ValueError)"),
    ],
)
def test_failure_reasons_name_no_person(tmp_path: Path, error: Exception, message: str) -> None:
    folder = tmp_path / "dados de Fulana"
    folder.mkdir()
    if isinstance(error, OpenDataError):
        error = type(error)(str(error).replace("STORE", str(folder)))
    with pytest.raises(type(error)), progress_in(folder, Clocks()):
        raise error
    failed = read(folder)
    assert (failed.state, failed.message) == ("failed", message)


def test_an_interruption_is_no_failure(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), progress_in(tmp_path, Clocks()):
        raise KeyboardInterrupt
    assert (read(tmp_path).state, read(tmp_path).message) == ("stopped", "")


def test_running_only_while_the_lock_is_held(tmp_path: Path) -> None:
    progress_in(tmp_path, Clocks()).begin("Lendo empresas", 1)
    assert read(tmp_path).state == "stopped"  # there was never a lock
    with Held(tmp_path):
        assert is_building(tmp_path)
        assert read(tmp_path).state == "running"
    assert not is_building(tmp_path)
    assert read(tmp_path).state == "stopped"
    assert read(tmp_path).phase == "Lendo empresas"


def test_an_import_that_ends_during_a_check_was_not_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = progress_in(tmp_path, Clocks())
    progress.begin("Verificando", 1)

    def ended_just_now(folder: Path) -> bool:
        progress.__exit__(None, None, None)
        return False

    monkeypatch.setattr("balcao.opendata.progress_file.is_building", ended_just_now)
    assert read(tmp_path).state == "done"


@pytest.mark.parametrize("content", [None, b"", b"{", b'{"state": "running"}', b"[]", b"\xff"])
def test_no_progress_of_an_import(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "progress.json").write_bytes(content)
    assert read_progress(tmp_path) is None
    assert read_progress(tmp_path / "nowhere") is None


def test_a_check_does_not_stop_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check takes the lock for microseconds; here it lasts until the importer has waited."""
    month = Month(tmp_path / "month")
    month.build(tmp_path)
    looking = (tmp_path / "lock").open()
    fcntl.flock(looking, fcntl.LOCK_SH)
    monkeypatch.setattr("balcao.opendata.store.time.sleep", lambda seconds: looking.close())
    month.build(tmp_path)
    assert looking.closed


def test_every_import_is_reported(tmp_path: Path) -> None:
    events = Events()
    states: list[str] = []

    class Looking:
        """Reads the file at each call."""

        def begin(self, phase: str, bytes_total: int) -> None:
            progress = read(tmp_path)
            assert (progress.phase, progress.bytes_total) == (phase, bytes_total)
            states.append(progress.state)

        def advance(self, file: str, bytes_done: int, rows: int) -> None:
            states.append(read(tmp_path).state)

    looking: ProgressListener = Looking()
    Month(tmp_path / "month").build(tmp_path, progress=Listeners(events, looking))
    assert len(events.phases) == 5  # both listeners were called
    assert set(states) == {"running"}
    done = read(tmp_path)
    assert (done.state, done.extraction_date, done.message) == ("done", DAY, "")
    assert (done.phase, done.share) == ("Verificando", 1.0)


def test_a_failed_import_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "store"
    Month(tmp_path / "july", day=JULY).build(folder)
    monkeypatch.setattr(importer, "_DISK_PER_CSV_BYTE_PLAIN", 1e12)
    with pytest.raises(OpenDataError):
        Month(tmp_path / "month").build(folder)
    failed = read(folder)
    assert (failed.state, failed.extraction_date) == ("failed", DAY)
    assert failed.message.startswith("a pasta dos dados abertos precisa de cerca de ")
    assert str(tmp_path) not in failed.message


def test_a_refused_import_leaves_the_running_one_alone(tmp_path: Path) -> None:
    month = Month(tmp_path / "month")
    month.write()
    progress_in(tmp_path, Clocks()).begin("Lendo empresas", 1)
    before = written(tmp_path)
    with Held(tmp_path), pytest.raises(BuildRunning):
        build([month.folder], tmp_path, today=TODAY)
    assert written(tmp_path) == before


def test_a_killed_import_is_stopped_and_then_done(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    month = Month(tmp_path / "month").write()
    kill_a_build(tmp_path / "build.py", month, folder, "Ordenando empresas", 0)
    assert written(folder)["state"] == "running"
    assert (read(folder).state, read(folder).phase) == ("stopped", "Ordenando empresas")
    assert read(folder).pid != os.getpid()
    build([month], folder, today=TODAY)
    assert read(folder).state == "done"


@pytest.mark.parametrize("where", ["write_bytes", "replace"])
def test_unwritable_progress_does_not_stop_an_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    real = getattr(Path, where)
    refused: list[Path] = []

    def full(path: Path, *arguments: Any) -> Any:
        if path.name.startswith("progress.json"):
            refused.append(path)
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, *arguments)

    monkeypatch.setattr(Path, where, full)
    report = Month(tmp_path / "month").build(tmp_path)
    assert report.path.exists()
    assert len(refused) >= 7  # the start, five phases and the end at least
    assert read_progress(tmp_path) is None


def test_the_months_of_a_store(tmp_path: Path) -> None:
    assert months(tmp_path) == []
    assert months(tmp_path / "nowhere") == []
    reports = [Month(tmp_path / str(day), day=day).build(tmp_path) for day in (JULY, DAY)]
    july, august = reports
    found = months(tmp_path)
    assert found == [
        Stored(
            Edition(DAY, 1),
            august.bytes_on_disk,
            TODAY,
            august.rows,
            current=True,
            rollback_target=False,
        ),
        Stored(
            Edition(JULY, 1),
            july.bytes_on_disk,
            TODAY,
            july.rows,
            current=False,
            rollback_target=True,
        ),
    ]
    assert found[0].rows["Estabelecimentos"] == 1
    assert found[0].bytes_on_disk == (tmp_path / "2026-08-08.snapshot").stat().st_size

    assert rollback(tmp_path).extraction_date == JULY
    assert [
        (one.extraction_date, one.current, one.rollback_target) for one in months(tmp_path)
    ] == [
        (DAY, False, False),
        (JULY, True, False),
    ]


def test_rollback_skips_unreadable_months(tmp_path: Path) -> None:
    for day in (JULY, DAY):
        Month(tmp_path / str(day), day=day).build(tmp_path)
    (tmp_path / f"{JULY}.snapshot").write_bytes(b"damaged")
    assert months(tmp_path)[1] == Stored(
        Edition(JULY, 1), 7, None, {}, current=False, rollback_target=False
    )
    with pytest.raises(OpenDataError):
        rollback(tmp_path)


def test_months_without_a_published_one_are_listed(tmp_path: Path) -> None:
    Month(tmp_path / "month").build(tmp_path)
    (tmp_path / "current").unlink()
    (only,) = months(tmp_path)
    assert (only.extraction_date, only.current) == (date(2026, 8, 8), False)
