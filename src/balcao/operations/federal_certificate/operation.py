"""Federal joint tax clearance: `GET /consultas/v2/certidao-negativa-de-debitos-federal`.

Specification, endpoint 4, "Federal joint tax clearance certificate", "HTTP status - federal
certificate", "Credits"; contract 2.5, 2.6, 2.8, 3, 4.6, 5.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated

import msgspec

from balcao.core.certificates import Certificate, FederalCertificate, valid_until
from balcao.core.described import described, doc
from balcao.core.documents import Cnpj, Cpf, without_cpf
from balcao.core.errors import (
    BirthDateInFuture,
    BirthDateRequired,
    DataRefused,
    DocumentRequired,
    DocumentsConflict,
    InvalidBirthDate,
    InvalidCnpj,
    InvalidCpf,
    InvalidStrategy,
    NewIssueRefused,
    NothingInCache,
    ParametersConflict,
)
from balcao.core.idempotency import digest
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
from balcao.operations.federal_certificate import page
from balcao.operations.parameters import (
    BirthDate,
    DocumentParameter,
    Parameter,
    Parameters,
    WordChoice,
)
from balcao.operations.views import Body, RecordedResult, ResultView


@described(
    "RespostaCertidaoFederal",
    "Certidão federal, ou o resultado negativo da consulta (404 com `error: false`).",
)
class FederalAnswer(msgspec.Struct, frozen=True):
    """The body of a result, functional negatives included; these have a `message` too."""

    request_id: RequestId
    success: Annotated[bool, doc("`true`: CND ou CPEND. `false`: consulta concluída sem elas.")]
    error: AlwaysFalse
    error_message: Annotated[
        Mapping[str, str], doc("Objeto sempre vazio nesta resposta: não há erro.", maxProperties=0)
    ]
    certificate_type: Annotated[
        str | None,
        doc(
            "`CND`, `CPEND`, `CPD`, o texto da fonte quando não pôde ser classificado, ou nulo"
            " quando nada pôde ser emitido."
        ),
    ]
    certificate: Annotated[str, doc("Título da certidão.")]
    certificate_code: Annotated[str | None, doc("Código de controle.")]
    cnpj: Annotated[str | None, doc("CNPJ consultado, com pontuação.")]
    certificate_cnpj: Annotated[
        str | None,
        doc(
            "CNPJ da certidão, com pontuação: o da matriz, também quando `cnpj` é de uma filial."
            " A certidão vale para todos os estabelecimentos. Nulo em consultas por CPF."
        ),
    ]
    cpf: Annotated[str | None, doc("CPF consultado, com pontuação.")]
    corporate_name: Annotated[str, doc("Nome, quando a fonte o diz.")]
    status: Annotated[str, doc("Situação da certidão, nas palavras da fonte.")]
    issued_at: Annotated[str | None, doc("Dia da emissão.", format="date")]
    validity: Annotated[str | None, doc("Validade original.", format="date")]
    extended_validity: Annotated[str | None, doc("Prorrogação, quando há.", format="date")]
    effective_validity: Annotated[str | None, doc("A maior das duas.", format="date")]
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
    issued_successfully: Annotated[bool, doc("Indicador de emissão da fonte.")]
    rfb_debts: Annotated[bool | None, doc("Débitos na Receita Federal, se a fonte informa.")]
    pgfn_debts: Annotated[bool | None, doc("Débitos na PGFN, se a fonte informa.")]
    receipt_type: Annotated[str, doc("Tipo do comprovante; vazio quando não há.")]
    receipt_verification_code: Annotated[str, doc("Código de verificação do comprovante.")]
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
    "CNPJ, com ou sem pontuação. Não se combina com cpf nem data_nascimento.",
    place="query",
    example="90010001000100",
)
CPF = DocumentParameter(Cpf, "CPF, com ou sem pontuação; exige data_nascimento.", place="query")
BIRTH = BirthDate("Data de nascimento, yyyyMMdd; obrigatória com cpf.")
PREFERENCE = WordChoice(
    "preferencia_emissao",
    "`2via` busca na fonte uma certidão ainda válida antes de emitir outra. `nova` emite uma nova"
    " certidão na fonte.",
    ("2via", "nova"),
    empty_is_first=True,
)


_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(FederalCertificate)

RULES: Rules = {
    "federal_certificate/cache": Rule(
        "certidão federal: 1 por resultado do cache",
        "1 crédito por resultado guardado.",
    ),
    "federal_certificate/online": Rule(
        "certidão federal: 2 por resultado da fonte",
        "2 créditos por consulta à fonte, seja qual for o resultado.",
    ),
}


class FederalCertificateLookup(KeptCertificateLookup):
    """Lookup of the federal tax clearance certificate."""

    subject = "federal_certificate"
    path = "certidao-negativa-de-debitos-federal"
    document = ""
    of_company = True
    title = "Certidão de débitos federais (CND)"
    description = (
        "Certidão conjunta de tributos federais e dívida ativa da União, por CNPJ, ou por CPF com"
        " data de nascimento. 200: CND ou CPEND. 404 com `error: false`: consulta concluída sem"
        " CND nem CPEND, que é cobrada. Custa 1 crédito com resultado guardado e 2 na fonte."
        " Erros não são cobrados. Depois de um timeout, repita só com a mesma Idempotency-Key."
    )
    rules = RULES
    record = FederalCertificate
    receipt_kind = "federal"
    sources_title = "certidão federal"
    sources = ("infosimples", "serpro_cnd")
    sources_setting = (
        "Fontes da certidão federal, em ordem. A seguinte só é consultada se a anterior não"
        " aceitou a consulta: uma emissão nunca é paga duas vezes."
    )
    source_facts = ("people", "reissues", "receipts", "alphanumeric")
    form = page.FORM
    negative_result = page.NEGATIVE
    verdicts = page.VERDICTS
    sheet_columns = page.SHEET_COLUMNS
    answer = FederalAnswer
    problems = (
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
        NewIssueRefused,
        *PROBLEMS_OF_CERTIFICATES,
    )

    def declare(self) -> Sequence[Parameter]:
        return (CNPJ, CPF, BIRTH, STRATEGY, PREFERENCE, REFRESH)

    def parse(self, document: str, sent: Parameters) -> Question:
        inquired, birth = self._document(sent)
        strategy = STRATEGY.read(sent)
        reissue = PREFERENCE.read(sent) == "nova"
        refresh = REFRESH.read(sent)
        if strategy is Strategy.SO_CACHE and (reissue or refresh):
            raise ParametersConflict
        return Question(
            subject=self.subject,
            inquiries=(
                Inquiry(
                    self.subject,
                    inquired,
                    birth=birth,
                    reissue=reissue,
                    of_company=self.of_company and isinstance(inquired, Cnpj),
                ),
            ),
            strategy=strategy,
            max_age_days=0,
            refresh=refresh,
        )

    def _document(self, sent: Parameters) -> tuple[Cnpj | Cpf, str | None]:
        """Return the document of the request and, for a CPF, the birth date (contract 2.8)."""
        cnpj, cpf, birth = sent.text("cnpj"), sent.text("cpf"), sent.text("data_nascimento")
        if cnpj and (cpf or birth):
            raise DocumentsConflict
        if cnpj:
            return CNPJ.read(cnpj), None
        if not cpf:
            raise DocumentRequired
        person = CPF.read(cpf)
        if not birth:
            raise BirthDateRequired
        return person, BIRTH.read(birth, self.today())

    def fingerprint(self, question: Question) -> str:
        # Each establishment is another request: the answers have another `cnpj`.
        inquiry = question.inquiries[0]
        if isinstance(inquiry.document, Cnpj):
            inquiry = inquiry.about_establishment(inquiry.document)
        return digest(f"{self.path} {inquiry.flight_key} {question.strategy} {question.refresh}")

    def decode(self, body: bytes) -> FederalCertificate:
        return _decode(body)

    def is_issued_since(self, certificate: Certificate, day: str) -> bool:
        # A new issuance is also answered by a certificate that was issued since then.
        assert isinstance(certificate, FederalCertificate)
        return (certificate.issued_on or "")[:10] >= day

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
        negative = self.example_record(FederalCertificate)
        query = f"cnpj={negative.document}".encode()
        question = self.parse("", Parameters(query, {}, self.names))
        positive = msgspec.structs.replace(
            negative,
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
            document=negative.document, provider_code=611, provider_billable=True
        )
        examples: Sequence[tuple[str, str, FederalCertificate, Origin]] = (
            ("cnd_da_fonte", "CND emitida pela fonte", negative, "online"),
            ("cnd_do_cache", "Resultado guardado", negative, "cache"),
            ("positiva", "Há débitos: CPD", positive, "online"),
            ("impossivel", "Não pôde ser emitida", impossible, "online"),
        )
        return [
            self.example(name, summary, question, record, "infosimples", origin=origin)
            for name, summary, record, origin in examples
        ]

    def view(self, recorded: RecordedResult) -> ResultView:
        return page.view(recorded)

    def brief(self, body: Body) -> str:
        return page.brief(body)


# A cached certificate is delivered thousands of times before it expires.
@lru_cache(maxsize=4096)
def _concluded(
    outcome: Delivered, document: Cnpj | Cpf, account_id: int, receipt_numbers: ReceiptNumbers
) -> tuple[Conclusion, bytes, bytes]:
    """Return an account's conclusion without JSON, and the JSON before and after `served_at`."""
    certificate, origin, asked_ms = _decode(outcome.body), outcome.origin, outcome.asked_ms
    certified = Cnpj(certificate.document) if isinstance(document, Cnpj) else None
    receipt = None
    if certificate.receipt is not None:
        receipt = receipt_numbers.private(
            account_id, certificate.receipt, certified.text if certified else None
        )
    answer = FederalAnswer(
        request_id="",
        success=certificate.good,
        error=False,
        error_message={},
        certificate_type=certificate.kind or certificate.kind_text,
        certificate=certificate.title,
        certificate_code=certificate.code,
        cnpj=document.punctuated if isinstance(document, Cnpj) else None,
        certificate_cnpj=certified.punctuated if certified else None,
        cpf=document.punctuated if isinstance(document, Cpf) else None,
        corporate_name=certificate.name,
        # If nothing was issued, the status is the source's message (contract 8).
        status=certificate.status or certificate.message or "",
        issued_at=certificate.issued_on,
        validity=certificate.validity,
        extended_validity=certificate.extended_validity,
        effective_validity=certificate.effective_validity,
        valid_until=valid_until(certificate, asked_ms),
        source_queried_at=certificate.queried_at or instant(asked_ms // 1000).decode(),
        served_at=SERVED_AT,
        source=origin,
        issued_successfully=certificate.issued,
        rfb_debts=certificate.rfb_debts,
        pgfn_debts=certificate.pgfn_debts,
        receipt_type=certificate.receipt.media_type if certificate.receipt else "",
        receipt_verification_code=certificate.verification_code,
        print=(
            None
            if receipt is None
            else receipt_numbers.address(FederalCertificateLookup.path, receipt)
        ),
        provider_code=certificate.provider_code,
        provider_billable=certificate.provider_billable,
        provider_elapsed_time_in_milliseconds=certificate.provider_elapsed_ms,
        billing=Billing(PRICES[origin], origin),
        message=msgspec.UNSET if certificate.good else _reason(certificate),
    )
    before, after = split_answer(_encode(answer))
    # A person's name is not stored, nor the CPF in a sole trader's.
    name = without_cpf(certificate.name) if isinstance(document, Cnpj) else None
    validity = certificate.effective_validity
    conclusion = Conclusion(
        status=200 if certificate.good else 404,
        fields=b"",
        credits=PRICES[origin],
        rule=f"{FederalCertificateLookup.subject}/{origin}",
        origin=origin,
        source=outcome.source,
        asked_ms=asked_ms,
        receipt=receipt,
        certificate=certificate_summary(
            certificate.verdict, validity, name or None, receipt, certificate.issued_on
        ),
    )
    return conclusion, before, after


@lru_cache(maxsize=4096)
def _decode(body: bytes) -> FederalCertificate:
    return _decoder.decode(body)


def _reason(certificate: FederalCertificate) -> str:
    """Return the reason for no CND or CPEND, in a sentence for the caller (contract 1.1, 1.4)."""
    if certificate.kind == "CPD":
        return "Consulta concluída: há débitos e a certidão é positiva (CPD)."
    if certificate.kind_text is not None or certificate.title:
        return "Consulta concluída: o resultado da fonte não é CND nem CPEND."
    return "Consulta concluída: a fonte não pôde emitir a certidão pela internet."


OPERATION = FederalCertificateLookup
