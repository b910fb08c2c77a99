"""The federal joint certificate by SERPRO's Consulta CND (`serpro-cnd.md` sections 1 and 2).

By contract. It finds the certificate in force or issues one, as it sees fit: there is no way to
ask for a new issuance. The token is `oauth.py`'s.
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
from balcao.sources.contract import Certified, Conversation, Exchange, HttpReply, HttpRequest
from balcao.sources.online import Capabilities
from balcao.sources.replies import text

# No CNPJ, for its check digits are wrong: refused as an argument, which they do not charge.
IMPOSSIBLE_CNPJ = "00000000000001"

# They want 500 ms between calls, and clients wait 700. Every call that is told to wait longer is
# HTTP 201, which they charge, so ours grow apart.
FIRST_PAUSE_SECONDS = 0.7
PAUSE_SECONDS_MAX = 2.0

_CHARGED = (200, 201)


class Status(IntEnum):
    """Their result codes."""

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

# They concluded, and there is no certificate. Pending items may be returns that were not filed:
# nobody says that there are debts, so this is no positive certificate. A taxpayer they do not
# know can be issued none either.
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


class _Said(msgspec.Struct, rename="pascal"):
    status: int
    mensagem: str | None = None
    chave: str | None = None
    certidao: _Certificate | None = None


@dataclass(frozen=True, slots=True)
class SerproCndAdapter:
    """One contract's product."""

    product: str = "consulta-cnd"
    accepts_alphanumeric: bool = True
    name: str = "serpro_cnd"
    version: str = "v1"
    company_code: str = COMPANY_CODES["v1"]

    conclusive_absence = False  # an unknown taxpayer is a result of its own

    @property
    def capabilities(self) -> Capabilities:
        """Companies only: it asks no birth date, so nobody would have confirmed a person's."""
        return Capabilities(
            frozenset({"federal_certificate"}),
            alphanumeric=self.accepts_alphanumeric,
            cpf_ufs=frozenset(),
        )

    def converse(self, inquiry: Inquiry) -> Conversation:
        """The certificate without its receipt."""
        certified = yield from self.certify(inquiry)
        return None if certified is None else certified.certificate

    def certify(self, inquiry: Inquiry) -> Exchange[Certified]:
        """Ask once, then for the result of that, by its key: never for a second one."""
        request = self._request(inquiry.document.text)
        reply = yield self._send(request)
        charged = reply.status in _CHARGED
        pauses = _pauses()
        while (said := self._read(reply)).status == Status.PROCESSING:
            request.chave = text(said.chave) or request.chave
            if request.chave is msgspec.UNSET:
                raise SourceFailed(f"{self.name}: resposta incompleta, sem chave")
            reply = yield self._send(request, after_seconds=next(pauses))
            charged = charged or reply.status in _CHARGED
        return self._conclude(said, inquiry, charged=charged)

    def probe(self, inquiry: Inquiry) -> Exchange[str]:
        """A number that is no CNPJ: the token, the product and the contract are tried with it.

        They charge HTTP 200 and 201 and nothing else; should they take it for a CNPJ after all,
        the probe costs one consultation.
        """
        reply = yield self._send(self._request(IMPOSSIBLE_CNPJ, with_pdf=False))
        said = self._read(reply)
        if said.status in (Status.INTERRUPTED, Status.BASE_UNAVAILABLE, Status.SERVER_ERROR):
            raise self._failure(said.status)
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

    def _read(self, reply: HttpReply) -> _Said:
        """Their result. It counts before the HTTP status, which may only take it away."""
        good = 200 <= reply.status < 300
        try:
            said = replies.decode_what_can_be(self.name, _Said, reply.body)
        except SourceFailed:
            if not good:
                raise self._refusal(reply) from None
            raise
        brings_something = said.status in (Status.FOUND, Status.ISSUED, Status.PROCESSING)
        if not good and (brings_something or reply.status in (401, 403, 429)):
            raise self._refusal(reply)
        if reply.status >= 500 and said.status in _IMPOSSIBLE:
            raise self._refusal(reply)
        return said

    def _refusal(self, reply: HttpReply) -> SourceError:
        match reply.status:
            case 401:
                return replies.misconfigured(self.name, "token novo recusado, HTTP 401")
            case 403:
                return replies.misconfigured(self.name, "produto não contratado, HTTP 403")
            case 404 if b'"fault"' in reply.body:
                return replies.misconfigured(self.name, "produto desconhecido, HTTP 404")
            case _:
                return replies.refusal(self.name, reply)

    def _failure(self, status: int) -> SourceError:
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
                # A number as long as a document is none of theirs, and is not repeated.
                number = f" {status}" if 0 <= status <= 999 else ""
                return SourceFailed(f"{self.name}: status desconhecido{number}")

    def _conclude(self, said: _Said, inquiry: Inquiry, *, charged: bool) -> Certified:
        if said.status in (Status.FOUND, Status.ISSUED):
            return self._certified(said, charged=charged)
        if said.status in _IMPOSSIBLE:
            if reason_of(said.mensagem).is_of_the_portal:
                raise SourceFailed(f"{self.name}: a origem pede para tentar mais tarde")
            impossible = FederalCertificate(
                document=inquiry.document.text,
                message=text(said.mensagem) or _IMPOSSIBLE[Status(said.status)],
                provider_code=said.status,
                provider_billable=charged,
            )
            return Certified(impossible)
        raise self._failure(said.status)

    def _certified(self, said: _Said, *, charged: bool) -> Certified:
        if said.certidao is None:
            raise SourceFailed(f"{self.name}: resposta incompleta, sem certidão")
        it = said.certidao
        kind = self._kind(it)
        good = kind in ("CND", "CPEND")
        code = text(it.codigo_controle)
        issued_on, validity = replies.civil_day(it.data_emissao), self._day(it.data_validade)
        if good and code is None and validity is None:
            raise SourceFailed(f"{self.name}: resposta incompleta, sem código e validade")
        if issued_on is not None and validity is not None and validity < issued_on:
            raise SourceFailed(f"{self.name}: validade anterior à emissão")
        certificate = FederalCertificate(
            document=replies.plain(it.contribuinte_certidao) or "",
            kind=kind,
            code=code,
            status="Válida" if good else "",
            issued_on=issued_on,
            validity=validity,
            issued=good,
            message=None if good else text(said.mensagem),
            verification_code=code or "",
            provider_code=said.status,
            provider_billable=charged,
        )
        return Certified(certificate, _pdf(it.documento_pdf))

    def _kind(self, said: _Certificate) -> CertificateType:
        """A generated client in the wild knows the field by its accent."""
        stated = {
            str(each) for each in (said.tipo_certidao, said.tipo_certidao_) if each is not None
        }
        known = [kind for number, kind in _KINDS.items() if stated == {str(number)}]
        if not known:
            raise SourceFailed(f"{self.name}: tipo de certidão desconhecido")
        return known[0]

    def _day(self, raw: str | None) -> str | None:
        """The day in Brasília of a date or date-time. Raises `SourceFailed` for anything else."""
        found = replies.civil_day(raw)
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
    """What cannot be read is no receipt, and the certificate is one without it."""
    try:
        plain = (raw or "").encode("ascii").translate(None, b" \t\r\n")
        return base64.b64decode(plain, validate=True) or None
    except (binascii.Error, ValueError):
        return None
