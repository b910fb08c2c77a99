"""Infosimples' `caixa/regularidade`: regularity with the FGTS (`infosimples.md`, section 9).

The documents of the sandbox show the forms of real replies. Most of what is not regular is code
620, which is billed, with the portal's text as its reason.
"""

from collections.abc import Mapping
from datetime import datetime

from balcao.fiction import fgts_regularity_of
from balcao.fiction.records import FgtsFiction, FgtsKind
from balcao.providers.infosimples.simulator.service import (
    Answer,
    Outcome,
    document_of,
    invalid,
    missing,
    moment,
    not_found,
    receipt_of,
    refused,
)
from balcao.providers.simulation.faults import ReplyFactory
from balcao.providers.simulation.messages import day, punctuated

REASONS: Mapping[FgtsKind, str] = {
    FgtsKind.UNPROVEN: "As informações disponíveis não são suficientes para a comprovação"
    " automática da regularidade do empregador perante o FGTS.",
    FgtsKind.IMPEDED: "Existem impedimentos na CAIXA para a comprovação da regularidade do"
    " empregador perante o FGTS.",
    FgtsKind.UNREGISTERED: "Empregador não cadastrado.",
    FgtsKind.TECHNICAL: "FGER0419: operação não efetuada.",
}
PARTIAL = "O site de origem devolveu só uma parte dos dados."
DATES_IN_HISTORY = "90010002000154"
IN_PART = "90010012000190"
_HEADER = [
    "Data de Emissão/Leitura",
    "Data de Validade Início",
    "Data de Validade Fim",
    "Número do CRF",
]


def regularidade(parameters: Mapping[str, str], now: datetime) -> Outcome:
    """Answer a query for a CNPJ."""
    document = document_of(parameters)
    if document is None:
        return missing("cnpj ou cei")
    if isinstance(document, Answer):
        return document
    if len(document) != 14:
        return invalid("cnpj")

    def good(requested: str) -> Answer:
        found = fgts_regularity_of(requested, now.date())
        if found.kind is FgtsKind.UNKNOWN:
            return not_found()
        if found.kind in REASONS:
            return refused(620, REASONS[found.kind])
        if requested == IN_PART and parameters.get("aceita_resultado_parcial", "0") != "1":
            return refused(620, PARTIAL)
        return Answer(200, (_record(found, now),), receipt=receipt_of(found, now.date()))

    def incomplete(requested: str) -> Answer:
        return Answer(200, ({**good(requested).data[0], "situacao": ""},))

    return ReplyFactory("fgts_regularity", document, good, incomplete)


def _record(found: FgtsFiction, now: datetime) -> dict[str, object]:
    regular, in_part = found.kind is FgtsKind.REGULAR, found.document == IN_PART
    in_history = not regular or found.document == DATES_IN_HISTORY
    rows = zip(found.valid_from, found.validity, found.numbers, strict=True)
    return {
        "crf": found.numbers[0] if regular else "",
        "datahora": moment(now),
        "endereco": "" if in_part else found.address,
        "historico_cabecalho": _HEADER,
        "historico_lista": []
        if in_part
        else [
            [day(begin), day(begin), day(end), number]
            for begin, end, number in rows
            if regular or end < now.date()
        ],
        "inscricao": punctuated(found.document),
        "razao_social": found.name,
        "situacao": "REGULAR" if regular else "IRREGULAR",
        "validade_inicio_data": "" if in_history else day(found.valid_from[0]),
        "validade_fim_data": "" if in_history else day(found.validity[0]),
        "site_receipt": None,
    }
