"""Infosimples' `sefaz/certidao-debitos` and its pages per UF (`infosimples.md`, section 5).

The unified service is known to fill five fields, as AL does here. The other UFs differ as in real
replies: in the names and formats of code, number and validity, and in the way of refusing.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import partial

from balcao.core.federation import UFS
from balcao.fiction import exists, state_certificate_of
from balcao.fiction.dice import draws
from balcao.fiction.records import StateFiction
from balcao.providers.infosimples.simulator.service import (
    Answer,
    Outcome,
    Service,
    document_of,
    missing,
    moment,
    not_found,
    receipt_of,
    refused,
    uf_of,
)
from balcao.providers.simulation.faults import (
    OTHER_COMPANY,
    OTHER_COMPANY_IN_EVERY_UF,
    ReplyFactory,
)
from balcao.providers.simulation.messages import day, punctuated

# Codes of a refused certificate: a result, or one of two errors.
REFUSALS = (200, 612, 620)
_PROMISED_REFUSALS = {"90010003000107": 200, "90010004000143": 620}

# UFs with fields other than `certidao_codigo`, and `validade_data` as dd/mm/yyyy.
_CODE_ALONE_IN_OTHER_WORDS = frozenset({"BA", "RO"})
_CODE_IN_BOTH_WORDS = frozenset({"AC"})
_VALIDITY_IN_ISO = frozenset({"MG", "PE"})
_VALIDITY_IN_ONE_WORD = frozenset({"PR", "RJ"})
_NUMBER_OF_CONTROL = frozenset({"RS"})
_FIVE_FIELDS = frozenset({"AL"})  # only those that the unified service is known to fill
_VALIDITY_IN_WORDS = frozenset({"PB"})
_WITHOUT_NEGATIVE = frozenset({"GO", "AC"})  # they have only the flag of success


def certidao_debitos(parameters: Mapping[str, str], now: datetime) -> Outcome:
    """Answer a query of the unified service for a UF and a CNPJ."""
    uf = uf_of(parameters)
    if isinstance(uf, Answer):
        return uf
    return _question(uf, parameters, now)


def _question(uf: str, parameters: Mapping[str, str], now: datetime) -> Outcome:
    document = document_of(parameters)
    if document is None:
        return missing("cnpj")
    if isinstance(document, Answer):
        return document
    if len(document) == 11:
        return not_found()

    def good(requested: str) -> Answer:
        found = state_certificate_of(requested, uf, now.date())
        refusal = None if found.negative else _refusal(requested, uf)
        if refusal == 612:
            return not_found()
        if refusal == 620:
            return refused(620, found.message)
        return Answer(200, (_record(found, now),), receipt=receipt_of(found, now.date()))

    def incomplete(requested: str) -> Answer:
        found = state_certificate_of(requested, uf, now.date())
        fields = _record(found, now)
        for mandatory in _MANDATORY & set(fields):
            del fields[mandatory]
        return Answer(200, (fields,))

    return ReplyFactory(
        subject="state_certificate",
        document=document,
        good=good,
        incomplete=incomplete,
        ufs=(uf,),
        # a refusal names no document, and would pass for the right answer
        other_document=OTHER_COMPANY if uf == "SP" else OTHER_COMPANY_IN_EVERY_UF,
    )


# `sefaz/sp/certidao-debitos` and the others.
SERVICES_OF_UFS: Mapping[str, Service] = {
    f"sefaz/{uf.lower()}/certidao-debitos": partial(_question, uf) for uf in UFS
}

_MANDATORY = frozenset(
    {
        "certidao_codigo",
        "certidao_mensagem",
        "certidao_negativa",
        "codigo_autenticidade",
        "conseguiu_emitir_certidao_negativa",
        "tipo",
    }
)


def _refusal(cnpj: str, uf: str) -> int:
    if not exists(cnpj):
        return 612
    if cnpj in _PROMISED_REFUSALS:
        return _PROMISED_REFUSALS[cnpj]
    return REFUSALS[draws(f"{cnpj} refusal of {uf}")[0] % len(REFUSALS)]


def _record(found: StateFiction, now: datetime) -> dict[str, object]:
    if found.uf in _FIVE_FIELDS:
        return {
            "certidao_codigo": found.code,
            "conseguiu_emitir_certidao_negativa": found.negative,
            "emissao_data": day(found.issued_on),
            "mensagem": found.message or "Certidão emitida com sucesso",
            "validade_data": day(found.validity),
            "site_receipt": None,
        }
    return {
        **_code(found),
        "certidao_mensagem": found.fiscal_message,
        **({} if found.uf in _WITHOUT_NEGATIVE else {"certidao_negativa": found.negative}),
        "cnpj": punctuated(found.document),
        "conseguiu_emitir_certidao_negativa": found.negative,
        "consulta_datahora": moment(now),
        "emissao_data": day(found.issued_on),
        "mensagem": found.message,
        "normalizado_cnpj": found.document,
        "normalizado_consulta_datahora": moment(now),
        "razao_social": found.name,
        "tipo": "Negativa" if found.negative else "",
        "uf": found.uf,
        **_number(found),
        **_validity(found),
        "site_receipt": None,
    }


def _code(found: StateFiction) -> dict[str, object]:
    if found.uf in _CODE_ALONE_IN_OTHER_WORDS:
        return {"codigo_autenticidade": found.code}
    fields: dict[str, object] = {"certidao_codigo": found.code}
    if found.uf in _CODE_IN_BOTH_WORDS:
        fields["codigo_autenticidade"] = found.code
    return fields


def _number(found: StateFiction) -> dict[str, object]:
    if not found.number:
        return {}
    return {"numero_controle" if found.uf in _NUMBER_OF_CONTROL else "numero": found.number}


def _validity(found: StateFiction) -> dict[str, object]:
    if found.uf in _VALIDITY_IN_ISO:
        return {"data_validade": found.validity.isoformat() if found.validity else ""}
    if found.uf in _VALIDITY_IN_WORDS and found.validity and found.issued_on:
        days = (found.validity - found.issued_on).days
        return {"validade": f"{days} dias, contados da data de sua expedição"}
    name = "validade" if found.uf in _VALIDITY_IN_ONE_WORD else "validade_data"
    return {name: day(found.validity)}
