"""The federal joint certificate (`infosimples.md` section 4).

What must never happen: that somebody else's certificate, an expired one or none at all passes for
a good one. So a type that is claimed and not borne out, or claimed both ways, is a failure.
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
from balcao.providers.infosimples.values import Flag, first, flag, stated
from balcao.sources.contract import Certified, HttpReply

SERVICE = "receita-federal/pgfn"

# The origin was asked and gives no certificate: a result, though no proof of debts. 620 is one only
# where its reason is final: others that are known (an order under way, a login that needs a second
# step) are no verdict about the taxpayer.
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


class _Said(msgspec.Struct):
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
    """The document; a new issuance only where one was asked for."""
    preference = {"preferencia_emissao": "nova" if inquiry.reissue else "2via"}
    if isinstance(inquiry.document, Cnpj):
        return {"cnpj": inquiry.document.text} | preference
    assert inquiry.birth is not None, "a CPF is asked about with its birth date"
    return {"cpf": inquiry.document.text, "birthdate": inquiry.birth} | preference


def read(source: str, reply: HttpReply, inquiry: Inquiry) -> Certified:
    """Return the certificate of a reply.

    Raises `DataRefused` where the birth date is wrong, and `NewIssueRefused` where a new issuance
    is refused: a certificate may be in force, so only the second copy tells what there is.
    """
    said = envelope.read(source, reply)
    if said.meaning is CodeMeaning.FOUND:
        return _found(source, said, inquiry)
    reason = certificate_words.reason_of(said.reasons)
    if inquiry.reissue and _refuses_another(said, reason):
        raise NewIssueRefused(envelope.issuing_refusal(source, said).detail)
    if _is_final(said, reason, inquiry):
        message = said.reasons or _IMPOSSIBLE[said.code]
        return Certified(_impossible(said, inquiry, message), said.receipt)
    raise _refusal(source, said, reason, inquiry)


def _refuses_another(said: Envelope, reason: Reason) -> bool:
    """Whether a new issuance is refused for a reason that a second copy may not have."""
    if reason is Reason.INAPT or reason.is_of_the_portal:
        return False
    if said.code == _PERMANENT:
        return certificate_words.is_in_force_already(said.reasons)
    return said.code in _IMPOSSIBLE


def _is_final(said: Envelope, reason: Reason, inquiry: Inquiry) -> bool:
    """Whether it says for good that there is no certificate."""
    if said.code == _DATA_REFUSED and not isinstance(inquiry.document, Cnpj):
        return reason is Reason.INAPT  # else it is about the birth date
    if said.code in _IMPOSSIBLE:
        return not reason.is_of_the_portal
    return reason in _FINAL_REASONS.get(said.code, ())


def _refusal(source: str, said: Envelope, reason: Reason, inquiry: Inquiry) -> SourceError:
    if said.code in _IMPOSSIBLE:
        return envelope.outage(source, said, reason)
    refused = envelope.issuing_refusal(source, said)
    if said.code == _DATA_REFUSED and not isinstance(inquiry.document, Cnpj):
        return DataRefused(refused.detail)  # of a CNPJ there is no birth date to correct
    return refused


def _found(source: str, envelope_: Envelope, inquiry: Inquiry) -> Certified:
    said = envelope.results(source, envelope_, _Said)[0]
    code = stated(said.certidao_codigo)
    if not (stated(said.certidao) or stated(said.tipo) or code):
        raise SourceFailed(f"{source}: resposta incompleta, sem título, tipo e código")
    cnpjs, cpfs = (said.normalizado_cnpj, said.cnpj), (said.normalizado_cpf, said.cpf)
    if first(*cnpjs, *cpfs) is None:
        raise SourceFailed(f"{source}: resposta incompleta, sem documento")
    document = values.document(envelope_, inquiry.document, cnpjs, cpfs)
    receipt = stated(said.site_receipt) or envelope_.receipt
    message = first(said.mensagem, said.descricao) or envelope_.reasons
    kind = certificate_words.kind(said.tipo, said.certidao)
    issued, debts = flag(said.conseguiu_emitir_certidao_negativa), _debts(said)
    # `cnpj_situacao` has been seen with the certificate's words, and may be the company's.
    status = _status(stated(said.situacao) or _of_certificate(said.cnpj_situacao))
    issued_on = values.day(said.emissao_data)
    validity = values.validity(source, first(said.validade_data, said.validade), issued_on)
    if kind in ("CND", "CPEND"):
        in_title = certificate_words.kind(said.certidao)
        if code is None and validity is None:
            # The title of the page, and no certificate below it.
            if issued is not False:
                raise SourceFailed(f"{source}: resposta incompleta, sem código e validade")
            if (reason := certificate_words.reason_of(message)).is_of_the_portal:
                raise envelope.outage(source, envelope_, reason)
            nothing = _impossible(envelope_, inquiry, message)
            return Certified(msgspec.structs.replace(nothing, document=document), receipt)
        denied = certificate_words.is_denied((status,), (message,), identified=True)
        indebted = kind == "CND" and True in debts
        if in_title == "CPD" or (kind, in_title) == ("CND", "CPEND") or denied or indebted:
            raise SourceFailed(f"{source}: resposta contraditória sobre a certidão")
    good = kind in ("CND", "CPEND")
    certificate = FederalCertificate(
        document=document,
        kind=kind,
        kind_text=None if kind else first(said.tipo, said.certidao) or "",
        title=stated(said.certidao) or "",
        code=code,
        name=first(said.razao_social, said.nome) or "",
        status=status,
        issued_on=issued_on,
        validity=validity,
        extended_validity=_extended(source, said, status, issued_on),
        queried_at=_queried_at(said),
        issued=good if issued is None else issued,
        rfb_debts=debts[0],
        pgfn_debts=debts[1],
        message=None if good else message,
        verification_code=stated(said.consulta_comprovante) or "",
        provider_code=envelope_.code,
        provider_billable=bool(envelope_.billable),
        provider_elapsed_ms=envelope_.elapsed_ms,
    )
    _must_be_in_order(source, certificate)
    return Certified(certificate, receipt)


def _impossible(said: Envelope, inquiry: Inquiry, message: str | None) -> FederalCertificate:
    """Nothing was issued, and nobody says why in a way that could be relied upon."""
    return FederalCertificate(
        document=values.document(said, inquiry.document, (), ()),
        message=message,
        provider_code=said.code,
        provider_billable=bool(said.billable),
        provider_elapsed_ms=said.elapsed_ms,
    )


def _of_certificate(said: str | None) -> str | None:
    return said if words(said).startswith("VALIDA") else None


def _status(said: str | None) -> str:
    """In the spelling of contract 8, or the source's own words."""
    plain = words(said)
    if plain == "VALIDA":
        return "Válida"
    if until := _VALID_UNTIL.fullmatch(plain):
        return f"Válida Prorrogada até {'/'.join(until.groups())}"
    return said or ""


def _extended(source: str, said: _Said, status: str, issued_on: str | None) -> str | None:
    """The extension has a field, and stands in the status, too."""
    until = _VALID_UNTIL.fullmatch(words(status))
    in_status = "/".join(until.groups()) if until else None
    return values.validity(source, first(said.validade_prorrogada, in_status), issued_on)


def _debts(said: _Said) -> tuple[bool | None, bool | None]:
    """Return whether there are debts at the federal revenue and at the Treasury's attorneys."""
    return flag(said.debitos_rfb), flag(said.debitos_pgfn)


def _queried_at(said: _Said) -> str | None:
    """With the offset that Brasília had at that time."""
    at = values.moment_if_valid(first(said.normalizado_consulta_datahora, said.consulta_datahora))
    return at and datetime.fromisoformat(at).replace(tzinfo=BRASILIA).isoformat()


def _must_be_in_order(source: str, said: FederalCertificate) -> None:
    """No certificate ends before it begins."""
    ends = [day for day in (said.validity, said.extended_validity) if day is not None]
    if said.issued_on is not None and any(day < said.issued_on for day in ends):
        raise SourceFailed(f"{source}: validade anterior à emissão")
