"""The federal joint certificate (`infosimples.md` section 4).

What must never happen: that somebody else's certificate, an expired one or none at all passes for
a good one. So a type that is claimed and not borne out, or claimed both ways, is a failure.
"""

import re
from collections.abc import Mapping
from datetime import datetime

import msgspec

from balcao.core.calendar import BRASILIA
from balcao.core.certificates import FederalCertificate
from balcao.core.documents import Cnpj
from balcao.core.questions import Inquiry
from balcao.errors import DataRefused, SourceFailed
from balcao.providers.infosimples import envelope, values
from balcao.providers.infosimples.codes import CodeMeaning
from balcao.providers.infosimples.envelope import Envelope
from balcao.providers.infosimples.values import first, stated
from balcao.sources.contract import Certified, HttpReply

SERVICE = "receita-federal/pgfn"

# The origin was asked and gives no certificate: a result, though no proof of debts. 620 is not one
# of them: the only reasons known (an order under way, a login that needs a second step) are no
# verdict about the taxpayer, and of a new issuance that is refused while a certificate is in
# force, "impossible" would be false, charged for, and kept in place of the certificate.
_IMPOSSIBLE: Mapping[int, str] = {
    611: "A fonte não pôde emitir a certidão pela internet.",
    612: "A fonte não tem dados para emitir a certidão.",
}
_DATA_REFUSED = 608

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
    conseguiu_emitir_certidao_negativa: bool | None = None
    debitos_rfb: bool | None = None
    debitos_pgfn: bool | None = None
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
    """What a reply says of the taxpayer. Raises `DataRefused` where the birth date is wrong."""
    said = envelope.read(source, reply)
    if said.meaning is CodeMeaning.FOUND:
        return _found(source, said, inquiry)
    if said.code in _IMPOSSIBLE and not values.is_trouble(said.reasons):
        message = said.reasons or _IMPOSSIBLE[said.code]
        return Certified(_impossible(said, inquiry, message), said.receipt)
    refused = envelope.issuing_refusal(source, said)
    if said.code == _DATA_REFUSED and not isinstance(inquiry.document, Cnpj):
        raise DataRefused(refused.detail)  # of a CNPJ there is no birth date to correct
    raise refused


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
    kind = values.kind(said.tipo, said.certidao)
    issued = said.conseguiu_emitir_certidao_negativa
    # `cnpj_situacao` has been seen with the certificate's words, and may be the company's.
    status = _status(stated(said.situacao) or _of_certificate(said.cnpj_situacao))
    validity = values.day(source, first(said.validade_data, said.validade))
    if kind in ("CND", "CPEND"):
        in_title = values.kind(said.certidao)
        if code is None and validity is None:
            # The title of the page, and no certificate below it.
            if issued is not False:
                raise SourceFailed(f"{source}: resposta incompleta, sem código e validade")
            nothing = _impossible(envelope_, inquiry, message)
            return Certified(msgspec.structs.replace(nothing, document=document), receipt)
        debts = kind == "CND" and (said.debitos_rfb is True or said.debitos_pgfn is True)
        denied = values.denies(status) or values.denies(message)
        if in_title == "CPD" or (kind, in_title) == ("CND", "CPEND") or denied or debts:
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
        issued_on=values.day(source, said.emissao_data),
        validity=validity,
        extended_validity=_extended(source, said, status),
        queried_at=_queried_at(said),
        issued=good if issued is None else issued,
        rfb_debts=said.debitos_rfb,
        pgfn_debts=said.debitos_pgfn,
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
    return said if values.words(said).startswith("VALIDA") else None


def _status(said: str | None) -> str:
    """In the spelling of decisions 8, or the source's own words."""
    plain = values.words(said)
    if plain == "VALIDA":
        return "Válida"
    if until := _VALID_UNTIL.fullmatch(plain):
        return f"Válida Prorrogada até {'/'.join(until.groups())}"
    return said or ""


def _extended(source: str, said: _Said, status: str) -> str | None:
    """The extension has a field, and stands in the status, too."""
    until = _VALID_UNTIL.fullmatch(values.words(status))
    in_status = "/".join(until.groups()) if until else None
    return values.day(source, first(said.validade_prorrogada, in_status))


def _queried_at(said: _Said) -> str | None:
    """With the offset that Brasília had at that time."""
    at = values.moment_if_valid(first(said.normalizado_consulta_datahora, said.consulta_datahora))
    return at and datetime.fromisoformat(at).replace(tzinfo=BRASILIA).isoformat()


def _must_be_in_order(source: str, said: FederalCertificate) -> None:
    """No certificate ends before it begins."""
    ends = [day for day in (said.validity, said.extended_validity) if day is not None]
    if said.issued_on is not None and any(day < said.issued_on for day in ends):
        raise SourceFailed(f"{source}: validade anterior à emissão")
