"""The optional files of tax regimes: their lines, their import, and their download."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from balcao.core.company import TaxRegime
from balcao.opendata.files import meta, open_finished
from balcao.opendata.importer import BuildReport, build
from balcao.opendata.layout import TAX_REGIME_FILES
from balcao.opendata.snapshot import Snapshot
from balcao.opendata.tax_regimes import rewritten
from tests.opendata.fetching import NOVEMBER, World, zips_of
from tests.opendata.months import TODAY, Month, cnpj, company, find, row
from tests.opendata.share import Fault, Share

HEADER = "ano,cnpj,cnpj_da_scp,forma_de_tributacao,quantidade_de_escrituracoes"
REAL = "2023,33.683.111/0001-07,0,LUCRO REAL,1"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (REAL, '"33683111";"2023";"LUCRO REAL";"1";""'),
        (f"{REAL}\r", '"33683111";"2023";"LUCRO REAL";"1";""'),
        ('"2023";"33683111000107";"";"LUCRO  REAL ";"01"', '"33683111";"2023";"LUCRO REAL";"1";""'),
        (
            "2014,12.ABC.345/01DE-35,33.683.111/0002-80,LUCRO PRESUMIDO,12",
            '"12ABC345";"2014";"LUCRO PRESUMIDO";"12";"33683111000280"',
        ),
    ],
)
def test_lines_are_rewritten_like_other_tables(line: str, expected: str) -> None:
    lines = rewritten([line.encode()])
    assert (lines.clean.decode(), lines.records, lines.rejects) == (f"{expected}\n", 1, [])


@pytest.mark.parametrize(
    "line",
    [
        "2023,33.683.111/0001-07,0,LUCRO REAL",
        "2023,33.683.111/0001-07,0,LUCRO REAL,um",
        "23,33.683.111/0001-07,0,LUCRO REAL,1",
        "2023,33.683.111/0001,0,LUCRO REAL,1",
        "2023,33.683.111/0001-07,123,LUCRO REAL,1",
        "2023,33.683.111/0001-07,0,  ,1",
        "2023,33.683.111/0001-07,0,LUCRO\x00REAL,1",
        '2023,33.683.111/0001-07,0,LUCRO "REAL",1',
        f"{REAL},e mais",
    ],
)
def test_malformed_lines_are_rejected_with_their_number(line: str) -> None:
    found = rewritten([HEADER.encode(), b"", REAL.encode(), line.encode()])
    assert (found.records, found.rejects) == (2, [(2, line.encode())])


def month_in(folder: Path) -> Month:
    """Return a month with the default company and one more."""
    more = {
        f"{table}1": row(table, cnpj_basico="00000191")
        for table in ("Estabelecimentos", "Empresas")
    }
    return Month(folder, files=more)


def month_with(folder: Path, files: Mapping[str, Mapping[str, str | bytes]]) -> Month:
    """Return a month with zips of these lines, by zip and by name of the file inside."""
    month = month_in(folder)
    month.write()
    for file, entries in files.items():
        write_regimes(folder, file, entries)
    return month


def write_regimes(folder: Path, file: str, entries: Mapping[str, str | bytes]) -> None:
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{file}.zip", "w") as archive:
        for name, lines in entries.items():
            archive.writestr(name, lines)


def imported(month: Month, store: Path) -> BuildReport:
    """Import the month as it was written; `Month.build` would write it anew."""
    return build([month.folder], store, today=TODAY)


def lines(*each: str) -> str:
    return "\n".join([HEADER, *each, ""])


ALL: Mapping[str, Mapping[str, str | bytes]] = {
    "Imunes e Isentas": {"Imunes e Isentas.csv": lines("2023,11.222.333/0001-81,0,ISENTA,1")},
    "Lucro Arbitrado": {"Lucro Arbitrado.csv": lines("2023,11.222.333/0001-81,0,ARBITRADO,1")},
    "Lucro Presumido": {
        "Lucro Presumido/Lucro Presumido 2021.csv": "\r\n".join(
            [f"\ufeff{HEADER}", "2021,33.683.111/0001-07,0,LUCRO PRESUMIDO,1", ""]
        ),
        "Lucro Presumido/Lucro Presumido 2022.csv": lines(
            "2022,33.683.111/0001-07,0,LUCRO PRESUMIDO,1",
            "2022,33.683.111/0001-07,0,LUCRO PRESUMIDO,1",
            "2022,33.683.111/0001-07,0,LUCRO PRESUMIDO,2",
            "not a line",
        ),
    },
    "Lucro Real": {
        "Lucro Real.csv": lines(REAL, "2023,33.683.111/0001-07,11.222.333/0001-81,LUCRO REAL,1")
    },
}


def test_a_month_with_all_files(tmp_path: Path) -> None:
    report = imported(month_with(tmp_path / "mes", ALL), tmp_path)
    assert report.tax_regimes == TAX_REGIME_FILES
    assert not [warning for warning in report.warnings if "regime" in warning]
    counts = (report.rows, report.duplicates, report.rejected)
    assert [each["RegimeTributario"] for each in counts] == [7, 1, 1]
    assert "Lucro Presumido 2022.csv" in report.rejects_file.read_text("utf-8")
    # The branch has the regimes of its company. The number of filings is that of the newest file.
    assert company(report).regime_tributario == (
        TaxRegime(2021, "LUCRO PRESUMIDO", 1),
        TaxRegime(2022, "LUCRO PRESUMIDO", 2),
        TaxRegime(2023, "LUCRO REAL", 1),
        TaxRegime(2023, "LUCRO REAL", 1, "11222333000181"),
    )
    assert company(report, cnpj("00000191", "0002")).regime_tributario == ()


def test_a_month_without_them(tmp_path: Path) -> None:
    report = Month(tmp_path / "mes").build(tmp_path)
    assert (report.tax_regimes, report.warnings) == ((), [])
    assert company(report).regime_tributario is None
    connection = open_finished(report.path)
    assert b"tax_regimes" not in meta(connection, "info"), "as months of earlier versions"
    connection.close()


def test_an_incomplete_set_says_nothing_about_others(tmp_path: Path) -> None:
    only = {name: ALL[name] for name in ("Lucro Presumido", "Lucro Real")}
    report = imported(month_with(tmp_path / "mes", only), tmp_path)
    assert report.tax_regimes == ("Lucro Presumido", "Lucro Real")
    assert "regime tributário: falta Imunes e Isentas.zip, Lucro Arbitrado.zip" in report.warnings
    listed, other = find(report, cnpj("33683111", "0002"), cnpj("00000191", "0002"))
    assert listed is not None
    assert listed.regime_tributario
    assert other is not None
    assert other.regime_tributario is None


def test_unreadable_files_are_left_out_and_stop_nothing(tmp_path: Path) -> None:
    files = dict(ALL) | {
        "Imunes e Isentas": {"Imunes e Isentas.csv": "\n"},
        "Lucro Arbitrado": {"x.csv": lines(*["2023;cnpj;LUCRO"] * 11)},
        "Lucro Presumido": {"y.csv": b"x" * 70_000},
    }
    month = month_with(tmp_path / "mes", files)
    (month.folder / "Lucro Real.zip").write_bytes(b"PK\x03\x04 half")
    report = imported(month, tmp_path)
    assert report.tax_regimes == ()
    assert [warning.split(".zip")[0] for warning in report.warnings] == [
        "Lucro Real", "Imunes e Isentas", "Lucro Arbitrado", "Lucro Presumido",
        "regime tributário: falta Lucro Real",
    ]  # fmt: skip
    assert company(report).regime_tributario is None


def test_files_kept_in_the_store_belong_to_every_month(tmp_path: Path) -> None:
    for file, entries in ALL.items():
        write_regimes(tmp_path / "regime_tributario", file, entries)
    report = month_in(tmp_path / "mes").build(tmp_path)
    assert report.tax_regimes == TAX_REGIME_FILES
    with_them = company(report).regime_tributario
    assert with_them
    # The same files in the month's folder, too.
    again = imported(month_with(tmp_path / "outro", ALL), tmp_path)
    assert company(again).regime_tributario == with_them


REGIMES = {f"{file}.zip" for file in TAX_REGIME_FILES}


@pytest.mark.parametrize("apart", [False, True])
def test_fetch_takes_them_where_they_are_published(tmp_path: Path, apart: bool) -> None:
    zips = zips_of(tmp_path / "zips", NOVEMBER, tax_regimes=True)
    month = {name: zip_ for name, zip_ in zips.items() if name not in REGIMES or not apart}
    share = Share({"2026-11": month})
    if apart:
        share.months["regime_tributario"] = {name: zips[name] for name in REGIMES}
    world = World(tmp_path / "live", share)
    world.fetch(keep_zips=True)
    assert {file.name for file in (world.store / "fetched/2026-11").iterdir()} == set(zips)
    assert imported_files(world) == TAX_REGIME_FILES


def test_fetch_does_without_those_that_fail(tmp_path: Path) -> None:
    """One that stays damaged, one that is never sent, one that is empty."""
    zips = dict(zips_of(tmp_path / "zips", NOVEMBER, tax_regimes=True))
    share = Share({"2026-11": zips | {"Lucro Arbitrado.zip": b""}})
    failing = {"Lucro Real.zip": Fault(flip_at=60), "Lucro Presumido.zip": Fault(status=404)}
    share.fault = lambda name, start: failing.get(name, Fault())
    world = World(tmp_path / "live", share)
    assert world.fetch().standing == "trocado"
    assert imported_files(world) == ("Imunes e Isentas",)


def imported_files(world: World) -> tuple[str, ...]:
    (path,) = world.store.glob("*.snapshot")
    snapshot = Snapshot.open(path)
    try:
        return snapshot.info().tax_regimes
    finally:
        snapshot.close()
