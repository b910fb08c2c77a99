"""The body of a result (specification, "Rural producer registrations")."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from balcao.core.described import described, said
from balcao.operations.envelope import AlwaysFalse, AlwaysTrue, RequestId
from balcao.operations.registrations import answer as of


@described("EnderecoProdutorRural", "Endereço de uma inscrição.")
class RuralAddress(msgspec.Struct, frozen=True):
    """The address of a registration."""

    logradouro: of.Street
    numero: of.HouseNumber
    bairro: of.District
    municipio: of.City
    codigo_municipio_ibge: of.CityCode
    uf: of.AddressUf
    cep: of.Cep


@described(
    "InscricaoProdutorRural", "Uma inscrição de produtor rural. O que nenhuma fonte sabe é omitido."
)
class RuralRegistration(msgspec.Struct, frozen=True, omit_defaults=True):
    """One registration of a rural producer; what no source knows is absent."""

    inscricao_estadual: of.Number
    uf: of.OfUf
    ativa: of.Active
    tipo_ie: of.TypeText = None
    situacao_pj: of.Situation = None
    data_status: Annotated[
        str | None, said("Data da última mudança de situação.", format="date")
    ] = None
    updated_at: of.UpdatedAt = None
    endereco: Annotated[RuralAddress | None, of.ONLY_WITH_ADDRESSES] = None


@described("RespostaProdutorRural", "Inscrições estaduais de um produtor rural.")
class RuralProducerAnswer(msgspec.Struct, frozen=True):
    """The body of a result; `ufs` only with `uf=BR`."""

    request_id: RequestId
    success: AlwaysTrue
    error: AlwaysFalse
    is_cache: of.FromCache
    cpf: Annotated[str, said("CPF consultado, sem pontuação.")]
    nome: Annotated[str | None, said("Nome do produtor, quando a fonte o diz.")]
    uf: Annotated[str, said("UF consultada, ou `BR`.")]
    inscricoes_estaduais: Annotated[
        Sequence[RuralRegistration],
        of.IN_ORDER,
    ]
    ufs: of.Origins = msgspec.UNSET
    inscricoes_omitidas: of.Omitted = msgspec.UNSET
