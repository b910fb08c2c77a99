"""`GET /consultas/v2/simples-nacional/{cnpj}`: whether and since when a company opted for it.

A seventh operation, for `tests/extending`, complete in this file.
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from balcao.core.described import described, doc
from balcao.core.errors import CnpjNotFound, InvalidCnpj
from balcao.core.idempotency import digest
from balcao.core.outcomes import Conclusion, Delivered
from balcao.core.questions import Inquiry, Question, Record, Strategy
from balcao.core.tariff import Rule, Rules
from balcao.core.writing import day
from balcao.operations.contract import (
    EXAMPLE_MS,
    PROBLEMS_OF_ALL,
    AnswerContext,
    Example,
    Operation,
)
from balcao.operations.envelope import AlwaysFalse, AlwaysTrue, RequestId
from balcao.operations.parameters import Days, Parameter, Parameters, cnpj_in_path
from balcao.operations.sheets import SheetColumns, day_fact, fact
from balcao.operations.views import (
    FormWords,
    Headline,
    RecordedResult,
    ResultView,
    document,
    refresh_form,
    source_failed,
)

CNPJ = cnpj_in_path("90010001000100")
CACHE = Days("Idade máxima, em dias, de um resultado guardado.", default=10, largest=30)
RULES: Rules = {
    "simples/lookup": Rule(
        "simples-nacional: 3 por consulta concluída", "3 créditos por consulta concluída."
    )
}
FAILURES = {"ERRO_INTERNO": source_failed("O registro do Simples não respondeu.")}


class Option(Record, frozen=True):
    """The source's record."""

    cnpj: Annotated[str, doc("CNPJ consultado, sem pontuação.")]
    optante: Annotated[bool, doc("`true` se é optante.")]
    desde: Annotated[str | None, doc("Início da opção.", format="date")] = None

    def flaw(self, inquiry: Inquiry) -> str | None:
        return self.another(self.cnpj, inquiry)


@described("RespostaSimples", "Opção pelo Simples Nacional.")
class OptionAnswer(Option, frozen=True, kw_only=True):
    """The answer's body."""

    request_id: RequestId
    success: AlwaysTrue
    error: AlwaysFalse


class SimplesLookup(Operation):
    """The operation `simples-nacional`."""

    subject = "simples"
    path = "simples-nacional"
    title = "Opção pelo Simples Nacional"
    description = "Se um CNPJ é optante, e desde quando. Custa 3 créditos por consulta concluída."
    rules = RULES
    absence = CnpjNotFound
    record = Option
    sources_title = "opção pelo Simples"
    sources = ("registro",)
    sources_setting = "Quem responde a opção pelo Simples Nacional."
    source_facts = ("alphanumeric",)
    form = FormWords(
        slug="simples",
        title="Simples Nacional",
        answers="Se uma empresa é optante, e desde quando.",
        price="3 créditos",
        price_sentence="3 créditos por consulta. Falhas não custam nada.",
    )
    failures = FAILURES
    sheet_columns = SheetColumns(
        (
            fact("optante", "optante", "Optante", "`Sim` ou `Não`."),
            day_fact("optante_desde", "desde", "Optante desde", "Data da opção."),
        )
    )
    answer = OptionAnswer
    problems = (InvalidCnpj, *PROBLEMS_OF_ALL, CnpjNotFound)

    def declare(self) -> Sequence[Parameter]:
        return (CNPJ, CACHE)

    def parse(self, document: str, sent: Parameters) -> Question:
        cnpj = CNPJ.read(document)
        days, _ = CACHE.read(sent)
        inquiry = Inquiry(self.subject, cnpj)
        return Question(self.subject, (inquiry,), Strategy.CACHE_PREFERENCIAL, days)

    def fingerprint(self, question: Question) -> str:
        return digest(f"{self.path} {question.document.text} {question.max_age_days}")

    def greatest_price(self, question: Question) -> int:
        return 3

    def deliver(
        self, question: Question, outcome: Delivered, answer_context: AnswerContext
    ) -> Conclusion:
        return Conclusion(
            status=200,
            fields=b'"success":true,"error":false,' + outcome.body[1:],
            credits=3,
            rule="simples/lookup",
            origin=outcome.origin,
            source=outcome.source,
            asked_ms=outcome.asked_ms,
        )

    def examples(self) -> Sequence[Example]:
        question = self.parse("90010001000100", Parameters(b"", {}, ()))
        body = msgspec.json.encode(Option("90010001000100", optante=True, desde="2015-03-02"))
        delivered = Delivered(body, "online", "registro", EXAMPLE_MS)
        return (Example("optante", "A empresa é optante", question, (delivered,)),)

    def view(self, recorded: RecordedResult) -> ResultView:
        body = recorded.body
        return ResultView(
            Headline(*(("good", "Optante") if body["optante"] else ("info", "Não optante"))),
            facts=(("CNPJ", document(body["cnpj"])), ("Desde", day(body["desde"]))),
            repeat_forms=(refresh_form([("cnpj", body["cnpj"]), ("onde", "fonte")], 3),),
        )


OPERATION = SimplesLookup
