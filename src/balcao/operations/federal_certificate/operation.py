"""Federal joint tax clearance: `GET /consultas/v2/certidao-negativa-de-debitos-federal`.

Specification, endpoint 4, "Federal joint tax clearance certificate", "HTTP status - federal
certificate", "Credits"; decisions 2.8, 3, 4.6, 5.
"""

import datetime
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Annotated

import msgspec

from balcao.core.access import Caller
from balcao.core.calendar import civil_day_text, from_ms
from balcao.core.certificates import (
    FederalCertificate,
    StoredReceipt,
    federal_may_serve,
    federal_valid_until,
)
from balcao.core.described import described, said
from balcao.core.documents import Cnpj, Cpf, without_cpf
from balcao.core.freshness import CACHE_FIRST, Ask, Kept, Serve
from balcao.core.idempotency import digest
from balcao.core.ledger import Origin
from balcao.core.outcomes import Conclusion, Delivered, Failed, Nothing, Outcome
from balcao.core.problems import Problem
from balcao.core.questions import Inquiry, Question, Strategy
from balcao.core.receipts import given
from balcao.errors import (
    BirthDateInFuture,
    BirthDateRequired,
    CertificateFailed,
    CertificatesNotEnabled,
    DataRefused,
    DocumentRequired,
    DocumentsConflict,
    InvalidBirthDate,
    InvalidCnpj,
    InvalidCpf,
    InvalidStrategy,
    NothingInCache,
    ParametersConflict,
    ResultExpired,
    SourceError,
    SourceFailed,
)
from balcao.operations import envelope
from balcao.operations.certificates import lookup as certificate_rules
from balcao.operations.contract import (
    PROBLEMS_OF_ALL,
    Circumstances,
    Example,
    Operation,
    everybody_may,
)
from balcao.operations.federal_certificate.request import NAMES, PARAMETERS, parse
from balcao.operations.parameters import Parameters
from balcao.sources.contract import Record

PATH = "certidao-negativa-de-debitos-federal"
PRICES: dict[Origin, int] = {"cache": 1, "online": 2}


class _Recorded(msgspec.Struct):
    """What a recorded answer says of its own validity."""

    success: bool = False
    effective_validity: str | None = None


_recorded = msgspec.json.Decoder(_Recorded).decode
_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(FederalCertificate)
_WITHOUT_ID = b'{"request_id":"",'

# What differs between two deliveries of one certificate; spliced into what does not.
_SERVED_AT, _PRINT = secrets.token_hex(16), secrets.token_hex(16)  # nobody can send these


@described("Cobranca", "Créditos e caminho executado.")
class Billing(msgspec.Struct, frozen=True):
    """Credits consumed, and the path that was executed."""

    credits: Annotated[int, said("Créditos.")]
    source: Annotated[Origin, said("`cache` ou `online`.")]


@described(
    "RespostaCertidaoFederal",
    "Certidão federal, ou o resultado negativo da consulta (404 com `error: false`).",
)
class FederalAnswer(msgspec.Struct, frozen=True):
    """The body of a result, functional negatives included; these have a `message` too."""

    request_id: Annotated[str, said("Identificador único da operação.", format="uuid")]
    success: Annotated[bool, said("`true`: CND ou CPEND; `false`: a consulta terminou sem elas.")]
    error: Annotated[bool, said("Sempre `false` nesta resposta.")]
    error_message: Annotated[
        Mapping[str, str], said("Objeto sempre vazio nesta resposta: não há erro.", maxProperties=0)
    ]
    certificate_type: Annotated[
        str | None,
        said(
            "`CND`, `CPEND`, `CPD`, o texto da fonte quando não pôde ser classificado, ou nulo"
            " quando nada pôde ser emitido."
        ),
    ]
    certificate: Annotated[str, said("Título da certidão.")]
    certificate_code: Annotated[str | None, said("Código de controle.")]
    cnpj: Annotated[str | None, said("CNPJ consultado, com pontuação.")]
    cpf: Annotated[str | None, said("CPF consultado, com pontuação.")]
    corporate_name: Annotated[str, said("Nome, quando a fonte o diz.")]
    status: Annotated[str, said("Situação da certidão, nas palavras da fonte.")]
    issued_at: Annotated[str | None, said("Dia da emissão.", format="date")]
    validity: Annotated[str | None, said("Validade original.", format="date")]
    extended_validity: Annotated[str | None, said("Prorrogação, quando há.", format="date")]
    effective_validity: Annotated[str | None, said("A maior das duas.", format="date")]
    valid_until: Annotated[
        str | None,
        said(
            "Último dia em que este resultado pode ser servido do cache; nulo: em nenhum.",
            format="date",
        ),
    ]
    source_queried_at: Annotated[str, said("Quando a fonte foi consultada.", format="date-time")]
    served_at: Annotated[str, said("Quando esta resposta foi dada.", format="date-time")]
    source: Annotated[Origin, said("`cache` ou `online`.")]
    issued_successfully: Annotated[bool, said("Indicador de emissão da fonte.")]
    rfb_debts: Annotated[bool | None, said("Débitos na Receita Federal, quando a fonte o diz.")]
    pgfn_debts: Annotated[bool | None, said("Débitos na PGFN, quando a fonte o diz.")]
    receipt_type: Annotated[str, said("Tipo do comprovante; vazio quando não há.")]
    receipt_verification_code: Annotated[str, said("Código de verificação do comprovante.")]
    print: Annotated[str | None, said("Endereço do comprovante, que pede a chave da mesma conta.")]
    provider_code: Annotated[int, said("Código devolvido pelo fornecedor.")]
    provider_billable: Annotated[bool, said("Se o fornecedor cobra por esta consulta.")]
    provider_elapsed_time_in_milliseconds: Annotated[int, said("Tempo do fornecedor.")]
    billing: Annotated[Billing, said("O que esta consulta custou.")]
    message: Annotated[
        str | msgspec.UnsetType, said("Só no resultado negativo: o que aconteceu.")
    ] = msgspec.UNSET


def fingerprint(question: Question) -> str:
    """What makes two requests the same one, defaults filled in (decisions 6)."""
    inquiry = question.inquiries[0]
    return digest(f"{PATH} {inquiry.errand} {question.strategy} {question.refresh}")


def enter(caller: Caller) -> None:
    """Certificates need a plan or a contract. Raises `CertificatesNotEnabled`."""
    if not caller.certifies:
        raise CertificatesNotEnabled


def plan(question: Question, inquiry: Inquiry, kept: Kept, now_ms: int) -> Serve | Ask:
    """By its validity, never by its age (decisions 4.6). An expired one is never delivered."""
    certificate = _decode(kept.body)
    if not federal_may_serve(certificate, kept.asked_ms, now_ms):
        return Ask(None)
    if question.strategy in CACHE_FIRST:
        # `nova` and `atualizar_online` go to the source whatever is kept.
        return Ask(None) if question.refresh or inquiry.reissue else Serve(kept)
    # A functional negative may have changed since: it never stands in for a failure.
    falls_back = question.strategy is Strategy.ONLINE_PREFERENCIAL and certificate.good
    return Ask(kept if falls_back else None)


def keeps(body: bytes, asked_ms: int, kept: Kept | None) -> bool:
    """What is newer is believed; but what proves nothing displaces no certificate in force.

    A good one that can never be served (no code, no validity) only puts an end to a negative one.
    That nothing could be issued is no proof of debts: a CND or CPEND in force stays (4.6).
    """
    new = _decode(body)
    old = None if kept is None else _decode(kept.body)
    if new.good:
        unusable = federal_valid_until(new, asked_ms) is None
        return not unusable or (old is not None and not old.good)
    if new.kind is None and old is not None and kept is not None and old.good:
        return not federal_may_serve(old, kept.asked_ms, asked_ms)
    return True


def still_valid(body: bytes, now_ms: int) -> bool:
    """An expired certificate is never delivered as valid, by a replay neither."""
    said = _recorded(body)
    last = said.effective_validity
    return not said.success or last is None or civil_day_text(now_ms) <= last


def encode(inquiry: Inquiry, record: Record) -> bytes:
    """The certificate as it is kept."""
    assert isinstance(record, FederalCertificate)
    return _encode(record)


def conclude(
    question: Question, outcomes: Sequence[Outcome], circumstances: Circumstances
) -> Conclusion:
    """The answer's status, body and price: 200 only for CND and CPEND."""
    (outcome,) = outcomes
    match outcome:
        case Delivered():
            return _delivered(question, outcome, circumstances)
        case Nothing():
            return envelope.refusal(CertificateFailed(), fields_of=error_fields)
        case Failed(error):
            return envelope.refusal(as_told(error), fields_of=error_fields)


def as_told(error: SourceError) -> Exception:
    """A source that was asked and failed is 400 here, not 500 (decisions 3)."""
    return CertificateFailed(error.detail) if isinstance(error, SourceFailed) else error


def _delivered(question: Question, outcome: Delivered, circumstances: Circumstances) -> Conclusion:
    certificate = _decode(outcome.body)
    receipt = None
    address = b"null"
    if certificate.receipt is not None:
        receipt = circumstances.numbering.private(circumstances.account_id, certificate.receipt)
        address = b'"' + circumstances.numbering.address(PATH, receipt).encode() + b'"'
    origin = outcome.origin
    before, between, after = _text(outcome.body, outcome.asked_ms, question.document, origin)
    served_at = _instant(circumstances.now_ms // 1000).encode()
    # A person's name is not remembered, nor the CPF in a sole trader's.
    name = without_cpf(certificate.name) if isinstance(question.document, Cnpj) else None
    validity = certificate.effective_validity
    return Conclusion(
        status=200 if certificate.good else 404,
        fields=before + b'"' + served_at + b'"' + between + address + after,
        credits=PRICES[origin],
        rule=f"federal_certificate/{origin}",
        origin=origin,
        source=outcome.source,
        asked_ms=outcome.asked_ms,
        receipt=receipt,
        certificate=given(certificate.verdict, validity, name or None, receipt),
    )


# A cached certificate is delivered thousands of times before it expires.
@lru_cache(maxsize=4096)
def _text(
    body: bytes, asked_ms: int, document: Cnpj | Cpf, origin: Origin
) -> tuple[bytes, bytes, bytes]:
    """The answer's fields, in three pieces: between them go `served_at` and `print`."""
    certificate = _decode(body)
    answer = FederalAnswer(
        request_id="",
        success=certificate.good,
        error=False,
        error_message={},
        certificate_type=certificate.kind or certificate.kind_text,
        certificate=certificate.title,
        certificate_code=certificate.code,
        cnpj=document.punctuated if isinstance(document, Cnpj) else None,
        cpf=document.punctuated if isinstance(document, Cpf) else None,
        corporate_name=certificate.name,
        # Where nothing was issued, the source's own words are its status (decisions 8).
        status=certificate.status or certificate.message or "",
        issued_at=certificate.issued_on,
        validity=certificate.validity,
        extended_validity=certificate.extended_validity,
        effective_validity=certificate.effective_validity,
        valid_until=federal_valid_until(certificate, asked_ms),
        source_queried_at=certificate.queried_at or _instant(asked_ms // 1000),
        served_at=_SERVED_AT,
        source=origin,
        issued_successfully=certificate.issued,
        rfb_debts=certificate.rfb_debts,
        pgfn_debts=certificate.pgfn_debts,
        receipt_type=certificate.receipt.media_type if certificate.receipt else "",
        receipt_verification_code=certificate.verification_code,
        print=_PRINT,
        provider_code=certificate.provider_code,
        provider_billable=certificate.provider_billable,
        provider_elapsed_time_in_milliseconds=certificate.provider_elapsed_ms,
        billing=Billing(PRICES[origin], origin),
        message=msgspec.UNSET if certificate.good else _reason(certificate),
    )
    before, _, rest = _encode(answer).removeprefix(_WITHOUT_ID).partition(_encode(_SERVED_AT))
    between, _, after = rest.partition(_encode(_PRINT))
    return before, between, after


@lru_cache(maxsize=4096)
def _decode(body: bytes) -> FederalCertificate:
    return _decoder.decode(body)


def _reason(certificate: FederalCertificate) -> str:
    """Why there is no CND or CPEND, in a sentence for the caller (decisions 1.1, 1.4)."""
    if certificate.kind == "CPD":
        return "A consulta terminou: há débitos, e a certidão é positiva (CPD)."
    if certificate.kind_text is not None or certificate.title:
        return "A consulta terminou: a fonte deu um resultado que não é CND nem CPEND."
    return "A consulta terminou: a fonte não pôde emitir a certidão pela internet."


@lru_cache(maxsize=64)
def _instant(second: int) -> str:
    """`YYYY-MM-DDTHH:mm:ss-03:00`: Brasília, with its offset on that day."""
    return from_ms(second * 1000).isoformat(timespec="seconds")


def error_fields(problem: Problem, document: str) -> bytes:
    """The body of a refusal of this operation."""
    return envelope.error_fields(problem)


# As the sandbox answers 90010001000100, on 2026-08-08.
_EXAMPLE = FederalCertificate(
    document="90010001000100",
    kind="CND",
    title="CERTIDÃO NEGATIVA DE DÉBITOS RELATIVOS AOS TRIBUTOS FEDERAIS E À DÍVIDA ATIVA DA UNIÃO",
    code="A1B2.C3D4.E5F6.0789",
    name="EMPRESA ATIVA FICTICIA LTDA",
    status="Válida",
    issued_on="2026-06-20",
    validity="2026-12-17",
    queried_at="2026-08-08T10:15:34-03:00",
    issued=True,
    rfb_debts=False,
    pgfn_debts=False,
    verification_code="A1B2.C3D4.E5F6.0789",
    provider_code=200,
    provider_billable=True,
    provider_elapsed_ms=4210,
    receipt=StoredReceipt("0" * 64, "application/pdf", 48_211),
)


def _examples() -> Sequence[Example]:
    asked_ms = 1_786_158_000_000  # 2026-08-08 in Brasília
    today = datetime.date.fromisoformat(civil_day_text(asked_ms))
    question = parse(lambda: today, "", Parameters(b"cnpj=90010001000100", {}, NAMES))

    def delivered(certificate: FederalCertificate, origin: Origin) -> Sequence[Outcome]:
        body = encode(question.inquiries[0], certificate)
        return (Delivered(body, origin, "infosimples", asked_ms),)

    positive = msgspec.structs.replace(
        _EXAMPLE,
        kind="CPD",
        title="CERTIDÃO POSITIVA DE DÉBITOS",
        code=None,
        status="",
        validity=None,
        issued=False,
        rfb_debts=True,
        receipt=None,
    )
    impossible = FederalCertificate(
        document="90010001000100", provider_code=611, provider_billable=True
    )
    return (
        Example("cnd_da_fonte", "CND emitida pela fonte", question, delivered(_EXAMPLE, "online")),
        Example("cnd_do_cache", "A mesma, do cache", question, delivered(_EXAMPLE, "cache")),
        Example("positiva", "Há débitos: CPD", question, delivered(positive, "online")),
        Example("impossivel", "Não pôde ser emitida", question, delivered(impossible, "online")),
    )


def operation(today: Callable[[], datetime.date]) -> Operation:
    """The operation; `today` is the civil date in Brasília."""
    return Operation(
        subject="federal_certificate",
        path=PATH,
        document="",
        title="Certidão de débitos federais (CND)",
        description=(
            "Certidão conjunta de tributos federais e dívida ativa da União, por CNPJ, ou por CPF"
            " com data de nascimento. 200: CND ou CPEND. 404 com `error: false`: a consulta"
            " terminou sem CND nem CPEND, e é cobrada. Custa 1 crédito do cache e 2 da fonte; erros"
            " não custam nada. Não repita sozinho depois de um tempo esgotado: use a mesma"
            " Idempotency-Key."
        ),
        parameters=PARAMETERS,
        names=NAMES,
        parse=lambda document, parameters: parse(today, document, parameters),
        fingerprint=fingerprint,
        permit=everybody_may,
        enter=enter,
        greatest_price=lambda question: PRICES["online"],
        rules=certificate_rules.FEDERAL,
        encode=encode,
        plan=plan,
        keeps=keeps,
        still_valid=still_valid,
        conclude=conclude,
        error_fields=error_fields,
        problems=(
            DocumentRequired,
            DocumentsConflict,
            InvalidCnpj,
            InvalidCpf,
            BirthDateRequired,
            InvalidBirthDate,
            BirthDateInFuture,
            InvalidStrategy,
            ParametersConflict,
            NothingInCache,
            DataRefused,
            CertificateFailed,
            CertificatesNotEnabled,
            ResultExpired,
            *(problem for problem in PROBLEMS_OF_ALL if problem is not SourceFailed),
        ),
        answer=FederalAnswer,
        examples=_examples(),
    )
