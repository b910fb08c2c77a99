"""Reader of the labour debt certificate (`infosimples.md` section 7).

The service has no field for the type. The title of a certificate with the effects of a negative one
contains the word "negativa", and neither flag distinguishes it from a positive one. A certificate
that lists lawsuits is never negative.
"""

import re
from collections.abc import Sequence

import msgspec

from balcao.core import certificate_words
from balcao.core.certificate_words import Reason, words
from balcao.core.certificates import CertificateType
from balcao.core.documents import Cnpj
from balcao.core.errors import SourceFailed
from balcao.core.labour_certificate import LabourCertificate
from balcao.core.questions import Inquiry
from balcao.providers.infosimples import envelope, values
from balcao.providers.infosimples.codes import CodeMeaning
from balcao.providers.infosimples.envelope import Envelope
from balcao.providers.infosimples.values import Flag, first, flag, nonempty
from balcao.sources.contract import HttpReply, Issuance

SERVICE = "tribunal/tst/cndt"

# Codes for which the portal issues nothing: a result, though no proof of debts.
_WITHOUT_DATA = (611, 612)
# Codes that are one only with a reason about the document itself.
_WITH_REASON = {
    608: (Reason.NOT_REGISTERED, Reason.INAPT),
    620: (Reason.NOT_REGISTERED, Reason.INAPT),
}
_LAWSUITS_MAX = 10_000

# Singular in titles, plural in the law: "com os mesmos efeitos da negativa".
_EFFECTS = re.compile(r"\bCOM (?:OS MESMOS )?EFEITOS? D[AE] (?:CERTIDAO )?NEGATIVA\b")
_TIME = re.compile(r"(?<![0-9:])([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?![0-9:])", re.ASCII)
_COUNT = re.compile(r"[0-9]{1,5}", re.ASCII)


class _Lawsuit(msgspec.Struct):
    numero: str | None = None


class _Data(msgspec.Struct):
    """One certificate. Dates are `dd/mm/yyyy`, empty texts `""` or null."""

    certidao: str | None = None
    certidao_codigo: str | None = None
    mensagem: str | None = None
    conseguiu_emitir_certidao_negativa: Flag = None
    consta: Flag = None
    emissao_data: str | None = None
    expedicao: str | None = None
    normalizado_expedicao: str | None = None
    validade: str | None = None
    validade_data: str | None = None
    normalizado_validade: str | None = None
    cnpj: str | None = None
    cpf: str | None = None
    normalizado_cnpj: str | None = None
    normalizado_cpf: str | None = None
    nome: str | None = None
    processos_encontrados: list[str | _Lawsuit | None] | None = None
    total_de_processos: int | str | None = None
    site_receipt: str | None = None


def parameters(inquiry: Inquiry) -> dict[str, str]:
    """Return the query's parameters. Each query issues a new certificate."""
    kind = "cnpj" if isinstance(inquiry.document, Cnpj) else "cpf"
    return {kind: inquiry.document.text}


def read(source: str, reply: HttpReply, inquiry: Inquiry) -> Issuance:
    """Read the certificate of a reply; a positive one is a result, too."""
    result = envelope.read(source, reply)
    if result.meaning is CodeMeaning.FOUND:
        return _found(source, result, inquiry)
    reason = certificate_words.reason_of(result.reasons)
    refuses = result.code in _WITHOUT_DATA and not reason.is_of_the_portal
    if refuses or reason in _WITH_REASON.get(result.code, ()):
        nothing = LabourCertificate(
            document=values.document(result, inquiry.document, (), ()),
            message=result.reasons,
            provider_code=result.code,
            provider_billable=bool(result.billable),
            provider_elapsed_ms=result.elapsed_ms,
        )
        return Issuance(nothing, result.receipt)
    if result.code in _WITHOUT_DATA:
        raise envelope.outage(source, result, reason)
    raise envelope.issuance_error(source, result)


def _found(source: str, result: Envelope, inquiry: Inquiry) -> Issuance:
    data = envelope.results(source, result, _Data)[0]
    cnpjs, cpfs = (data.normalizado_cnpj, data.cnpj), (data.normalizado_cpf, data.cpf)
    if first(*cnpjs, *cpfs) is None:
        raise SourceFailed(f"{source}: resposta incompleta, sem documento")
    lawsuits = _lawsuits(data.processos_encontrados or ())
    total = _total(data.total_de_processos, lawsuits)
    kind = _kind(source, data, indebted=bool(lawsuits or total))
    good = kind in ("CND", "CPEND")
    number = nonempty(data.certidao)
    issued_on = values.day(first(data.emissao_data, data.normalizado_expedicao, data.expedicao))
    last = first(data.validade_data, data.validade, data.normalizado_validade)
    validity = values.validity(source, last, issued_on)
    if good and number is None and validity is None:
        raise SourceFailed(f"{source}: resposta incompleta, sem número e validade")
    if validity is not None and issued_on is not None and validity < issued_on:
        raise SourceFailed(f"{source}: validade anterior à emissão")
    certificate = LabourCertificate(
        document=values.document(result, inquiry.document, cnpjs, cpfs),
        kind=kind,
        title=nonempty(data.mensagem) or "",
        number=number,
        code=nonempty(data.certidao_codigo),
        name=nonempty(data.nome),
        issued_on=issued_on,
        issued_time=_time(first(data.normalizado_expedicao, data.expedicao)),
        validity=validity,
        issued=good,
        listed=flag(data.consta),
        lawsuits=lawsuits,
        lawsuits_total=total,
        provider_code=result.code,
        provider_billable=bool(result.billable),
        provider_elapsed_ms=result.elapsed_ms,
    )
    return Issuance(certificate, nonempty(data.site_receipt) or result.receipt)


def _kind(source: str, data: _Data, *, indebted: bool) -> CertificateType:
    """Return the type, from the title or else from the flags. `indebted`: it lists lawsuits."""
    title, listed = words(data.mensagem), flag(data.consta)
    if _EFFECTS.search(title):
        return "CPEND"
    if "POSITIVA" in title:
        return "CPD"
    if "NEGATIVA" in title and not certificate_words.refuses(data.mensagem):
        if indebted or listed:
            raise SourceFailed(f"{source}: resposta contraditória sobre a certidão")
        return "CND"
    issued = flag(data.conseguiu_emitir_certidao_negativa)
    if listed or indebted:
        return "CPEND" if listed and indebted and issued else "CPD"
    if listed is None or issued is False:
        raise SourceFailed(f"{source}: resposta incompleta, sem resultado")
    return "CND"


def _lawsuits(found: Sequence[str | _Lawsuit | None]) -> tuple[str, ...]:
    """Return the numbers of lawsuits, which the service writes as texts or as objects."""
    numbers = (nonempty(each.numero if isinstance(each, _Lawsuit) else each) for each in found)
    return tuple([number for number in numbers if number is not None][:_LAWSUITS_MAX])


def _total(given: int | str | None, lawsuits: Sequence[str]) -> int | None:
    """Return the number of lawsuits: a number, digits or an empty text; else those listed."""
    text = "" if given is None else str(given).strip()
    if _COUNT.fullmatch(text):
        return max(int(text), len(lawsuits))
    return len(lawsuits) or None


def _time(raw: str | None) -> str | None:
    found = _TIME.search(raw or "")
    return found and found[0]
