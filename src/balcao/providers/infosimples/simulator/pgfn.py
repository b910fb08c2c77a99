"""Infosimples' `receita-federal/pgfn`: the federal certificate (`infosimples.md`, section 4)."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime

from balcao.fiction import (
    establishment_of,
    exists,
    federal_certificate_of,
    federal_in_maintenance,
    person_of,
)
from balcao.fiction.dice import draws
from balcao.fiction.records import FederalFiction, FederalKind
from balcao.fiction.sandbox.certificates import UNTYPED, is_of_class
from balcao.providers.infosimples.simulator.service import (
    Answer,
    Outcome,
    document_of,
    in_maintenance,
    invalid,
    missing,
    moment,
    receipt_of,
    refused,
)
from balcao.providers.simulation.faults import ReplyFactory
from balcao.providers.simulation.messages import day, punctuated

# The flag of success of a CPEND, which real replies set either way.
FLAG_OF_CPEND = {"90010002000154": True, "90010000291": False}

_TYPES = {
    FederalKind.CND: "Negativa",
    FederalKind.CPEND: "Positiva com efeitos de negativa",
    FederalKind.CPD: "Positiva",
    FederalKind.UNCLASSIFIED: "Circunstanciada",
}
_INAPT = "04"  # of a company's registration
_SUSPENDED = (
    "Constam débitos administrados pela Secretaria Especial da Receita Federal do Brasil (RFB) com"
    " exigibilidade suspensa nos termos do art. 151 da Lei nº 5.172, de 25 de outubro de 1966."
)
_CLOSING = "Qualquer rasura ou emenda invalidará este documento."
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def pgfn(parameters: Mapping[str, str], now: datetime) -> Outcome:
    """Answer a query for a CNPJ, or a CPF with its birth date."""
    document = document_of(parameters)
    if document is None:
        return missing("cnpj ou cpf")
    if isinstance(document, Answer):
        return document
    preference = parameters.get("preferencia_emissao") or "2via"
    if preference not in ("nova", "2via"):
        return invalid("preferencia_emissao")
    if len(document) == 11 and (problem := _birth_date_problem(document, parameters)):
        return problem

    def good(requested: str) -> Answer:
        return _answer(requested, now, new=preference == "nova")

    def incomplete(requested: str) -> Answer:
        found = good(requested)
        for each in found.data:
            del each["certidao"], each["tipo"], each["certidao_codigo"]
            del each["consulta_comprovante"]
        return found

    return ReplyFactory("federal_certificate", document, good, incomplete)


def _birth_date_problem(cpf: str, parameters: Mapping[str, str]) -> Answer | None:
    given = parameters.get("birthdate")
    if not given:
        return missing("birthdate")
    try:
        born = date.fromisoformat(given) if _DATE.fullmatch(given) else None
    except ValueError:
        born = None
    if born is None:
        return invalid("birthdate")
    if born == person_of(cpf).born:
        return None
    return refused(
        608, "A data de nascimento informada é diferente da que consta no cadastro da Receita."
    )


def _answer(document: str, now: datetime, *, new: bool) -> Answer:
    today = now.date()
    if federal_in_maintenance(document, today, new=new):
        return in_maintenance()
    found = federal_certificate_of(document, today, new=new)
    if found.document != document:
        return refused(
            620,
            f"A certidão deve ser emitida para o CNPJ da matriz - {punctuated(found.document)}.",
        )
    if new and found.kind is FederalKind.CPEND:
        # refused while one is in force, with the same text as an impossible issuance
        return refused(611, _insufficient(found))
    receipt = receipt_of(found, today)
    if receipt is not None:
        receipt = replace(receipt, new=new)
    if found.kind is FederalKind.IMPOSSIBLE:
        return Answer(611, errors=(_impossible(found),), receipt=receipt)
    return Answer(200, (_record(found, now),), receipt=receipt)


def _impossible(found: FederalFiction) -> str:
    company = len(found.document) == 14 and exists(found.document)
    if company and establishment_of(found.document).status == _INAPT:
        return (
            f"Inscrição no CNPJ {punctuated(found.document)} Inapta  - Omissão de declarações,"
            " emissão de certidão não permitida"
        )
    return _insufficient(found)


def _insufficient(found: FederalFiction) -> str:
    return (
        "As informações disponíveis na Receita Federal sobre o contribuinte"
        f" {punctuated(found.document)} são insuficientes para emitir a certidão pela Internet."
    )


def _body(kind: FederalKind) -> str:
    """Return the text of a certificate, in which a valid one also contains negative words."""
    debts = f" {_SUSPENDED}" if kind is FederalKind.CPEND else ""
    return f"Certidão fictícia, sem valor legal.{debts} {_CLOSING}"


def _record(found: FederalFiction, now: datetime) -> dict[str, object]:
    company = len(found.document) == 14
    document = punctuated(found.document)
    status = _status(found)
    validity = day(found.validity)
    return {
        "certidao": found.title,
        "certidao_codigo": found.code,
        "cnpj": document if company else "",
        "cnpj_situacao": status,
        "comprovante_tipo": found.receipt.value,
        "conseguiu_emitir_certidao_negativa": _issued(found),
        "consulta_comprovante": found.code,
        "consulta_datahora": moment(now),
        "cpf": "" if company else document,
        "debitos_pgfn": found.pgfn_debts,
        "debitos_rfb": found.rfb_debts,
        "descricao": found.title,
        "emissao_data": day(found.issued_on),
        "mensagem": _body(found.kind),
        "nome": "" if company else found.name,
        "normalizado_cnpj": found.document if company else "",
        "normalizado_consulta_datahora": moment(now),
        "normalizado_cpf": "" if company else found.document,
        "observacoes": "",
        "razao_social": found.name if company else "",
        "situacao": status,
        "tipo": None if is_of_class(found.document, UNTYPED) else _TYPES[found.kind],
        "validade": validity,
        "validade_data": validity,
        "validade_prorrogada": day(found.extended_validity),
        "site_receipt": None,
    }


def _status(found: FederalFiction) -> str:
    if found.extended_validity is not None:
        return f"Válida Prorrogada até {day(found.extended_validity)}"
    return "Válida" if found.validity else ""


def _issued(found: FederalFiction) -> bool:
    if found.kind is FederalKind.CPEND:
        given = FLAG_OF_CPEND.get(found.document)
        return bool(draws(f"{found.document} flag")[0] & 1) if given is None else given
    return found.kind is FederalKind.CND
