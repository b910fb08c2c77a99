"""Tiny months, fact by fact: a fictitious, dirty one, and a real one where it is available.

The real one is the publisher's files of two companies; it names real people, so it is kept outside
the project. Ours is in `tiny/` as text, and has the same facts and more.
"""

import zipfile
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from balcao.core.company import Coded
from balcao.core.documents import Cnpj
from balcao.opendata.importer import BuildReport, build
from balcao.opendata.snapshot import Snapshot
from tests import official
from tests.opendata.months import TODAY, find

TINY = Path(__file__).parent / "tiny"


@dataclass(frozen=True)
class Facts:
    """The expected results of importing a month."""

    extracted: date
    rows: dict[str, int]
    establishment: str  # CNPJ
    expected: dict[str, Any]  # its fields of `Company`
    activities: list[str]  # secondary ones, in the order given
    described: dict[str, str | None]  # their texts; None: the month has none
    first_partner: tuple[str, str]  # since when, how old
    nowhere: str  # CNPJ of a company without an establishment
    simples: list[str]
    rejected: dict[str, int] = field(default_factory=dict)
    duplicates: dict[str, int] = field(default_factory=dict)
    mended: dict[str, int] = field(default_factory=dict)
    bad_dates: dict[str, int] = field(default_factory=dict)
    unknown_values: dict[str, int] = field(default_factory=dict)


OURS = Facts(
    extracted=date(2026, 8, 9),
    rows={"Empresas": 2, "Estabelecimentos": 3, "Socios": 7, "Simples": 1}
    | {"Cnaes": 5, "Motivos": 2, "Municipios": 1, "Naturezas": 1, "Paises": 1, "Qualificacoes": 4},
    rejected={"Estabelecimentos": 1},
    duplicates={"Empresas": 1, "Estabelecimentos": 1},
    mended={"Estabelecimentos": 1},
    bad_dates={"Estabelecimentos.data_situacao_cadastral": 1},
    unknown_values={"Estabelecimentos.situacao_cadastral=07": 1},
    establishment="98765432000279",
    expected={
        "identificador_matriz_filial": "FILIAL",
        "nome_fantasia": "REGIONAL DAS LETRAS-DF",
        "nome_empresarial": "SERVICO FICTICIO DE LETRAS E SINOS (SFLS)",
        "data_de_abertura": "1968-01-01",
        "situacao_cadastral": "ATIVA",
        "data_da_situacao_cadastral": "2004-02-29",
        "natureza_juridica": Coded("2011", "Empresa Pública"),
        "porte": "DEMAIS",
        "atividade_economica_principal": Coded(
            "6204000", "Consultoria fictícia em máquinas de escrever"
        ),
        "tipo_logradouro": "AVENIDA",
        "logradouro": "DAS FICCOES",
        "numero": "601",
        "complemento": "MODULO G",
        "bairro": "ASA NORTE",
        "cep": "70000999",
        "municipio": "BRASILIA",
        "uf": "DF",
        "telefone": None,
        "endereco_eletronico": None,
    },
    activities=["6201501", "6202300", "6203100", "6209100", "6311900"],
    described={"6201501": "Fundição de sinos sob encomenda", "6311900": None},
    first_partner=("2016-06-16 00:00:00", "Entre 51 a 60 anos"),
    nowhere="98765433000132",
    simples=["98765432", "S", "20150101", "00000000", "N", "00000000", "00000000"],
)
REAL = Facts(
    extracted=date(2025, 12, 6),
    rows={"Empresas": 2, "Estabelecimentos": 1, "Socios": 7, "Simples": 1}
    | {"Cnaes": 6, "Motivos": 2, "Municipios": 1, "Naturezas": 1, "Paises": 1, "Qualificacoes": 4},
    establishment="33683111000280",
    expected={
        "identificador_matriz_filial": "FILIAL",
        "nome_fantasia": "REGIONAL BRASILIA-DF",
        "nome_empresarial": "SERVICO FEDERAL DE PROCESSAMENTO DE DADOS (SERPRO)",
        "data_de_abertura": "1967-06-30",
        "situacao_cadastral": "ATIVA",
        "data_da_situacao_cadastral": "2004-05-22",
        "natureza_juridica": Coded("2011", "Empresa Pública"),
        "porte": "DEMAIS",
        "atividade_economica_principal": Coded(
            "6204000", "Consultoria em tecnologia da informação"
        ),
        "tipo_logradouro": "AVENIDA",
        "logradouro": "L2 SGAN",
        "numero": "601",
        "complemento": "MODULO G",
        "bairro": "ASA NORTE",
        "cep": "70836900",
        "municipio": "BRASILIA",
        "uf": "DF",
        "telefone": None,
        "endereco_eletronico": None,
    },
    activities=["6201501", "6202300", "6203100", "6209100", "6311900"],
    described={"6201501": "Desenvolvimento de programas de computador sob encomenda"},
    first_partner=("2016-06-16 00:00:00", "Entre 51 a 60 anos"),
    nowhere="19131243000197",
    simples=["33683111", "S", "20140101", "00000000", "N", "00000000", "00000000"],
)


def publish(folder: Path) -> Path:
    """Write our month as zips, whose entries' times give the date, as in the real one."""
    folder.mkdir()
    for file in sorted(TINY.iterdir()):
        day = 9 if file.stem == "Qualificacoes" else 8
        entry = zipfile.ZipInfo(file.stem, date_time=(2026, 8, day, 2, 8, 0))
        with zipfile.ZipFile(folder / f"{file.stem}.zip", "w") as archive:
            archive.writestr(entry, file.read_text("utf-8").encode("latin-1"))
    return folder


@dataclass(frozen=True)
class Imported:
    """An imported month and its expected facts."""

    facts: Facts
    report: BuildReport


@pytest.fixture(scope="module", params=["ours", "real"])
def month(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Imported:
    store = tmp_path_factory.mktemp("store")
    if request.param == "ours":
        return Imported(OURS, build([publish(store / "month")], store, today=TODAY))
    return Imported(REAL, build([official.needed(official.SAMPLE_MONTH)], store, today=TODAY))


def test_imported_without_options(month: Imported) -> None:
    def some(counts: dict[str, int]) -> dict[str, int]:
        return {name: count for name, count in counts.items() if count}

    facts, report = month.facts, month.report
    assert report.extraction_date == facts.extracted
    assert report.rows == facts.rows
    assert some(report.rejected) == facts.rejected
    assert some(report.duplicates) == facts.duplicates
    assert some(report.mended) == facts.mended
    assert report.bad_dates == facts.bad_dates
    assert report.unknown_values == facts.unknown_values
    assert "Empresas: 2 de 10 partes" in report.warnings


def test_its_establishment(month: Imported) -> None:
    facts = month.facts
    (found,) = find(month.report, Cnpj.parse(facts.establishment))
    assert found is not None
    assert {name: getattr(found, name) for name in facts.expected} == facts.expected
    secondary = {each.codigo: each.descricao for each in found.atividades_economicas_secundarias}
    assert list(secondary) == facts.activities
    assert facts.described.items() <= secondary.items()

    # In the order of the file, not of the dates.
    since, age = facts.first_partner
    assert found.socios[0].data_entrada_sociedade == since
    assert found.socios[0].faixa_etaria == age
    assert [partner.qualificacao_socio for partner in found.socios] == [
        *("Diretor", "Diretor", "Diretor"),
        *("Presidente", "Diretor", "Administrador"),
    ]
    for partner in found.socios:
        document = partner.cpf_cnpj_socio or ""
        assert (document[:3], document[-2:]) == ("***", "**")
        assert partner.documento_representante_legal is None
        assert partner.nome_representante_legal is None
        assert partner.pais is None


def test_rows_without_an_establishment(month: Imported) -> None:
    facts = month.facts
    assert find(month.report, Cnpj.parse(facts.nowhere)) == [None]
    snapshot = Snapshot.open(month.report.path)
    assert snapshot.simples(facts.establishment[:8]) == facts.simples
    assert snapshot.simples(facts.nowhere[:8]) is None
    snapshot.close()


def test_dirt_of_our_month_is_read(tmp_path: Path) -> None:
    report = build([publish(tmp_path / "month")], tmp_path / "store", today=TODAY)
    head, unknown, short = find(
        report, Cnpj("98765432000198"), Cnpj("98765432000350"), Cnpj("98765434000187")
    )
    assert head is not None
    assert head.identificador_matriz_filial == "MATRIZ"
    assert head.nome_fantasia == 'SINOS "FINOS" & CIA'
    assert head.logradouro == "DO MOÍNHO; LADO Ímpar"
    assert head.complemento == "SALA 3 FUNDOS"
    assert head.bairro == "DRª FICÇÃO"
    assert head.data_da_situacao_cadastral is None
    assert head.atividades_economicas_secundarias == ()
    assert len(head.socios) == 6
    assert unknown is not None
    assert unknown.situacao_cadastral is None
    assert unknown.nome_empresarial == "SERVICO FICTICIO DE LETRAS E SINOS (SFLS)"
    assert short is None
    assert "SO QUATRO CAMPOS" in report.rejects_file.read_text("utf-8")
