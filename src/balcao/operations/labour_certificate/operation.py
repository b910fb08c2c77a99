"""Labour debt certificate: `GET /consultas/v2/certidao-negativa-de-debitos-trabalhistas`.

Contract 2.11, 3, 4.14, 5; operations, heading "Endpoint 7"; results, heading "Labour certificate".
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Literal

import msgspec

from balcao.core.certificates import CertificateType, valid_until
from balcao.core.described import described, doc
from balcao.core.documents import Cnpj, Cpf, without_cpf
from balcao.core.errors import (
    DocumentRequired,
    DocumentsConflict,
    InvalidCnpj,
    InvalidCpf,
    InvalidStrategy,
    NothingInCache,
    ParametersConflict,
)
from balcao.core.idempotency import digest
from balcao.core.labour_certificate import LabourCertificate
from balcao.core.ledger import Origin
from balcao.core.outcomes import Conclusion, Delivered
from balcao.core.questions import Inquiry, Question, Strategy
from balcao.core.receipts import ReceiptNumbers, certificate_summary
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
from balcao.operations.labour_certificate import page
from balcao.operations.parameters import DocumentParameter, Parameter, Parameters
from balcao.operations.views import Body, RecordedResult, ResultView


@described(
    "RespostaCertidaoTrabalhista",
    "Certidão trabalhista, ou o resultado negativo da consulta (404 com `error: false`).",
)
class LabourAnswer(msgspec.Struct, frozen=True):
    """The body of a result, functional negatives included; these have a `message` too."""

    request_id: RequestId
    success: Annotated[bool, doc("`true`: CND ou CPEND. `false`: consulta concluída sem elas.")]
    error: AlwaysFalse
    error_message: Annotated[
        Mapping[str, str], doc("Objeto sempre vazio nesta resposta: não há erro.", maxProperties=0)
    ]
    certificate_type: Annotated[
        CertificateType | None,
        doc("`CND`, `CPEND`, `CPD`, ou nulo quando nada pôde ser emitido."),
    ]
    certificate: Annotated[str, doc("Título da certidão.")]
    certificate_number: Annotated[
        str | None,
        doc("Número e ano da certidão. Com o documento, confere a autenticidade no portal do TST."),
    ]
    certificate_code: Annotated[str | None, doc("Código da certidão, quando a fonte o diz.")]
    cnpj: Annotated[str | None, doc("CNPJ consultado, com pontuação.")]
    certificate_cnpj: Annotated[
        str | None,
        doc(
            "CNPJ da certidão, com pontuação: pode ser o de outro estabelecimento da mesma empresa."
            " A certidão vale para todos. Nulo em consultas por CPF."
        ),
    ]
    cpf: Annotated[str | None, doc("CPF consultado, com pontuação.")]
    corporate_name: Annotated[str | None, doc("Nome, quando a fonte o diz.")]
    covers: Annotated[
        Literal["empresa", "pessoa"],
        doc("`empresa`: todos os estabelecimentos da empresa. `pessoa`: consulta por CPF."),
    ]
    issued_at: Annotated[str | None, doc("Dia da emissão.", format="date")]
    issued_time: Annotated[str | None, doc("Hora da emissão, `HH:mm:ss`, em Brasília.")]
    validity: Annotated[str | None, doc("Último dia de validade.", format="date")]
    effective_validity: Annotated[str | None, doc("O mesmo que `validity`.", format="date")]
    valid_until: Annotated[
        str | None,
        doc(
            "Último dia em que este resultado guardado pode ser usado. Nulo: não fica guardado.",
            format="date",
        ),
    ]
    source_queried_at: Annotated[str, doc("Quando a fonte foi consultada.", format="date-time")]
    served_at: Annotated[str, doc("Quando esta resposta foi dada.", format="date-time")]
    source: Annotated[Origin, doc("`cache` ou `online`.")]
    issued_successfully: Annotated[bool, doc("Se foi emitida uma CND ou CPEND.")]
    debtor_listed: Annotated[
        bool | None,
        doc("Se consta no Banco Nacional de Devedores Trabalhistas, se a fonte informa."),
    ]
    lawsuits_total: Annotated[int | None, doc("Quantidade de processos, se a fonte informa.")]
    lawsuits: Annotated[Sequence[str], doc("Números dos processos listados na certidão.")]
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


CNPJ = DocumentParameter(
    Cnpj,
    "CNPJ, com ou sem pontuação, de qualquer estabelecimento. Não se combina com cpf.",
    place="query",
    example="90010001000100",
)
CPF = DocumentParameter(Cpf, "CPF, com ou sem pontuação. Não se combina com cnpj.", place="query")

_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(LabourCertificate)

RULES: Rules = {
    "labour_certificate/cache": Rule(
        "certidão trabalhista: 1 por resultado do cache",
        "1 crédito por resultado guardado.",
    ),
    "labour_certificate/online": Rule(
        "certidão trabalhista: 2 por resultado da fonte",
        "2 créditos por consulta à fonte, seja qual for o resultado.",
    ),
}


class LabourCertificateLookup(KeptCertificateLookup):
    """Lookup of the labour debt certificate."""

    subject = "labour_certificate"
    path = "certidao-negativa-de-debitos-trabalhistas"
    document = ""
    of_company = True
    title = "Certidão de débitos trabalhistas (CNDT)"
    description = (
        "Certidão de débitos não pagos perante a Justiça do Trabalho, por CNPJ ou por CPF. Vale"
        " para todos os estabelecimentos da empresa. 200: CND ou CPEND. 404 com `error: false`:"
        " consulta concluída sem CND nem CPEND, que é cobrada. Custa 1 crédito com resultado"
        " guardado e 2 na fonte. Erros não são cobrados. Cada consulta à fonte emite uma certidão"
        " nova. Depois de um timeout, repita só com a mesma Idempotency-Key."
    )
    rules = RULES
    record = LabourCertificate
    receipt_kind = "trabalhista"
    sources_title = "certidão trabalhista"
    sources = ("infosimples",)
    sources_setting = "Fontes da certidão trabalhista, em ordem."
    source_facts = ("people", "receipts", "alphanumeric")
    form = page.FORM
    failures = page.FAILURES
    negative_result = page.NEGATIVE
    verdicts = page.VERDICTS
    sheet_columns = page.SHEET_COLUMNS
    answer = LabourAnswer
    problems = (
        DocumentRequired,
        DocumentsConflict,
        InvalidCnpj,
        InvalidCpf,
        InvalidStrategy,
        ParametersConflict,
        NothingInCache,
        *PROBLEMS_OF_CERTIFICATES,
    )

    def declare(self) -> Sequence[Parameter]:
        return (CNPJ, CPF, STRATEGY, REFRESH)

    def parse(self, document: str, sent: Parameters) -> Question:
        inquired = _document(sent)
        strategy = STRATEGY.read(sent)
        refresh = REFRESH.read(sent)
        if strategy is Strategy.SO_CACHE and refresh:
            raise ParametersConflict
        of_company = isinstance(inquired, Cnpj)
        return Question(
            subject=self.subject,
            inquiries=(Inquiry(self.subject, inquired, of_company=of_company),),
            strategy=strategy,
            max_age_days=0,
            refresh=refresh,
        )

    def fingerprint(self, question: Question) -> str:
        # Each establishment is another request: the answers have another `cnpj`.
        text = question.document.text
        return digest(f"{self.path} {text} {question.strategy} {question.refresh}")

    def decode(self, body: bytes) -> LabourCertificate:
        return _decode(body)

    def deliver(
        self, question: Question, outcome: Delivered, answer_context: AnswerContext
    ) -> Conclusion:
        made = _concluded(
            outcome, question.document, answer_context.account_id, answer_context.receipt_numbers
        )
        return delivered_at(made, answer_context.now_ms)

    def clear_memos(self) -> None:
        _concluded.cache_clear()
        _decode.cache_clear()

    def examples(self) -> Sequence[Example]:
        negative = self.example_record(LabourCertificate)
        query = f"cnpj={negative.document}".encode()
        question = self.parse("", Parameters(query, {}, self.names))
        lawsuits = ("0001234-56.2019.5.12.0001",)
        secured = msgspec.structs.replace(
            negative,
            kind="CPEND",
            title="CERTIDÃO POSITIVA DE DÉBITOS TRABALHISTAS COM EFEITO DE NEGATIVA",
            listed=True,
            lawsuits=lawsuits,
            lawsuits_total=1,
        )
        positive = msgspec.structs.replace(
            secured,
            kind="CPD",
            title="CERTIDÃO POSITIVA DE DÉBITOS TRABALHISTAS",
            issued=False,
        )
        examples: Sequence[tuple[str, str, LabourCertificate, Origin]] = (
            ("negativa", "CND emitida pela fonte", negative, "online"),
            ("do_cache", "Resultado guardado", negative, "cache"),
            ("com_efeito_de_negativa", "Débitos garantidos: CPEND", secured, "online"),
            ("positiva", "Há débitos: CPD", positive, "online"),
        )
        return [
            self.example(name, summary, question, record, "infosimples", origin=origin)
            for name, summary, record, origin in examples
        ]

    def view(self, recorded: RecordedResult) -> ResultView:
        return page.view(recorded)

    def brief(self, body: Body) -> str:
        return body["certificate_number"] or ""


def _document(sent: Parameters) -> Cnpj | Cpf:
    """Return the document of the request (contract 2.11)."""
    cnpj, cpf = sent.text("cnpj"), sent.text("cpf")
    if cnpj and cpf:
        raise DocumentsConflict("Informe um documento só: cnpj ou cpf.")
    if cnpj:
        return CNPJ.read(cnpj)
    if not cpf:
        raise DocumentRequired("Informe cnpj ou cpf.")
    return CPF.read(cpf)


# A cached certificate is delivered many times before it expires.
@lru_cache(maxsize=4096)
def _concluded(
    outcome: Delivered, document: Cnpj | Cpf, account_id: int, receipt_numbers: ReceiptNumbers
) -> tuple[Conclusion, bytes, bytes]:
    """Return an account's conclusion without JSON, and the JSON before and after `served_at`."""
    certificate, origin, asked_ms = _decode(outcome.body), outcome.origin, outcome.asked_ms
    certified = Cnpj(certificate.document) if isinstance(document, Cnpj) else None
    stored = certificate.receipt
    receipt = None
    if stored is not None:
        receipt = receipt_numbers.private(account_id, stored, certified.text if certified else None)
    answer = LabourAnswer(
        request_id="",
        success=certificate.good,
        error=False,
        error_message={},
        certificate_type=certificate.kind,
        certificate=certificate.title,
        certificate_number=certificate.number,
        certificate_code=certificate.code,
        cnpj=document.punctuated if isinstance(document, Cnpj) else None,
        certificate_cnpj=certified.punctuated if certified else None,
        cpf=document.punctuated if isinstance(document, Cpf) else None,
        corporate_name=certificate.name,
        covers="empresa" if certified else "pessoa",
        issued_at=certificate.issued_on,
        issued_time=certificate.issued_time,
        validity=certificate.validity,
        effective_validity=certificate.validity,
        valid_until=valid_until(certificate, asked_ms),
        source_queried_at=instant(asked_ms // 1000).decode(),
        served_at=SERVED_AT,
        source=origin,
        issued_successfully=certificate.issued,
        debtor_listed=certificate.listed,
        lawsuits_total=certificate.lawsuits_total,
        lawsuits=certificate.lawsuits,
        receipt_type=stored.media_type if stored else "",
        print=(
            None
            if receipt is None
            else receipt_numbers.address(LabourCertificateLookup.path, receipt)
        ),
        provider_code=certificate.provider_code,
        provider_billable=certificate.provider_billable,
        provider_elapsed_time_in_milliseconds=certificate.provider_elapsed_ms,
        billing=Billing(PRICES[origin], origin),
        message=msgspec.UNSET if certificate.good else _reason(certificate),
    )
    before, after = split_answer(_encode(answer))
    # A person's name is not stored, nor the CPF in a sole trader's.
    name = without_cpf(certificate.name or "") if certified else None
    conclusion = Conclusion(
        status=200 if certificate.good else 404,
        fields=b"",
        credits=PRICES[origin],
        rule=f"{LabourCertificateLookup.subject}/{origin}",
        origin=origin,
        source=outcome.source,
        asked_ms=asked_ms,
        receipt=receipt,
        certificate=certificate_summary(
            certificate.verdict,
            certificate.validity if certificate.good else None,  # a CPD proves nothing that expires
            name or None,
            receipt,
            certificate.issued_on,
        ),
    )
    return conclusion, before, after


@lru_cache(maxsize=4096)
def _decode(body: bytes) -> LabourCertificate:
    return _decoder.decode(body)


def _reason(certificate: LabourCertificate) -> str:
    """Return the reason for no CND or CPEND, in a sentence for the caller."""
    if certificate.kind == "CPD":
        return "Consulta concluída: há débitos trabalhistas e a certidão é positiva (CPD)."
    return f"Consulta concluída: a certidão não foi emitida. {certificate.message or ''}".strip()


OPERATION = LabourCertificateLookup
