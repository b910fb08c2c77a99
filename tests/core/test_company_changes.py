"""Changes between two registry answers (contract 20.3)."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from balcao.core.company import Coded, Company, Partner, TaxOption
from balcao.core.company_changes import PARTNERS, CompanyChange, company_changes, completed
from balcao.core.company_record import (
    RegistryRecord,
    record_bytes,
    registry_record,
    stored_record,
)

ANA = Partner("ANA FICTICIA", "***111222**", "Sócio", data_entrada_sociedade="2015-03-02 00:00:00")
RUI = Partner("RUI FICTICIO", "***333444**", "Administrador", faixa_etaria="Entre 41 a 50 anos")
FIRM = Partner("HOLDING FICTICIA SA", "90010007000187", "Sócio", nome_representante_legal="EVA")
BASE = Company(
    cnpj="90010001000100",
    nome_empresarial="EMPRESA FICTICIA LTDA",
    nome_fantasia="FICTICIA",
    atividade_economica_principal=Coded("6201501", "Programas"),
    atividades_economicas_secundarias=(Coded("6204000", "Consultoria"), Coded("6209100", "Outros")),
    natureza_juridica=Coded("2062", "Sociedade Empresária Limitada"),
    tipo_logradouro="RUA",
    logradouro="DAS ACACIAS",
    numero="100",
    bairro="CENTRO",
    municipio="SAO PAULO",
    cep="04000100",
    uf="SP",
    endereco_eletronico="contato@example.com",
    telefone="1110000001 / 1110000002",
    situacao_cadastral="ATIVA",
    data_da_situacao_cadastral="2015-03-02",
    porte="DEMAIS",
    socios=(ANA, RUI, FIRM),
    simples=TaxOption(True, "2016-01-01", None),
    capital_social=Decimal("1000.50"),
    motivo_situacao_cadastral=Coded("00", "SEM MOTIVO"),
    codigo_municipio_ibge="3550308",
)


def changed(before: Company, after: Company, *, whole: bool = True) -> Mapping[str, Any]:
    """Return the data of each kind of change, as JSON."""
    changes = company_changes(registry_record(before), registry_record(after, whole=whole))
    assert len(kinds(changes)) == len(changes)
    data = {change.kind: change.data for change in changes}
    decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(data))
    return decoded


def kinds(changes: Sequence[CompanyChange]) -> set[str]:
    return {change.kind for change in changes}


def with_fields(company: Company = BASE, **fields: Any) -> Company:
    return msgspec.structs.replace(company, **fields)


CASES = [
    ({"porte": "MICRO EMPRESA"}, "empresa.porte", {"de": "DEMAIS", "para": "MICRO EMPRESA"}),
    ({"nome_fantasia": None}, "empresa.nome_fantasia", {"de": "FICTICIA", "para": None}),
    (
        {"natureza_juridica": Coded("2054", "S.A.")},
        "empresa.natureza",
        {
            "de": {"codigo": "2062", "descricao": "Sociedade Empresária Limitada"},
            "para": {"codigo": "2054", "descricao": "S.A."},
        },
    ),
    (
        {"telefone": "1110000002"},
        "empresa.contato",
        {
            "de": {
                "telefone": "1110000001 / 1110000002",
                "endereco_eletronico": "contato@example.com",
            },
            "para": {"telefone": "1110000002", "endereco_eletronico": "contato@example.com"},
        },
    ),
    (
        {"simples": TaxOption(False, "2016-01-01", "2026-09-30")},
        "empresa.simples",
        {
            "de": {"optante": True, "desde": "2016-01-01", "ate": None},
            "para": {"optante": False, "desde": "2016-01-01", "ate": "2026-09-30"},
            "desde": "2026-09-30",
        },
    ),
    (
        {"mei": TaxOption(True, "2026-10-01", None)},
        "empresa.mei",
        {
            "de": None,
            "para": {"optante": True, "desde": "2026-10-01", "ate": None},
            "desde": "2026-10-01",
        },
    ),
    (
        {
            "situacao_cadastral": "INAPTA",
            "data_da_situacao_cadastral": "2026-10-05",
            "motivo_situacao_cadastral": Coded("63", "OMISSAO DE DECLARACOES"),
        },
        "empresa.situacao",
        {
            "de": "ATIVA",
            "para": "INAPTA",
            "motivo": {"codigo": "63", "descricao": "OMISSAO DE DECLARACOES"},
            "data_situacao": "2026-10-05",
            "grave": True,
            "situacao_especial": None,
        },
    ),
    (
        {"situacao_especial": "RECUPERACAO JUDICIAL"},
        "empresa.situacao",
        {
            "de": "ATIVA",
            "para": "ATIVA",
            "motivo": {"codigo": "00", "descricao": "SEM MOTIVO"},
            "data_situacao": "2015-03-02",
            "grave": False,
            "situacao_especial": {"de": None, "para": "RECUPERACAO JUDICIAL"},
        },
    ),
]


@pytest.mark.parametrize(("fields", "kind", "data"), CASES)
def test_a_change_has_the_fields_as_the_lookup_writes_them(
    fields: dict[str, Any], kind: str, data: dict[str, Any]
) -> None:
    assert changed(BASE, with_fields(**fields)) == {kind: data}


def test_an_address_is_one_change_of_the_whole_address() -> None:
    found = changed(BASE, with_fields(logradouro="DOS IPES", cep="04000200"))
    assert list(found) == ["empresa.endereco"]
    assert found["empresa.endereco"]["para"] == {
        "tipo_logradouro": "RUA",
        "logradouro": "DOS IPES",
        "numero": "100",
        "complemento": None,
        "bairro": "CENTRO",
        "cep": "04000200",
        "municipio": "SAO PAULO",
        "uf": "SP",
        "codigo_municipio_ibge": "3550308",
    }


def test_partners_are_compared_as_a_set() -> None:
    raised = msgspec.structs.replace(RUI, qualificacao_socio="Sócio-Administrador")
    new = Partner("LIA NOVA", "***555666**", "Sócio", data_entrada_sociedade="2026-10-01 00:00:00")
    assert changed(BASE, with_fields(socios=(new, raised, FIRM))) == {
        "empresa.socios": {
            "entraram": [
                {"nome": "LIA NOVA", "cnpj": None, "qualificacao": "Sócio", "desde": "2026-10-01"}
            ],
            "sairam": [
                {
                    "nome": "ANA FICTICIA",
                    "cnpj": None,
                    "qualificacao": "Sócio",
                    "desde": "2015-03-02",
                }
            ],
            "alterados": [
                {
                    "nome": "RUI FICTICIO",
                    "cnpj": None,
                    "de": {
                        "qualificacao": "Administrador",
                        "desde": None,
                        "pais": None,
                        "representante": None,
                    },
                    "para": {
                        "qualificacao": "Sócio-Administrador",
                        "desde": None,
                        "pais": None,
                        "representante": None,
                    },
                }
            ],
        }
    }


def test_a_person_has_no_name_address_or_contact_in_changes() -> None:
    person = with_fields(natureza_juridica=Coded("4120", "Produtor Rural"))
    moved = with_fields(
        person,
        nome_empresarial="OUTRO NOME",
        logradouro="OUTRA RUA",
        telefone="1",
        porte="MICRO EMPRESA",
    )
    nothing = {"de": None, "para": None}
    assert changed(person, moved) == {
        "empresa.nome": nothing,
        "empresa.endereco": nothing,
        "empresa.porte": {"de": "DEMAIS", "para": "MICRO EMPRESA"},
        "empresa.contato": nothing,
    }


def test_what_another_source_does_not_know_did_not_change() -> None:
    """The partner's document, the branch of the month's table, and eleven fields are missing."""
    sparse = Company(
        cnpj=BASE.cnpj,
        nome_empresarial="Empresa Fictícia Ltda",
        situacao_cadastral="ATIVA",
        logradouro="DOS IPES",
        socios=(msgspec.structs.replace(ANA, cpf_cnpj_socio=None), RUI, FIRM),
    )
    assert list(changed(BASE, sparse, whole=False)) == ["empresa.endereco"]
    assert len(changed(BASE, sparse)) > 1
    kept = completed(registry_record(sparse, whole=False), registry_record(BASE))
    assert kept.company.simples == BASE.simples
    assert kept.company.logradouro == "DOS IPES"
    assert kept.company.numero is None
    assert "numero" in kept.unknown
    assert "simples" not in kept.unknown


def test_a_full_cpf_is_compared_as_published() -> None:
    opted_in = with_fields(
        socios=(msgspec.structs.replace(ANA, cpf_cnpj_socio="12311122245"), RUI, FIRM)
    )
    assert changed(BASE, opted_in) == {}


BLANKS = st.sampled_from(["", " ", "  "])


@st.composite
def respelled(draw: st.DrawFn, company: Company) -> Company:
    """Return the company with other blanks, case, nulls and orders, and other age bands."""

    def text(value: object) -> object:
        if value is None:
            return draw(st.sampled_from([None, "", "NULL", " ", "********"]))
        if not isinstance(value, str):
            return value
        return draw(BLANKS) + draw(st.sampled_from([str.lower, str.upper]))(value) + draw(BLANKS)

    fields = {name: getattr(company, name) for name in company.__struct_fields__}
    for name in ("nome_fantasia", "logradouro", "complemento", "bairro", "porte", "numero"):
        fields[name] = text(fields[name])
    for name in ("situacao_cadastral", "situacao_especial", "endereco_eletronico"):
        fields[name] = text(fields[name])
    partners = [
        msgspec.structs.replace(
            each,
            nome=text(each.nome),
            faixa_etaria=draw(st.sampled_from([None, "Entre 51 a 60 anos"])),
            qualificacao_socio=text(each.qualificacao_socio),
        )
        for each in company.socios
    ]
    fields["socios"] = tuple(draw(st.permutations(partners)))
    activities = draw(st.permutations(company.atividades_economicas_secundarias))
    fields["atividades_economicas_secundarias"] = tuple(activities)
    return Company(**fields)


@settings(max_examples=40)
@given(st.data())
def test_other_spellings_are_no_change(data: st.DataObject) -> None:
    assert changed(BASE, data.draw(respelled(BASE))) == {}


FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "nome_empresarial": st.sampled_from(["A", "B"]),
    "nome_fantasia": st.sampled_from([None, "A"]),
    "capital_social": st.sampled_from([None, Decimal(0), Decimal(1)]),
    "telefone": st.sampled_from([None, "11", "11 / 12"]),
    "municipio": st.sampled_from([None, "X"]),
    "simples": st.sampled_from([None, TaxOption(True, "2020-01-01", None), TaxOption(False)]),
    "situacao_cadastral": st.sampled_from(["ATIVA", "BAIXADA"]),
    "natureza_juridica": st.sampled_from([Coded("2062", None), Coded("2135", None)]),
    "socios": st.lists(
        st.builds(
            Partner,
            nome=st.sampled_from(["A", "B"]),
            cpf_cnpj_socio=st.sampled_from([None, "***111222**", "90010007000187"]),
            qualificacao_socio=st.sampled_from(["Sócio", "Diretor"]),
        ),
        max_size=4,
    ).map(tuple),
}
RECORDS = st.builds(
    registry_record,
    st.fixed_dictionaries(FIELDS).map(lambda fields: with_fields(**fields)),
    whole=st.booleans(),
)


def partners(change: CompanyChange, member: str) -> list[str]:
    found: Any = change.data[member]
    return sorted(each["nome"] for each in found)


@settings(max_examples=40)
@given(RECORDS, RECORDS)
def test_changes_and_their_reversal_have_the_same_kinds(
    before: RegistryRecord, after: RegistryRecord
) -> None:
    there, back = company_changes(before, after), company_changes(after, before)
    assert kinds(there) == kinds(back)
    for change in there:
        if change.kind == PARTNERS:
            (reversal,) = (each for each in back if each.kind == PARTNERS)
            assert partners(change, "entraram") == partners(reversal, "sairam")


@settings(max_examples=40)
@given(RECORDS, RECORDS)
def test_a_record_completed_is_as_the_answer_and_knows_what_was_known(
    before: RegistryRecord, after: RegistryRecord
) -> None:
    kept = completed(after, before)
    assert stored_record(record_bytes(kept)) == kept
    assert company_changes(kept, after) == ()
    assert kinds(company_changes(before, kept)) == kinds(company_changes(before, after))
    if not before.unknown and not company_changes(before, after):
        assert not kept.unknown
        assert company_changes(before, kept) == ()


@settings(max_examples=40)
@given(RECORDS)
def test_a_record_equals_itself(record: RegistryRecord) -> None:
    copy = msgspec.structs.replace(record, company=msgspec.structs.replace(record.company))
    assert company_changes(record, copy) == ()
    assert CompanyChange("empresa.mei", {}).topic == "simples"
