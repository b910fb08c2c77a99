"""Regularity with the FGTS: `GET /consultas/v2/regularidade-fgts/{cnpj}`.

Contract 3, 4.14, 5; operations, heading "Endpoint 8"; results, heading "FGTS regularity".
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated

import msgspec

from balcao.core.certificates import valid_until
from balcao.core.described import described, doc
from balcao.core.documents import Cnpj, without_cpf
from balcao.core.errors import (
    InvalidCnpj,
    InvalidStrategy,
    NothingInCache,
    ParametersConflict,
)
from balcao.core.fgts_regularity import FgtsRegularity, Situation
from balcao.core.idempotency import digest
from balcao.core.ledger import Origin
from balcao.core.outcomes import Conclusion, Delivered
from balcao.core.questions import Inquiry, Question, Strategy
from balcao.core.receipts import ReceiptNumbers, ReceiptSubject, certificate_summary
from balcao.core.tariff import Rule, Rules
from balcao.operations.certificates.kept import (
    REFRESH,
    SERVED_AT,
    STRATEGY,
    Billing,
    KeptCertificateLookup,
    delivered_at,
    instant,
    split_answer,
)
from balcao.operations.certificates.lookup import PRICES, PROBLEMS_OF_CERTIFICATES
from balcao.operations.contract import AnswerContext, Example
from balcao.operations.envelope import AlwaysFalse, RequestId
from balcao.operations.fgts_regularity import page
from balcao.operations.parameters import Parameter, Parameters, cnpj_in_path
from balcao.operations.views import Body, RecordedResult, ResultView

TITLE = "CERTIFICADO DE REGULARIDADE DO FGTS - CRF"


@described("CertificadoAnterior", "Um certificado anterior da mesma inscrição.")
class PastCertificate(msgspec.Struct, frozen=True):
    """A row of the employer's history."""

    certificate_number: Annotated[str | None, doc("Número do certificado.")]
    issued_at: Annotated[str | None, doc("Dia da emissão.", format="date")]
    valid_from: Annotated[str | None, doc("Primeiro dia de validade.", format="date")]
    valid_until: Annotated[str | None, doc("Último dia de validade.", format="date")]


@described(
    "RespostaRegularidadeFgts",
    "Regularidade com o FGTS, ou o resultado negativo da consulta (404 com `error: false`).",
)
class FgtsAnswer(msgspec.Struct, frozen=True):
    """The body of a result, functional negatives included; these have a `message` too."""

    request_id: RequestId
    success: Annotated[bool, doc("`true`: a situação é `regular` e o certificado está em vigor.")]
    error: AlwaysFalse
    error_message: Annotated[
        Mapping[str, str], doc("Objeto sempre vazio nesta resposta: não há erro.", maxProperties=0)
    ]
    situation: Annotated[
        Situation,
        doc(
            "`regular`, `irregular`, `nao_comprovada` (a Caixa não comprova pela internet, o que"
            " não prova débitos) ou `nao_cadastrado` (a Caixa não conhece o empregador)."
        ),
    ]
    certificate: Annotated[str, doc("Título do certificado.")]
    certificate_number: Annotated[str | None, doc("Número do CRF, com 22 dígitos.")]
    cnpj: Annotated[str, doc("CNPJ consultado, com pontuação.")]
    registration: Annotated[
        str | None,
        doc(
            "Inscrição à qual o resultado se refere, com pontuação. Nula quando o empregador não é"
            " cadastrado."
        ),
    ]
    registration_is_head_office: Annotated[
        bool | None,
        doc(
            "`true`: a Caixa não conhece a filial consultada, e o resultado é o da matriz. Nulo"
            " quando não há inscrição."
        ),
    ]
    corporate_name: Annotated[str | None, doc("Nome, quando a fonte o diz.")]
    address: Annotated[str | None, doc("Endereço da inscrição, em uma linha.")]
    issued_at: Annotated[str | None, doc("Dia da emissão.", format="date")]
    valid_from: Annotated[str | None, doc("Primeiro dia de validade.", format="date")]
    validity: Annotated[str | None, doc("Último dia de validade.", format="date")]
    effective_validity: Annotated[str | None, doc("O mesmo que `validity`.", format="date")]
    valid_until: Annotated[
        str | None,
        doc(
            "Último dia em que este resultado guardado pode ser usado. Nulo: não fica guardado.",
            format="date",
        ),
    ]
    history: Annotated[
        Sequence[PastCertificate], doc("Certificados da inscrição, o mais novo primeiro.")
    ]
    reason: Annotated[str | None, doc("Motivo, nas palavras da fonte, quando não é regular.")]
    source_queried_at: Annotated[str, doc("Quando a fonte foi consultada.", format="date-time")]
    served_at: Annotated[str, doc("Quando esta resposta foi dada.", format="date-time")]
    source: Annotated[Origin, doc("`cache` ou `online`.")]
    receipt_type: Annotated[str, doc("Tipo do comprovante; vazio quando não há.")]
    print: Annotated[
        str | None, doc("Endereço do comprovante, acessível com uma chave da mesma conta.")
    ]
    provider_code: Annotated[int, doc("Código devolvido pelo fornecedor.")]
    provider_billable: Annotated[bool, doc("Se o fornecedor cobra por esta consulta.")]
    provider_elapsed_time_in_milliseconds: Annotated[int, doc("Tempo do fornecedor.")]
    billing: Annotated[Billing, doc("O preço cobrado por esta consulta.")]
    message: Annotated[
        str | msgspec.UnsetType, doc("Só no resultado negativo: o que aconteceu.")
    ] = msgspec.UNSET


CNPJ = cnpj_in_path("90010001000100")

_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(FgtsRegularity)

RULES: Rules = {
    "fgts_regularity/cache": Rule(
        "regularidade do FGTS: 1 por resultado do cache",
        "1 crédito por resultado guardado.",
    ),
    "fgts_regularity/online": Rule(
        "regularidade do FGTS: 2 por resultado da fonte",
        "2 créditos por consulta à fonte, seja qual for o resultado.",
    ),
}

_MESSAGES: Mapping[Situation, str] = {
    "irregular": "Consulta concluída: o empregador não está regular com o FGTS.",
    "nao_comprovada": "Consulta concluída: a Caixa não comprova a regularidade pela internet. Isso"
    " não prova débitos.",
    "nao_cadastrado": "Consulta concluída: o empregador não é cadastrado na Caixa.",
}


class FgtsRegularityLookup(KeptCertificateLookup):
    """Lookup of an employer's regularity with the FGTS."""

    subject = "fgts_regularity"
    path = "regularidade-fgts"
    title = "Regularidade do FGTS (CRF)"
    description = (
        "Certificado de regularidade do FGTS, emitido pela Caixa, por CNPJ. 200: regular. 404 com"
        " `error: false`: consulta concluída, e o empregador não é regular, não pôde ser"
        " comprovado ou não é cadastrado; é cobrada. Se a Caixa não conhece uma filial, o resultado"
        " é o da matriz. Custa 1 crédito com resultado guardado e 2 na fonte. Erros não são"
        " cobrados. Depois de um timeout, repita só com a mesma Idempotency-Key."
    )
    rules = RULES
    record = FgtsRegularity
    receipt_kind = "fgts"
    sources_title = "regularidade do FGTS"
    sources = ("infosimples",)
    sources_setting = "Fontes da regularidade do FGTS, em ordem."
    source_facts = ("receipts", "alphanumeric")
    form = page.FORM
    failures = page.FAILURES
    negative_result = page.NEGATIVE
    verdicts = page.VERDICTS
    sheet_columns = page.SHEET_COLUMNS
    answer = FgtsAnswer
    problems = (
        InvalidCnpj,
        InvalidStrategy,
        ParametersConflict,
        NothingInCache,
        *PROBLEMS_OF_CERTIFICATES,
    )

    @classmethod
    def receipt_name(cls, about: ReceiptSubject) -> str:
        return "CRF-fgts"

    def declare(self) -> Sequence[Parameter]:
        return (CNPJ, STRATEGY, REFRESH)

    def parse(self, document: str, sent: Parameters) -> Question:
        cnpj = CNPJ.read(document)
        strategy = STRATEGY.read(sent)
        refresh = REFRESH.read(sent)
        if strategy is Strategy.SO_CACHE and refresh:
            raise ParametersConflict
        return Question(
            subject=self.subject,
            inquiries=(Inquiry(self.subject, cnpj),),
            strategy=strategy,
            max_age_days=0,
            refresh=refresh,
        )

    def fingerprint(self, question: Question) -> str:
        text = question.document.text
        return digest(f"{self.path} {text} {question.strategy} {question.refresh}")

    def decode(self, body: bytes) -> FgtsRegularity:
        return _decode(body)

    def deliver(
        self, question: Question, outcome: Delivered, answer_context: AnswerContext
    ) -> Conclusion:
        assert isinstance(question.document, Cnpj)
        made = _concluded(
            outcome, question.document, answer_context.account_id, answer_context.receipt_numbers
        )
        return delivered_at(made, answer_context.now_ms)

    def clear_memos(self) -> None:
        _concluded.cache_clear()
        _decode.cache_clear()

    def examples(self) -> Sequence[Example]:
        regular = self.example_record(FgtsRegularity)
        question = self.parse(regular.registration, Parameters(b"", {}, self.names))

        def another(situation: Situation, message: str) -> FgtsRegularity:
            return FgtsRegularity(
                registration=regular.registration,
                situation=situation,
                message=message,
                provider_code=620,
                provider_billable=True,
                provider_elapsed_ms=8100,
            )

        examples: Sequence[tuple[str, str, FgtsRegularity, Origin]] = (
            ("regular", "Regular", regular, "online"),
            ("do_cache", "Resultado guardado", regular, "cache"),
            (
                "nao_comprovada",
                "Não comprovada pela internet",
                another(
                    "nao_comprovada",
                    "As informações disponíveis não são suficientes para a comprovação automática"
                    " da regularidade do empregador perante o FGTS.",
                ),
                "online",
            ),
            (
                "nao_cadastrado",
                "Empregador não cadastrado",
                another("nao_cadastrado", "Empregador não cadastrado."),
                "online",
            ),
        )
        return [
            self.example(name, summary, question, record, "infosimples", origin=origin)
            for name, summary, record, origin in examples
        ]

    def view(self, recorded: RecordedResult) -> ResultView:
        return page.view(recorded)

    def brief(self, body: Body) -> str:
        return body["certificate_number"] or ""


# A cached certificate is delivered many times before it expires.
@lru_cache(maxsize=4096)
def _concluded(
    outcome: Delivered, document: Cnpj, account_id: int, receipt_numbers: ReceiptNumbers
) -> tuple[Conclusion, bytes, bytes]:
    """Return an account's conclusion without JSON, and the JSON before and after `served_at`."""
    found, origin, asked_ms = _decode(outcome.body), outcome.origin, outcome.asked_ms
    stored, registration = found.receipt, Cnpj(found.registration)
    is_registered = found.situation != "nao_cadastrado"
    receipt = None
    if stored is not None:
        receipt = receipt_numbers.private(account_id, stored, found.registration)
    answer = FgtsAnswer(
        request_id="",
        success=found.good,
        error=False,
        error_message={},
        situation=found.situation,
        certificate=TITLE,
        certificate_number=found.number,
        cnpj=document.punctuated,
        registration=registration.punctuated if is_registered else None,
        registration_is_head_office=registration != document if is_registered else None,
        corporate_name=found.name,
        address=found.address,
        issued_at=found.issued_on,
        valid_from=found.valid_from,
        validity=found.validity,
        effective_validity=found.validity,
        valid_until=valid_until(found, asked_ms),
        history=[
            PastCertificate(each.number, each.issued_on, each.valid_from, each.validity)
            for each in found.history
        ],
        reason=found.message,
        source_queried_at=found.queried_at or instant(asked_ms // 1000).decode(),
        served_at=SERVED_AT,
        source=origin,
        receipt_type=stored.media_type if stored else "",
        print=(
            None if receipt is None else receipt_numbers.address(FgtsRegularityLookup.path, receipt)
        ),
        provider_code=found.provider_code,
        provider_billable=found.provider_billable,
        provider_elapsed_time_in_milliseconds=found.provider_elapsed_ms,
        billing=Billing(PRICES[origin], origin),
        message=msgspec.UNSET if found.good else _MESSAGES[found.situation],
    )
    before, after = split_answer(_encode(answer))
    conclusion = Conclusion(
        status=200 if found.good else 404,
        fields=b"",
        credits=PRICES[origin],
        rule=f"{FgtsRegularityLookup.subject}/{origin}",
        origin=origin,
        source=outcome.source,
        asked_ms=asked_ms,
        receipt=receipt,
        certificate=certificate_summary(
            found.verdict,
            found.validity,
            without_cpf(found.name or "") or None,
            receipt,
            found.issued_on,
        ),
    )
    return conclusion, before, after


@lru_cache(maxsize=4096)
def _decode(body: bytes) -> FgtsRegularity:
    return _decoder.decode(body)


OPERATION = FgtsRegularityLookup
