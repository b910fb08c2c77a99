"""State tax clearance: `GET /consultas/v2/certidao-negativa-de-debitos-estadual/{cnpj}`.

Specification, endpoint 5, "State tax clearance certificate", "HTTP status - state certificate",
"Credits"; decisions 2.3, 3, 4.7, 5.
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from balcao.core.calendar import civil_day_text, from_ms
from balcao.core.certificates import (
    StateCertificate,
    StoredReceipt,
    state_may_serve,
    state_valid_until,
)
from balcao.core.described import described, said
from balcao.core.documents import Cnpj
from balcao.core.federation import UFS
from balcao.core.freshness import Ask, Kept, Serve
from balcao.core.idempotency import digest
from balcao.core.ledger import Origin
from balcao.core.outcomes import Conclusion, Delivered, Failed, Nothing, Outcome
from balcao.core.problems import Problem
from balcao.core.questions import Inquiry, Question, Strategy
from balcao.core.receipts import given
from balcao.errors import (
    CertificateFailed,
    CertificatesNotEnabled,
    InvalidCnpj,
    InvalidUf,
    ResultExpired,
    SourceFailed,
    UfRequired,
)
from balcao.operations import envelope
from balcao.operations.certificates import lookup as certificate_rules
from balcao.operations.contract import (
    PROBLEMS_OF_ALL,
    Circumstances,
    Example,
    Operation,
    Parameter,
    cnpj_in_path,
    everybody_may,
)
from balcao.operations.federal_certificate.operation import as_told, enter
from balcao.operations.parameters import Parameters
from balcao.sources.contract import Record

PATH = "certidao-negativa-de-debitos-estadual"
NAMES = ("uf", "atualizar_online")
PRICES: dict[Origin, int] = {"cache": 1, "online": 2}


class _Recorded(msgspec.Struct):
    """What a recorded answer says of its own validity."""

    success: bool = False
    validade: str | None = None


_recorded = msgspec.json.Decoder(_Recorded).decode
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(StateCertificate).decode
_WITHOUT_ID = b'{"request_id":"",'


@described(
    "RespostaCertidaoEstadual",
    "Certidão estadual, ou o resultado negativo da consulta (404 com `error: false`).",
)
class StateCertificateAnswer(msgspec.Struct, frozen=True):
    """The body of a result, functional negatives included; these have a `message` too."""

    request_id: Annotated[str, said("Identificador único da operação.", format="uuid")]
    success: Annotated[bool, said("`true`: a certidão negativa foi emitida.")]
    error: Annotated[bool, said("Sempre `false` nesta resposta.")]
    error_message: Annotated[None, said("Sempre nulo nesta resposta: não há erro.")]
    codigo: Annotated[str | None, said("Código da certidão.")]
    certidao_mensagem: Annotated[str | None, said("Mensagem fiscal da certidão.")]
    certidao_negativa: Annotated[
        bool | None, said("Se o resultado corresponde a uma certidão negativa.")
    ]
    conseguiu_emitir_certidao_negativa: Annotated[bool | None, said("Se a fonte a emitiu.")]
    datahora: Annotated[
        str | None, said("Data e hora da consulta, `YYYY-MM-DD HH:mm:ss`, em Brasília.")
    ]
    mensagem: Annotated[str | None, said("Mensagem complementar da origem.")]
    numero: Annotated[str | None, said("Número da certidão.")]
    validade: Annotated[str | None, said("Validade.", format="date")]
    print: Annotated[
        str | None, said("Endereço público do comprovante em PDF; nulo quando não há.")
    ]
    message: Annotated[
        str | msgspec.UnsetType, said("Só no resultado negativo: o que aconteceu.")
    ] = msgspec.UNSET


def parse(document: str, parameters: Parameters) -> Question:
    """Check and normalise a request. One UF; raises `InvalidInput` of some kind."""
    cnpj = Cnpj.parse(document)
    uf = parameters.uf(UFS)
    if uf is None:
        raise UfRequired
    refresh = parameters.boolean("atualizar_online")
    return Question(
        subject="state_certificate",
        inquiries=(Inquiry("state_certificate", cnpj, uf),),
        strategy=Strategy.CACHE_PREFERENCIAL,
        max_age_days=0,
        uf=uf,
        refresh=refresh,
    )


def fingerprint(question: Question) -> str:
    """What makes two requests the same one, defaults filled in (decisions 6)."""
    return digest(f"{PATH} {question.inquiries[0].errand} {question.refresh}")


def plan(question: Question, inquiry: Inquiry, kept: Kept, now_ms: int) -> Serve | Ask:
    """By its validity, never by its age (decisions 4.7); never as a fallback."""
    usable = state_may_serve(_decode(kept.body), kept.asked_ms, now_ms)
    return Serve(kept) if usable and not question.refresh else Ask(None)


def keeps(body: bytes, asked_ms: int, kept: Kept | None) -> bool:
    """Only a positive result with a validity date is ever served again (decisions 4.7).

    A refusal is kept all the same, in the place of the certificate that came before it: what is
    newer is believed, and the next request asks the source.
    """
    certificate = _decode(body)
    return not certificate.good or state_valid_until(certificate, asked_ms) is not None


def still_valid(body: bytes, now_ms: int) -> bool:
    """An expired certificate is never delivered as valid, by a replay neither."""
    said = _recorded(body)
    return not said.success or said.validade is None or civil_day_text(now_ms) <= said.validade


def encode(inquiry: Inquiry, record: Record) -> bytes:
    """The certificate as it is kept."""
    assert isinstance(record, StateCertificate)
    return _encode(record)


def conclude(
    question: Question, outcomes: Sequence[Outcome], circumstances: Circumstances
) -> Conclusion:
    """The answer's status, body and price: 200 only when a negative certificate was issued."""
    (outcome,) = outcomes
    match outcome:
        case Delivered():
            return _delivered(question, outcome, circumstances)
        case Nothing():
            return envelope.refusal(CertificateFailed(), fields_of=error_fields)
        case Failed(error):
            return envelope.refusal(as_told(error), fields_of=error_fields)


def _delivered(question: Question, outcome: Delivered, circumstances: Circumstances) -> Conclusion:
    certificate = _decode(outcome.body)
    numbering = circumstances.numbering
    receipt = None
    # Public and shared by all: only what cannot run anything in a browser (decisions 7.3).
    if certificate.receipt is not None and certificate.receipt.media_type == "application/pdf":
        receipt = numbering.public(question.document.text, certificate.uf, certificate.receipt)
    origin = outcome.origin
    answer = StateCertificateAnswer(
        request_id="",
        success=certificate.good,
        error=False,
        error_message=None,
        codigo=certificate.code,
        certidao_mensagem=certificate.fiscal_message,
        certidao_negativa=certificate.negative,
        conseguiu_emitir_certidao_negativa=certificate.issued,
        # Without a valid time of the source, ours (specification, "datahora").
        datahora=certificate.queried_at or f"{from_ms(outcome.asked_ms):%Y-%m-%d %H:%M:%S}",
        mensagem=certificate.message,
        numero=certificate.number,
        validade=certificate.validity,
        print=None if receipt is None else numbering.address(PATH, receipt),
        message=msgspec.UNSET if certificate.good else _NOT_ISSUED,
    )
    return Conclusion(
        status=200 if certificate.good else 404,
        fields=_encode(answer).removeprefix(_WITHOUT_ID),
        credits=PRICES[origin],
        rule=f"state_certificate/{origin}",
        origin=origin,
        source=outcome.source,
        asked_ms=outcome.asked_ms,
        receipt=receipt,
        certificate=given(certificate.verdict, certificate.validity, None, receipt),
    )


_NOT_ISSUED = (
    "A consulta terminou: a secretaria da fazenda não emitiu uma certidão negativa."
    " O motivo, quando ela o diz, está em mensagem ou certidao_mensagem."
)


def error_fields(problem: Problem, document: str) -> bytes:
    """The body of a refusal of this operation."""
    return envelope.error_fields(problem)


# As the sandbox answers 90010001000100 in SP, on 2026-08-08.
_EXAMPLE = StateCertificate(
    document="90010001000100",
    uf="SP",
    negative=True,
    issued=True,
    code="26080000001-11",
    number="26080000001-11",
    fiscal_message="não constam débitos",
    queried_at="2026-08-08 10:20:08",
    validity="2026-10-07",
    receipt=StoredReceipt("0" * 64, "application/pdf", 48_211),
)


def _examples() -> Sequence[Example]:
    asked_ms = 1_786_158_000_000  # 2026-08-08 in Brasília
    question = parse("90010001000100", Parameters(b"uf=SP", {}, NAMES))

    def delivered(certificate: StateCertificate) -> Sequence[Outcome]:
        body = encode(question.inquiries[0], certificate)
        return (Delivered(body, "online", "infosimples", asked_ms),)

    refused = StateCertificate(
        document="90010001000100",
        uf="SP",
        negative=False,
        issued=False,
        message="Constam débitos em nome do contribuinte.",
        queried_at="2026-08-08 10:20:08",
    )
    return (
        Example("negativa", "Certidão negativa emitida", question, delivered(_EXAMPLE)),
        Example("nao_emitida", "Não foi emitida", question, delivered(refused)),
    )


def operation() -> Operation:
    """The operation. Which UFs can be answered is the sources' configuration."""
    return Operation(
        subject="state_certificate",
        path=PATH,
        document="cnpj",
        title="Certidão de débitos estaduais",
        description=(
            "Certidão de débitos de uma secretaria estadual da fazenda. 200: certidão negativa."
            " 404 com `error: false`: a consulta terminou sem ela, e é cobrada. Custa 1 crédito"
            " do cache e 2 da fonte; erros não custam nada. O comprovante em `print` é público."
        ),
        parameters=(
            cnpj_in_path("90010001000100"),
            Parameter(
                "uf",
                "query",
                "UF cuja certidão se pede; uma por requisição.",
                {"type": "string", "enum": list(UFS)},
                required=True,
                example="SP",
            ),
            Parameter(
                "atualizar_online",
                "query",
                "true: consulta a fonte mesmo que haja uma certidão guardada.",
                {"type": "boolean", "default": False},
            ),
        ),
        names=NAMES,
        parse=parse,
        fingerprint=fingerprint,
        permit=everybody_may,
        enter=enter,
        greatest_price=lambda question: PRICES["online"],
        rules=certificate_rules.STATE,
        encode=encode,
        plan=plan,
        keeps=keeps,
        still_valid=still_valid,
        conclude=conclude,
        error_fields=error_fields,
        problems=(
            InvalidCnpj,
            InvalidUf,
            UfRequired,
            CertificateFailed,
            CertificatesNotEnabled,
            ResultExpired,
            *(problem for problem in PROBLEMS_OF_ALL if problem is not SourceFailed),
        ),
        answer=StateCertificateAnswer,
        examples=_examples(),
    )
