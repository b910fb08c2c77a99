"""Reader of the federal joint certificate (`infosimples.md` section 4).

A certificate of another taxpayer, an expired one or none at all must never pass for a good one. So
a reply that contradicts its certificate type is a failure.
"""

import re
from collections.abc import Mapping
from datetime import datetime

import msgspec

from balcao.core import certificate_words
from balcao.core.calendar import BRASILIA
from balcao.core.certificate_words import Reason, words
from balcao.core.certificates import FederalCertificate
from balcao.core.documents import Cnpj
from balcao.core.errors import DataRefused, NewIssueRefused, SourceError, SourceFailed
from balcao.core.questions import Inquiry
from balcao.providers.infosimples import envelope, values
from balcao.providers.infosimples.codes import CodeMeaning
from balcao.providers.infosimples.envelope import Envelope
from balcao.providers.infosimples.values import Flag, first, flag, nonempty
from balcao.sources.contract import HttpReply, Issuance

SERVICE = "receita-federal/pgfn"

# Codes for which the origin refuses a certificate: a result, though no proof of debts. 620 is one
# only if its reason is final: other known reasons (an order in process, a login with a second step)
# are not about the taxpayer.
_IMPOSSIBLE: Mapping[int, str] = {
    611: "A fonte não pôde emitir a certidão pela internet.",
    612: "A fonte não tem dados para emitir a certidão.",
}
_DATA_REFUSED = 608
_PERMANENT = 620
_FINAL_REASONS: Mapping[int, frozenset[Reason]] = {
    _DATA_REFUSED: frozenset({Reason.INAPT, Reason.NOT_REGISTERED}),
    _PERMANENT: frozenset({Reason.INAPT}),
}

_VALID_UNTIL = re.compile(r"VALIDA PRORROGADA ATE (\d{2}) (\d{2}) (\d{4})")


class _Data(msgspec.Struct):
    """One certificate. Dates are `dd/mm/yyyy`, empty ones `""` or null."""

    certidao: str | None = None
    certidao_codigo: str | None = None
    tipo: str | None = None
    situacao: str | None = None
    cnpj_situacao: str | None = None
    cnpj: str | None = None
    cpf: str | None = None
    normalizado_cnpj: str | None = None
    normalizado_cpf: str | None = None
    razao_social: str | None = None
    nome: str | None = None
    emissao_data: str | None = None
    validade: str | None = None
    validade_data: str | None = None
    validade_prorrogada: str | None = None
    consulta_datahora: str | None = None
    normalizado_consulta_datahora: str | None = None
    conseguiu_emitir_certidao_negativa: Flag = None
    debitos_rfb: Flag = None
    debitos_pgfn: Flag = None
    consulta_comprovante: str | None = None
    mensagem: str | None = None
    descricao: str | None = None
    site_receipt: str | None = None


def parameters(inquiry: Inquiry) -> dict[str, str]:
    """Return the query's parameters; a new issuance only if the inquiry asks for one."""
    preference = {"preferencia_emissao": "nova" if inquiry.reissue else "2via"}
    if isinstance(inquiry.document, Cnpj):
        return {"cnpj": inquiry.document.text} | preference
    assert inquiry.birth is not None, "an inquiry about a CPF has a birth date"
    return {"cpf": inquiry.document.text, "birthdate": inquiry.birth} | preference


def read(source: str, reply: HttpReply, inquiry: Inquiry) -> Issuance:
    """Read the certificate of a reply.

    Raises `DataRefused` if the birth date is wrong, and `NewIssueRefused` if a new issuance is
    refused: a certificate may be in force, which only a request for its second copy can find.
    """
    result = envelope.read(source, reply)
    if result.meaning is CodeMeaning.FOUND:
        return _found(source, result, inquiry)
    reason = certificate_words.reason_of(result.reasons)
    if inquiry.reissue and _refuses_new_issuance(result, reason):
        raise NewIssueRefused(envelope.issuance_error(source, result).detail)
    if _is_final(result, reason, inquiry):
        message = result.reasons or _IMPOSSIBLE[result.code]
        return Issuance(_impossible(result, inquiry, message), result.receipt)
    raise _error_for(source, result, reason, inquiry)


def _refuses_new_issuance(result: Envelope, reason: Reason) -> bool:
    """Return whether a new issuance is refused while a second copy may be available."""
    if reason is Reason.INAPT or reason.is_of_the_portal:
        return False
    if result.code == _PERMANENT:
        return certificate_words.is_in_force_already(result.reasons)
    return result.code in _IMPOSSIBLE


def _is_final(result: Envelope, reason: Reason, inquiry: Inquiry) -> bool:
    """Return whether the reply is a final refusal to issue a certificate."""
    if result.code == _DATA_REFUSED and not isinstance(inquiry.document, Cnpj):
        return reason is Reason.INAPT  # other reasons are about the birth date
    if result.code in _IMPOSSIBLE:
        return not reason.is_of_the_portal
    return reason in _FINAL_REASONS.get(result.code, ())


def _error_for(source: str, result: Envelope, reason: Reason, inquiry: Inquiry) -> SourceError:
    if result.code in _IMPOSSIBLE:
        return envelope.outage(source, result, reason)
    refused = envelope.issuance_error(source, result)
    if result.code == _DATA_REFUSED and not isinstance(inquiry.document, Cnpj):
        return DataRefused(refused.detail)  # only a CPF has a birth date to correct
    return refused


def _found(source: str, result: Envelope, inquiry: Inquiry) -> Issuance:
    data = envelope.results(source, result, _Data)[0]
    code = nonempty(data.certidao_codigo)
    if not (nonempty(data.certidao) or nonempty(data.tipo) or code):
        raise SourceFailed(f"{source}: resposta incompleta, sem título, tipo e código")
    cnpjs, cpfs = (data.normalizado_cnpj, data.cnpj), (data.normalizado_cpf, data.cpf)
    if first(*cnpjs, *cpfs) is None:
        raise SourceFailed(f"{source}: resposta incompleta, sem documento")
    document = values.document(result, inquiry.document, cnpjs, cpfs)
    receipt = nonempty(data.site_receipt) or result.receipt
    message = first(data.mensagem, data.descricao) or result.reasons
    kind = certificate_words.kind(data.tipo, data.certidao)
    issued, debts = flag(data.conseguiu_emitir_certidao_negativa), _debts(data)
    # `cnpj_situacao` may have the certificate's status or the company's
    status = _status(nonempty(data.situacao) or _of_certificate(data.cnpj_situacao))
    issued_on = values.day(data.emissao_data)
    validity = values.validity(source, first(data.validade_data, data.validade), issued_on)
    if kind in ("CND", "CPEND"):
        in_title = certificate_words.kind(data.certidao)
        if code is None and validity is None:
            # only the title of the page, without a certificate
            if issued is not False:
                raise SourceFailed(f"{source}: resposta incompleta, sem código e validade")
            if (reason := certificate_words.reason_of(message)).is_of_the_portal:
                raise envelope.outage(source, result, reason)
            nothing = _impossible(result, inquiry, message)
            return Issuance(msgspec.structs.replace(nothing, document=document), receipt)
        denied = certificate_words.is_denied((status,), (message,), identified=True)
        indebted = kind == "CND" and True in debts
        if in_title == "CPD" or (kind, in_title) == ("CND", "CPEND") or denied or indebted:
            raise SourceFailed(f"{source}: resposta contraditória sobre a certidão")
    good = kind in ("CND", "CPEND")
    certificate = FederalCertificate(
        document=document,
        kind=kind,
        kind_text=None if kind else first(data.tipo, data.certidao) or "",
        title=nonempty(data.certidao) or "",
        code=code,
        name=first(data.razao_social, data.nome) or "",
        status=status,
        issued_on=issued_on,
        validity=validity,
        extended_validity=_extended(source, data, status, issued_on),
        queried_at=_queried_at(data),
        issued=good if issued is None else issued,
        rfb_debts=debts[0],
        pgfn_debts=debts[1],
        message=None if good else message,
        verification_code=nonempty(data.consulta_comprovante) or "",
        provider_code=result.code,
        provider_billable=bool(result.billable),
        provider_elapsed_ms=result.elapsed_ms,
    )
    _check_dates(source, certificate)
    return Issuance(certificate, receipt)


def _impossible(result: Envelope, inquiry: Inquiry, message: str | None) -> FederalCertificate:
    """Return a result without a certificate: issuance was refused, without a reliable reason."""
    return FederalCertificate(
        document=values.document(result, inquiry.document, (), ()),
        message=message,
        provider_code=result.code,
        provider_billable=bool(result.billable),
        provider_elapsed_ms=result.elapsed_ms,
    )


def _of_certificate(given: str | None) -> str | None:
    return given if words(given).startswith("VALIDA") else None


def _status(given: str | None) -> str:
    """Return the status in the spelling of contract 8, or as the source writes it."""
    plain = words(given)
    if plain == "VALIDA":
        return "Válida"
    if until := _VALID_UNTIL.fullmatch(plain):
        return f"Válida Prorrogada até {'/'.join(until.groups())}"
    return given or ""


def _extended(source: str, data: _Data, status: str, issued_on: str | None) -> str | None:
    """Return the extended validity, from its field or from the status."""
    until = _VALID_UNTIL.fullmatch(words(status))
    in_status = "/".join(until.groups()) if until else None
    return values.validity(source, first(data.validade_prorrogada, in_status), issued_on)


def _debts(data: _Data) -> tuple[bool | None, bool | None]:
    """Return whether there are debts at the federal revenue and at the Treasury's attorneys."""
    return flag(data.debitos_rfb), flag(data.debitos_pgfn)


def _queried_at(data: _Data) -> str | None:
    """Return the time of the query, with the offset of Brasília at that time."""
    at = values.moment_if_valid(first(data.normalizado_consulta_datahora, data.consulta_datahora))
    return at and datetime.fromisoformat(at).replace(tzinfo=BRASILIA).isoformat()


def _check_dates(source: str, certificate: FederalCertificate) -> None:
    """Raise `SourceFailed` if the certificate expires before it was issued."""
    ends = [day for day in (certificate.validity, certificate.extended_validity) if day is not None]
    if certificate.issued_on is not None and any(day < certificate.issued_on for day in ends):
        raise SourceFailed(f"{source}: validade anterior à emissão")
