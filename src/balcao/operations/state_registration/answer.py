"""The body of a result (specification, "State tax registrations")."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from balcao.core.described import described, said
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
    inscricoes_omitidas: of.Omitted = msgspec.UNSET
