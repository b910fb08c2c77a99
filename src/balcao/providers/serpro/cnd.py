"""Adapter of SERPRO's Consulta CND, the federal certificate (`serpro-cnd.md` sections 1 and 2).

The service returns the certificate in force or issues one; a new issuance cannot be requested.
`oauth.py` adds the token.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import msgspec

from balcao.core.certificate_words import reason_of
from balcao.core.certificates import CertificateType, FederalCertificate
from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.core.questions import Inquiry
from balcao.providers.serpro.settings import COMPANY_CODES
from balcao.sources import replies
from balcao.sources.contract import (
    Conversation,
    Exchange,
    HttpReply,
    HttpRequest,
    Issuance,
)
from balcao.sources.online import Capabilities
from balcao.sources.replies import text

# Not a CNPJ, since its check digits are wrong: refused as a parameter, which is not charged.
IMPOSSIBLE_CNPJ = "00000000000001"

# Calls must be 500 ms apart; other clients wait 700. Each reply "still processing" is HTTP 201 and
# charged, so the pauses grow.
FIRST_PAUSE_SECONDS = 0.7
PAUSE_SECONDS_MAX = 2.0

_CHARGED = (200, 201)


class Status(IntEnum):
    """The service's result codes."""

    FOUND = 1
    ISSUED = 2
    PENDING_ITEMS = 3
    PREVENTED = 4
    INTERRUPTED = 5
    BASE_UNAVAILABLE = 6
    PROCESSING = 7
    TAXPAYER_UNKNOWN = 8
    KEY_UNKNOWN = 14
    SERVER_ERROR = 99


_MISTAKES = (9, 10, 11, 12, 13, 15)

# Final results without a certificate. Pending items may be returns that were not filed, which does
# not prove debts, so this is not a positive certificate. An unknown taxpayer gets none either.
_IMPOSSIBLE = {
    Status.PENDING_ITEMS: "A certidão não foi emitida: há pendências a conferir na situação"
    " fiscal.",
    Status.PREVENTED: "A certidão não foi emitida: a situação cadastral impede.",
    Status.TAXPAYER_UNKNOWN: "A certidão não foi emitida: contribuinte não encontrado.",
}

_KINDS: dict[int, CertificateType] = {1: "CND", 2: "CPEND", 3: "CPD"}


class _Certificate(msgspec.Struct, rename="pascal"):
    contribuinte_certidao: str | None = None
    tipo_certidao: int | str | None = None
    tipo_certidao_: int | str | None = msgspec.field(default=None, name="TipoCertidão")
    codigo_controle: str | None = None
    data_emissao: str | None = None
    data_validade: str | None = None
    documento_pdf: str | None = None


class _Result(msgspec.Struct, rename="pascal"):
    status: int
    mensagem: str | None = None
    chave: str | None = None
    certidao: _Certificate | None = None


@dataclass(frozen=True, slots=True)
class SerproCndAdapter:
    """The Consulta CND product of one contract."""

    product: str = "consulta-cnd"
    accepts_alphanumeric: bool = True
    name: str = "serpro_cnd"
    version: str = "v1"
    company_code: str = COMPANY_CODES["v1"]

    conclusive_absence = False  # an unknown taxpayer is a result of its own

    @property
    def capabilities(self) -> Capabilities:
        # companies only: without a birth date, a person's request would be unconfirmed
        return Capabilities(
            frozenset({"federal_certificate"}),
            alphanumeric=self.accepts_alphanumeric,
            cpf_ufs=frozenset(),
        )

    def converse(self, inquiry: Inquiry) -> Conversation:
        certified = yield from self.certify(inquiry)
        return None if certified is None else certified.certificate

    def certify(self, inquiry: Inquiry) -> Exchange[Issuance]:
        """Request a certificate once, then poll for its result by its key."""
        request = self._request(inquiry.document.text)
        reply = yield self._send(request)
        charged = reply.status in _CHARGED
        pauses = _pauses()
        while (result := self._read(reply)).status == Status.PROCESSING:
            request.chave = text(result.chave) or request.chave
            if request.chave is msgspec.UNSET:
                raise SourceFailed(f"{self.name}: resposta incompleta, sem chave")
            reply = yield self._send(request, after_seconds=next(pauses))
            charged = charged or reply.status in _CHARGED
        return self._conclude(result, inquiry, charged=charged)

    def probe(self, inquiry: Inquiry) -> Exchange[str]:
        """Ask for an invalid CNPJ, which checks the token, the product and the contract.

        Only HTTP 200 and 201 are charged; if the number is accepted after all, the probe costs one
        query.
        """
        reply = yield self._send(self._request(IMPOSSIBLE_CNPJ, with_pdf=False))
        result = self._read(reply)
        if result.status in (Status.INTERRUPTED, Status.BASE_UNAVAILABLE, Status.SERVER_ERROR):
            raise self._error_for(result.status)
        return "respondeu"

    def _request(self, cnpj: str, *, with_pdf: bool = True) -> "_Request":
        return _Request(cnpj, codigo_identificacao=self.company_code, gerar_certidao_pdf=with_pdf)

    def _send(self, request: "_Request", *, after_seconds: float = 0.0) -> HttpRequest:
        return HttpRequest(
            "POST",
            f"/{self.product}/{self.version}/certidao",
            headers={"content-type": "application/json"},
            body=msgspec.json.encode(request),
            after_seconds=after_seconds,
        )

    def _read(self, reply: HttpReply) -> _Result:
        """Read the result. An HTTP error overrides a certificate or "still processing"."""
        good = 200 <= reply.status < 300
        try:
            result = replies.decode_lenient(self.name, _Result, reply.body)
        except SourceFailed:
            if not good:
                raise self._error_for_http(reply) from None
            raise
        brings_something = result.status in (Status.FOUND, Status.ISSUED, Status.PROCESSING)
        if not good and (brings_something or reply.status in (401, 403, 429)):
            raise self._error_for_http(reply)
        if reply.status >= 500 and result.status in _IMPOSSIBLE:
            raise self._error_for_http(reply)
        return result

    def _error_for_http(self, reply: HttpReply) -> SourceError:
        match reply.status:
            case 401:
                return replies.misconfigured(self.name, "token novo recusado, HTTP 401")
            case 403:
                return replies.misconfigured(self.name, "produto não contratado, HTTP 403")
            case 404 if b'"fault"' in reply.body:
                return replies.misconfigured(self.name, "produto desconhecido, HTTP 404")
            case _:
                return replies.error_for_status(self.name, reply)

    def _error_for(self, status: int) -> SourceError:
        match status:
            case Status.INTERRUPTED:
                return SourceFailed(f"{self.name}: análise interrompida, status 5")
            case Status.BASE_UNAVAILABLE:
                return SourceUnavailable(
                    f"{self.name}: base de apoio indisponível, status 6", replies.RETRY_SECONDS
                )
            case Status.KEY_UNKNOWN:
                return SourceFailed(f"{self.name}: chave do processamento desconhecida, status 14")
            case Status.SERVER_ERROR:
                return SourceFailed(f"{self.name}: erro do servidor, status 99")
            case _ if status in _MISTAKES:
                return SourceFailed(f"{self.name}: ERRO NOSSO NA CONSULTA: status {status}")
            case _:
                # a longer number could be a document, so it is not repeated
                number = f" {status}" if 0 <= status <= 999 else ""
                return SourceFailed(f"{self.name}: status desconhecido{number}")

    def _conclude(self, result: _Result, inquiry: Inquiry, *, charged: bool) -> Issuance:
        if result.status in (Status.FOUND, Status.ISSUED):
            return self._certified(result, charged=charged)
        if result.status in _IMPOSSIBLE:
            if reason_of(result.mensagem).is_of_the_portal:
                raise SourceFailed(f"{self.name}: a origem pede para tentar mais tarde")
            impossible = FederalCertificate(
                document=inquiry.document.text,
                message=text(result.mensagem) or _IMPOSSIBLE[Status(result.status)],
                provider_code=result.status,
                provider_billable=charged,
            )
            return Issuance(impossible)
        raise self._error_for(result.status)

    def _certified(self, result: _Result, *, charged: bool) -> Issuance:
        if result.certidao is None:
            raise SourceFailed(f"{self.name}: resposta incompleta, sem certidão")
        it = result.certidao
        kind = self._kind(it)
        good = kind in ("CND", "CPEND")
        code = text(it.codigo_controle)
        issued_on, validity = replies.brasilia_day(it.data_emissao), self._day(it.data_validade)
        if good and code is None and validity is None:
            raise SourceFailed(f"{self.name}: resposta incompleta, sem código e validade")
        if issued_on is not None and validity is not None and validity < issued_on:
            raise SourceFailed(f"{self.name}: validade anterior à emissão")
        certificate = FederalCertificate(
            document=replies.without_punctuation(it.contribuinte_certidao) or "",
            kind=kind,
            code=code,
            status="Válida" if good else "",
            issued_on=issued_on,
            validity=validity,
            issued=good,
            message=None if good else text(result.mensagem),
            verification_code=code or "",
            provider_code=result.status,
            provider_billable=charged,
        )
        return Issuance(certificate, _pdf(it.documento_pdf))

    def _kind(self, result: _Certificate) -> CertificateType:
        """Return the type. A published client has the field's name with an accent."""
        value = {
            str(each) for each in (result.tipo_certidao, result.tipo_certidao_) if each is not None
        }
        known = [kind for number, kind in _KINDS.items() if value == {str(number)}]
        if not known:
            raise SourceFailed(f"{self.name}: tipo de certidão desconhecido")
        return known[0]

    def _day(self, raw: str | None) -> str | None:
        """Return the day in Brasília of a date or date-time, or None. Raises `SourceFailed`."""
        found = replies.brasilia_day(raw)
        if found is None and text(raw) is not None:
            raise SourceFailed(f"{self.name}: data em outra forma")
        return found


class _Request(msgspec.Struct, rename="pascal"):
    contribuinte_consulta: str
    codigo_identificacao: str  # a company's, by version
    tipo_contribuinte: int = 1  # a company
    gerar_certidao_pdf: bool = True
    chave: str | msgspec.UnsetType = msgspec.UNSET


def _pauses() -> Iterator[float]:
    seconds = FIRST_PAUSE_SECONDS
    while True:
        yield seconds
        seconds = min(1.5 * seconds, PAUSE_SECONDS_MAX)


def _pdf(raw: str | None) -> bytes | None:
    """Decode the receipt; None if that fails: the certificate is valid without it."""
    try:
        plain = (raw or "").encode("ascii").translate(None, b" \t\r\n")
        return base64.b64decode(plain, validate=True) or None
    except (binascii.Error, ValueError):
        return None
