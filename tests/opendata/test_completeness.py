"""A month is complete and plausible by itself, without an earlier month for comparison."""

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from balcao.cli.failures import explain
from balcao.opendata.archive import Inputs, Part
from balcao.opendata.completeness import empty_sentence, judge
from balcao.opendata.encoding import EncodingCheck
from balcao.opendata.errors import BadInput, VerificationFailed
from balcao.opendata.generator import generate
from balcao.opendata.importer import build
from balcao.opendata.layout import DOMAINS, PARTS_PER_TABLE
from balcao.opendata.store import published
from tests.opendata.months import CODES, DAY, TODAY, Month, inner_name, write_zip


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    generate(folder, 600, 7)
    return folder


def copied(sample: Path, to: Path) -> Path:
    shutil.copytree(sample, to)
    return to


def content_of(path: Path) -> tuple[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        (name,) = archive.namelist()
        return name, archive.read(name)


def refusal(folder: Path, store: Path) -> str:
    """Return the reason why an import is refused, even with `force`."""
    with pytest.raises(BadInput):
        build([folder], store, today=TODAY)
    with pytest.raises(BadInput) as refused:
        build([folder], store, today=TODAY, force=True)
    assert published(store) is None
    return str(refused.value)


@pytest.mark.parametrize(
    "missing",
    ["Estabelecimentos5", "Estabelecimentos0", "Empresas3", "Socios3", "Simples", "Motivos"],
)
def test_a_first_month_without_one_of_its_zips_is_refused(
    sample: Path, tmp_path: Path, missing: str
) -> None:
    folder = copied(sample, tmp_path / "month")
    # An unfinished download does not count as a zip.
    (folder / f"{missing}.zip").rename(folder / f"{missing}.zip.crdownload")
    assert refusal(folder, tmp_path / "store") == f"falta {missing}.zip"


def test_all_missing_zips_are_named(sample: Path, tmp_path: Path) -> None:
    folder = copied(sample, tmp_path / "month")
    for name in ("Socios9", "Cnaes", "Estabelecimentos2"):
        (folder / f"{name}.zip").unlink()
    message = refusal(folder, tmp_path / "store")
    assert message == "faltam Estabelecimentos2.zip, Socios9.zip, Cnaes.zip"
    explained = explain(BadInput(message)) or ""
    assert "O mês em uso não foi trocado." in explained


def test_zips_without_a_record_are_named_in_the_plural() -> None:
    assert empty_sentence(["Socios1.zip"]) == ("Socios1.zip não tem nenhum registro. Baixe de novo")
    assert empty_sentence(["Socios1.zip", "Socios2.zip"]) == (
        "Socios1.zip, Socios2.zip não têm nenhum registro. Baixe de novo"
    )


def test_a_later_month_is_judged_by_the_same_rules(sample: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    build([sample], store, today=TODAY)
    folder = copied(sample, tmp_path / "month")
    (folder / "Socios4.zip").unlink()
    with pytest.raises(BadInput, match=r"falta Socios4\.zip"):
        build([folder], store, today=TODAY, force=True)


@pytest.mark.parametrize("name", ["Estabelecimentos5", "Socios0", "Empresas9", "Simples"])
@pytest.mark.parametrize("content", [b"", b"\n" * 60])
def test_a_zip_without_a_record_is_refused(
    sample: Path, tmp_path: Path, name: str, content: bytes
) -> None:
    folder = copied(sample, tmp_path / "month")
    inner, _ = content_of(folder / f"{name}.zip")
    write_zip(folder / f"{name}.zip", inner, content)
    assert f"{name}.zip não tem nenhum registro" in refusal(folder, tmp_path / "store")


def test_an_empty_table_of_codes_is_refused(sample: Path, tmp_path: Path) -> None:
    folder = copied(sample, tmp_path / "month")
    write_zip(folder / "Paises.zip", inner_name("Paises", DAY), b"")
    assert "Paises.zip" in refusal(folder, tmp_path / "store")


@pytest.mark.parametrize(
    ("encoding", "named"),
    [("utf-8", "UTF-8"), ("utf-8-sig", "UTF-8"), ("utf-16", "UTF-16"), ("utf-16-le", "UTF-16")],
)
def test_a_month_in_another_encoding_is_refused(
    sample: Path, tmp_path: Path, encoding: str, named: str
) -> None:
    folder = copied(sample, tmp_path / "month")
    for path in folder.glob("*.zip"):
        inner, content = content_of(path)
        write_zip(path, inner, content.decode("latin-1").encode(encoding))
    assert f"está em {named}, e não em ISO-8859-1" in refusal(folder, tmp_path / "store")


@pytest.mark.parametrize("name", ["Estabelecimentos0", "Cnaes"])
def test_one_file_in_utf8_is_refused_and_named(sample: Path, tmp_path: Path, name: str) -> None:
    folder = copied(sample, tmp_path / "month")
    inner, content = content_of(folder / f"{name}.zip")
    assert not content.isascii()
    write_zip(folder / f"{name}.zip", inner, content.decode("latin-1").encode())
    assert refusal(folder, tmp_path / "store").startswith(f"{name}.zip está em UTF-8")


def encoding_refused(content: bytes) -> bool:
    check = EncodingCheck("Empresas1.zip")
    try:
        for at in range(0, len(content), 1000):
            check.add(content[at : at + 1000])
        check.finish()
    except BadInput:
        return True
    return False


ROW = "AÇÃO, SÍTIO NOVA BRASÍLIA, DRª, 360º\n"


@pytest.mark.parametrize(
    ("content", "refused"),
    [
        (b"", False),
        (b"ACAO\n" * 5000, False),
        (ROW.encode("latin-1") * 50, False),
        (ROW.encode(), True),
        (ROW.encode("cp850") * 20, True),
        (ROW.encode("mac-roman") * 20, True),
        # Records encoded twice, and the one control character of real e-mails.
        (ROW.encode("latin-1") * 50 + ROW.encode() * 40, False),
        (b"PADARIA\n" * 1_000_000 + "PÃO\n".encode(), False),
        (b"x\x8f@example.com\n", False),
    ],
)
def test_the_encoding_is_recognised_by_non_ascii_bytes(content: bytes, refused: bool) -> None:
    assert encoding_refused(content) is refused


def test_a_part_under_the_name_of_another_is_refused(sample: Path, tmp_path: Path) -> None:
    folder = copied(sample, tmp_path / "month")
    shutil.copy(folder / "Socios4.zip", folder / "Socios5.zip")
    message = refusal(folder, tmp_path / "store")
    assert message == "Socios5.zip contém a parte 4: K3241.K03200Y4.D60808.SOCIOCSV"


def test_a_copy_of_a_part_is_refused_without_the_publishers_names_too(
    sample: Path, tmp_path: Path
) -> None:
    folder = copied(sample, tmp_path / "month")
    _, content = content_of(folder / "Socios4.zip")
    for number in (4, 5):
        write_zip(folder / f"Socios{number}.zip", f"socios{number}.csv", content)
    assert "Socios5.zip é uma cópia de Socios4.zip" in refusal(folder, tmp_path / "store")


def test_a_zip_downloaded_twice_counts_once(sample: Path, tmp_path: Path) -> None:
    folder = copied(sample, tmp_path / "month")
    shutil.copy(folder / "Socios4.zip", folder / "Socios4 (1).zip")
    report = build([folder], tmp_path / "store", today=TODAY)
    (warning,) = [each for each in report.warnings if "repete" in each]
    assert warning == "Socios4.zip repete outro zip da pasta: ignorado"
    (folder / "Socios4.zip").unlink()
    assert build([folder], tmp_path / "store", today=TODAY).rows == report.rows


@pytest.mark.parametrize("establishments", [1, 15, 40, 100])
def test_small_generated_months_are_complete(tmp_path: Path, establishments: int) -> None:
    generate(tmp_path / "month", establishments, 3)
    assert build([tmp_path / "month"], tmp_path / "store", today=TODAY).warnings == []


def test_a_missing_table_of_codes_is_fatal_only_without_an_earlier_one(tmp_path: Path) -> None:
    without = {name: texts for name, texts in CODES.items() if name != "Cnaes"}
    with pytest.raises(BadInput, match=r"falta Cnaes\.zip"):
        Month(tmp_path / "month", codes=without).build(tmp_path / "store")


# Judging sizes, with those of the publisher's months.


def part(table: str, number: int, size: int) -> Part:
    name = f"{table}{number}" if PARTS_PER_TABLE.get(table, 1) > 1 else table
    path = Path(f"{name}.zip")
    return Part(path, table, number, inner_name(name, DAY), 8, 0, size, size, number, None)


def full(change: Callable[[str, int, int], int] = lambda table, number, size: size) -> Inputs:
    """Return a month of the sizes of August 2026, each changed."""
    bytes_of = {"Empresas": (2_290, 355), "Estabelecimentos": (7_007, 1_110), "Socios": (990, 209)}
    parts = [
        part(table, number, change(table, number, bytes_of[table][bool(number)] * 1_000_000))
        for table in bytes_of
        for number in range(10)
    ]
    parts.append(part("Simples", 0, change("Simples", 0, 3_140_000_000)))
    return Inputs(tuple(parts), tuple(part(name, 0, 5_000) for name in DOMAINS), ())


def test_the_publishers_sizes_are_plausible() -> None:
    found = judge(full(), ())
    assert (found.missing, found.sizes, found.warnings) == (None, (), ())


@pytest.mark.parametrize(
    ("table", "number", "share", "said"),
    [
        ("Estabelecimentos", 5, 0.5, "Estabelecimentos5.zip é pequeno demais: cerca de 50 %"),
        ("Socios", 0, 0.1, "Socios0.zip é pequeno demais: cerca de 47 %"),
        ("Simples", 0, 0.3, "Simples tem registros de menos"),
        ("Empresas", 0, 0.5, "Estabelecimentos tem registros de mais"),
    ],
)
def test_sizes_that_do_not_fit_each_other(table: str, number: int, share: float, said: str) -> None:
    inputs = full(lambda t, n, size: int(size * share) if (t, n) == (table, number) else size)
    found = judge(inputs, ())
    assert found.missing is None
    assert any(sentence.startswith(said) for sentence in found.sizes)


def test_force_accepts_implausible_sizes(tmp_path: Path) -> None:
    folder = tmp_path / "month"
    generate(folder, 12_000, 5, clean=True)
    inner, content = content_of(folder / "Estabelecimentos5.zip")
    lines = content.splitlines(keepends=True)
    write_zip(folder / "Estabelecimentos5.zip", inner, b"".join(lines[: len(lines) // 2]))
    with pytest.raises(VerificationFailed, match=r"Estabelecimentos5\.zip é pequeno demais") as no:
        build([folder], tmp_path / "store", today=TODAY)
    assert no.value.only_size
    report = build([folder], tmp_path / "store", today=TODAY, force=True)
    assert any(each.startswith("Estabelecimentos5.zip") for each in report.warnings)
