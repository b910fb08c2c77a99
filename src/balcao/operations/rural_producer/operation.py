"""State registrations of a rural producer: `GET /consultas/v2/produtor-rural/{cpf}`.

Specification, endpoint 3 and "Rural producer registrations"; decisions 2.3, 3, 4.5, 5.2, 8.
"""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import msgspec

from balcao.core.described import described, said
from balcao.core.documents import Cpf
from balcao.core.federation import ALL, RURAL_UFS
from balcao.core.outcomes import Conclusion, Delivered, Outcome
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


@described("EnderecoProdutorRural", "Endereço de uma inscrição.")
class RuralAddress(msgspec.Struct, frozen=True):
    """The address of a registration."""

    logradouro: Annotated[str, said("Logradouro.")]
    numero: Annotated[str, said("Número.")]
    bairro: Annotated[str, said("Bairro.")]
    municipio: Annotated[str, said("Município.")]
    codigo_municipio_ibge: Annotated[
        str, said("Código IBGE do município; vazio se a fonte não o diz.")
    ]
    uf: Annotated[str, said("Sigla da UF do endereço.")]
    cep: Annotated[str, said("CEP, só dígitos.")]


@described(
    "InscricaoProdutorRural", "Uma inscrição de produtor rural. O que nenhuma fonte sabe é omitido."
)
class RuralRegistration(msgspec.Struct, frozen=True, omit_defaults=True):
    """One registration of a rural producer; what no source knows is absent."""

    inscricao_estadual: Annotated[str, said("Número da inscrição.")]
    uf: Annotated[str, said("UF da inscrição.")]
    ativa: Annotated[bool, said("`true` se está ativa.")]
    tipo_ie: Annotated[str | None, said("Tipo da inscrição.", enum=[*ALL_TYPE_TEXTS])] = None
    situacao_pj: Annotated[
        str | None, said("Situação do contribuinte na UF.", enum=[*SITUATION_TEXTS.values()])
    ] = None
    data_status: Annotated[
        str | None, said("Data da última mudança de situação.", format="date")
    ] = None
    updated_at: Annotated[
        str | None, said("Última atualização, `YYYY-MM-DD HH:mm:ss`, horário de Brasília.")
    ] = None
    endereco: Annotated[
        RuralAddress | None, said("Só com `endereco=true`, quando a fonte tem um.")
    ] = None


@described("RespostaProdutorRural", "Inscrições estaduais de um produtor rural.")
class RuralProducerAnswer(msgspec.Struct, frozen=True):
    """The body of a result; `ufs` only with `uf=BR`."""

    request_id: Annotated[str, said("Identificador único da operação.", format="uuid")]
    success: Annotated[bool, said("Sempre `true` nesta resposta.")]
    error: Annotated[bool, said("Sempre `false` nesta resposta.")]
    is_cache: Annotated[bool, said("`true` se nada veio da fonte nesta consulta.")]
    cpf: Annotated[str, said("CPF consultado, sem pontuação.")]
    nome: Annotated[str | None, said("Nome do produtor, quando a fonte o diz.")]
    uf: Annotated[str, said("UF consultada, ou `BR`.")]
    inscricoes_estaduais: Annotated[
        Sequence[RuralRegistration],
        said("Inscrições encontradas: ativas primeiro, depois por UF e número."),
    ]
    ufs: Annotated[
        Sequence[UfOrigin] | msgspec.UnsetType,
        said("Só com `uf=BR`: de onde veio a resposta de cada UF, na ordem das UFs."),
    ] = msgspec.UNSET


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
