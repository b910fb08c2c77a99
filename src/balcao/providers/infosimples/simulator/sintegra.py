"""Infosimples' `sintegra/unificada`: state registrations as the UFs print them.

`infosimples.md`, section 6. The pages have an address and a situation in the UF's own words; they
have neither the type of a registration nor the taxpayer's situation, and no municipality code.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import cache

from balcao.core.federation import UFS
from balcao.fiction import (
    codes,
    company_of,
    establishment_of,
    exists,
    person_of,
    registrations_of,
    registrations_of_person,
)
from balcao.fiction.records import RegistrationFiction
from balcao.fiction.sandbox.registrations import REGISTRATION_ROWS
from balcao.providers.infosimples.simulator.service import (
    Answer,
    Outcome,
    document_of,
    missing,
    moment,
    not_found,
    uf_of,
)
from balcao.providers.simulation.faults import (
    OTHER_COMPANY,
    OTHER_COMPANY_IN_EVERY_UF,
    ReplyFactory,
)
from balcao.providers.simulation.messages import day, plain_document, punctuated

# Active and inactive, in the words of each UF: there is no complete list.
_WORDS_OF_MOST = ("HABILITADO", "NÃO HABILITADO")
_WORDS = {
    "SP": ("Ativo", "Inativo"),
    "RJ": ("HABILITADA", "BAIXADA"),
    "PR": ("ATIVO", "BAIXADO"),
    "SC": ("ATIVO", "BAIXADO"),
    "BA": ("ATIVO", "BAIXADO"),
    "GO": ("Ativo - HABILITADO", "Não habilitado"),
    "AM": ("ATIVA", "BAIXADA"),
    "PE": ("ATIVO", "INAPTO"),
    "CE": ("ATIVO", "BAIXADO DE OFÍCIO"),
    "MT": ("ATIVA", "CASSADA"),
}


def sintegra(parameters: Mapping[str, str], now: datetime) -> Outcome:
    """Answer a query for a UF and a CNPJ, a CPF or the number of a registration."""
    uf = uf_of(parameters)
    if isinstance(uf, Answer):
        return uf
    document = document_of(parameters)
    if document is None:
        number = parameters.get("ie") or parameters.get("ie_produtor")
        if not number:
            return missing("cnpj, cpf, ie ou ie_produtor")
        document = _holders().get((uf, plain_document(number)), not_found())
    if isinstance(document, Answer):
        return document
    if len(document) == 14 and not exists(document):
        return not_found()

    def good(requested: str) -> Answer:
        found = tuple([_record(requested, each, now) for each in _registrations(requested, uf)])
        if not found:
            return not_found()
        return Answer(200 if len(found) == 1 else 201, found)

    def incomplete(requested: str) -> Answer:
        found = good(requested).data
        for each in found:
            del each["inscricao_estadual"], each["normalizado_inscricao_estadual"]
        return Answer(200, found)

    return ReplyFactory(
        subject="rural_producer" if len(document) == 11 else "state_registration",
        document=document,
        good=good,
        incomplete=incomplete,
        ufs=(uf,),
        # a document without registrations in a UF would pass for the right answer there
        other_document=OTHER_COMPANY if uf == "SP" else OTHER_COMPANY_IN_EVERY_UF,
    )


def _registrations(document: str, uf: str) -> tuple[RegistrationFiction, ...]:
    of = registrations_of_person if len(document) == 11 else registrations_of
    return tuple([each for each in of(document) if each.uf == uf])


@cache
def _holders() -> dict[tuple[str, str], str]:
    """Return the documented registrations' documents, by UF and number; others are not found."""
    return {
        (each.uf, each.number): document
        for document in REGISTRATION_ROWS
        for uf in UFS
        for each in _registrations(document, uf)
    }


def _record(document: str, r: RegistrationFiction, now: datetime) -> dict[str, object]:
    who = _of_person(document, r) if len(document) == 11 else _of_company(document)
    assert r.address is not None
    a, place = r.address, r.address.municipality
    since = day(r.status_date)
    return {
        **who,
        "consulta_data": day(now),
        "consulta_datahora": moment(now),
        "endereco_bairro": a.district,
        "endereco_cep": f"{a.cep[:5]}-{a.cep[5:]}",
        "endereco_complemento": " ".join(a.complement.split()),
        "endereco_logradouro": f"{a.street_type} {a.street}".strip(),
        "endereco_municipio": place.name,
        "endereco_numero": a.number,
        "endereco_uf": place.uf,
        "inscricao_estadual": _in_threes(r.number),
        "normalizado_abertura_data": who["abertura_data"],
        "normalizado_consulta_datahora": moment(now),
        "normalizado_endereco_cep": a.cep,
        "normalizado_inscricao_estadual": r.number,
        "normalizado_situacao_cadastral_data": since,
        "regime_apuracao": "NORMAL - REGIME PERIÓDICO DE APURAÇÃO",
        "situacao_cadastral": _WORDS.get(r.uf, _WORDS_OF_MOST)[not r.active],
        "situacao_cadastral_data": since,
        "site_receipt": None,
    }


def _of_company(cnpj: str) -> dict[str, object]:
    e, name = establishment_of(cnpj), company_of(cnpj[:8]).name
    phone = e.phones[0] if e.phones else None
    return {
        "abertura_data": day(e.opened),
        "atividade_economica": _activity(e.activity),
        "atividade_economica_secundaria": "; ".join(map(_activity, e.side_activities)),
        "cnpj": punctuated(cnpj),
        "cnpj_cpf": punctuated(cnpj),
        "cpf": "",
        "email": e.email,
        "nome": "",
        "nome_fantasia": e.trade_name,
        "normalizado_cnpj": cnpj,
        "normalizado_cpf": "",
        "propriedade": "",
        "razao_social": name,
        "telefone": f"({phone.area_code}) {phone.number}" if phone else "",
    }


def _of_person(cpf: str, r: RegistrationFiction) -> dict[str, object]:
    assert r.address is not None
    return {
        "abertura_data": day(r.status_date) if r.active else "",
        "atividade_economica": _activity("0151201"),
        "atividade_economica_secundaria": "",
        "cnpj": "",
        "cnpj_cpf": punctuated(cpf),
        "cpf": punctuated(cpf),
        "email": "",
        "nome": person_of(cpf).name,
        "nome_fantasia": "",
        "normalizado_cnpj": "",
        "normalizado_cpf": cpf,
        "propriedade": f"{r.address.street_type} {r.address.street}",
        "razao_social": "",
        "telefone": "",
    }


def _activity(code: str) -> str:
    return f"{code[:2]}.{code[2:4]}-{code[4]}-{code[5:]} - {codes.ACTIVITIES.get(code)}"


def _in_threes(number: str) -> str:
    """Return the number with points, as most UFs print it."""
    return ".".join(number[n : n + 3] for n in range(0, len(number), 3))
