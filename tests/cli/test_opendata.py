"""`balcao opendata`, from a sample to a rollback."""

import fcntl
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from balcao.opendata.generator import generate
from balcao.opendata.layout import TAX_REGIME_FILES
from balcao.opendata.progress_file import FileProgress
from tests.cli.shell import Shell

SAMPLE = "opendata sample mes --establishments 300 --seed 7"


def test_a_sample_is_built_and_used(shell: Shell, tmp_path: Path) -> None:
    made = shell(f"{SAMPLE} --json").json
    assert len(made["files"]) == 37 + len(TAX_REGIME_FILES)
    assert made["records"]["Estabelecimentos"] == 300
    report = shell("opendata build mes --json").json
    assert report["rows"]["Estabelecimentos"] == 300
    assert report["rejected"]["Estabelecimentos"] == 0
    found = shell("opendata status --json").json
    assert found["test"] is None
    assert found["live"]["extraction_date"] == report["extraction_date"]
    assert found["live"]["rows"] == report["rows"]
    assert found["live"]["tax_regimes"] == report["tax_regimes"] == list(TAX_REGIME_FILES)
    for text in ("nada importado", "Regime tributário (de produção): importado."):
        assert text in shell("opendata status").out


def test_the_sandbox_has_a_separate_month(shell: Shell) -> None:
    shell(f"{SAMPLE} --clean --alphanumeric 0.5 --without-tax-regimes")
    result = shell("opendata build mes --sandbox")
    assert "Estabelecimentos" in result.out
    found = shell("opendata status --json").json
    assert found["live"] is None
    assert found["test"]["rows"]["Estabelecimentos"] == 300
    assert "Regime tributário (de teste): não importado." in shell("opendata status").out


def test_stored_months_are_listed_and_rolled_back(shell: Shell, tmp_path: Path) -> None:
    assert "Nada importado" in shell("opendata list").out
    for day in (date(2026, 7, 11), date(2026, 8, 8)):
        generate(tmp_path / f"{day}", 300, 7, clean=True, extraction_date=day)
        shell(f"opendata build {day}")
    listed = shell("opendata list --json").json
    assert [
        (one["accounts"], one["extraction_date"], one["in_use"], one["rollback_target"])
        for one in listed
    ] == [("live", "2026-08-08", True, False), ("live", "2026-07-11", False, True)]
    assert listed[0]["rows"]["Estabelecimentos"] == 300
    result = shell("opendata list").out
    assert "em uso" in result
    assert "disponível para rollback" in result
    assert shell("opendata rollback --json").json["extraction_date"] == "2026-07-11"
    assert shell("opendata status --json").json["live"]["extraction_date"] == "2026-07-11"
    assert "descartado" in shell("opendata list").out
    assert "Dados abertos" in shell("opendata rollback", code=1).err


def test_no_month_is_built_in_a_folder_without_data(fresh: Shell) -> None:
    fresh(SAMPLE)
    result = fresh("opendata build mes", code=1)
    assert "Não há dados do Balcão" in result.err
    assert "serve" in result.err
    assert not fresh.path.exists()


def test_invalid_months(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "vazia").mkdir()
    result = shell("opendata build vazia", code=1)
    assert result.err.startswith("erro: Dados abertos: ")
    assert result.out == ""
    shell("opendata status")


def test_a_sample_overwrites_nothing(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "mes").mkdir()
    (tmp_path / "mes" / "carta.txt").write_text("querida")
    assert "não está vazia" in shell(SAMPLE, code=1).err
    assert [file.name for file in (tmp_path / "mes").iterdir()] == ["carta.txt"]


def test_an_impossible_sample(shell: Shell) -> None:
    line = "opendata sample mes --establishments 99999999999 --seed 7"
    assert "não pode ser gerado" in shell(line, code=1).err


def test_status_makes_no_data_folder(fresh: Shell) -> None:
    assert fresh("opendata status --json").json == {
        "live": None,
        "test": None,
        "imports": {"live": None, "test": None},
        "fetch": None,
        "search": {"live": False, "test": False},
    }
    assert not fresh.path.exists()


def test_a_damaged_month_is_reported(shell: Shell) -> None:
    shell(SAMPLE)
    path = Path(shell("opendata build mes --json").json["path"])
    path.write_bytes(b"nothing")
    assert "Dados abertos" in shell("opendata status", code=1).err
    (found,) = [
        check
        for check in shell("doctor --json", code=1).json["checks"]
        if check["name"] == "dados abertos"
    ]
    assert found["status"] == "fail"


# 30/09/2026 12:00:00 in Brasília.
NOON_MS = 1_790_780_400_000


def progress_file(store: Path) -> FileProgress:
    """Return an import's progress file, with clocks that advance two seconds per reading."""

    def ticking(start: int, step: int) -> Callable[[], int]:
        times = iter(range(start, start + 100 * step, step))
        return lambda: next(times)

    store.mkdir(parents=True, exist_ok=True)
    return FileProgress(store, date(2026, 8, 8), now_ms=ticking(NOON_MS, 2000), clock=ticking(0, 2))


def leave_progress(store: Path) -> None:
    """Leave the progress of an import that was killed in its first phase."""
    progress = progress_file(store)
    progress.begin("Lendo estabelecimentos", 1000)
    progress.advance("Estabelecimentos0.zip", 429, 12_345)


def test_a_running_import_is_shown(shell: Shell) -> None:
    store = shell.home.opendata("live")
    leave_progress(store)
    with (store / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as the importer's process does
        result = shell("opendata status").out
        found = shell("opendata status --json").json
    assert (
        "Importando o mês de 08/08/2026 (de produção): Lendo estabelecimentos, 42%,"
        " 12.345 linhas, " in result
    )
    assert "por segundo (em 30/09/2026 12:00:04)." in result
    assert "Para importar um mês real" not in result
    assert found["live"] is None
    assert found["imports"]["test"] is None
    progress = found["imports"]["live"]
    assert progress["state"] == "running"
    assert progress["extraction_date"] == "2026-08-08"
    assert (progress["bytes_done"], progress["bytes_total"]) == (429, 1000)
    assert progress["rows"] == 12_345
    assert progress["started_at"] == "2026-09-30T12:00:00.000-03:00"
    assert progress["updated_at"] == "2026-09-30T12:00:04.000-03:00"


def test_a_killed_import_is_not_shown_as_running(shell: Shell) -> None:
    leave_progress(shell.home.opendata("test"))
    result = shell("opendata status").out
    assert (
        "Importação interrompida: o mês de 08/08/2026 (de teste), até 30/09/2026 12:00:04: Lendo"
        " estabelecimentos, 42%, 12.345 linhas. Execute o mesmo comando para continuar de onde"
        " parou."
    ) in result
    found = shell("opendata status --json").json
    assert found["imports"]["test"]["state"] == "stopped"


def test_the_last_failure_is_shown_until_an_import_succeeds(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    from balcao.opendata import importer

    shell(SAMPLE)
    with monkeypatch.context() as patch:
        patch.setattr(importer, "_DISK_PER_CSV_BYTE_PLAIN", 1e12)
        shell("opendata build mes", code=1)
    result = shell("opendata status").out
    assert "A última importação falhou em " in result
    assert "a pasta dos dados abertos precisa de cerca de " in result
    failed = shell("opendata status --json").json["imports"]["live"]
    assert failed["state"] == "failed"
    assert "/" not in failed["message"]
    shell("opendata build mes")
    assert "falhou" not in shell("opendata status").out
    assert shell("opendata status --json").json["imports"]["live"]["state"] == "done"
