"""Company registry data: `GET /consultas/v2/cnpj-receita-federal/{cnpj}`.

Specification, endpoint 6 and "Company registry data"; decisions 2.4, 2.7, 3, 8.
"""

import re
from collections.abc import Sequence
from typing import Annotated

import msgspec

from balcao.core.access import Caller
from balcao.core.calendar import civil_day_text
from balcao.core.company import Coded, Company, Partner, uniform
from balcao.core.described import described, said
from balcao.core.documents import Cnpj
from balcao.core.idempotency import digest
from balcao.core.outcomes import Conclusion, Delivered, Failed, Nothing, Outcome
from balcao.core.problems import Problem
from balcao.core.questions import Inquiry, Question, Strategy
from balcao.core.tariff import Rule, Rules
from balcao.errors import (
    CnpjNotFound,
    InvalidCnpj,
    InvalidParameter,
    InvalidStrategy,
    OptInNotEnabled,
)
from balcao.operations import envelope
from balcao.operations.contract import (
    PROBLEMS_OF_ALL,
    Circumstances,
    Example,
    Operation,
    Parameter,
    cnpj_in_path,
)
from balcao.operations.parameters import Parameters
from balcao.sources.contract import Record

PATH = "cnpj-receita-federal"
STRATEGIES = (
    Strategy.CACHE_SE_EXISTIR,
    Strategy.CACHE_PREFERENCIAL,
    Strategy.SO_ONLINE,
    Strategy.ONLINE_PREFERENCIAL,
)
CACHE_DAYS_DEFAULT = 7
CACHE_DAYS_MAX = 365

# One credit per request completed without error: cache, online or with the opt-in; the
# strategy does not change the cost (specification, "Credits").
PRICE_CREDITS = 1
RULE = "company/lookup"
RULES: Rules = {
    RULE: Rule(
        "cnpj-receita-federal: 1 por consulta concluída",
        "1 crédito por consulta concluída, de onde quer que venha o resultado.",
    ),
}

_encode = msgspec.json.Encoder().encode


def parse(document: str, parameters: Parameters) -> Question:
    """Check and normalise a request. Raises `InvalidInput` of some kind."""
    cnpj = Cnpj.parse(document)
    days, from_header = parameters.days("cache", default=CACHE_DAYS_DEFAULT, largest=CACHE_DAYS_MAX)
    strategy = parameters.strategy(STRATEGIES, Strategy.ONLINE_PREFERENCIAL)
    optin = parameters.text("optin")
    if optin not in (None, "0", "1"):
        raise InvalidParameter("O parâmetro optin deve ser 0 ou 1.")
    full = optin == "1"
    return Question(
        subject="company",
        inquiries=(Inquiry("company", cnpj, full_partners=full),),
        strategy=strategy,
        max_age_days=days,
        deprecated_header=from_header,
    )


def fingerprint(question: Question) -> str:
    """What makes two requests the same one, defaults filled in (decisions 6)."""
    inquiry = question.inquiries[0]
    return digest(f"{PATH} {inquiry.key} {question.strategy} {question.max_age_days}")


def permit(question: Question, caller: Caller) -> None:
    """The opt-in needs to be enabled on the account. Raises `OptInNotEnabled`."""
    if question.inquiries[0].full_partners and not caller.partner_optin:
        raise OptInNotEnabled


def encode(inquiry: Inquiry, record: Record) -> bytes:
    """The record as JSON, said alike by all sources.

    They hand it over as the inquiry allows: masked, or with opt-in.
    """
    assert isinstance(record, Company)
    return _encode(uniform(record))


def conclude(
    question: Question, outcomes: Sequence[Outcome], circumstances: Circumstances
) -> Conclusion:
    """The answer's status, body and price."""
    (outcome,) = outcomes
    match outcome:
        case Delivered():
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
        case Nothing():
            return envelope.refusal(CnpjNotFound(), fields_of=error_fields)
        case Failed(error):
            return envelope.refusal(error, fields_of=error_fields)


# How the JSON of a `DatedCompany` ends: no other record's last member is a text or null.
_DATED = re.compile(rb',"data_base":(null|"[0-9]{4}-[0-9]{2}-[0-9]{2}")\}\Z')
_DATED_BYTES_MAX = 28


def _parted(outcome: Delivered) -> tuple[bytes, bytes]:
    """The day of the data as JSON, and the company without it (decisions 9.3).

    Where the source is no copy of the registry it is the day on which it was asked, or for our own
    copy that of its extraction.
    """
    body = outcome.body
    dated = _DATED.search(body, max(0, len(body) - _DATED_BYTES_MAX))
    if dated is None:
        return b'"' + civil_day_text(outcome.asked_ms).encode() + b'"', body
    return dated[1], body[: dated.start()] + b"}"


_NO_RESPONSE = b'"response":null,'


def error_fields(problem: Problem, document: str) -> bytes:
    """The body of a refusal of this operation."""
    return envelope.error_fields(problem, extra=_NO_RESPONSE)


@described("RespostaEmpresa", "Resposta da consulta de dados cadastrais.")
class CompanyAnswer(msgspec.Struct, frozen=True):
    """The body that `conclude` writes, as a type: for the OpenAPI document and for tests."""

    request_id: Annotated[str, said("Identificador único da operação.", format="uuid")]
    success: Annotated[bool, said("Sempre `true` nesta resposta.")]
    error: Annotated[bool, said("Sempre `false` nesta resposta.")]
    error_message: Annotated[None, said("Sempre nulo nesta resposta: não há erro.")]
    data_base: Annotated[
        str | None,
        said(
            "Dia a que os dados se referem: o da extração, quando vêm de uma cópia do cadastro"
            " público; senão, o dia (horário de Brasília) em que a fonte foi consultada. Nulo"
            " quando a fonte tem uma cópia e não informa de que dia.",
            format="date",
        ),
    ]
    response: Annotated[Company, said("Os dados cadastrais.")]


# As the sandbox answers 90010001000100.
_EXAMPLE = Company(
    cnpj="90010001000100",
    identificador_matriz_filial="MATRIZ",
    data_de_abertura="2015-03-02",
    nome_empresarial="EMPRESA ATIVA FICTICIA LTDA",
    nome_fantasia="SANDBOX FICTICIO",
    atividade_economica_principal=Coded(
        "6201501", "Desenvolvimento de programas de computador sob encomenda"
    ),
    atividades_economicas_secundarias=(
        Coded("6204000", "Consultoria em tecnologia da informação"),
        Coded(
            "6209100", "Suporte técnico, manutenção e outros serviços em tecnologia da informação"
        ),
    ),
    natureza_juridica=Coded("2062", "Sociedade Empresária Limitada"),
    tipo_logradouro="RUA",
    logradouro="DAS ACACIAS FICTICIAS",
    numero="100",
    complemento="SALA 2",
    bairro="CENTRO",
    municipio="SAO PAULO",
    cep="04000100",
    uf="SP",
    endereco_eletronico="contato@example.com",
    telefone="1110000001",
    situacao_cadastral="ATIVA",
    data_da_situacao_cadastral="2015-03-02",
    porte="DEMAIS",
    socios=(
        Partner(
            nome="FULANA DA FICCAO SILVA",
            cpf_cnpj_socio="***256481**",
            qualificacao_socio="Sócio-Administrador",
            faixa_etaria="Entre 41 a 50 anos",
            data_entrada_sociedade="2015-03-02 00:00:00",
        ),
        Partner(
            nome="REDE DE FILIAIS FICTICIA LTDA",
            cpf_cnpj_socio="90010007000187",
            qualificacao_socio="Sócio",
            documento_representante_legal="***100070**",
            nome_representante_legal="BELTRANO DA FICCAO SANTOS",
            faixa_etaria="Não se aplica",
            data_entrada_sociedade="2016-07-01 00:00:00",
        ),
        Partner(
            nome="FOREIGN FICTION HOLDINGS INC",
            qualificacao_socio="Sócio Pessoa Jurídica Domiciliado no Exterior",
            pais="ESTADOS UNIDOS",
            documento_representante_legal="***100071**",
            nome_representante_legal="SICRANA DA FICCAO SOUZA",
            faixa_etaria="Não se aplica",
            data_entrada_sociedade="2018-01-15 00:00:00",
        ),
    ),
)


def _examples() -> Sequence[Example]:
    asked_ms = 1_786_158_000_000  # 2026-08-08 in Brasília
    question = parse(_EXAMPLE.cnpj, Parameters(b"", {}, ()))
    body = encode(question.inquiries[0], _EXAMPLE)
    delivered = Delivered(body, "online", "snapshot", asked_ms)
    return (Example("encontrada", "A empresa existe", question, (delivered,)),)


OPERATION = Operation(
    subject="company",
    path=PATH,
    document="cnpj",
    title="Dados cadastrais da empresa (Receita Federal)",
    description=(
        "Dados cadastrais de um CNPJ: nome, situação, endereço, atividades, natureza jurídica,"
        " porte e sócios. Custa 1 crédito por consulta concluída sem erro, venha ela do cache ou"
        " da fonte; erros não custam nada."
    ),
    parameters=(
        cnpj_in_path("90010001000100"),
        Parameter(
            "cache",
            "query",
            "Idade máxima, em dias, de um resultado guardado. 0 nunca usa um guardado por idade.",
            {
                "type": "integer",
                "minimum": 0,
                "maximum": CACHE_DAYS_MAX,
                "default": CACHE_DAYS_DEFAULT,
            },
        ),
        Parameter(
            "cache_strategy",
            "query",
            "Cache ou fonte primeiro, e o que fazer quando a fonte falha.",
            {
                "type": "string",
                "enum": [str(strategy) for strategy in STRATEGIES],
                "default": str(Strategy.ONLINE_PREFERENCIAL),
            },
        ),
        Parameter(
            "optin",
            "query",
            "1 pede o CPF dos sócios; precisa estar habilitado na conta.",
            {"type": "string", "enum": ["0", "1"], "default": "0"},
        ),
        Parameter(
            "cache",
            "header",
            "Forma antiga do parâmetro de consulta `cache`, que prevalece quando os dois são"
            " enviados. A resposta traz então o cabeçalho Deprecation.",
            {"type": "integer", "minimum": 0, "maximum": CACHE_DAYS_MAX},
            deprecated=True,
        ),
    ),
    names=("cache", "cache_strategy", "optin"),
    parse=parse,
    fingerprint=fingerprint,
    permit=permit,
    greatest_price=lambda question: PRICE_CREDITS,
    rules=RULES,
    encode=encode,
    conclude=conclude,
    error_fields=error_fields,
    problems=(
        InvalidCnpj,
        InvalidStrategy,
        *PROBLEMS_OF_ALL,
        OptInNotEnabled,
        CnpjNotFound,
    ),
    answer=CompanyAnswer,
    examples=_examples(),
)
