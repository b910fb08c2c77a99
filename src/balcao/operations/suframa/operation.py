"""Free-trade-zone registry record: `GET /consultas/v2/suframa/{cnpj}`.

Specification, endpoint 1 and "Free-trade-zone registry record"; contract 2.4, 3, 4.3, 5.2, 8.
"""

from collections.abc import Sequence

import msgspec

from balcao.core.described import described
from balcao.core.errors import InvalidCnpj, RegistrationNotFound
from balcao.core.idempotency import digest
from balcao.core.outcomes import Conclusion, Delivered
from balcao.core.problems import Problem
from balcao.core.questions import Inquiry, Question, Strategy
from balcao.core.result_summary import ResultSummary, summary_of
from balcao.core.suframa import ZoneRecord
from balcao.core.tariff import Rule, Rules
from balcao.operations import envelope
from balcao.operations.contract import (
    PROBLEMS_OF_ALL,
    AnswerContext,
    Example,
    Operation,
)
from balcao.operations.envelope import AlwaysFalse, AlwaysTrue, RequestId
from balcao.operations.parameters import Days, Parameter, Parameters, cnpj_in_path
from balcao.operations.suframa import page
from balcao.operations.views import Body, RecordedResult, ResultView


@described("RespostaSuframa", "Inscrição na Suframa. Campos sem informação na fonte são omitidos.")
class ZoneAnswer(ZoneRecord, frozen=True, kw_only=True):
    """The body of a result: the fields of record and envelope."""

    request_id: RequestId
    success: AlwaysTrue
    error: AlwaysFalse


CNPJ = cnpj_in_path("90010002000154")
_CACHE = (
    "Idade máxima, em dias, de um resultado guardado usado sem consultar a fonte. 0 força uma"
    " nova consulta."
)
CACHE = Days(f"{_CACHE} Prevalece sobre o cabeçalho.", default=25, largest=45)

PRICE_CREDITS = 1
RULE = "suframa/lookup"
RULES: Rules = {
    RULE: Rule(
        "suframa: 1 por consulta concluída",
        "1 crédito por consulta respondida.",
    ),
}


class _Status(msgspec.Struct):
    codigo: int
    descricao: str


class _InBrief(msgspec.Struct):
    """The fields of an answer that the history keeps."""

    nome: str
    status: _Status


_in_brief = msgspec.json.Decoder(_InBrief).decode


class SuframaLookup(Operation):
    """Lookup of a registration with the free-trade-zone authority."""

    subject = "suframa"
    path = "suframa"
    title = "Inscrição na Suframa"
    description = (
        "Inscrição, situação e incentivos de um CNPJ na Superintendência da Zona Franca de"
        " Manaus. Custa 1 crédito por consulta respondida. Erros não são cobrados. Campos sem"
        " informação na fonte são omitidos."
    )
    rules = RULES
    absence = RegistrationNotFound
    record = ZoneRecord
    sources_title = "Suframa"
    sources = ("cnpja",)
    sources_setting = "Fontes das inscrições na Suframa."
    source_facts = ("alphanumeric",)
    form = page.FORM
    failures = page.FAILURES
    result_labels = page.RESULT_LABELS
    sheet_columns = page.SHEET_COLUMNS
    answer = ZoneAnswer
    problems = (InvalidCnpj, *PROBLEMS_OF_ALL, RegistrationNotFound)

    def declare(self) -> Sequence[Parameter]:
        # The header is the documented form here (contract 2.4).
        return (CNPJ, CACHE.in_header(_CACHE), CACHE)

    def parse(self, document: str, sent: Parameters) -> Question:
        cnpj = CNPJ.read(document)
        days, _ = CACHE.read(sent)
        return Question(
            subject=self.subject,
            inquiries=(Inquiry(self.subject, cnpj),),
            # An entry within the age, else the source, no fallback (contract 4.3).
            strategy=Strategy.CACHE_PREFERENCIAL,
            max_age_days=days,
        )

    def fingerprint(self, question: Question) -> str:
        return digest(f"{self.path} {question.document.text} {question.max_age_days}")

    def deliver(
        self, question: Question, outcome: Delivered, answer_context: AnswerContext
    ) -> Conclusion:
        return Conclusion(
            status=200,
            fields=b'"success":true,"error":false,' + outcome.body[1:],
            credits=PRICE_CREDITS,
            rule=RULE,
            origin=outcome.origin,
            source=outcome.source,
            asked_ms=outcome.asked_ms,
        )

    def result_summary(self, body: bytes) -> ResultSummary | None:
        try:
            record = _in_brief(body)
        except msgspec.DecodeError:
            return None
        return summary_of(record.nome, f"{record.status.codigo}:{record.status.descricao}")

    def error_fields(self, problem: Problem, document: str) -> bytes:
        # Never with `inscricao`: clients check nothing else (contract 1.1).
        return envelope.error_fields(problem, envelope.document_field(self.document, document))

    def examples(self) -> Sequence[Example]:
        record = self.example_record(ZoneRecord)
        question = self.parse(record.cnpj, Parameters(b"", {}, ()))
        return (self.example("encontrada", "A empresa tem inscrição", question, record),)

    def view(self, recorded: RecordedResult) -> ResultView:
        return page.view(recorded)

    def brief(self, body: Body) -> str:
        return page.brief(body)

    def row_fact(self, body: Body) -> str:
        return page.brief(body)


OPERATION = SuframaLookup
