"""State certificates by the unified service of all treasuries (`infosimples.md` section 5).

Its list of fields was never found: every one is optional, and has several names.
"""

import datetime
import re

import msgspec

from balcao.core.certificates import StateCertificate
from balcao.core.documents import Cnpj
from balcao.core.federation import UFS
from balcao.core.questions import Inquiry
from balcao.errors import SourceFailed
from balcao.providers.contract import uf_of
from balcao.providers.infosimples import envelope, values
from balcao.providers.infosimples.codes import CodeMeaning
from balcao.providers.infosimples.envelope import Envelope
from balcao.providers.infosimples.values import first, stated
from balcao.sources.contract import Certified, HttpReply

SERVICE = "sefaz/certidao-debitos"

# Treasuries refuse a certificate this way, too; the reason is in `errors[]`.
_REFUSED_WITHOUT_DATA = (611, 612)
_REFUSED_WITH_REASON = 620  # it may stand for any error of the origin: not without its reason

# A day at the beginning; what follows is the time of day.
_DAY = re.compile(r"(?:(\d{4})-(\d{2})-(\d{2})|(\d{2})[/-](\d{2})[/-](\d{4}))(?![0-9])")


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
    certidao_negativa: bool | None = None
    conseguiu_emitir_certidao_negativa: bool | None = None
    consta_debito: bool | None = None
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
    refuses = said.code in _REFUSED_WITHOUT_DATA and not values.is_trouble(said.reasons)
    if refuses or (said.code == _REFUSED_WITH_REASON and values.is_verdict(said.reasons)):
        refused = StateCertificate(
            document=values.document(said, inquiry.document, (), ()),
            uf=_uf_of(said, None, inquiry),
            issued=False,
            message=said.reasons,
        )
        return Certified(refused, said.receipt)
    raise envelope.issuing_refusal(source, said)


def _found(source: str, envelope_: Envelope, inquiry: Inquiry) -> Certified:
    said = envelope.results(source, envelope_, _Said)[0]
    code = first(said.certidao_codigo, said.codigo_autenticidade, said.codigo)
    number = first(said.numero, said.numero_controle, said.certidao_codigo)
    receipt = stated(said.site_receipt) or envelope_.receipt
    negative, issued = _verdict(source, said, known=bool(code or number))
    stated_validity = first(said.validade_data, said.validade, said.data_validade)
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
        validity=_day(stated_validity),
    )
    if certificate.good and certificate.validity is None and _says_something(stated_validity):
        # It may well be over: what cannot be read must not pass for "no date given".
        raise SourceFailed(f"{source}: validade em outra forma")
    begins = _day(said.emissao_data)
    if certificate.validity is not None and begins is not None and certificate.validity < begins:
        raise SourceFailed(f"{source}: validade anterior à emissão")
    return Certified(certificate, receipt)


def _verdict(source: str, said: _Said, *, known: bool) -> tuple[bool | None, bool]:
    """Whether it is negative, and whether it was issued: by the flags, else by the type.

    `known`: there is something by which a certificate can be told from none.
    """
    kind = values.kind(said.tipo, said.certidao)
    negative, issued = said.certidao_negativa, said.conseguiu_emitir_certidao_negativa
    texts = (said.tipo, said.certidao, said.certidao_mensagem, said.mensagem)
    denied = any(map(values.denies, texts))
    if negative is None and issued is None and kind is None:
        raise SourceFailed(f"{source}: resposta incompleta, sem resultado")
    positive = (
        any(values.kind(text) == "CPD" for text in texts[:3])
        or any(map(values.claims_debts, texts))
        or said.consta_debito is True
    ) and kind != "CPEND"
    if negative is None:
        negative = False if positive else {"CND": True}.get(kind or "")
    if issued is None:
        issued = (negative is True or kind == "CPEND") and not positive and not denied
        if issued and not known:
            raise SourceFailed(f"{source}: resposta incompleta, sem código")
    if issued and negative is not False and (denied or positive):
        raise SourceFailed(f"{source}: resposta contraditória sobre a certidão")
    return negative, issued


def _uf_of(envelope_: Envelope, said: str | None, inquiry: Inquiry) -> str:
    """The UF of an answer; wherever another one is named, that one."""
    named = (values.words(each) for each in (said, envelope_.parameters.get("uf")))
    return next((each for each in named if each in UFS and each != inquiry.uf), uf_of(inquiry))


def _day(raw: str | None) -> str | None:
    """`YYYY-MM-DD` of a day in ISO form or `dd/mm/yyyy`, a time of day aside; else None."""
    found = _DAY.match(stated(raw) or "")
    if found is None:
        return None
    year, month, day = found[1] or found[6], found[2] or found[5], found[3] or found[4]
    try:
        return datetime.date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return None


def _says_something(raw: str | None) -> bool:
    """Whether more stands there than zeros and separators."""
    return bool(raw and raw.strip("0/-:T "))
