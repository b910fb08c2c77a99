"""State certificates by the unified service of all treasuries (`infosimples.md` section 5).

The unified service is known to fill five fields: `certidao_codigo`, the flag of success,
`emissao_data`, `validade_data` and `mensagem`. Others are the pages' own: every one is optional,
and has several names.
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
from balcao.providers.infosimples.values import Flag, first, flag, stated
from balcao.sources.contract import Certified, HttpReply

SERVICE = "sefaz/certidao-debitos"

# Treasuries refuse a certificate this way, too; the reason is in `errors[]`.
_REFUSED_WITHOUT_DATA = (611, 612)
# What other reasons may stand for: not without one that is about the taxpayer.
_REFUSED_WITH_REASON = {
    608: (Reason.NOT_REGISTERED, Reason.INAPT),
    620: (Reason.NOT_REGISTERED, Reason.INAPT, Reason.TAXPAYER),
}


class _Said(msgspec.Struct):
    """One certificate, by all the names its parts have been seen under."""

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
    """The document in one UF; a new issuance only where one was asked for."""
    kind = "cnpj" if isinstance(inquiry.document, Cnpj) else "cpf"
    preference = {"preferencia_emissao": "nova"} if inquiry.reissue else {}
    return {"uf": uf_of(inquiry), kind: inquiry.document.text} | preference


def read(source: str, reply: HttpReply, inquiry: Inquiry) -> Certified:
    """What a reply says of the taxpayer; a certificate that is refused is a result, too."""
    said = envelope.read(source, reply)
    if said.meaning is CodeMeaning.FOUND:
        return _found(source, said, inquiry)
    reason = certificate_words.reason_of(said.reasons)
    refuses = said.code in _REFUSED_WITHOUT_DATA and not reason.is_of_the_portal
    if refuses or reason in _REFUSED_WITH_REASON.get(said.code, ()):
        refused = StateCertificate(
            document=values.document(said, inquiry.document, (), ()),
            uf=_uf_of(said, None, inquiry),
            issued=False,
            message=said.reasons,
        )
        return Certified(refused, said.receipt)
    if said.code in _REFUSED_WITHOUT_DATA:
        raise envelope.outage(source, said, reason)
    raise envelope.issuing_refusal(source, said)


def _found(source: str, envelope_: Envelope, inquiry: Inquiry) -> Certified:
    said = envelope.results(source, envelope_, _Said)[0]
    code = first(said.certidao_codigo, said.codigo_autenticidade, said.codigo)
    number = first(said.numero, said.numero_controle, said.certidao_codigo)
    receipt = stated(said.site_receipt) or envelope_.receipt
    issued_on = values.day(said.emissao_data)
    validity, unreadable = _validity(source, said, issued_on)
    negative, issued = _verdict(
        source, said, coded=bool(code or number), dated=validity is not None
    )
    certificate = StateCertificate(
        document=values.document(
            envelope_,
            inquiry.document,
            (said.normalizado_cnpj, said.cnpj),
            (said.normalizado_cpf, said.cpf),
        ),
        uf=_uf_of(envelope_, said.uf, inquiry),
        negative=negative,
        issued=issued,
        code=code,
        number=number,
        fiscal_message=stated(said.certidao_mensagem),
        message=stated(said.mensagem) or envelope_.reasons,
        queried_at=values.moment_if_valid(first(said.consulta_datahora, said.datahora)),
        validity=validity,
    )
    if certificate.good and unreadable is not None:
        raise unreadable
    if validity is not None and issued_on is not None and validity < issued_on:
        raise SourceFailed(f"{source}: validade anterior à emissão")
    return Certified(certificate, receipt)


def _validity(
    source: str, said: _Said, issued_on: str | None
) -> tuple[str | None, SourceFailed | None]:
    """The last day, and the error where it cannot be read: only a good certificate needs one."""
    raw = first(said.validade_data, said.validade, said.data_validade)
    try:
        return values.validity(source, raw, issued_on), None
    except SourceFailed as error:
        return None, error.with_traceback(None)


def _verdict(source: str, said: _Said, *, coded: bool, dated: bool) -> tuple[bool | None, bool]:
    """Whether it is negative, and whether it was issued: by the flags, else by its type.

    Type and title come before the free text. `coded`: there is something by which a certificate
    can be told from none; `dated`: and the day on which it ends.
    """
    headlines, prose = (said.tipo, said.certidao), (said.certidao_mensagem, said.mensagem)
    kind = _kind(said, coded=coded)
    negative = flag(said.certidao_negativa)
    issued = flag(said.conseguiu_emitir_certidao_negativa)
    denied = certificate_words.is_denied(headlines, prose, identified=coded or dated)
    if negative is None and issued is None and kind is None:
        raise SourceFailed(f"{source}: resposta incompleta, sem resultado")
    if kind == "CPEND" and coded and dated and not denied and not _refused(prose):
        # The flags are about a negative certificate; this one has its effects.
        return negative or None, True
    positive = kind != "CPEND" and (
        any(certificate_words.kind(text) == "CPD" for text in headlines)
        or certificate_words.says_positive(said.certidao_mensagem)
        or certificate_words.kind_in_prose(said.mensagem) == "CPD"
        or any(map(certificate_words.claims_debts, (*headlines, *prose)))
        or flag(said.consta_debito) is True
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


def _kind(said: _Said, *, coded: bool) -> CertificateType | None:
    """The type by type and title; of what has a code and neither, by its free text."""
    if first(said.tipo, said.certidao) is not None or not coded:
        return certificate_words.kind(said.tipo, said.certidao)
    return certificate_words.kind_in_prose(said.certidao_mensagem, said.mensagem)


def _refused(prose: tuple[str | None, ...]) -> bool:
    return any(map(certificate_words.refuses, prose))


def _uf_of(envelope_: Envelope, said: str | None, inquiry: Inquiry) -> str:
    """The UF of an answer; wherever another one is named, that one."""
    named = (words(each) for each in (said, envelope_.parameters.get("uf")))
    return next((each for each in named if each in UFS and each != inquiry.uf), uf_of(inquiry))
