"""Comparison of a file's data with the answer's."""

import msgspec
import pytest

from balcao.batches.comparing import Comparison, compare
from tests.batches.answers import answer
from tests.batches.files import COMPANY, FEDERAL, SINTEGRA, STATE


@pytest.mark.parametrize(
    ("fact", "own", "official", "expected"),
    [
        ("razao_social", "EMPRESA ATIVA FICTICIA LTDA", "EMPRESA ATIVA FICTICIA LTDA", "igual"),
        ("razao_social", "Empresa Ativa Fictícia", "EMPRESA ATIVA FICTICIA LTDA", "igual"),
        ("razao_social", "Padaria São João Ltda. - ME", "PADARIA SAO JOAO LTDA", "igual"),
        ("razao_social", "Banco Um S/A", "BANCO UM SA", "igual"),
        ("razao_social", "Ind. e Com. de Móveis Z", "INDUSTRIA E COMERCIO DE MOVEIS Z", "igual"),
        ("razao_social", "Silva & Filhos", "SILVA E FILHOS EIRELI", "igual"),
        ("razao_social", "X TEXTIL LTDA", "X TEXTIL LTDA EM RECUPERACAO JUDICIAL", "igual"),
        ("razao_social", "Padaria do Zé", "PADARIA DO ZE E FILHOS LTDA", "parecido"),
        ("razao_social", "Panificadora Estrela", "PANIFICADORA ESTRELLA LTDA", "parecido"),
        ("razao_social", "Merc. Estrela", "MERCEARIA ESTRELA LTDA", "parecido"),
        ("razao_social", "Padaria", "PADARIA DO ZE LTDA", "diferente"),
        ("razao_social", "Mercado do Zé", "PADARIA DO ZE LTDA", "diferente"),
        ("razao_social", "LTDA", "PADARIA DO ZE LTDA", "diferente"),
        ("nome_fantasia", "Zé's", "ZES", "igual"),
        ("nome_fantasia", "Zecas", "ZECA", "parecido"),
        ("razao_social", "Copo d’Água", "COPO D AGUA LTDA", "igual"),
        ("razao_social", "ABC Móveis", "A. B. C. MOVEIS LTDA", "igual"),
        ("razao_social", "Silva&Souza", "SILVA E SOUZA", "igual"),
        ("municipio", "Santa Bárbara d’Oeste", "SANTA BARBARA D OESTE", "igual"),
        ("municipio", "Xique Xique/BA", "XIQUE-XIQUE", "igual"),
        ("municipio", "São Paulo", "SAO PAULO", "igual"),
        ("municipio", "São Paulo/SP", "SAO PAULO", "igual"),
        ("municipio", "Sao Paulo - SP", "SAO PAULO", "igual"),
        ("municipio", "Sto. André", "SANTO ANDRE", "igual"),
        ("municipio", "Osasco", "SAO PAULO", "diferente"),
        ("municipio", "Sao Paul", "SAO PAULO", "diferente"),  # towns are never similar
        ("uf", "São Paulo", "SP", "igual"),
        ("uf", "sp", "SP", "igual"),
        ("uf", "RJ", "SP", "diferente"),
        ("cep", "04000-100", "04000100", "igual"),
        ("cep", "4000100", "04000100", "igual"),  # a spreadsheet cut the zero off
        ("cep", "04000101", "04000100", "diferente"),
        ("situacao", "Ativo", "ATIVA", "igual"),
        ("situacao", "02 - ATIVA", "ATIVA", "igual"),
        ("situacao", "Baixada", "ATIVA", "diferente"),
        ("cnae", "6201-5/01", "6201501", "igual"),
        ("cnae", "6201501 - Desenvolvimento de programas 2", "6201501", "igual"),
        ("cnae", "111301", "0111301", "igual"),
        ("cnae", "6201502", "6201501", "diferente"),
        ("logradouro", "R. das Acácias", "RUA DAS ACACIAS", "igual"),
        ("logradouro", "Rua das Acácias, 100, sala 2", "RUA DAS ACACIAS", "igual"),
        ("logradouro", "Av. Dr. João Paulo", "AVENIDA DOUTOR JOAO PAULO", "igual"),
        ("logradouro", "Acácias", "RUA DAS ACACIAS", "parecido"),
        ("logradouro", "Rua das Accácias, 100", "RUA DAS ACACIAS", "parecido"),
        ("logradouro", "Rua Sete de Setembro", "RUA DAS ACACIAS", "diferente"),
    ],
)
def test_facts(fact: str, own: str, official: str, expected: str) -> None:
    response = {
        "nome_empresarial": official,
        "nome_fantasia": official,
        "municipio": official,
        "uf": official,
        "cep": official,
        "situacao_cadastral": official,
        "atividade_economica_principal": {"codigo": official},
        "logradouro": official,
    }
    (found,) = compare(COMPANY, [(fact, own)], {"response": response})
    assert found.result == expected


def test_official_values_as_people_write_them() -> None:
    body = msgspec.json.decode(answer(COMPANY))
    own = [("cep", "1"), ("cnae", "1"), ("municipio", ""), ("logradouro", "x")]
    assert compare(COMPANY, own, body) == [
        Comparison("cep", "diferente", "04000-100"),
        Comparison("cnae", "diferente", "6201-5/01"),
        Comparison("municipio", "ausente", "SAO PAULO"),
        Comparison("logradouro", "diferente", "RUA DAS ACACIAS FICTICIAS"),
    ]


def test_an_unknown_official_value() -> None:
    unknown = [Comparison("razao_social", "nao_verificado", "")]
    own = [("razao_social", "Um")]
    assert compare(COMPANY, own, None) == unknown  # no answer yet
    assert compare(COMPANY, own, {"success": False, "response": None}) == unknown
    assert compare(STATE, own, msgspec.json.decode(answer(STATE))) == unknown
    assert compare(FEDERAL, [("razao_social", "")], {"corporate_name": ""}) == unknown


@pytest.mark.parametrize(
    ("own", "found", "expected", "official"),
    [
        ("126.624.035.592", [("126624035592", True)], "igual", "126624035592"),
        ("26624035592", [("026624035592", True)], "igual", "026624035592"),
        ("126624035592", [("1", False), ("126624035592", True)], "igual", "126624035592"),
        ("1", [("1", False), ("126624035592", True)], "diferente", "126624035592"),
        ("1", [("1", False)], "igual", "1"),
        ("", [("1", True), ("2", True)], "ausente", "1, 2"),
        ("2", [("1", True), ("2", True)], "igual", "1, 2"),
        ("ISENTO", [], "igual", "nenhuma"),
        ("", [], "igual", "nenhuma"),
        ("123", [], "diferente", "nenhuma"),
    ],
)
def test_registrations(
    own: str, found: list[tuple[str, bool]], expected: str, official: str
) -> None:
    registrations = [
        {"inscricao_estadual": number, "uf": "SP", "ativa": active} for number, active in found
    ]
    body = {"success": True, "inscricoes_estaduais": registrations}
    compared = Comparison("inscricao_estadual", expected, official)  # type: ignore[arg-type]
    assert compare(SINTEGRA, [("inscricao_estadual", own)], body) == [compared]


def test_absence_of_registrations_needs_all_answers() -> None:
    ufs = [{"uf": "SP", "origem": "online"}, {"uf": "BA", "origem": "indisponivel"}]
    body = {"success": True, "inscricoes_estaduais": [], "ufs": ufs}
    (found,) = compare(SINTEGRA, [("inscricao_estadual", "ISENTO")], body)
    assert found.result == "nao_verificado"
    body = {"success": False, "error": True, "inscricoes_estaduais": []}
    (found,) = compare(SINTEGRA, [("inscricao_estadual", "ISENTO")], body)
    assert found.result == "nao_verificado"
