"""Imports through the public functions: kept, refused, resumed, published and rolled back."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

import pytest

from balcao.cli.failures import explain
from balcao.core.company import Coded
from balcao.opendata import importer, plan
from balcao.opendata.errors import BadInput, BuildRunning, OpenDataError, VerificationFailed
from balcao.opendata.importer import BuildReport, build, rollback
from balcao.opendata.phases import check_counts
from balcao.opendata.repair import Reject
from balcao.opendata.snapshot import Snapshot
from balcao.opendata.snapshot_writer import GroupReading, Sorting
from balcao.opendata.spill import PartReport
from balcao.opendata.store import months, published
from balcao.opendata.tally import ColumnTally
from tests.opendata.months import (
    CODES,
    DAY,
    TODAY,
    Month,
    cnpj,
    company,
    content,
    dealt,
    find,
    root,
    row,
)

JULY = date(2026, 7, 11)


def companies(count: int) -> dict[str, bytes]:
    """Return zips of so many companies with one establishment each, over all ten parts."""
    parts = [range(n, count + 1, 10) for n in range(1, 11)]
    files = {
        f"{table}{number}": b"".join(row(table, cnpj_basico=root(n)) for n in part)
        for table in ("Estabelecimentos", "Empresas", "Socios")
        for number, part in enumerate(parts)
    }
    for name in [name for name in files if name.startswith("Socios")]:
        files[name] = b"".join(
            row("Socios", cnpj_basico=root(n), nome_socio=f"SOCIO {letter}")
            for n in parts[int(name[-1])]
            for letter in "ABC"
        )
    files["Simples"] = b"".join(row("Simples", cnpj_basico=root(n)) for n in range(1, count + 1, 2))
    return files


class Events:
    """A `ProgressListener` that records its calls."""

    def __init__(self) -> None:
        self.phases: list[tuple[str, int]] = []
        self.bytes: dict[str, int] = {}
        self.rows: dict[str, int] = {}

    def begin(self, phase: str, bytes_total: int) -> None:
        self.phases.append((phase, bytes_total))

    def advance(self, file: str, bytes_done: int, rows: int) -> None:
        phase = self.phases[-1][0]
        self.bytes[phase] = self.bytes.get(phase, 0) + bytes_done
        self.rows[phase] = self.rows.get(phase, 0) + rows


def test_progress_is_reported_to_the_end(tmp_path: Path) -> None:
    events = Events()
    Month(tmp_path / "month", files=companies(300)).build(tmp_path, progress=events)
    assert [phase for phase, _ in events.phases] == [
        "Lendo estabelecimentos",
        "Ordenando estabelecimentos",
        "Lendo empresas",
        "Ordenando empresas",
        "Verificando",
    ]
    assert dict(events.phases) == events.bytes
    assert events.rows["Lendo estabelecimentos"] == 300
    assert events.rows["Ordenando empresas"] == 300 + 3 * 300 + 150


def test_nothing_is_left_of_the_work(tmp_path: Path) -> None:
    Month(tmp_path / "month").build(tmp_path / "store")
    assert sorted(path.name for path in (tmp_path / "store").iterdir()) == [
        "2026-08-08.rejects.jsonl",
        "2026-08-08.snapshot",
        "current",
        "lock",
        "progress.json",
    ]


def test_lost_companies_are_noticed_by_the_sample(tmp_path: Path) -> None:
    """Even without an earlier month: establishments are found without their company."""
    files = companies(300) | dealt(
        "Empresas", [row("Empresas", cnpj_basico=root(900 + n)) for n in range(300)]
    )
    month = Month(tmp_path / "month", files=files)
    with pytest.raises(VerificationFailed, match="300 de 300 CNPJs vêm sem a sua empresa"):
        month.build(tmp_path / "store")
    assert not (tmp_path / "store" / "current").exists()


def test_a_missing_table_of_codes_is_kept_from_the_month_before(tmp_path: Path) -> None:
    old = CODES | {"Cnaes": {"6204000": "As it was in July"}}
    Month(tmp_path / "july", day=JULY, codes=old).build(tmp_path)
    no_cnaes = {name: texts for name, texts in CODES.items() if name != "Cnaes"}
    report = Month(tmp_path / "august", codes=no_cnaes).build(tmp_path)
    activity = company(report).atividade_economica_principal
    assert activity is not None
    assert activity.descricao == "As it was in July"
    assert "Cnaes falta neste mês: mantida a tabela de 11/07/2026" in report.warnings
    # It keeps July's date when it is kept a second time.
    report = Month(tmp_path / "september", day=date(2026, 8, 19), codes=no_cnaes).build(tmp_path)
    assert "Cnaes falta neste mês: mantida a tabela de 11/07/2026" in report.warnings


def test_without_an_earlier_month_a_missing_table_of_codes_is_an_error(tmp_path: Path) -> None:
    codes = {name: texts for name, texts in CODES.items() if name not in {"Cnaes", "Paises"}}
    with pytest.raises(BadInput, match=r"faltam Cnaes\.zip, Paises\.zip"):
        Month(tmp_path / "month", codes=codes).build(tmp_path)


@pytest.mark.parametrize(
    ("table", "before", "after", "fine"),
    [
        ("Empresas", 1000, 995, True),
        ("Empresas", 1000, 994, False),
        ("Empresas", 1000, 1050, True),
        ("Empresas", 1000, 1051, False),
        ("Simples", 200, 198, False),
    ],
)
def test_a_month_that_shrank_or_grew_too_much_is_not_published(
    tmp_path: Path, table: str, before: int, after: int, fine: bool
) -> None:
    def month(day: date, count: int) -> Month:
        rows = [row(table, cnpj_basico=root(n)) for n in range(count)]
        if table == "Simples":
            files = {table: b"".join(rows)}
        else:
            files = dealt(table, [row("Empresas"), *rows])
            files["Simples"] = row("Simples") * 300
        return Month(tmp_path / str(day), day=day, files=files)

    store = tmp_path / "store"
    extra = 1 if table == "Empresas" else 0  # the company of the one establishment
    month(JULY, before - extra).build(store)
    if fine:
        assert month(DAY, after - extra).build(store).rows[table] == after
        return
    dotted = f"{after:,}".replace(",", ".")
    with pytest.raises(VerificationFailed, match=f"{table} tem {dotted} linhas") as refused:
        month(DAY, after - extra).build(store)
    assert len(refused.value.problems) == 1
    assert (store / "current").read_text() == "2026-07-11.snapshot\n"
    report = month(DAY, after - extra).build(store, force=True)
    assert any(warning.startswith(f"{table} tem {dotted} linhas") for warning in report.warnings)
    assert (store / "current").read_text() == "2026-08-08.snapshot\n"


def test_the_switch_is_one_rename_and_can_be_taken_back(tmp_path: Path) -> None:
    days = (date(2026, 6, 13), JULY, DAY)
    for day in days:
        named = row("Estabelecimentos", nome_fantasia=f"AS OF {day}")
        Month(tmp_path / str(day), day=day, files={"Estabelecimentos0": named}).build(tmp_path)
    kept = sorted(path.name for path in tmp_path.glob("*.snapshot"))
    assert kept == ["2026-07-11.snapshot", "2026-08-08.snapshot"]
    assert sorted(path.name for path in tmp_path.glob("*.rejects.jsonl")) == [
        "2026-07-11.rejects.jsonl",
        "2026-08-08.rejects.jsonl",
    ]
    assert rollback(tmp_path).extraction_date == JULY
    snapshot = published(tmp_path)
    assert snapshot is not None
    found = snapshot.find(cnpj("33683111", "0002"))
    assert found is not None
    assert found.nome_fantasia == "AS OF 2026-07-11"
    snapshot.close()
    with pytest.raises(OpenDataError, match="nenhum mês anterior a 11/07/2026"):
        rollback(tmp_path)


def test_a_month_built_after_a_rollback_keeps_the_one_that_was_published(tmp_path: Path) -> None:
    for day in (JULY, DAY):
        Month(tmp_path / str(day), day=day).build(tmp_path)
    rollback(tmp_path)
    Month(tmp_path / "again", day=date(2026, 8, 15)).build(tmp_path)
    assert rollback(tmp_path).extraction_date == JULY


def test_a_rebuilt_month_can_be_rolled_back_to_its_first_build(tmp_path: Path) -> None:
    for times in (1, 2, 3):
        named = row("Estabelecimentos", nome_fantasia=f"BUILD {times}")
        Month(tmp_path / f"month-{times}", files={"Estabelecimentos0": named}).build(tmp_path)
    files = sorted(path.name for path in tmp_path.glob("*.*.*"))
    assert files == [
        "2026-08-08.2.rejects.jsonl",
        "2026-08-08.2.snapshot",
        "2026-08-08.3.rejects.jsonl",
        "2026-08-08.3.snapshot",
    ]
    assert [(month.name, month.current, month.rollback_target) for month in months(tmp_path)] == [
        ("08/08/2026 (3ª importação)", True, False),
        ("08/08/2026 (2ª importação)", False, True),
    ]
    assert rollback(tmp_path).extraction_date == DAY
    snapshot = published(tmp_path)
    assert snapshot is not None
    found = snapshot.find(cnpj("33683111", "0002"))
    assert found is not None
    assert found.nome_fantasia == "BUILD 2"
    snapshot.close()
    with pytest.raises(OpenDataError, match="nenhum mês anterior a 08/08/2026"):
        rollback(tmp_path)
    Month(tmp_path / "month-4").build(tmp_path)  # and the rolled back one does not interfere
    assert sorted(path.name for path in tmp_path.glob("*.snapshot")) == [
        "2026-08-08.2.snapshot",
        "2026-08-08.4.snapshot",
    ]


def test_force_is_advised_only_where_it_helps(tmp_path: Path) -> None:
    many = b"".join(row("Simples", cnpj_basico=root(n)) for n in range(200))
    Month(tmp_path / "july", day=JULY, files={"Simples": many}).build(tmp_path / "shrank")
    with pytest.raises(VerificationFailed) as shrank:
        Month(tmp_path / "august", day=DAY).build(tmp_path / "shrank")
    assert "repita com --force" in (explain(shrank.value) or "")

    files = companies(300) | dealt(
        "Empresas", [row("Empresas", cnpj_basico=root(900 + n)) for n in range(300)]
    )
    with pytest.raises(VerificationFailed) as lost:
        Month(tmp_path / "month", files=files).build(tmp_path / "lost", force=True)
    assert "--force não ajuda" in (explain(lost.value) or "")


@pytest.mark.parametrize("given", ["folder", "file"])
def test_a_special_file_is_refused_without_blocking(tmp_path: Path, given: str) -> None:
    folder = Month(tmp_path / "month").write()
    fifo = folder / "Socios1.zip"
    fifo.unlink()
    os.mkfifo(fifo)
    with pytest.raises(BadInput, match=r"Socios1\.zip não é um arquivo, e sim um FIFO"):
        build([folder if given == "folder" else fifo], tmp_path / "store", today=TODAY)


def test_nothing_to_roll_back(tmp_path: Path) -> None:
    with pytest.raises(OpenDataError, match="nada foi importado"):
        rollback(tmp_path)
    assert published(tmp_path) is None


def test_one_build_at_a_time(tmp_path: Path) -> None:
    month = Month(tmp_path / "month")
    month.build(tmp_path)
    with (tmp_path / "lock").open("r+") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(BuildRunning):
            month.build(tmp_path)
    month.build(tmp_path)


def test_a_full_disk_is_foreseen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "_DISK_PER_CSV_BYTE_PLAIN", 1e12)
    with pytest.raises(OpenDataError, match="MiB livres"):
        Month(tmp_path / "month").build(tmp_path)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 2 MB: several partitions and chunks, enough rows to train dictionaries."""
    folder = tmp_path_factory.mktemp("large")
    return Month(folder, files=companies(6000)).write()


@pytest.fixture(scope="module")
def straight(large: Path, tmp_path_factory: pytest.TempPathFactory) -> BuildReport:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "_RANGE_BYTES", 200_000)
        return build([large], tmp_path_factory.mktemp("straight"), today=TODAY)


def test_several_partitions_and_dictionaries_find_everything(straight: BuildReport) -> None:
    assert straight.rows["Estabelecimentos"] == straight.rows["Empresas"] == 6000
    assert straight.sampled == 6000
    expected = [cnpj(root(n), "0002") for n in range(1, 6001, 7)]
    for found, one in zip(find(straight, *expected), expected, strict=True):
        assert found is not None
        assert found.cnpj == one.text
        assert found.nome_empresarial == "SERVICO FEDERAL"
        assert [partner.nome for partner in found.socios] == ["SOCIO A", "SOCIO B", "SOCIO C"]
    snapshot = Snapshot.open(straight.path)
    assert snapshot.info().blocks["establishment"] >= 6000 // 16
    snapshot.close()
    assert len(content(straight.path)["meta"][0][1]) > 10_000  # a dictionary was trained
    assert straight.bytes_on_disk / 6000 < 200


def test_a_lost_row_does_not_go_unnoticed() -> None:
    """Read = stored + duplicates + rejected, file by file."""
    report = PartReport(
        "Simples.zip", "Simples", 5, 0, [Reject("Simples.zip", 1, "")], ColumnTally()
    )
    reading = GroupReading([report], b"", 1, 1)
    check_counts(reading, Sorting(1, {"Simples.zip": 3}, {"Simples.zip": 1}))
    for stored, again in ((2, 1), (4, 1), (3, 0)):
        sorting = Sorting(1, {"Simples.zip": stored}, {"Simples.zip": again})
        with pytest.raises(OpenDataError, match=f"5 registros lidos, mas {stored} guardados"):
            check_counts(reading, sorting)


def test_dirty_tables_of_codes(tmp_path: Path) -> None:
    """Broken lines, repeated codes, and codes without a text."""
    rows = (
        b'"6204000";""\n"6204000";"Consultoria\nem TI"\n"6204000";"again"\n'
        b'"620";"too short"\n"9999999";""\n\n'
    )
    month = Month(tmp_path / "month", codes={n: t for n, t in CODES.items() if n != "Cnaes"})
    main = row("Estabelecimentos", cnae_fiscal_secundaria="9999999")
    month.files |= {"Cnaes": rows, "Estabelecimentos0": main}
    report = month.build(tmp_path)
    found = company(report)
    assert found.atividade_economica_principal == Coded("6204000", "Consultoria em TI")
    assert found.atividades_economicas_secundarias == (Coded("9999999", None),)
    assert report.rows["Cnaes"] == 2
    assert report.duplicates["Cnaes"] == 2
    assert report.rejected["Cnaes"] == 1


def test_compressed_spill_files_give_the_same(
    large: Path, straight: BuildReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Like months too large to be spilled uncompressed."""
    monkeypatch.setattr(plan, "_RANGE_BYTES", 200_000)
    monkeypatch.setattr(plan, "PLAIN_SPILL_CSV_BYTES_MAX", 0)
    report = build([large], tmp_path, today=TODAY)
    assert content(report.path) == content(straight.path)


def test_two_workers_give_the_same(
    large: Path, straight: BuildReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "_RANGE_BYTES", 200_000)
    monkeypatch.setattr(importer, "_BYTES_WORTH_WORKERS", 0)
    report = build([large], tmp_path, today=TODAY, workers=2)
    assert content(report.path) == content(straight.path)
    assert report.rows == straight.rows


# Builds with two workers and kills all its processes after so many events of a phase.
KILLED_BUILD = """
import multiprocessing, os, signal, sys
from datetime import date
from pathlib import Path
from balcao.opendata import importer, plan

class Kill:
    def __init__(self, phase, events):
        self.phase, self.left, self.on = phase, events, False
    def begin(self, phase, bytes_total):
        self.on = phase.startswith(self.phase)
        self.advance("", 0, 0)
    def advance(self, file, bytes_done, rows):
        self.left -= self.on
        if self.left < 0:
            workers = " ".join(str(p.pid) for p in multiprocessing.active_children())
            Path(sys.argv[0] + ".workers").write_text(workers)
            os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    folder, store, phase, events = sys.argv[1:]
    plan._RANGE_BYTES = 200_000
    importer._BYTES_WORTH_WORKERS = 0
    importer.build(
        [Path(folder)], Path(store), today=date(2026, 8, 20), progress=Kill(phase, int(events))
    )
"""


def kill_a_build(script: Path, folder: Path, store: Path, phase: str, events: int) -> None:
    script.write_text(KILLED_BUILD)
    done = subprocess.run(
        [sys.executable, script, folder, store, phase, str(events)],
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def test_a_killed_build_resumes(
    large: Path, straight: BuildReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in every phase, one after the other; the result is that of an uninterrupted run."""
    store = tmp_path / "store"
    for phase, events in (
        ("Lendo estabelecimentos", 2),
        ("Ordenando estabelecimentos", 3),
        ("Lendo empresas", 3),
        ("Ordenando empresas", 2),
        ("Verificando", 0),
    ):
        kill_a_build(tmp_path / "build.py", large, store, phase, events)
        assert not (store / "current").exists()
    events_of_the_last = Events()
    monkeypatch.setattr(plan, "_RANGE_BYTES", 200_000)
    report = build([large], store, today=TODAY, progress=events_of_the_last)
    # Only the verification was left.
    assert dict(events_of_the_last.phases)["Ordenando empresas"] == 0
    assert "Lendo estabelecimentos" not in dict(events_of_the_last.phases)
    assert content(report.path) == content(straight.path)
    assert (report.rows, report.mended) == (straight.rows, straight.mended)
    assert not (store / "work").exists()


def test_zips_that_were_read_are_not_read_again_unless_they_changed(
    large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    kill_a_build(tmp_path / "build.py", large, store, "Ordenando estabelecimentos", 0)
    monkeypatch.setattr(plan, "_RANGE_BYTES", 200_000)
    folder = tmp_path / "changed"
    files = companies(6000)
    files["Estabelecimentos1"] += row("Estabelecimentos", cnpj_basico=root(1), cnpj_ordem="0009")
    Month(folder, files=files).write()
    events = Events()
    report = build([folder], store, today=TODAY, progress=events)
    assert events.rows["Lendo estabelecimentos"] == 601  # of one zip of ten
    assert report.rows["Estabelecimentos"] == 6001
    (found,) = find(report, cnpj(root(1), "0009"))
    assert found is not None


def test_files_from_before_a_restart_of_the_machine_are_not_trusted(
    large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    kill_a_build(tmp_path / "build.py", large, store, "Ordenando estabelecimentos", 2)
    (store / "work" / "boot").write_text("another start of this machine")
    monkeypatch.setattr(plan, "_RANGE_BYTES", 200_000)
    events = Events()
    build([large], store, today=TODAY, progress=events)
    assert events.rows["Lendo estabelecimentos"] == 6000


def test_workers_end_with_their_parent(large: Path, tmp_path: Path) -> None:
    script = tmp_path / "build.py"
    kill_a_build(script, large, tmp_path / "store", "Lendo estabelecimentos", 1)
    workers = [int(pid) for pid in Path(f"{script}.workers").read_text().split()]
    assert len(workers) == 2
    deadline = time.monotonic() + 10
    while any(_is_alive(pid) for pid in workers):
        assert time.monotonic() < deadline, "a worker outlived its parent"
        time.sleep(0.01)


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"  # ended, and not yet waited for


def test_a_published_month_that_cannot_be_read_does_not_stop_the_next(tmp_path: Path) -> None:
    before = Month(tmp_path / "july", day=JULY).build(tmp_path)
    before.path.write_bytes(b"damaged")
    report = Month(tmp_path / "august").build(tmp_path)
    assert company(report).nome_fantasia == "REGIONAL"
    assert any("não pôde ser lido" in warning for warning in report.warnings)
    (tmp_path / "current").write_text("nonsense")
    Month(tmp_path / "august").build(tmp_path)
    assert (tmp_path / "current").read_text() == "2026-08-08.2.snapshot\n"
