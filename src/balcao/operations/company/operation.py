"""Company registry data: `GET /consultas/v2/cnpj-receita-federal/{cnpj}`.

Specification, endpoint 6 and "Company registry data"; contract 2.4, 2.7, 3, 8.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated

import msgspec

from balcao.core.access import Caller
from balcao.core.calendar import civil_day_text
from balcao.core.company import Company, normalized
from balcao.core.described import described, doc
from balcao.core.errors import CnpjNotFound, InvalidCnpj, InvalidStrategy, OptInNotEnabled
from balcao.core.idempotency import digest
from balcao.core.outcomes import Conclusion, Delivered
from balcao.core.problems import Problem
from balcao.core.questions import Inquiry, Question, Record, Strategy
from balcao.core.result_summary import ResultSummary, summary_of
from balcao.core.tariff import Rule, Rules
from balcao.operations import envelope
from balcao.operations.company import page
from balcao.operations.contract import (
    PROBLEMS_OF_ALL,
    AnswerContext,
    Example,
    Operation,
)
from balcao.operations.envelope import AlwaysFalse, AlwaysTrue, NoError, RequestId
from balcao.operations.parameters import (
    BY_AGE,
    CACHE,
    CACHE_HEADER,
    Parameter,
    Parameters,
    StrategyChoice,
    WordChoice,
    cnpj_in_path,
)
from balcao.operations.views import Body, RecordedResult, ResultView


@described("RespostaEmpresa", "Resposta da consulta de dados cadastrais.")
class CompanyAnswer(msgspec.Struct, frozen=True):
    """The body of a result, as a type for the OpenAPI document and tests."""

    request_id: RequestId
    success: AlwaysTrue
    error: AlwaysFalse
    error_message: NoError
    data_base: Annotated[
        str | None,
        doc(
            "Data dos dados: a da extração, se vêm de uma cópia do cadastro público; se não, o"
            " dia (horário de Brasília) da consulta à fonte. Nulo se a fonte usa uma cópia e não"
            " informa a data.",
            format="date",
        ),
    ]
    response: Annotated[Company, doc("Os dados cadastrais.")]


CNPJ = cnpj_in_path("90010001000100")
STRATEGY = StrategyChoice(
    "Prioridade entre resultado guardado e fonte, e o que fazer se a fonte falhar.",
    BY_AGE,
    default=Strategy.ONLINE_PREFERENCIAL,
)
OPTIN = WordChoice(
    "optin",
    "`1` inclui o CPF dos sócios. Precisa estar habilitado na conta.",
    ("0", "1"),
    field="optin",
)

# One credit per result: cached, online or with the opt-in, with every strategy (specification,
# "Credits").
PRICE_CREDITS = 1
RULE = "company/lookup"
RULES: Rules = {
    RULE: Rule(
        "cnpj-receita-federal: 1 por consulta concluída",
        "1 crédito por consulta respondida.",
    ),
}


class _Company(msgspec.Struct):
    nome_empresarial: str | None = None
    situacao_cadastral: str | None = None


class _InBrief(msgspec.Struct):
    """The fields of an answer that the history keeps."""

    response: _Company


_in_brief = msgspec.json.Decoder(_InBrief).decode


class CompanyLookup(Operation):
    """Lookup of a company's registry data."""

    subject = "company"
    path = "cnpj-receita-federal"
    title = "Dados cadastrais da empresa (Receita Federal)"
    description = (
        "Dados cadastrais de um CNPJ: nome, situação, endereço, atividades, natureza jurídica,"
        " porte e sócios. Custa 1 crédito por consulta respondida. Erros não são cobrados."
    )
    rules = RULES
    absence = CnpjNotFound
    record = Company
    sources_title = "cadastro de empresas"
    sources = ("snapshot", "minha_receita", "cnpja", "serpro")
    sources_setting = (
        "Fontes do cadastro de empresas, em ordem (`snapshot` é o mês importado). Fontes não"
        " configuradas são ignoradas."
    )
    source_facts = ("alphanumeric", "full_partners")
    answer_bytes_max = 4_000_000
    form = page.FORM
    failures = page.FAILURES
    result_labels = page.RESULT_LABELS
    sheet_columns = page.SHEET_COLUMNS
    answer = CompanyAnswer
    problems = (InvalidCnpj, InvalidStrategy, *PROBLEMS_OF_ALL, OptInNotEnabled, CnpjNotFound)

    def declare(self) -> Sequence[Parameter]:
        return (CNPJ, CACHE, STRATEGY, OPTIN, CACHE_HEADER)

    def parse(self, document: str, sent: Parameters) -> Question:
        cnpj = CNPJ.read(document)
        days, deprecated = CACHE.read(sent)
        strategy = STRATEGY.read(sent)
        full = OPTIN.read(sent) == "1"
        return Question(
            subject=self.subject,
            inquiries=(Inquiry(self.subject, cnpj, full_partners=full),),
            strategy=strategy,
            max_age_days=days,
            deprecated=deprecated,
        )

    def fingerprint(self, question: Question) -> str:
        inquiry = question.inquiries[0]
        return digest(
            f"{self.path} {inquiry.cache_key} {question.strategy} {question.max_age_days}"
        )

    def check_question(self, question: Question, caller: Caller) -> None:
        """Raise `OptInNotEnabled` if the opt-in is not enabled for the account."""
        if question.inquiries[0].full_partners and not caller.partner_optin:
            raise OptInNotEnabled

    def encode(self, inquiry: Inquiry, record: Record) -> bytes:
        """Return the record as JSON, in the form common to all sources."""
        assert isinstance(record, Company)
        return super().encode(inquiry, normalized(record))

    def deliver(
        self, question: Question, outcome: Delivered, answer_context: AnswerContext
    ) -> Conclusion:
        day, response = _parted(outcome)
        return Conclusion(
            status=200,
            fields=b'"success":true,"error":false,"error_message":null,"data_base":'
            + day
            + b',"response":'
            + response
            + b"}",
            credits=PRICE_CREDITS,
            rule=RULE,
            origin=outcome.origin,
            source=outcome.source,
            asked_ms=outcome.asked_ms,
        )

    def result_summary(self, body: bytes) -> ResultSummary | None:
        try:
            company = _in_brief(body).response
        except msgspec.DecodeError:
            return None
        return summary_of(company.nome_empresarial, company.situacao_cadastral)

    def error_fields(self, problem: Problem, document: str) -> bytes:
        return envelope.error_fields(problem, extra=b'"response":null,')

    def examples(self) -> Sequence[Example]:
        record = self.example_record(Company)
        question = self.parse(record.cnpj, Parameters(b"", {}, ()))
        return (self.example("encontrada", "A empresa existe", question, record, "snapshot"),)

    def view(self, recorded: RecordedResult) -> ResultView:
        return page.view(recorded)

    def brief(self, body: Body) -> str:
        return page.brief(body)


# The end of the JSON of a `DatedCompany`.
_DATED = re.compile(rb',"data_base":(null|"[0-9]{4}-[0-9]{2}-[0-9]{2}")\}\Z')
_DATED_BYTES_MAX = 28


# Fields that answers cached by earlier versions do not have (contract 9.18).
_ADDED = (
    b',"simples":null,"mei":null,"capital_social":null,"motivo_situacao_cadastral":null'
    b',"regime_tributario":null,"codigo_municipio_ibge":null'
)
_NO_REGIMES = b',"regime_tributario":null'  # before the last field
_LAST_FIELD = b',"codigo_municipio_ibge":'
_LAST_FIELD_BYTES_MAX = 64  # with its value


# For our own copy it is the same day for a month.
@lru_cache(maxsize=64)
def _day(at_ms: int) -> bytes:
    return b'"' + civil_day_text(at_ms).encode() + b'"'


def _parted(outcome: Delivered) -> tuple[bytes, bytes]:
    """Return the day of the data as JSON, and the company's JSON without it (contract 9.3).

    If the source is not a copy of the registry, that is the day on which it was asked.
    """
    body = outcome.body
    at = body.rfind(b',"data_base":', -_DATED_BYTES_MAX)
    dated = None if at < 0 else _DATED.match(body, at)
    if dated is None:
        return _day(outcome.asked_ms), _whole(body)
    return dated[1], _whole(body[: dated.start()] + b"}")


def _whole(company: bytes) -> bytes:
    """Return a company's JSON with all fields: cached by an earlier version, it lacks some."""
    at = company.rfind(_LAST_FIELD, -_LAST_FIELD_BYTES_MAX)
    if at < 0:
        return company[:-1] + _ADDED + b"}"
    # The list of tax regimes ends in a bracket; the field before it, of earlier versions, does not.
    if company[at - 1 : at] == b"]" or company.endswith(_NO_REGIMES, 0, at):
        return company
    return company[:at] + _NO_REGIMES + company[at:]


OPERATION = CompanyLookup
