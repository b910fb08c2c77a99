"""`balcao opendata`, from a sample to a rollback."""

from pathlib import Path

from balcao.opendata.generator import generate
from tests.cli.shell import Shell

SAMPLE = "opendata sample mes --establishments 300 --seed 7"


def test_a_sample_is_built_and_used(shell: Shell, tmp_path: Path) -> None:
    made = shell(f"{SAMPLE} --json").json
    assert len(made["files"]) == 37
    assert made["records"]["Estabelecimentos"] == 300
    report = shell("opendata build mes --json").json
    assert report["rows"]["Estabelecimentos"] == 300
    assert report["rejected"]["Estabelecimentos"] == 0
    found = shell("opendata status --json").json
    assert found["test"] is None
    assert found["live"]["extraction_date"] == report["extraction_date"]
    assert found["live"]["rows"] == report["rows"]
    assert "nada importado" in shell("opendata status").out


def test_the_sandbox_has_a_month_of_its_own(shell: Shell) -> None:
    shell(f"{SAMPLE} --clean --alphanumeric 0.5")
    said = shell("opendata build mes --sandbox")
    assert "Estabelecimentos" in said.out
    found = shell("opendata status --json").json
    assert found["live"] is None
    assert found["test"]["rows"]["Estabelecimentos"] == 300


def test_going_back_to_the_month_before(shell: Shell, tmp_path: Path) -> None:
    from datetime import date

    for day in (date(2026, 7, 11), date(2026, 8, 8)):
        generate(tmp_path / f"{day}", 300, 7, clean=True, extraction_date=day)
        shell(f"opendata build {day}")
    assert shell("opendata rollback --json").json == {"extraction_date": "2026-07-11"}
    assert shell("opendata status --json").json["live"]["extraction_date"] == "2026-07-11"
    assert "Dados abertos" in shell("opendata rollback", code=1).err


def test_what_cannot_be_a_month(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "vazia").mkdir()
    said = shell("opendata build vazia", code=1)
    assert said.err.startswith("erro: Dados abertos: ")
    assert said.out == ""
    shell("opendata status")


def test_a_sample_overwrites_nothing(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "mes").mkdir()
    (tmp_path / "mes" / "carta.txt").write_text("querida")
    assert "não está vazia" in shell(SAMPLE, code=1).err
    assert [file.name for file in (tmp_path / "mes").iterdir()] == ["carta.txt"]


def test_a_sample_that_cannot_be(shell: Shell) -> None:
    line = "opendata sample mes --establishments 99999999999 --seed 7"
    assert "não pode ser gerado" in shell(line, code=1).err


def test_status_makes_no_data_folder(shell: Shell) -> None:
    assert shell("opendata status --json").json == {"live": None, "test": None}
    assert not shell.path.exists()


def test_a_published_month_that_is_damaged_is_told(shell: Shell) -> None:
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
