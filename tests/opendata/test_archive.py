"""Recognising the zips of a month, and its extraction date."""

import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from balcao.opendata.archive import discover, extraction_date, read_chunks
from balcao.opendata.errors import BadInput
from balcao.opendata.importer import build
from tests.opendata.months import DAY, TODAY, Month, company, inner_name, row, write_zip


def part_of(path: Path, inner: str, content: bytes = b"x") -> tuple[str, int]:
    write_zip(path, inner, content)
    inputs = discover([path])
    (part,) = (*inputs.parts, *inputs.domains)
    return part.table, part.number


@pytest.mark.parametrize(
    ("outer", "inner", "table"),
    [
        ("Empresas3.zip", "K3241.K03200Y3.D40608.EMPRECSV", ("Empresas", 3)),
        ("estabelecimentos10.zip", "whatever", ("Estabelecimentos", 10)),
        ("Simples.zip", "F.K03200$W.SIMPLES.CSV.D60808", ("Simples", 0)),
        ("part7.zip", "K3241.K03200Y7.D60808.SOCIOCSV", ("Socios", 7)),
        (
            "K3241.K03200Y4.D60808.ESTABELE.zip",
            "K3241.K03200Y4.D60808.ESTABELE",
            ("Estabelecimentos", 4),
        ),
        ("Municipios.ZIP", "F.K03200$Z.D60808.MUNICCSV", ("Municipios", 0)),
        ("Cnaes.zip", "Cnaes", ("Cnaes", 0)),
    ],
)
def test_the_outer_or_inner_name_gives_the_table(
    tmp_path: Path, outer: str, inner: str, table: tuple[str, int]
) -> None:
    assert part_of(tmp_path / outer, inner) == table


def test_repeated_folders_and_zips_count_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    write_zip(tmp_path / "a" / "Empresas0.zip", "x", b"")
    write_zip(tmp_path / "b1.zip", "K3241.K03200Y1.D60808.EMPRECSV", b"")
    write_zip(tmp_path / "a" / "Lucro Real.zip", "Lucro Real.csv", b"ano,cnpj\n")
    (tmp_path / "a" / "notes.txt").write_text("not a zip")
    (tmp_path / "a" / "half.zip").write_bytes(b"PK\x03\x04 but no more")
    inputs = discover([tmp_path / "a", tmp_path / "b1.zip", tmp_path / "a" / "Empresas0.zip"])
    assert [(part.file, part.number) for part in inputs.parts] == [
        ("Empresas0.zip", 0),
        ("b1.zip", 1),
    ]
    assert inputs.ignored == ("half.zip",)
    assert [part.file for part in inputs.tax_regimes] == ["Lucro Real.zip/Lucro Real.csv"]


def test_invalid_inputs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="não existe"):
        discover([tmp_path / "nowhere"])
    with pytest.raises(BadInput, match="nenhum zip dos dados abertos"):
        discover([tmp_path])
    write_zip(tmp_path / "Empresas0.zip", "x", b"1")
    write_zip(tmp_path / "other.zip", "K3241.K03200Y0.D60808.EMPRECSV", b"2")
    with pytest.raises(BadInput, match="têm ambos Empresas 0"):
        discover([tmp_path])
    with pytest.raises(BadInput, match=r"Socios0\.zip contém Empresas"):
        part_of(tmp_path / "Socios0.zip", "K3241.K03200Y0.D60808.EMPRECSV")


def test_a_zip_has_one_entry(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "Empresas0.zip", "w") as archive:
        archive.writestr("a.EMPRECSV", "")
        archive.writestr("b.EMPRECSV", "")
    with pytest.raises(BadInput, match="tem 2 arquivos"):
        discover([tmp_path])


def test_an_incomplete_download_is_reported_as_such(tmp_path: Path) -> None:
    path = tmp_path / "Empresas0.zip"
    write_zip(path, "x", b"some content" * 1000)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(BadInput, match=r"Empresas0\.zip está danificado ou incompleto"):
        discover([path])


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
@pytest.mark.parametrize("cut", [True, False])
def test_damaged_content_is_detected(tmp_path: Path, method: int, cut: bool) -> None:
    """Flip a bit, or remove a byte."""
    path = tmp_path / "Empresas0.zip"
    text = bytes(range(256)) * 4
    write_zip(path, "x", text, method=method)
    (part,) = discover([path]).parts
    assert b"".join(chunk for chunk, _ in read_chunks(part)) == text
    raw = bytearray(path.read_bytes())
    middle = 31 + part.packed_bytes // 2
    raw[middle : middle + 1] = b"" if cut else bytes([raw[middle] ^ 0x40])
    path.write_bytes(raw)
    with pytest.raises(BadInput, match=r"Empresas0\.zip está danificado"):
        list(read_chunks(part))


def test_a_damaged_zip_leaves_nothing_published(tmp_path: Path) -> None:
    month = Month(tmp_path / "month", files={"Socios0": row("Socios") * 50})
    path = month.write() / "Socios0.zip"
    raw = bytearray(path.read_bytes())
    raw[75] ^= 1
    path.write_bytes(raw)
    with pytest.raises(BadInput, match=r"Socios0\.zip está danificado"):
        build([month.folder], tmp_path / "store", today=TODAY)
    assert not (tmp_path / "store" / "current").exists()


def test_zip64_and_stored_entries_are_read(tmp_path: Path) -> None:
    month = Month(tmp_path / "month")
    ways: tuple[dict[str, Any], ...] = (
        {"force_zip64": True},
        {"force_zip64": True, "method": zipfile.ZIP_STORED},
    )
    for number, options in enumerate(ways):
        month.write(**options)
        report = build([month.folder], tmp_path / str(number), today=TODAY)
        assert company(report).nome_fantasia == "REGIONAL"


def dated(folder: Path, *days: date | None, modified: date = date(2025, 3, 9)) -> date:
    folder.mkdir(exist_ok=True)
    for number, day in enumerate(days):
        name = f"Empresas{number}"
        inner = name if day is None else inner_name(name, day)
        entry = zipfile.ZipInfo(inner, (modified.year, modified.month, modified.day, 0, 0, 0))
        with zipfile.ZipFile(folder / f"{name}.zip", "w") as archive:
            archive.writestr(entry, "")
    return extraction_date(discover([folder]).parts, TODAY)


def test_the_date_is_written_in_the_inner_names(tmp_path: Path) -> None:
    assert dated(tmp_path / "1", DAY) == date(2026, 8, 8)
    assert dated(tmp_path / "2", date(2024, 6, 8), None) == date(2024, 6, 8)


def test_the_decade_is_the_latest_that_is_not_in_the_future(tmp_path: Path) -> None:
    assert dated(tmp_path / "1", TODAY) == TODAY
    assert dated(tmp_path / "2", date(2026, 8, 21)) == date(2016, 8, 21)
    assert dated(tmp_path / "3", date(2029, 1, 2)) == date(2019, 1, 2)


def test_without_a_date_in_the_names_the_entries_times_are_used(tmp_path: Path) -> None:
    assert dated(tmp_path / "1", None, None) == date(2025, 3, 9)


def test_files_of_two_months_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"extrações diferentes.*2026-07-11.*2026-08-08"):
        dated(tmp_path / "1", DAY, date(2026, 7, 11))


def test_any_corrupted_directory_is_a_damaged_zip(tmp_path: Path) -> None:
    """Any corrupted byte is reported as a damaged zip, never as an error of another kind."""
    path = tmp_path / "Simples.zip"
    write_zip(path, "F.K03200$W.SIMPLES.CSV.D60808", b"x" * 100)
    whole = path.read_bytes()
    directory = whole.index(b"PK\x01\x02")
    refused = 0
    for at in range(directory, len(whole)):
        for bit in range(8):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
            try:
                found = discover([path])
                (part,) = (*found.parts, *found.domains)
                assert b"".join(chunk for chunk, _ in read_chunks(part)) == b"x" * 100
            except BadInput:
                refused += 1
    assert refused > 100
