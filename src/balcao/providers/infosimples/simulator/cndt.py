"""Infosimples' `tribunal/tst/cndt`: the labour certificate (`infosimples.md`, section 7).

The documents of the sandbox show the forms of real replies: which field has the validity, how
lawsuits and their number are written, and the flag of a certificate with effects of a negative one.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from balcao.fiction import labour_certificate_of
from balcao.fiction.dice import draws
from balcao.fiction.records import LabourFiction, LabourKind
from balcao.providers.infosimples.simulator.service import (
    Answer,
    Outcome,
    document_of,
    missing,
    moment,
    not_found,
    receipt_of,
)
from balcao.providers.simulation.faults import ReplyFactory
from balcao.providers.simulation.messages import day, punctuated

# The flag of success of a certificate with effects, which real replies set either way.
FLAG_OF_CPEND = {"90010002000154": True, "90010005000198": False, "90010000291": True}
LAWSUITS_AS_OBJECTS = {"90010003000107": True, "90010004000143": False}
TOTAL_AS_NUMBER = {"90010002000154": True, "90010005000198": False, "90010003000107": True}
ONLY_VALIDADE, ONLY_VALIDADE_DATA = "90010006000132", "90010008000121"


def cndt(parameters: Mapping[str, str], now: datetime) -> Outcome:
    """Answer a query for a CNPJ or a CPF: a certificate of this moment."""
    document = document_of(parameters)
    if document is None:
        return missing("cnpj ou cpf")
    if isinstance(document, Answer):
        return document

    def good(requested: str) -> Answer:
        found = labour_certificate_of(requested, now.date())
        if found.kind is LabourKind.NONE:
            return not_found()
        return Answer(200, (_record(found, now),), receipt=receipt_of(found, now.date()))

    def incomplete(requested: str) -> Answer:
        fields = good(requested).data[0]
        return Answer(200, ({**fields, "mensagem": "", "consta": None},))

    return ReplyFactory("labour_certificate", document, good, incomplete)


def _record(found: LabourFiction, now: datetime) -> dict[str, object]:
    document, company = found.document, len(found.document) == 14
    validity = day(found.validity)
    return {
        "certidao": found.number,
        "certidao_codigo": "",
        "cnpj": punctuated(document) if company else "",
        "conseguiu_emitir_certidao_negativa": _flag(found),
        "consta": found.kind is not LabourKind.CND,
        "cpf": "" if company else punctuated(document),
        "emissao_data": day(now),
        "expedicao": f"{day(now)}, às {now:%H:%M:%S}",
        "mensagem": found.title,
        "nome": found.name,
        "normalizado_cnpj": document if company else "",
        "normalizado_cpf": "" if company else document,
        "normalizado_expedicao": moment(now),
        "normalizado_validade": "" if document == ONLY_VALIDADE_DATA else validity,
        "processos_encontrados": _lawsuits(found),
        "total_de_processos": _total(found),
        "validade": "" if document == ONLY_VALIDADE_DATA else validity,
        "validade_data": "" if document == ONLY_VALIDADE else validity,
        "site_receipt": None,
    }


def _flag(found: LabourFiction) -> bool:
    if found.kind is LabourKind.CPEND:
        return _either(FLAG_OF_CPEND, found, "flag")
    return found.kind is LabourKind.CND


def _lawsuits(found: LabourFiction) -> Sequence[object]:
    if _either(LAWSUITS_AS_OBJECTS, found, "lawsuits"):
        return [{"numero": each} for each in found.lawsuits]
    return found.lawsuits


def _total(found: LabourFiction) -> int | str:
    if not found.lawsuits:
        return ""
    return len(found.lawsuits) if _either(TOTAL_AS_NUMBER, found, "total") else ""


def _either(promised: Mapping[str, bool], found: LabourFiction, what: str) -> bool:
    given = promised.get(found.document)
    return bool(draws(f"{found.document} {what}")[0] & 1) if given is None else given
