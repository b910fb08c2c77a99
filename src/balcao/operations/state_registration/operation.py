"""State tax registrations of a company: `GET /consultas/v2/sintegra/{cnpj}`.

Specification, endpoint 2 and "State tax registrations"; decisions 2.3, 3, 4.5, 5.2, 8.
"""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import msgspec

from balcao.core.described import described, said
from balcao.core.documents import Cnpj
from balcao.core.federation import ALL, UFS
from balcao.core.outcomes import Conclusion, Delivered, Failed, Outcome
from balcao.core.problems import Problem
from balcao.core.questions import Question
from balcao.core.registration import (
    ALL_TYPE_TEXTS,
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


@described("EnderecoInscricao", "Endereço de uma inscrição.")
class StateAddress(msgspec.Struct, frozen=True):
    """The address of a registration."""

    logradouro: Annotated[str, said("Logradouro.")]
    numero: Annotated[str, said("Número.")]
    complemento: Annotated[str | None, said("Complemento, ou nulo.")]
    bairro: Annotated[str, said("Bairro.")]
    municipio: Annotated[str, said("Município.")]
    codigo_municipio_ibge: Annotated[
        str, said("Código IBGE do município; vazio se a fonte não o diz.")
    ]
    uf: Annotated[str, said("Sigla da UF do endereço.")]
    cep: Annotated[str, said("CEP, só dígitos.")]


@described("InscricaoEstadual", "Uma inscrição estadual. O que nenhuma fonte sabe é omitido.")
class StateRegistration(msgspec.Struct, frozen=True, omit_defaults=True):
    """One state registration; what no source knows is absent."""

    inscricao_estadual: Annotated[str, said("Número da inscrição.")]
    uf: Annotated[str, said("UF da inscrição.")]
    ativa: Annotated[bool, said("`true` se está ativa.")]
    tipo_ie: Annotated[str | None, said("Tipo da inscrição.", enum=[*ALL_TYPE_TEXTS])] = None
    situacao_pj: Annotated[
        str | None, said("Situação do contribuinte na UF.", enum=[*SITUATION_TEXTS.values()])
    ] = None
    updated_at: Annotated[
        str | None, said("Última atualização, `YYYY-MM-DD HH:mm:ss`, horário de Brasília.")
    ] = None
    endereco: Annotated[
        StateAddress | None, said("Só com `endereco=true`, quando a fonte tem um.")
    ] = None


@described("RespostaInscricoes", "Inscrições estaduais de uma empresa.")
class StateRegistrationAnswer(msgspec.Struct, frozen=True):
    """The body of a result; `ufs` only with `uf=BR`."""

    request_id: Annotated[str, said("Identificador único da operação.", format="uuid")]
    success: Annotated[bool, said("Sempre `true` nesta resposta.")]
    error: Annotated[bool, said("Sempre `false` nesta resposta.")]
    is_cache: Annotated[bool, said("`true` se nada veio da fonte nesta consulta.")]
    cnpj: Annotated[str, said("CNPJ consultado, sem pontuação.")]
    razao_social: Annotated[str | None, said("Razão social, quando a fonte a diz.")]
    uf: Annotated[str | None, said("UF da própria empresa, quando conhecida.")]
    inscricoes_estaduais: Annotated[
        Sequence[StateRegistration],
        said("Inscrições encontradas: ativas primeiro, depois por UF e número."),
    ]
    ufs: Annotated[
        Sequence[UfOrigin] | msgspec.UnsetType,
        said("Só com `uf=BR`: de onde veio a resposta de cada UF, na ordem das UFs."),
    ] = msgspec.UNSET


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
