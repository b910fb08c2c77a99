"""Free-trade-zone registry record: `GET /consultas/v2/suframa/{cnpj}`.

Specification, endpoint 1 and "Free-trade-zone registry record"; decisions 2.4, 3, 4.3, 5.2, 8.
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from balcao.core.described import described, said
from balcao.core.documents import Cnpj
from balcao.core.idempotency import digest
from balcao.core.outcomes import Conclusion, Delivered, Failed, Nothing, Outcome
from balcao.core.problems import Problem
from balcao.core.questions import Inquiry, Question, Strategy
from balcao.core.suframa import (
    STATUS_TEXTS,
    Incentive,
    NumberedText,
    ZoneActivity,
    ZoneAddress,
    ZoneCountry,
    ZoneEmail,
    ZonePhone,
    ZoneRecord,
)
from balcao.core.tariff import Rule, Rules
from balcao.errors import InvalidCnpj, RegistrationNotFound
from balcao.operations import envelope
from balcao.operations.contract import (
    PROBLEMS_OF_ALL,
    Circumstances,
    Example,
    Operation,
    Parameter,
    cnpj_in_path,
    everybody_may,
)
from balcao.operations.parameters import Parameters
from balcao.sources.contract import Record

PATH = "suframa"
CACHE_DAYS_DEFAULT = 25
CACHE_DAYS_MAX = 45
PRICE_CREDITS = 1
RULE = "suframa/lookup"
RULES: Rules = {
    RULE: Rule(
        "suframa: 1 por consulta concluída",
        "1 crédito por consulta concluída, de onde quer que venha o resultado.",
    ),
}

_encode = msgspec.json.Encoder().encode


@described("RespostaSuframa", "Inscrição na Suframa. Campos sem informação na fonte são omitidos.")
class ZoneAnswer(ZoneRecord, frozen=True, kw_only=True):
    """The body of a result: the record's fields beside the envelope's."""

    request_id: Annotated[str, said("Identificador único da operação.", format="uuid")]
    success: Annotated[bool, said("Sempre `true` nesta resposta.")]
    error: Annotated[bool, said("Sempre `false` nesta resposta.")]


def parse(document: str, parameters: Parameters) -> Question:
    """Check and normalise a request. The header is the documented form here (decisions 2.4)."""
    cnpj = Cnpj.parse(document)
    days, _ = parameters.days("cache", default=CACHE_DAYS_DEFAULT, largest=CACHE_DAYS_MAX)
    return Question(
        subject="suframa",
        inquiries=(Inquiry("suframa", cnpj),),
        # An entry within the age, else the source, no fallback (decisions 4.3).
        strategy=Strategy.CACHE_PREFERENCIAL,
        max_age_days=days,
    )


def fingerprint(question: Question) -> str:
    """What makes two requests the same one, defaults filled in (decisions 6)."""
    return digest(f"{PATH} {question.document.text} {question.max_age_days}")


def encode(inquiry: Inquiry, record: Record) -> bytes:
    """The record as JSON."""
    assert isinstance(record, ZoneRecord)
    return _encode(record)


def conclude(
    question: Question, outcomes: Sequence[Outcome], circumstances: Circumstances
) -> Conclusion:
    """The answer's status, body and price."""
    (outcome,) = outcomes
    document = question.document.text
    match outcome:
        case Delivered():
            return Conclusion(
                status=200,
                fields=b'"success":true,"error":false,' + outcome.body[1:],
                credits=PRICE_CREDITS,
                rule=RULE,
                origin=outcome.origin,
                source=outcome.source,
                asked_ms=outcome.asked_ms,
            )
        case Nothing():
            return envelope.refusal(RegistrationNotFound(), document, error_fields)
        case Failed(error):
            return envelope.refusal(error, document, error_fields)


def error_fields(problem: Problem, document: str) -> bytes:
    """The body of a refusal; never with `inscricao`: clients look at nothing else (1.1)."""
    return envelope.error_fields(problem, envelope.cnpj_field(document))


# As the sandbox answers 90010002000154.
_EXAMPLE = ZoneRecord(
    cnpj="90010002000154",
    inscricao="200000012",
    nome="INDUSTRIA DE MANAUS FICTICIA LTDA",
    matriz=True,
    aprovado=True,
    status=NumberedText(1, STATUS_TEXTS[1]),
    atualizado_em="2026-08-08T13:15:30.120Z",
    desde="2016-01-04",
    data_aprovacao="2016-02-10",
    natureza_juridica=NumberedText(2062, "Sociedade Empresária Limitada"),
    endereco=ZoneAddress(
        codigo_municipio=1302603,
        logradouro="RUA DAS ACACIAS FICTICIAS",
        numero="100",
        bairro="CENTRO",
        cidade="MANAUS",
        estado="AM",
        cep="69000100",
        pais=ZoneCountry("Brasil"),
    ),
    telefones=(ZonePhone("92", "10000001"),),
    emails=(ZoneEmail("contato@example.com", "example.com"),),
    atividade_principal=ZoneActivity(2610800, True, "Fabricação de componentes eletrônicos"),
    atividades_secundarias=(
        ZoneActivity(
            4652400,
            False,
            "Comércio atacadista de componentes eletrônicos e equipamentos de telefonia e"
            " comunicação",
        ),
    ),
    incentivos=(
        Incentive(
            fundamento_legal="Decreto 7.212 de 2010 (Art. 81)",
            beneficio="Isenção",
            finalidade="Consumo Interno, Industrialização e Utilização",
            tributo="IPI",
        ),
        Incentive(
            fundamento_legal="Convênio ICMS 65 de 1988",
            beneficio="Isenção",
            finalidade="Industrialização e Comercialização",
            tributo="ICMS",
        ),
    ),
)


def _examples() -> Sequence[Example]:
    asked_ms = 1_786_158_000_000  # 2026-08-08 in Brasília
    question = parse(_EXAMPLE.cnpj, Parameters(b"", {}, ()))
    body = encode(question.inquiries[0], _EXAMPLE)
    delivered = Delivered(body, "online", "cnpja", asked_ms)
    return (Example("encontrada", "A empresa tem inscrição", question, (delivered,)),)


_CACHE = (
    "Idade máxima, em dias, de um resultado guardado, que então é usado sem consultar a fonte."
    " 0 força uma consulta nova."
)
_DAYS = {
    "type": "integer",
    "minimum": 0,
    "maximum": CACHE_DAYS_MAX,
    "default": CACHE_DAYS_DEFAULT,
}


def operation() -> Operation:
    """The operation."""
    return Operation(
        subject="suframa",
        path=PATH,
        document="cnpj",
        title="Inscrição na Suframa",
        description=(
            "Inscrição, situação e incentivos de um CNPJ na Superintendência da Zona Franca de"
            " Manaus. Custa 1 crédito por consulta concluída sem erro, venha ela do cache ou da"
            " fonte; erros não custam nada. Campos sem informação na fonte são omitidos."
        ),
        parameters=(
            cnpj_in_path("90010002000154"),
            Parameter("cache", "header", _CACHE, _DAYS),
            Parameter("cache", "query", f"{_CACHE} Prevalece sobre o cabeçalho.", _DAYS),
        ),
        names=("cache",),
        parse=parse,
        fingerprint=fingerprint,
        permit=everybody_may,
        greatest_price=lambda question: PRICE_CREDITS,
        rules=RULES,
        encode=encode,
        conclude=conclude,
        error_fields=error_fields,
        problems=(InvalidCnpj, *PROBLEMS_OF_ALL, RegistrationNotFound),
        answer=ZoneAnswer,
        examples=_examples(),
    )
