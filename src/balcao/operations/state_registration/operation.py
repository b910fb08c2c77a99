"""State tax registrations of a company: `GET /consultas/v2/sintegra/{cnpj}`.

Specification, endpoint 2 and "State tax registrations"; decisions 2.3, 3, 4.5, 5.2, 8.
"""

from collections.abc import Sequence
from functools import partial

import msgspec

from balcao.core.documents import Cnpj
from balcao.core.federation import ALL, UFS
from balcao.core.outcomes import Conclusion, Delivered, Failed, Outcome
from balcao.core.problems import Problem
from balcao.core.questions import Question
from balcao.core.registration import (
    SITUATION_TEXTS,
    TYPE_TEXTS,
    RegisteredAddress,
    Registration,
    Registrations,
)
from balcao.errors import (
    CnpjNotFound,
    InvalidCnpj,
    InvalidStrategy,
    InvalidUf,
    SourceUnavailable,
    UfRequired,
)
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
from balcao.operations.registrations import lookup as registrations
from balcao.operations.registrations.lookup import Tally, UfOrigin

PATH = "sintegra"
NAMES = registrations.NAMES
RULES = registrations.rules("state_registration", "sintegra: 1 por UF respondida")


class StateAddress(msgspec.Struct, frozen=True):
    """The address of a registration."""

    logradouro: str
    numero: str
    complemento: str | None
    bairro: str
    municipio: str
    codigo_municipio_ibge: str
    uf: str
    cep: str


class StateRegistration(msgspec.Struct, frozen=True, omit_defaults=True):
    """One state registration; what no source knows is absent."""

    inscricao_estadual: str
    uf: str
    ativa: bool
    tipo_ie: str | None = None
    situacao_pj: str | None = None
    updated_at: str | None = None
    endereco: StateAddress | None = None


class StateRegistrationAnswer(msgspec.Struct, frozen=True):
    """The body of a result; `ufs` only with `uf=BR`."""

    request_id: str
    success: bool
    error: bool
    is_cache: bool
    cnpj: str
    razao_social: str | None
    uf: str | None
    inscricoes_estaduais: Sequence[StateRegistration]
    ufs: Sequence[UfOrigin] | msgspec.UnsetType = msgspec.UNSET


def parse(ufs: Sequence[str], document: str, parameters: Parameters) -> Question:
    """Check and normalise a request. Without `uf` the company's own is meant."""
    cnpj = Cnpj.parse(document)
    uf = parameters.uf((ALL, *ufs))
    return registrations.question("state_registration", cnpj, uf, ufs, parameters)


def conclude(
    question: Question, outcomes: Sequence[Outcome], circumstances: Circumstances
) -> Conclusion:
    """The answer's status, body and price."""
    tally = Tally(question, outcomes)
    company = circumstances.company  # a state need not say whose registrations these are
    body = StateRegistrationAnswer(
        request_id="",
        success=True,
        error=False,
        is_cache=tally.origin == "cache",
        cnpj=question.document.text,
        razao_social=tally.name or (company.nome_empresarial if company else None),
        uf=tally.home_uf or (company.uf if company else _home(question)),
        inscricoes_estaduais=[
            registrations.shown(each, question, StateRegistration) for each in tally.registrations
        ],
        ufs=msgspec.UNSET if tally.ufs is None else tally.ufs,
    )
    return registrations.conclusion(question, tally, body, error_fields)


def _home(question: Question) -> str | None:
    """Asked about no UF, we asked about the company's own."""
    return question.inquiries[0].uf if question.uf is None else None


def error_fields(problem: Problem, document: str) -> bytes:
    """The body of a refusal of this operation."""
    extra = envelope.cnpj_field(document) + b'"inscricoes_estaduais":[],'
    return envelope.error_fields(problem, extra)


# As the sandbox answers 90010001000100.
_EXAMPLE = Registrations(
    documento="90010001000100",
    uf="SP",
    nome="EMPRESA ATIVA FICTICIA LTDA",
    uf_principal="SP",
    com_endereco=True,
    inscricoes=(
        Registration(
            inscricao_estadual="126624035592",
            uf="SP",
            ativa=True,
            tipo_ie=TYPE_TEXTS[1],
            situacao_pj=SITUATION_TEXTS[1],
            updated_at="2026-08-08 10:15:30",
            endereco=RegisteredAddress(
                logradouro="RUA DAS ACACIAS FICTICIAS",
                numero="100",
                complemento="SALA 2",
                bairro="CENTRO",
                municipio="SAO PAULO",
                codigo_municipio_ibge="3550308",
                uf="SP",
                cep="04000100",
            ),
        ),
    ),
)


def _examples(ufs: Sequence[str]) -> Sequence[Example]:
    asked_ms = 1_786_158_000_000  # 2026-08-08 in Brasília

    def delivered(record: Registrations) -> Delivered:
        body = registrations.encode(one.inquiries[0], record)
        return Delivered(body, "online", "cnpja", asked_ms)

    one = parse(ufs, _EXAMPLE.documento, Parameters(b"uf=SP&endereco=true", {}, NAMES))
    everywhere = parse(ufs, _EXAMPLE.documento, Parameters(b"uf=BR", {}, NAMES))
    outcomes: list[Outcome] = []
    for uf in ufs:
        if uf == "SP":
            outcomes.append(delivered(_EXAMPLE))
        elif uf == "BA":
            outcomes.append(Failed(SourceUnavailable()))
        else:
            outcomes.append(delivered(Registrations(_EXAMPLE.documento, uf)))
    none = Registrations(_EXAMPLE.documento, "SP", nome=_EXAMPLE.nome, uf_principal="SP")
    return (
        Example("uma_uf", "Uma UF, com endereço", one, (delivered(_EXAMPLE),)),
        Example("sem_inscricao", "A empresa não tem inscrição na UF", one, (delivered(none),)),
        Example(
            "brasil", "Todas as UFs; uma não respondeu e não foi cobrada", everywhere, outcomes
        ),
    )


def operation(ufs: Sequence[str] = UFS) -> Operation:
    """The operation; `ufs` are those that BR stands for (setting)."""
    return Operation(
        subject="state_registration",
        path=PATH,
        document="cnpj",
        title="Inscrições estaduais da empresa (Sintegra)",
        description=(
            "Inscrições estaduais de um CNPJ em uma UF ou em todas (`uf=BR`). Custa 1 crédito por"
            " UF respondida, venha a resposta do cache ou da fonte, e mais 1 por requisição com"
            " `endereco=true`; erros não custam nada. Com `uf=BR` o campo `ufs` diz de onde veio"
            " cada UF; as que não responderam não são cobradas. Uma empresa sem inscrição é um"
            " resultado: lista vazia."
        ),
        parameters=(
            cnpj_in_path("90010001000100"),
            *registrations.parameters(
                Parameter(
                    "uf",
                    "query",
                    "UF consultada; `BR` consulta todas. Sem ela, a UF da própria empresa.",
                    {"type": "string", "enum": ["", ALL, *ufs]},
                ),
            ),
        ),
        names=NAMES,
        parse=partial(parse, ufs),
        fingerprint=registrations.fingerprint,
        permit=everybody_may,
        greatest_price=registrations.greatest_price,
        rules=RULES,
        encode=registrations.encode,
        plan=registrations.plan,
        doubtful=registrations.all_empty,
        wants_company=True,
        ufs=ufs,
        conclude=conclude,
        error_fields=error_fields,
        problems=(
            InvalidCnpj,
            InvalidUf,
            UfRequired,
            InvalidStrategy,
            *PROBLEMS_OF_ALL,
            CnpjNotFound,
        ),
        answer=StateRegistrationAnswer,
        examples=_examples(ufs),
    )
