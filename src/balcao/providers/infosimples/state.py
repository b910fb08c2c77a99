"""Reader of state certificates of the unified service (`infosimples.md` section 5).

The service is known to fill five fields: `certidao_codigo`, the flag of success, `emissao_data`,
`validade_data` and `mensagem`. Others come from the treasuries' pages: all are optional, and have
several names.
"""

import msgspec

from balcao.core import certificate_words
from balcao.core.certificate_words import Reason, words
from balcao.core.certificates import CertificateType, StateCertificate
from balcao.core.documents import Cnpj
from balcao.core.errors import SourceFailed
from balcao.core.federation import UFS
from balcao.core.questions import Inquiry
from balcao.providers.contract import uf_of
from balcao.providers.infosimples import envelope, values
from balcao.providers.infosimples.codes import CodeMeaning
from balcao.providers.infosimples.envelope import Envelope
from balcao.providers.infosimples.values import Flag, first, flag, nonempty
from balcao.sources.contract import HttpReply, Issuance

SERVICE = "sefaz/certidao-debitos"

# Codes with which treasuries refuse a certificate, too; the reason is in `errors[]`.
_REFUSED_WITHOUT_DATA = (611, 612)
# Codes that are a refusal only with one of these reasons, which are about the taxpayer.
_REFUSED_WITH_REASON = {
    608: (Reason.NOT_REGISTERED, Reason.INAPT),
    620: (Reason.NOT_REGISTERED, Reason.INAPT, Reason.TAXPAYER),
}


class _Data(msgspec.Struct):
    """One certificate, with all names that its fields have had."""

    certidao: str | None = None
    certidao_codigo: str | None = None
    codigo_autenticidade: str | None = None
    codigo: str | None = None
    numero: str | None = None
    numero_controle: str | None = None
    certidao_mensagem: str | None = None
    mensagem: str | None = None
    certidao_negativa: Flag = None
    conseguiu_emitir_certidao_negativa: Flag = None
    consta_debito: Flag = None
    tipo: str | None = None
    uf: str | None = None
    emissao_data: str | None = None
    validade_data: str | None = None
    validade: str | None = None
    data_validade: str | None = None
    consulta_datahora: str | None = None
    datahora: str | None = None
    cnpj: str | None = None
    cpf: str | None = None
    normalizado_cnpj: str | None = None
    normalizado_cpf: str | None = None
    site_receipt: str | None = None


def parameters(inquiry: Inquiry) -> dict[str, str]:
    """Return the query's parameters; a new issuance only if the inquiry asks for one."""
    kind = "cnpj" if isinstance(inquiry.document, Cnpj) else "cpf"
    preference = {"preferencia_emissao": "nova"} if inquiry.reissue else {}
    return {"uf": uf_of(inquiry), kind: inquiry.document.text} | preference


def read(source: str, reply: HttpReply, inquiry: Inquiry) -> Issuance:
    """Read the certificate of a reply; a refused one is a result, too."""
    result = envelope.read(source, reply)
    if result.meaning is CodeMeaning.FOUND:
        return _found(source, result, inquiry)
    reason = certificate_words.reason_of(result.reasons)
    refuses = result.code in _REFUSED_WITHOUT_DATA and not reason.is_of_the_portal
    if refuses or reason in _REFUSED_WITH_REASON.get(result.code, ()):
        refused = StateCertificate(
            document=values.document(result, inquiry.document, (), ()),
            uf=_uf_of(result, None, inquiry),
            issued=False,
            message=result.reasons,
        )
        return Issuance(refused, result.receipt)
    if result.code in _REFUSED_WITHOUT_DATA:
        raise envelope.outage(source, result, reason)
    raise envelope.issuance_error(source, result)


def _found(source: str, result: Envelope, inquiry: Inquiry) -> Issuance:
    data = envelope.results(source, result, _Data)[0]
    code = first(data.certidao_codigo, data.codigo_autenticidade, data.codigo)
    number = first(data.numero, data.numero_controle, data.certidao_codigo)
    receipt = nonempty(data.site_receipt) or result.receipt
    issued_on = values.day(data.emissao_data)
    validity, unreadable = _validity(source, data, issued_on)
    negative, issued = _verdict(
        source, data, coded=bool(code or number), dated=validity is not None
    )
    certificate = StateCertificate(
        document=values.document(
            result,
            inquiry.document,
            (data.normalizado_cnpj, data.cnpj),
            (data.normalizado_cpf, data.cpf),
        ),
        uf=_uf_of(result, data.uf, inquiry),
        negative=negative,
        issued=issued,
        code=code,
        number=number,
        fiscal_message=nonempty(data.certidao_mensagem),
        message=nonempty(data.mensagem) or result.reasons,
        queried_at=values.moment_if_valid(first(data.consulta_datahora, data.datahora)),
        validity=validity,
    )
    if certificate.good and unreadable is not None:
        raise unreadable
    if validity is not None and issued_on is not None and validity < issued_on:
        raise SourceFailed(f"{source}: validade anterior à emissão")
    return Issuance(certificate, receipt)


def _validity(
    source: str, data: _Data, issued_on: str | None
) -> tuple[str | None, SourceFailed | None]:
    """Return the last day, or an error to raise later: only a good certificate needs the day."""
    raw = first(data.validade_data, data.validade, data.data_validade)
    try:
        return values.validity(source, raw, issued_on), None
    except SourceFailed as error:
        return None, error.with_traceback(None)


def _verdict(source: str, data: _Data, *, coded: bool, dated: bool) -> tuple[bool | None, bool]:
    """Return whether the certificate is negative, and whether it was issued.

    The flags decide, then type and title, then the free text. `coded`: it has a code or number;
    `dated`: it has a validity.
    """
    headlines, prose = (data.tipo, data.certidao), (data.certidao_mensagem, data.mensagem)
    kind = _kind(data, coded=coded)
    negative = flag(data.certidao_negativa)
    issued = flag(data.conseguiu_emitir_certidao_negativa)
    denied = certificate_words.is_denied(headlines, prose, identified=coded or dated)
    if negative is None and issued is None and kind is None:
        raise SourceFailed(f"{source}: resposta incompleta, sem resultado")
    if kind == "CPEND" and coded and dated and not denied and not _refused(prose):
        # the flags are about a negative certificate; a CPEND has the same effects
        return negative or None, True
    positive = kind != "CPEND" and (
        any(certificate_words.kind(text) == "CPD" for text in headlines)
        or certificate_words.says_positive(data.certidao_mensagem)
        or certificate_words.kind_in_prose(data.mensagem) == "CPD"
        or any(map(certificate_words.claims_debts, (*headlines, *prose)))
        or flag(data.consta_debito) is True
    )
    if negative is None:
        negative = False if positive else {"CND": True}.get(kind or "")
    if issued is None:
        issued = (negative is True or kind == "CPEND") and not positive and not denied
        if issued and not coded:
            raise SourceFailed(f"{source}: resposta incompleta, sem código")
    if issued and negative is not False and (denied or positive):
        raise SourceFailed(f"{source}: resposta contraditória sobre a certidão")
    return negative, issued


def _kind(data: _Data, *, coded: bool) -> CertificateType | None:
    """Return the type from type and title; with a code and neither, from the free text."""
    if first(data.tipo, data.certidao) is not None or not coded:
        return certificate_words.kind(data.tipo, data.certidao)
    return certificate_words.kind_in_prose(data.certidao_mensagem, data.mensagem)


def _refused(prose: tuple[str | None, ...]) -> bool:
    return any(map(certificate_words.refuses, prose))


def _uf_of(result: Envelope, given: str | None, inquiry: Inquiry) -> str:
    """Return the UF that the reply is about, preferring one that contradicts the inquiry."""
    named = (words(each) for each in (given, result.parameters.get("uf")))
    return next((each for each in named if each in UFS and each != inquiry.uf), uf_of(inquiry))
