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
from balcao.operations.registrations import answer as of


@described("EnderecoInscricao", "Endereço de uma inscrição.")
class StateAddress(msgspec.Struct, frozen=True):
    """The address of a registration."""

    logradouro: of.Street
    numero: of.HouseNumber
    complemento: Annotated[str | None, said("Complemento, ou nulo.")]
    bairro: of.District
    municipio: of.City
    codigo_municipio_ibge: of.CityCode
    uf: of.AddressUf
    cep: of.Cep


@described("InscricaoEstadual", "Uma inscrição estadual. O que nenhuma fonte sabe é omitido.")
class CompanyRegistration(msgspec.Struct, frozen=True, omit_defaults=True):
    """One state registration; what no source knows is absent."""

    inscricao_estadual: of.Number
    uf: of.OfUf
    ativa: of.Active
    tipo_ie: of.TypeText = None
    situacao_pj: of.Situation = None
    updated_at: of.UpdatedAt = None
    endereco: Annotated[StateAddress | None, of.ONLY_WITH_ADDRESSES] = None


@described("RespostaInscricoes", "Inscrições estaduais de uma empresa.")
class StateRegistrationAnswer(msgspec.Struct, frozen=True):
    """The body of a result; `ufs` only with `uf=BR`."""

    request_id: RequestId
    success: AlwaysTrue
    error: AlwaysFalse
    is_cache: of.FromCache
    cnpj: Annotated[str, said("CNPJ consultado, sem pontuação.")]
    razao_social: Annotated[str | None, said("Razão social, quando a fonte a diz.")]
    uf: Annotated[str | None, said("UF da própria empresa, quando conhecida.")]
    inscricoes_estaduais: Annotated[
        Sequence[CompanyRegistration],
        of.IN_ORDER,
    ]
    ufs: of.Origins = msgspec.UNSET


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
