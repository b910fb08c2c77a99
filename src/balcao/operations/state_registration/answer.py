"""The body of a result (specification, "State tax registrations"), and an example."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from balcao.core.described import described, said
from balcao.core.registration import (
    SITUATION_TEXTS,
    TYPE_TEXTS,
    RegisteredAddress,
    Registration,
    Registrations,
)
from balcao.operations.envelope import AlwaysFalse, AlwaysTrue, RequestId
from balcao.operations.registrations.answer import (
    IN_ORDER,
    ONLY_WITH_ADDRESSES,
    Active,
    AddressUf,
    Cep,
    City,
    CityCode,
    District,
    FromCache,
    HouseNumber,
    Number,
    OfUf,
    Origins,
    Situation,
    Street,
    TypeText,
    UpdatedAt,
)


@described("EnderecoInscricao", "Endereço de uma inscrição.")
class StateAddress(msgspec.Struct, frozen=True):
    """The address of a registration."""

    logradouro: Street
    numero: HouseNumber
    complemento: Annotated[str | None, said("Complemento, ou nulo.")]
    bairro: District
    municipio: City
    codigo_municipio_ibge: CityCode
    uf: AddressUf
    cep: Cep


@described("InscricaoEstadual", "Uma inscrição estadual. O que nenhuma fonte sabe é omitido.")
class CompanyRegistration(msgspec.Struct, frozen=True, omit_defaults=True):
    """One state registration; what no source knows is absent."""

    inscricao_estadual: Number
    uf: OfUf
    ativa: Active
    tipo_ie: TypeText = None
    situacao_pj: Situation = None
    updated_at: UpdatedAt = None
    endereco: Annotated[StateAddress | None, ONLY_WITH_ADDRESSES] = None


@described("RespostaInscricoes", "Inscrições estaduais de uma empresa.")
class StateRegistrationAnswer(msgspec.Struct, frozen=True):
    """The body of a result; `ufs` only with `uf=BR`."""

    request_id: RequestId
    success: AlwaysTrue
    error: AlwaysFalse
    is_cache: FromCache
    cnpj: Annotated[str, said("CNPJ consultado, sem pontuação.")]
    razao_social: Annotated[str | None, said("Razão social, quando a fonte a diz.")]
    uf: Annotated[str | None, said("UF da própria empresa, quando conhecida.")]
    inscricoes_estaduais: Annotated[
        Sequence[CompanyRegistration],
        IN_ORDER,
    ]
    ufs: Origins = msgspec.UNSET


# As the sandbox answers it.
EXAMPLE = Registrations(
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
