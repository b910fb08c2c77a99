"""Fictitious documents and records, and the addresses of their lookups."""

from typing import Any

from balcao.core.certificates import FederalCertificate, StateCertificate, StoredReceipt
from balcao.core.company import Company
from balcao.core.fgts_regularity import FgtsRegularity
from balcao.core.labour_certificate import LabourCertificate
from balcao.core.questions import Inquiry, Record
from balcao.core.registration import RegisteredAddress, Registration, Registrations
from balcao.core.suframa import NumberedText, ZoneRecord

CNPJ = "90010001000100"
OTHER_CNPJ = "90010002000154"
CPF = "90010000100"
BIRTH = "1980-01-01"
NAME = "EMPRESA FICTICIA LTDA"

# A Wednesday noon in Brasília.
NOW_MS = 1_785_942_000_000
DAY_SECONDS = 86_400

# The contract's list: what BR stands for.
ALL_UFS = (
    *("AC", "AL", "AM", "AP", "BA", "CE", "DF", "ES", "GO", "MA", "MG", "MS", "MT", "PA"),
    *("PB", "PE", "PI", "PR", "RJ", "RN", "RO", "RR", "RS", "SC", "SE", "SP", "TO"),
)

FEDERAL = "/consultas/v2/certidao-negativa-de-debitos-federal"
STATE = "/consultas/v2/certidao-negativa-de-debitos-estadual"

LABOUR = "/consultas/v2/certidao-negativa-de-debitos-trabalhistas"
FGTS = "/consultas/v2/regularidade-fgts"

# Companies about which every source of the sandbox fails, and what is then answered.
FAILING = {
    "90020001000190": (503, "SERVICO_INDISPONIVEL"),
    "90020003000180": (500, "ERRO_INTERNO"),
    "90020004000124": (500, "ERRO_INTERNO"),
    "90020005000179": (500, "ERRO_INTERNO"),
    "90020009000157": (500, "ERRO_INTERNO"),
    "90020010000181": (500, "ERRO_INTERNO"),
}


def sintegra(cnpj: str = CNPJ, query: str = "uf=SP") -> str:
    """Return the address of a lookup of state registrations."""
    return f"/consultas/v2/sintegra/{cnpj}" + (f"?{query}" if query else "")


def producer(cpf: str = CPF, query: str = "uf=SP") -> str:
    """Return the address of a lookup of a rural producer."""
    return f"/consultas/v2/produtor-rural/{cpf}" + (f"?{query}" if query else "")


def suframa(cnpj: str = CNPJ, query: str = "") -> str:
    """Return the address of a Suframa lookup."""
    return f"/consultas/v2/suframa/{cnpj}" + (f"?{query}" if query else "")


def company(cnpj: str = CNPJ, query: str = "") -> str:
    """Return the address of a company registry lookup."""
    return f"/consultas/v2/cnpj-receita-federal/{cnpj}" + (f"?{query}" if query else "")


def federal(query: str = f"cnpj={CNPJ}") -> str:
    """Return the address of a lookup of a federal certificate."""
    return "/consultas/v2/certidao-negativa-de-debitos-federal" + (f"?{query}" if query else "")


def state(cnpj: str = CNPJ, query: str = "uf=SP") -> str:
    """Return the address of a lookup of a state certificate."""
    path = f"/consultas/v2/certidao-negativa-de-debitos-estadual/{cnpj}"
    return path + (f"?{query}" if query else "")


def labour(query: str = f"cnpj={CNPJ}") -> str:
    """Return the address of a lookup of a labour certificate."""
    return f"{LABOUR}?{query}"


def fgts(cnpj: str = CNPJ, query: str = "") -> str:
    """Return the address of a lookup of an employer's regularity."""
    return f"{FGTS}/{cnpj}" + (f"?{query}" if query else "")


def federal_of(document: str, query: str = "", birth: str = "19800101") -> str:
    """Return the address of a lookup of a federal certificate, by CNPJ or by CPF."""
    who = f"cpf={document}&data_nascimento={birth}" if len(document) == 11 else f"cnpj={document}"
    return f"{FEDERAL}?{who}" + (f"&{query}" if query else "")


def state_of(cnpj: str, uf: str = "SP", query: str = "") -> str:
    """Return the address of a lookup of a state certificate."""
    return f"{STATE}/{cnpj}?uf={uf}" + (f"&{query}" if query else "")


def a_company(cnpj: str = CNPJ, **fields: Any) -> Company:
    """Return a company with the fields that every one has."""
    known = {"nome_empresarial": NAME, "situacao_cadastral": "ATIVA", "uf": "SP"}
    return Company(cnpj=cnpj, **(known | fields))


def a_registration(uf: str = "SP", **fields: Any) -> Registration:
    """Return an active registration of the usual type."""
    known: dict[str, Any] = {
        "inscricao_estadual": "110042490114",
        "ativa": True,
        "tipo_ie": "IE Normal",
        "situacao_pj": "Sem restrição",
        "data_status": "2015-03-02",
        "updated_at": "2026-08-05 12:00:00",
    }
    return Registration(uf=uf, **(known | fields))


A_PDF = StoredReceipt("a1" * 32, "application/pdf", 48_211)
A_PAGE = StoredReceipt("b2" * 32, "text/html", 9_120)


def a_federal(document: str = CNPJ, **fields: Any) -> FederalCertificate:
    """Return a CND that is in force for months, counted from `NOW_MS`."""
    known: dict[str, Any] = {
        "kind": "CND",
        "title": "CERTIDÃO NEGATIVA DE DÉBITOS RELATIVOS AOS TRIBUTOS FEDERAIS",
        "code": "A1B2.C3D4.E5F6.0789",
        "name": NAME,
        "status": "Válida",
        "issued_on": "2026-06-20",
        "validity": "2026-12-17",
        "issued": True,
        "rfb_debts": False,
        "pgfn_debts": False,
        "verification_code": "A1B2.C3D4.E5F6.0789",
        "provider_code": 200,
        "provider_billable": True,
        "provider_elapsed_ms": 4210,
        "receipt": A_PDF,
    }
    return FederalCertificate(document=document, **(known | fields))


def a_state(document: str = CNPJ, uf: str = "SP", **fields: Any) -> StateCertificate:
    """Return a negative certificate that is in force for two months, counted from `NOW_MS`."""
    known: dict[str, Any] = {
        "negative": True,
        "issued": True,
        "code": "C-0001",
        "number": "26080000001-11",
        "fiscal_message": "Não constam pendências.",
        "validity": "2026-10-04",
        "receipt": A_PDF,
    }
    return StateCertificate(document=document, uf=uf, **(known | fields))


def a_labour(document: str = CNPJ, **fields: Any) -> LabourCertificate:
    """Return a CND issued on the day of `NOW_MS`."""
    known: dict[str, Any] = {
        "kind": "CND",
        "title": "CERTIDÃO NEGATIVA DE DÉBITOS TRABALHISTAS",
        "number": "71234567/2026",
        "name": NAME,
        "issued_on": "2026-08-05",
        "issued_time": "12:00:00",
        "validity": "2027-02-01",
        "issued": True,
        "listed": False,
        "provider_code": 200,
        "provider_billable": True,
        "provider_elapsed_ms": 9870,
        "receipt": A_PDF,
    }
    return LabourCertificate(document=document, **(known | fields))


def an_fgts(registration: str = CNPJ, **fields: Any) -> FgtsRegularity:
    """Return a regularity that is in force for three weeks, counted from `NOW_MS`."""
    known: dict[str, Any] = {
        "situation": "regular",
        "number": "2026080100000000000001",
        "name": NAME,
        "issued_on": "2026-08-01",
        "valid_from": "2026-08-01",
        "validity": "2026-08-30",
        "provider_code": 200,
        "provider_billable": True,
        "provider_elapsed_ms": 12400,
        "receipt": A_PDF,
    }
    return FgtsRegularity(registration=registration, **(known | fields))


AN_ADDRESS = RegisteredAddress(
    logradouro="RUA DAS ACACIAS FICTICIAS",
    numero="100",
    bairro="CENTRO",
    municipio="SAO PAULO",
    codigo_municipio_ibge="3550308",
    uf="SP",
    cep="04000100",
)


def registrations(document: str, uf: str, *those: Registration, **fields: Any) -> Registrations:
    """Return the registrations of a document in a UF."""
    known = {"nome": NAME, "uf_principal": "SP"}
    return Registrations(documento=document, uf=uf, inscricoes=those, **(known | fields))


def a_record(inquiry: Inquiry) -> Record:
    """Return the answer of a source that knows everybody.

    Registrations are in SP alone, with an address where one was asked for.
    """
    document = inquiry.document.text
    match inquiry.subject:
        case "company":
            return a_company(document)
        case "suframa":
            return a_zone_record(document)
        case "federal_certificate":
            return a_federal(document)
        case "state_certificate":
            return a_state(document, inquiry.uf or "")
        case "labour_certificate":
            return a_labour(document)
        case "fgts_regularity":
            return an_fgts(document)
    those = (a_registration(endereco=AN_ADDRESS if inquiry.addresses else None),)
    return registrations(
        document,
        inquiry.uf or "",
        *(those if inquiry.uf == "SP" else ()),
        com_endereco=inquiry.addresses,
    )


def a_zone_record(cnpj: str = CNPJ, **fields: Any) -> ZoneRecord:
    """Return a Suframa record with the fields that every one has."""
    known: dict[str, Any] = {
        "inscricao": "200000012",
        "nome": NAME,
        "matriz": True,
        "aprovado": True,
        "status": NumberedText(1, "Ativa"),
    }
    return ZoneRecord(cnpj=cnpj, **(known | fields))
