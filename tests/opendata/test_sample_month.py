"""The real, tiny month that is kept outside the project: every fact its README names."""

from datetime import date
from pathlib import Path

import pytest

from balcao.core.company import Coded, Company
from balcao.core.documents import Cnpj
from balcao.opendata.importer import BuildReport, build
from balcao.opendata.snapshot import Snapshot
from tests.opendata.months import TODAY, find

SAMPLE = Path(__file__).parents[3] / "shared" / "data" / "rfb-sample"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> BuildReport:
    if not SAMPLE.exists():
        pytest.skip(f"the sample month is not on this machine ({SAMPLE})")
    return build([SAMPLE], tmp_path_factory.mktemp("store"), today=TODAY)


@pytest.fixture(scope="module")
def serpro(report: BuildReport) -> Company:
    (company,) = find(report, Cnpj.parse("33683111000280"))
    assert company is not None
    return company


def test_it_is_imported_without_any_option(report: BuildReport) -> None:
    assert report.rows == {
        "Empresas": 2,
        "Estabelecimentos": 1,
        "Socios": 7,
        "Simples": 1,
        "Cnaes": 6,
        "Motivos": 2,
        "Municipios": 1,
        "Naturezas": 1,
        "Paises": 1,
        "Qualificacoes": 4,
    }
    assert not any(report.rejected.values())
    assert not any(report.duplicates.values())
    assert "Empresas: 2 de 10 partes" in report.warnings


def test_without_dates_in_the_inner_names_the_newest_entry_dates_it(report: BuildReport) -> None:
    assert report.extraction_date == date(2025, 12, 6)


def test_its_one_establishment(serpro: Company) -> None:
    assert serpro.identificador_matriz_filial == "FILIAL"
    assert serpro.nome_fantasia == "REGIONAL BRASILIA-DF"
    assert serpro.nome_empresarial == "SERVICO FEDERAL DE PROCESSAMENTO DE DADOS (SERPRO)"
    assert serpro.data_de_abertura == "1967-06-30"
    assert serpro.situacao_cadastral == "ATIVA"
    assert serpro.data_da_situacao_cadastral == "2004-05-22"
    assert serpro.natureza_juridica == Coded("2011", "Empresa Pública")
    assert serpro.porte == "DEMAIS"
    assert (serpro.municipio, serpro.uf, serpro.cep) == ("BRASILIA", "DF", "70836900")
    assert (serpro.tipo_logradouro, serpro.logradouro) == ("AVENIDA", "L2 SGAN")
    assert (serpro.numero, serpro.complemento, serpro.bairro) == ("601", "MODULO G", "ASA NORTE")
    assert serpro.telefone is None
    assert serpro.endereco_eletronico is None


def test_its_activities_in_the_given_order(serpro: Company) -> None:
    assert serpro.atividade_economica_principal == Coded(
        "6204000", "Consultoria em tecnologia da informação"
    )
    assert [coded.codigo for coded in serpro.atividades_economicas_secundarias] == [
        "6201501",
        "6202300",
        "6203100",
        "6209100",
        "6311900",
    ]
    assert serpro.atividades_economicas_secundarias[0].descricao == (
        "Desenvolvimento de programas de computador sob encomenda"
    )


def test_its_partners_as_the_file_has_them(serpro: Company) -> None:
    assert len(serpro.socios) == 6
    for partner in serpro.socios:
        document = partner.cpf_cnpj_socio or ""
        assert document[:3] == "***"
        assert document[-2:] == "**"
        assert partner.documento_representante_legal is None
        assert partner.nome_representante_legal is None
        assert partner.pais is None
    assert [partner.qualificacao_socio for partner in serpro.socios] == [
        "Diretor",
        "Diretor",
        "Diretor",
        "Presidente",
        "Diretor",
        "Administrador",
    ]
    assert serpro.socios[0].data_entrada_sociedade == "2016-06-16 00:00:00"
    assert serpro.socios[0].faixa_etaria == "Entre 51 a 60 anos"


def test_a_root_without_establishment_is_not_found(report: BuildReport) -> None:
    assert find(report, Cnpj.parse("19131243000197")) == [None]


def test_its_simples_row_is_kept(report: BuildReport) -> None:
    snapshot = Snapshot.open(report.path)
    assert snapshot.simples("33683111") == [
        "33683111",
        "S",
        "20140101",
        "00000000",
        "N",
        "00000000",
        "00000000",
    ]
    assert snapshot.simples("19131243") is None
    snapshot.close()
