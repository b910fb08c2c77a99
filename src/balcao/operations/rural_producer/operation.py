"""State registrations of a rural producer: `GET /consultas/v2/produtor-rural/{cpf}`.

Specification, endpoint 3 and "Rural producer registrations"; decisions 2.3, 3, 4.5, 5.2, 8.
"""

from collections.abc import Sequence
from functools import partial

import msgspec

from balcao.core.documents import Cpf
from balcao.core.federation import ALL, RURAL_UFS
from balcao.core.outcomes import Conclusion, Delivered, Outcome
from balcao.core.problems import Problem
from balcao.core.questions import Question
from balcao.core.registration import (
    SITUATION_TEXTS,
    TYPE_TEXTS,
    RegisteredAddress,
    Registration,
    Registrations,
)
from balcao.errors import InvalidCpf, InvalidStrategy, InvalidUf, UfRequired
from balcao.operations import envelope
from balcao.operations.contract import (
    PROBLEMS_OF_ALL,
    Circumstances,
    Example,
    Operation,
    Parameter,
    everybody_may,
)
from balcao.operations.parameters import Parameters
from balcao.operations.registrations import lookup as registrations
from balcao.operations.registrations.lookup import Tally, UfOrigin

PATH = "produtor-rural"
RULES = registrations.rules("rural_producer", "produtor-rural: 1 por UF respondida")
NAMES = registrations.NAMES


class RuralAddress(msgspec.Struct, frozen=True):
    """The address of a registration."""

    logradouro: str
    numero: str
    bairro: str
    municipio: str
    codigo_municipio_ibge: str
    uf: str
    cep: str


class RuralRegistration(msgspec.Struct, frozen=True, omit_defaults=True):
    """One registration of a rural producer; what no source knows is absent."""

    inscricao_estadual: str
    uf: str
    ativa: bool
    tipo_ie: str | None = None
    situacao_pj: str | None = None
    data_status: str | None = None
    updated_at: str | None = None
    endereco: RuralAddress | None = None


class RuralProducerAnswer(msgspec.Struct, frozen=True):
    """The body of a result; `ufs` only with `uf=BR`."""

    request_id: str
    success: bool
    error: bool
    is_cache: bool
    cpf: str
    nome: str | None
    uf: str
    inscricoes_estaduais: Sequence[RuralRegistration]
    ufs: Sequence[UfOrigin] | msgspec.UnsetType = msgspec.UNSET


def parse(ufs: Sequence[str], document: str, parameters: Parameters) -> Question:
    """Check and normalise a request. `uf` is required."""
    cpf = Cpf.parse(document)
    uf = parameters.uf((ALL, *ufs))
    if uf is None:
        raise UfRequired
    return registrations.question("rural_producer", cpf, uf, ufs, parameters)


def conclude(
    question: Question, outcomes: Sequence[Outcome], circumstances: Circumstances
) -> Conclusion:
    """The answer's status, body and price."""
    tally = Tally(question, outcomes)
    body = RuralProducerAnswer(
        request_id="",
        success=True,
        error=False,
        is_cache=tally.origin == "cache",
        cpf=question.document.text,
        nome=tally.name,
        uf=question.uf or "",
        inscricoes_estaduais=[
            registrations.shown(each, question, RuralRegistration) for each in tally.registrations
        ],
        ufs=msgspec.UNSET if tally.ufs is None else tally.ufs,
    )
    return registrations.conclusion(question, tally, body, error_fields)


def error_fields(problem: Problem, document: str) -> bytes:
    """The body of a refusal of this operation."""
    extra = envelope.cpf_field(document) + b'"inscricoes_estaduais":[],'
    return envelope.error_fields(problem, extra)


# As the sandbox answers 90010000100.
_EXAMPLE = Registrations(
    documento="90010000100",
    uf="SP",
    nome="PRODUTORA DA FICCAO PAULISTA",
    uf_principal="SP",
    com_endereco=True,
    inscricoes=(
        Registration(
            inscricao_estadual="120484227823",
            uf="SP",
            ativa=True,
            tipo_ie=TYPE_TEXTS[5],
            situacao_pj=SITUATION_TEXTS[1],
            data_status="2015-03-02",
            updated_at="2026-08-08 10:15:30",
            endereco=RegisteredAddress(
                logradouro="SITIO BARAO DO RIO BRANCO FICTICIA",
                numero="S/N",
                bairro="ZONA RURAL",
                municipio="SAO JOSE DO RIO PRETO",
                codigo_municipio_ibge="3549805",
                uf="SP",
                cep="15014656",
            ),
        ),
    ),
)


def _examples(ufs: Sequence[str]) -> Sequence[Example]:
    asked_ms = 1_786_158_000_000  # 2026-08-08 in Brasília
    one = parse(ufs, _EXAMPLE.documento, Parameters(b"uf=SP&endereco=true", {}, NAMES))

    def delivered(record: Registrations) -> Sequence[Outcome]:
        body = registrations.encode(one.inquiries[0], record)
        return (Delivered(body, "online", "cnpja", asked_ms),)

    none = Registrations(_EXAMPLE.documento, "SP")
    return (
        Example("uma_uf", "Uma UF, com endereço", one, delivered(_EXAMPLE)),
        Example("sem_inscricao", "Não há inscrição na UF", one, delivered(none)),
    )


def operation(ufs: Sequence[str] = RURAL_UFS) -> Operation:
    """The operation; `ufs` are those that may be asked and that BR stands for (setting)."""
    return Operation(
        subject="rural_producer",
        path=PATH,
        document="cpf",
        title="Inscrições estaduais do produtor rural",
        description=(
            "Inscrições estaduais de um produtor rural, por CPF, em uma UF ou em todas (`uf=BR`)."
            " Custa 1 crédito por UF respondida, e mais 1 por requisição com `endereco=true`; erros"
            " não custam nada. Quem não tem inscrição é um resultado: lista vazia."
        ),
        parameters=(
            Parameter(
                "cpf",
                "path",
                "CPF completo, com ou sem pontuação.",
                {"type": "string", "format": "cpf", "minLength": 11, "maxLength": 64},
                required=True,
                example="90010000100",
            ),
            *registrations.parameters(
                Parameter(
                    "uf",
                    "query",
                    "UF consultada; `BR` consulta todas.",
                    {"type": "string", "enum": [ALL, *ufs]},
                    required=True,
                    example="SP",
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
        conclude=conclude,
        error_fields=error_fields,
        problems=(InvalidCpf, InvalidUf, UfRequired, InvalidStrategy, *PROBLEMS_OF_ALL),
        answer=RuralProducerAnswer,
        examples=_examples(ufs),
        ufs=ufs,
    )
