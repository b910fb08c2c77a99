"""Every kind of dirt seen in real months (`rfb-open-data.md`, sections 3 and 9)."""

import json
from pathlib import Path

import pytest

from balcao.opendata import archive
from balcao.opendata.errors import BadInput, TooManyRejects
from balcao.opendata.layout import ESTABELECIMENTOS
from tests.opendata.months import Month, cnpj, company, find, root, row

# The default establishment, to be damaged.
CLEAN = row("Estabelecimentos", complemento="SALA 1", nome_fantasia="LOJA AZUL")


def others(*numbers: int) -> bytes:
    """Return other establishments of the same company."""
    return b"".join(row("Estabelecimentos", cnpj_ordem=str(1000 + n)) for n in numbers)


def month(folder: Path, *establishments: bytes) -> Month:
    files = {f"Estabelecimentos{part}": content for part, content in enumerate(establishments)}
    return Month(folder / "month", files=files)


@pytest.mark.parametrize(
    ("text", "read_back"),
    [
        ("ANDAR 4;APT 404;BLOCO 12", "ANDAR 4;APT 404;BLOCO 12"),
        (";", ";"),
        (";;", ";;"),
        ('";"', '";"'),
        ("QUADRA02                  LOTE  15", "QUADRA02 LOTE 15"),
        ("   PADDED  ", "PADDED"),
        (" ", None),
        ("SALA\n", "SALA"),
        ("SALA\n12\n\n", "SALA 12"),
        ("\n", None),
        ("SA\0LA", "SALA"),
        ("\0", None),
        ("SALA\t1\r\n2", "SALA 1 2"),
        ("D'AGUA\\", "D'AGUA\\"),
        ('SALA "B"', 'SALA "B"'),
        ('"', '"'),
        ('""', '""'),
        ("SÍTIO DRª 360º", "SÍTIO DRª 360º"),
        ("X\x8fY", "X\x8fY"),
        ("A\xa0 B", "A B"),
    ],
)
def test_text_of_every_kind(tmp_path: Path, text: str, read_back: str | None) -> None:
    """In the middle of a file, in the publisher's form."""
    dirty = row("Estabelecimentos", complemento=text)
    report = month(tmp_path, others(1, 2, 3) + dirty + others(4, 5)).build(tmp_path)
    assert company(report).complemento == read_back
    assert report.rows["Estabelecimentos"] == 6
    assert report.rejected["Estabelecimentos"] == 0


@pytest.mark.parametrize(
    ("damaged", "complement", "mended"),
    [
        (CLEAN.replace(b"SALA 1", b'SALA "1" B'), 'SALA "1" B', 1),  # quotes not doubled
        (CLEAN.replace(b"SALA 1", b"SALA 1\\"), "SALA 1\\", 0),  # not an escape
        (CLEAN.replace(b"SALA 1", b'SALA 1"'), 'SALA 1"', 1),
        (CLEAN.replace(b"SALA 1", b'"SALA 1'), '"SALA 1', 1),
        (CLEAN.replace(b"SALA 1", b"II'\n"), "II'", 1),  # February 2025, part 7
        (CLEAN.replace(b'"SALA 1";', b'"SALA 1";\n'), "SALA 1", 1),  # between two fields
        (CLEAN.replace(b'"SALA 1";', b'"SALA 1"\n;'), "SALA 1", 1),
        (CLEAN.replace(b"\n", b"\r\n"), "SALA 1", 1),
        (b"\n\n" + CLEAN, "SALA 1", 0),
        (CLEAN + b"  \n\n", "SALA 1", 0),
        (CLEAN.replace(b'"33683111"', b'"3368\x003111"'), "SALA 1", 1),
        (CLEAN[:-1], "SALA 1", 0),  # no line feed at the very end
    ],
)
@pytest.mark.parametrize("place", ["first", "last", "alone"])
def test_repairable_damage(
    tmp_path: Path, damaged: bytes, complement: str, mended: int, place: str
) -> None:
    before = others(1, 2) if place == "last" else b""
    after = others(1, 2) if place == "first" else b""
    if after and not damaged.endswith(b"\n"):
        damaged += b"\n"
    report = month(tmp_path, before + damaged + after).build(tmp_path)
    found = company(report)
    assert found.complemento == complement
    assert found.nome_fantasia == "LOJA AZUL"
    assert found.municipio == "BRASILIA"
    assert report.rejected["Estabelecimentos"] == 0
    assert report.rows["Estabelecimentos"] == (1 if place == "alone" else 3)
    assert report.mended["Estabelecimentos"] == mended


def test_unreadable_records_are_rejected_with_their_number(tmp_path: Path) -> None:
    short = b'"12345678";"0001";"00";"ONLY FOUR"\n'
    garbage = b"PK\x03garbage\xff\n"
    content = others(1, 2) + short + short + CLEAN + garbage + others(3)
    report = month(tmp_path, content).build(tmp_path)
    assert company(report).complemento == "SALA 1"
    assert report.rows["Estabelecimentos"] == 4
    assert report.rejected["Estabelecimentos"] == 3
    rejects = [json.loads(line) for line in report.rejects_file.read_text("utf-8").splitlines()]
    assert rejects == [
        {"file": "Estabelecimentos0.zip", "record": 3, "raw": short.decode("latin-1").strip()},
        {"file": "Estabelecimentos0.zip", "record": 4, "raw": short.decode("latin-1").strip()},
        {"file": "Estabelecimentos0.zip", "record": 6, "raw": "PK\x03garbage\xff"},
    ]
    assert report.rejects_file.stat().st_mode & 0o077 == 0  # they may name people


@pytest.mark.parametrize(
    "key", ["3368311", "336831110", "3368311a", "33683 11", "        ", "33.68311"]
)
def test_a_record_without_a_valid_key_is_rejected(tmp_path: Path, key: str) -> None:
    bad = CLEAN.replace(b"33683111", key.encode())
    report = month(tmp_path, others(1, 2) + bad).build(tmp_path)
    assert report.rejected["Estabelecimentos"] == 1
    assert report.rows["Estabelecimentos"] == 2


def test_too_many_rejects_stop_the_import(tmp_path: Path) -> None:
    """Eleven in a month of a few rows: the layout must have changed."""
    bad = b'"12345678";"ANOTHER";"LAYOUT"\n'
    ten = month(tmp_path, CLEAN + bad * 10)
    assert ten.build(tmp_path / "ten").rejected["Estabelecimentos"] == 10
    eleven = month(tmp_path, CLEAN + bad * 11)
    with pytest.raises(TooManyRejects, match="11 registros"):
        eleven.build(tmp_path / "eleven")
    assert not (tmp_path / "eleven" / "current").exists()
    assert len((tmp_path / "eleven" / "work" / "rejects.jsonl").read_bytes().splitlines()) == 11


def test_a_file_of_something_else_stops_early(tmp_path: Path) -> None:
    with pytest.raises(TooManyRejects, match=r"Estabelecimentos\d\.zip.*leiaute"):
        month(tmp_path, *(b"a,b,c\n" * (2000 + n) for n in range(10))).build(tmp_path)


def test_a_file_without_line_feeds_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="uma linha de mais de"):
        month(tmp_path, *(b'"' * (1_100_000 + n) for n in range(10))).build(tmp_path, force=True)


def test_records_cut_by_the_edge_of_a_chunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record over several lines stays one record, for any chunk size."""
    dirty = row("Estabelecimentos", complemento='A\nB "C"\n\nD;\nE', nome_fantasia="\n")
    content = others(1, 2) + dirty + others(3, 4, 5)
    for size in (64, 100, 333, 1000):
        monkeypatch.setattr(archive, "CHUNK_BYTES", size)
        report = month(tmp_path, content).build(tmp_path / str(size))
        assert report.rows["Estabelecimentos"] == 6
        assert report.mended["Estabelecimentos"] == 1
        assert company(report).complemento == 'A B "C" D; E'
        assert company(report).nome_fantasia is None


def test_duplicates_keep_the_fullest_row(tmp_path: Path) -> None:
    """Whole-record duplicates and ghosts, in any order, over two parts."""
    full = row("Empresas", razao_social="REAL NAME SA", ente_federativo_responsavel="UNIAO")
    ghost = row("Empresas", razao_social="", natureza_juridica="0000", porte="")
    report = Month(
        tmp_path / "month",
        files={
            "Empresas0": ghost + full,
            "Empresas1": full + ghost + row("Empresas", cnpj_basico=root(1)),
            "Estabelecimentos0": CLEAN + CLEAN + row("Estabelecimentos", complemento="SALA 1"),
            "Simples": row("Simples") * 3,
        },
    ).build(tmp_path)
    assert company(report).nome_empresarial == "REAL NAME SA"
    assert company(report).ente_federativo_responsavel == "UNIAO"
    assert company(report).nome_fantasia == "LOJA AZUL"
    assert report.rows["Empresas"] == 2
    assert report.duplicates == {
        "Empresas": 3,
        "Estabelecimentos": 2,
        "Socios": 0,
        "Simples": 2,
        **dict.fromkeys(("Cnaes", "Motivos", "Municipios"), 0),
        **dict.fromkeys(("Naturezas", "Paises", "Qualificacoes"), 0),
    }


def test_partners_repeat_only_when_every_field_does(tmp_path: Path) -> None:
    """One person with two qualifications is two rows, in the file's order."""
    once = row("Socios", nome_socio="ANA", qualificacao_socio="49")
    again = row("Socios", nome_socio="ANA", qualificacao_socio="05")
    report = Month(
        tmp_path / "month",
        files={
            "Socios0": row("Socios", nome_socio="ZILDA") + once + row("Socios", nome_socio="BIA"),
            "Socios1": again + once + row("Socios", cnpj_basico=root(1)) + once,
        },
    ).build(tmp_path)
    assert [(p.nome, p.qualificacao_socio) for p in company(report).socios] == [
        ("ZILDA", "Sócio-Administrador"),
        ("ANA", "Sócio-Administrador"),
        ("BIA", "Sócio-Administrador"),
        ("ANA", "Administrador"),
    ]
    assert report.rows["Socios"] == 5
    assert report.duplicates["Socios"] == 2


def test_an_establishment_without_its_company_is_answered(tmp_path: Path) -> None:
    orphan = row("Estabelecimentos", cnpj_basico=root(5), nome_fantasia="SOZINHA")
    report = month(tmp_path, CLEAN + orphan).build(tmp_path)
    (found,) = find(report, cnpj(root(5), "0002"))
    assert found is not None
    assert found.nome_fantasia == "SOZINHA"
    assert found.nome_empresarial is None
    assert found.natureza_juridica is None
    assert found.porte is None
    assert found.socios == ()


def test_column_values_are_counted(tmp_path: Path) -> None:
    report = Month(
        tmp_path / "month",
        files={
            "Estabelecimentos0": CLEAN
            + row("Estabelecimentos", cnpj_basico=root(1), situacao_cadastral="07")
            + row("Estabelecimentos", cnpj_basico=root(2), situacao_cadastral="2")
            + row("Estabelecimentos", cnpj_basico=root(3), identificador_matriz_filial="")
            + row("Estabelecimentos", cnpj_basico=root(4), situacao_cadastral="ATIVA"),
            "Socios0": row("Socios", identificador_socio="4"),
            "Simples": row("Simples", opcao_mei="")
            + row("Simples", cnpj_basico=root(1), opcao_mei="s"),
        },
    ).build(tmp_path)
    assert report.unknown_values == {
        "Estabelecimentos.identificador_matriz_filial=": 1,
        "Estabelecimentos.situacao_cadastral=(longer)": 1,
        "Estabelecimentos.situacao_cadastral=07": 1,
        "Estabelecimentos.situacao_cadastral=2": 1,
        "Socios.identificador_socio=4": 1,
        "Simples.opcao_mei=s": 1,
    }
    assert "Socios.identificador_socio=4: valor desconhecido em 1 linha" in report.warnings


@pytest.mark.parametrize(
    ("written", "read_back"),
    [
        ("19670630", "1967-06-30"),
        ("18500101", "1850-01-01"),
        ("18491231", None),
        ("20240229", "2024-02-29"),
        ("20230229", None),
        ("20280807", "2028-08-07"),  # two years after the extraction
        ("20280808", None),
        ("41000101", None),
        ("02021221", None),
        ("2021221", None),
        ("20210700", None),
        ("20211301", None),
        ("2021O101", None),
    ],
)
def test_dates_outside_the_range_are_null_and_counted(
    tmp_path: Path, written: str, read_back: str | None
) -> None:
    report = month(tmp_path, row("Estabelecimentos", data_inicio_atividade=written)).build(tmp_path)
    assert company(report).data_de_abertura == read_back
    expected = {} if read_back else {"Estabelecimentos.data_inicio_atividade": 1}
    assert report.bad_dates == expected


@pytest.mark.parametrize("none", ["", "0", "00000000"])
def test_no_date_is_not_a_bad_date(tmp_path: Path, none: str) -> None:
    report = month(tmp_path, row("Estabelecimentos", data_situacao_cadastral=none)).build(tmp_path)
    assert company(report).data_da_situacao_cadastral is None
    assert report.bad_dates == {}


def test_the_layout_has_the_columns_of_the_official_one() -> None:
    """`rfb-open-data.md`, sections 4.1 to 4.4, by count."""
    assert ESTABELECIMENTOS.width == 30
    assert ESTABELECIMENTOS.columns[27] == "correio_eletronico"
