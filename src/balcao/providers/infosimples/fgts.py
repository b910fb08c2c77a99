"""Reader of an employer's regularity with the FGTS (`infosimples.md` section 9).

Code 620 is the usual answer for an employer that is not regular, or whose regularity cannot be
proved online, and it is billed: its reason decides, and a reason that is not known is a failure.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from balcao.core import certificate_words
from balcao.core.calendar import BRASILIA
from balcao.core.certificate_words import Reason, words
from balcao.core.errors import SourceFailed
from balcao.core.fgts_regularity import FgtsRegularity, PastRegularity, Situation
from balcao.core.questions import Inquiry
from balcao.providers.infosimples import envelope, values
from balcao.providers.infosimples.codes import CodeMeaning
from balcao.providers.infosimples.envelope import Envelope
from balcao.providers.infosimples.values import first, nonempty
from balcao.sources import replies
from balcao.sources.contract import HttpReply, Issuance

SERVICE = "caixa/regularidade"

_NOTHING, _PERMANENT = 612, 620

# "Irregular" contains "regular".
_REGULAR = re.compile(r"\bREGULAR\b")
_NOT_REGULAR = re.compile(r"\bIRREGULAR|\bNAO (?:ESTA )?REGULAR\b|\bSEM REGULARIDADE\b")
_NOT_REGISTERED = re.compile(
    r"\bNAO (?:(?:E|ESTA|FOI) )?(?:CADASTRAD|ENCONTRAD|LOCALIZAD|INSCRIT)[AO]"
)
_TECHNICAL = re.compile(r"\bFGER ?[0-9]+|OPERACAO NAO (?:FOI )?(?:REALIZADA|EFETUADA)")
# In this order. What Caixa writes when there is no certificate.
_REASONS: Sequence[tuple[re.Pattern[str], Situation]] = (
    (_NOT_REGISTERED, "nao_cadastrado"),
    (re.compile(r"\bINFORMACOES (?:\w+ ){0,20}(?:NAO SAO SUFICIEN|INSUFICIEN)"), "nao_comprovada"),
    (re.compile(r"\bIMPEDIMENTOS?\b"), "irregular"),
    (_NOT_REGULAR, "irregular"),
)
_NUMBER = re.compile(r"[0-9]{22}", re.ASCII)
# The columns of the history, by words of their titles.
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "number": ("NUMERO",),
    "valid_from": ("INICIO",),
    "validity": ("FIM",),
    "issued_on": ("EMISSAO", "LEITURA"),
}
_HISTORY_MAX = 200


class _Data(msgspec.Struct):
    """One employer. Dates are `dd/mm/yyyy`."""

    crf: str | None = None
    situacao: str | None = None
    inscricao: str | None = None
    razao_social: str | None = None
    endereco: str | None = None
    validade_inicio_data: str | None = None
    validade_fim_data: str | None = None
    datahora: str | None = None
    historico_cabecalho: list[str] | None = None
    historico_lista: list[list[str | None]] | None = None
    site_receipt: str | None = None


def parameters(inquiry: Inquiry) -> dict[str, str]:
    """Return the query's parameters. A part of the data serves if it has what is needed."""
    return {"cnpj": inquiry.document.text, "aceita_resultado_parcial": "1"}


def read(source: str, reply: HttpReply, inquiry: Inquiry) -> Issuance:
    """Read the regularity of a reply; that there is none is a result, too."""
    result = envelope.read(source, reply)
    if result.meaning is CodeMeaning.FOUND:
        return _found(source, result, inquiry)
    if result.code in (_NOTHING, _PERMANENT):
        situation = _situation(result)
        if situation is not None:
            nothing = FgtsRegularity(
                registration=values.document(result, inquiry.document, (), ()),
                situation=situation,
                message=result.reasons,
                provider_code=result.code,
                provider_billable=bool(result.billable),
                provider_elapsed_ms=result.elapsed_ms,
            )
            return Issuance(nothing, result.receipt)
        if result.code == _NOTHING:
            reason = certificate_words.reason_of(result.reasons)
            raise envelope.outage(source, result, reason)
    raise envelope.issuance_error(source, result)


def _situation(result: Envelope) -> Situation | None:
    """Return the situation that a reply without data reports; None: it is a failure."""
    text = words(result.reasons)
    if _TECHNICAL.search(text):
        return None
    for pattern, situation in _REASONS:
        if pattern.search(text):
            return situation
    if result.code == _PERMANENT:
        return None
    reason = certificate_words.reason_of(result.reasons)
    return "nao_cadastrado" if reason in (Reason.NOT_REGISTERED, Reason.UNKNOWN) else None


def _found(source: str, result: Envelope, inquiry: Inquiry) -> Issuance:
    data = envelope.results(source, result, _Data)[0]
    situation = _of_text(source, data.situacao)
    regularity = FgtsRegularity(
        registration=values.document(result, inquiry.document, (data.inscricao,), ()),
        situation=situation,
        name=nonempty(data.razao_social),
        address=nonempty(data.endereco),
        history=_history(data),
        message=None if situation == "regular" else result.reasons,
        queried_at=_queried_at(data.datahora),
        provider_code=result.code,
        provider_billable=bool(result.billable),
        provider_elapsed_ms=result.elapsed_ms,
    )
    if situation == "regular":
        regularity = _with_certificate(source, data, regularity)
    return Issuance(regularity, nonempty(data.site_receipt) or result.receipt)


def _with_certificate(source: str, data: _Data, regularity: FgtsRegularity) -> FgtsRegularity:
    """Return a regularity with the number and the days of its certificate.

    What the reply does not give by itself is in the certificate's row of the history, the first.
    """
    if first(data.inscricao) is None:
        raise SourceFailed(f"{source}: resposta incompleta, sem inscrição")
    number = replies.without_punctuation(nonempty(data.crf))
    rows = (row for row in regularity.history if number in (None, row.number) or not row.number)
    row = next(rows, PastRegularity())
    number = number or row.number
    valid_from = values.day(data.validade_inicio_data) or row.valid_from
    validity = values.validity(source, data.validade_fim_data, None) or row.validity
    if validity is None:
        raise SourceFailed(f"{source}: resposta incompleta, sem validade")
    if valid_from is not None and validity < valid_from:
        raise SourceFailed(f"{source}: validade anterior ao início")
    return msgspec.structs.replace(
        regularity,
        number=number,
        issued_on=row.issued_on or _issued_on(number),
        valid_from=valid_from,
        validity=validity,
    )


def _of_text(source: str, text: str | None) -> Situation:
    """Return the situation that Caixa writes."""
    plain = words(text)
    if _NOT_REGULAR.search(plain):
        return "irregular"
    if _NOT_REGISTERED.search(plain):
        return "nao_cadastrado"
    if _REGULAR.search(plain):
        return "regular"
    raise SourceFailed(f"{source}: resposta incompleta, sem situação")


def _history(data: _Data) -> tuple[PastRegularity, ...]:
    """Return the rows of the history, by the titles of their columns, the newest first."""
    titles = [words(each) for each in data.historico_cabecalho or ()]
    at = {
        name: next((n for n, title in enumerate(titles) if any(w in title for w in wanted)), None)
        for name, wanted in _COLUMNS.items()
    }

    def cell(row: Sequence[str | None], name: str) -> str | None:
        index = at[name]
        return None if index is None or index >= len(row) else row[index]

    rows = [
        PastRegularity(
            number=replies.without_punctuation(cell(row, "number")),
            issued_on=values.day(cell(row, "issued_on")),
            valid_from=values.day(cell(row, "valid_from")),
            validity=values.day(cell(row, "validity")),
        )
        for row in (data.historico_lista or ())[:_HISTORY_MAX]
    ]
    return tuple([row for row in rows if row != PastRegularity()])


def _issued_on(number: str | None) -> str | None:
    """Return the day with which a certificate's number begins."""
    if number is None or not _NUMBER.fullmatch(number):
        return None
    return values.day(f"{number[:4]}-{number[4:6]}-{number[6:8]}")


def _queried_at(raw: str | None) -> str | None:
    """Return the time of the query, with the offset of Brasília at that time."""
    at = values.moment_if_valid(raw)
    return at and datetime.fromisoformat(at).replace(tzinfo=BRASILIA).isoformat()
