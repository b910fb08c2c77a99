"""State tax clearance: `GET /consultas/v2/certidao-negativa-de-debitos-estadual/{cnpj}`.

Specification, endpoint 5, "State tax clearance certificate", "HTTP status - state certificate",
"Credits"; contract 2.3, 3, 4.7, 5.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated

import msgspec

from balcao.core.calendar import from_ms
from balcao.core.certificates import StateCertificate, state_may_serve, state_valid_until
from balcao.core.described import described, doc
from balcao.core.errors import InvalidCnpj, InvalidUf, UfRequired
from balcao.core.federation import UFS
from balcao.core.freshness import Ask, CacheEntry, Serve
from balcao.core.idempotency import digest
from balcao.core.outcomes import Conclusion, Delivered
from balcao.core.questions import Inquiry, Question, Strategy
from balcao.core.receipts import ReceiptNumbers, certificate_summary
from balcao.core.tariff import Rule, Rules
from balcao.operations.certificates.lookup import (
    PRICES,
    PROBLEMS_OF_CERTIFICATES,
    CertificateLookup,
)
from balcao.operations.contract import AnswerContext, Example
from balcao.operations.envelope import WITHOUT_ID, AlwaysFalse, NoError, RequestId
from balcao.operations.parameters import Flag, Parameter, Parameters, UfChoice, cnpj_in_path
from balcao.operations.state_certificate import page
from balcao.operations.views import RecordedResult, ResultView


@described(
    "RespostaCertidaoEstadual",
    "Certidão estadual, ou o resultado negativo da consulta (404 com `error: false`).",
)
class StateCertificateAnswer(msgspec.Struct, frozen=True):
    """The body of a result, functional negatives included; these have a `message` too."""

    request_id: RequestId
    success: Annotated[bool, doc("`true`: a certidão negativa foi emitida.")]
    error: AlwaysFalse
    error_message: NoError
    codigo: Annotated[str | None, doc("Código da certidão.")]
    certidao_mensagem: Annotated[str | None, doc("Mensagem fiscal da certidão.")]
    certidao_negativa: Annotated[
        bool | None, doc("Se o resultado corresponde a uma certidão negativa.")
    ]
    conseguiu_emitir_certidao_negativa: Annotated[bool | None, doc("Se a fonte a emitiu.")]
    datahora: Annotated[
        str | None, doc("Data e hora da consulta, `YYYY-MM-DD HH:mm:ss`, em Brasília.")
    ]
    mensagem: Annotated[str | None, doc("Mensagem complementar da origem.")]
    numero: Annotated[str | None, doc("Número da certidão.")]
    validade: Annotated[str | None, doc("Validade.", format="date")]
    print: Annotated[str | None, doc("Endereço público do comprovante em PDF. Nulo se não há.")]
    message: Annotated[
        str | msgspec.UnsetType, doc("Só no resultado negativo: o que aconteceu.")
    ] = msgspec.UNSET


CNPJ = cnpj_in_path("90010001000100")
# All UFs are accepted; the sources' configuration decides which are answered.
UF = UfChoice("UF da certidão. Uma por requisição.", UFS, required=True)
REFRESH = Flag("atualizar_online", "`true`: consulta a fonte mesmo que haja uma certidão guardada.")


_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(StateCertificate)

_NOT_ISSUED = (
    "Consulta concluída: a secretaria da fazenda não emitiu uma certidão negativa. O motivo, se"
    " informado, está em mensagem ou certidao_mensagem."
)
RULES: Rules = {
    "state_certificate/cache": Rule(
        "certidão estadual: 1 por certidão do cache",
        "1 crédito por certidão guardada.",
    ),
    "state_certificate/online": Rule(
        "certidão estadual: 2 por consulta à fonte",
        "2 créditos por consulta à fonte, mesmo sem certidão emitida.",
    ),
}


class StateCertificateLookup(CertificateLookup):
    """Lookup of a state's tax clearance certificate."""

    subject = "state_certificate"
    path = "certidao-negativa-de-debitos-estadual"
    title = "Certidão de débitos estaduais"
    description = (
        "Certidão de débitos de uma secretaria estadual da fazenda. 200: certidão negativa. 404"
        " com `error: false`: consulta concluída sem certidão negativa, que é cobrada. Custa 1"
        " crédito com resultado guardado e 2 na fonte. Erros não são cobrados. O comprovante em"
        " `print` é público."
    )
    rules = RULES
    record = StateCertificate
    receipt_kind = "estadual"
    sources_title = "certidões estaduais"
    sources = ("infosimples",)
    sources_setting = "Fontes das certidões estaduais."
    source_facts = ("ufs", "receipts", "alphanumeric")
    by_uf = True
    form = page.FORM
    failures = page.FAILURES
    negative_result = page.NEGATIVE
    verdicts = page.VERDICTS
    sheet_columns = page.SHEET_COLUMNS
    answer = StateCertificateAnswer
    problems = (InvalidCnpj, InvalidUf, UfRequired, *PROBLEMS_OF_CERTIFICATES)

    def declare(self) -> Sequence[Parameter]:
        return (CNPJ, UF, REFRESH)

    def parse(self, document: str, sent: Parameters) -> Question:
        cnpj = CNPJ.read(document)
        uf = UF.read(sent)
        if uf is None:
            raise UfRequired
        refresh = REFRESH.read(sent)
        return Question(
            subject=self.subject,
            inquiries=(Inquiry(self.subject, cnpj, uf),),
            strategy=Strategy.CACHE_PREFERENCIAL,
            max_age_days=0,
            uf=uf,
            refresh=refresh,
        )

    def fingerprint(self, question: Question) -> str:
        return digest(f"{self.path} {question.inquiries[0].flight_key} {question.refresh}")

    def cache_decision(
        self, question: Question, inquiry: Inquiry, kept: CacheEntry, now_ms: int
    ) -> Serve | Ask:
        """Decide by validity instead of age (contract 4.7); an entry is never a fallback."""
        usable = state_may_serve(_decode(kept.body), kept.asked_ms, now_ms)
        return Serve(kept) if usable and not question.refresh else Ask(None)

    def should_cache(self, body: bytes, asked_ms: int, kept: CacheEntry | None) -> bool:
        """Return False for a good certificate that can never be served (contract 4.7).

        A negative result is cached although it is not served either: it replaces an older
        certificate, so that the next request asks the source.
        """
        certificate = _decode(body)
        return not certificate.good or state_valid_until(certificate, asked_ms) is not None

    def deliver(
        self, question: Question, outcome: Delivered, answer_context: AnswerContext
    ) -> Conclusion:
        return _concluded(outcome, question.document.text, answer_context.receipt_numbers)

    def clear_memos(self) -> None:
        _concluded.cache_clear()
        _decode.cache_clear()

    def examples(self) -> Sequence[Example]:
        issued = self.example_record(StateCertificate)
        question = self.parse(issued.document, Parameters(b"uf=SP", {}, self.names))
        refused = StateCertificate(
            document=issued.document,
            uf="SP",
            negative=False,
            issued=False,
            message="Constam débitos em nome do contribuinte.",
            queried_at="2026-08-08 10:20:08",
        )
        return (
            self.example("negativa", "Certidão negativa emitida", question, issued, "infosimples"),
            self.example("nao_emitida", "Não foi emitida", question, refused, "infosimples"),
        )

    def view(self, recorded: RecordedResult) -> ResultView:
        return page.view(recorded)


# A cached certificate is delivered thousands of times before it expires. Half a kilobyte each.
@lru_cache(maxsize=4096)
def _concluded(outcome: Delivered, cnpj: str, receipt_numbers: ReceiptNumbers) -> Conclusion:
    """Return the conclusion of a certificate, the same for every caller."""
    certificate = _decode(outcome.body)
    receipt = None
    # Public and shared by all: only a type that cannot run scripts in a browser (contract 7.3).
    if certificate.receipt is not None and certificate.receipt.media_type == "application/pdf":
        receipt = receipt_numbers.public(cnpj, certificate.uf, certificate.receipt)
    origin = outcome.origin
    # Without a valid time of the source, our own (specification, "datahora").
    queried_at = certificate.queried_at or f"{from_ms(outcome.asked_ms):%Y-%m-%d %H:%M:%S}"
    answer = StateCertificateAnswer(
        request_id="",
        success=certificate.good,
        error=False,
        error_message=None,
        codigo=certificate.code,
        certidao_mensagem=certificate.fiscal_message,
        certidao_negativa=certificate.negative,
        conseguiu_emitir_certidao_negativa=certificate.issued,
        datahora=queried_at,
        mensagem=certificate.message,
        numero=certificate.number,
        validade=certificate.validity,
        print=None
        if receipt is None
        else receipt_numbers.address(StateCertificateLookup.path, receipt),
        message=msgspec.UNSET if certificate.good else _NOT_ISSUED,
    )
    return Conclusion(
        status=200 if certificate.good else 404,
        fields=_encode(answer).removeprefix(WITHOUT_ID),
        credits=PRICES[origin],
        rule=f"{StateCertificateLookup.subject}/{origin}",
        origin=origin,
        source=outcome.source,
        asked_ms=outcome.asked_ms,
        receipt=receipt,
        # Treasuries issue it when they are asked (contract 4.12).
        certificate=certificate_summary(
            certificate.verdict, certificate.validity, None, receipt, queried_at[:10]
        ),
    )


@lru_cache(maxsize=4096)
def _decode(body: bytes) -> StateCertificate:
    return _decoder.decode(body)


OPERATION = StateCertificateLookup
