"""Fields that both answers about state registrations share."""

from collections.abc import Sequence
from typing import Annotated, Protocol, TypeAlias

import msgspec

from balcao.core.described import described, doc
from balcao.core.registration import ALL_TYPE_TEXTS, SITUATION_TEXTS

Number: TypeAlias = Annotated[str, doc("Número da inscrição.")]
OfUf: TypeAlias = Annotated[str, doc("UF da inscrição.")]
Active: TypeAlias = Annotated[bool, doc("`true` se está ativa.")]
TypeText: TypeAlias = Annotated[str | None, doc("Tipo da inscrição.", enum=[*ALL_TYPE_TEXTS])]
Situation: TypeAlias = Annotated[
    str | None, doc("Situação do contribuinte na UF.", enum=[*SITUATION_TEXTS.values()])
]
UpdatedAt: TypeAlias = Annotated[
    str | None, doc("Última atualização, `YYYY-MM-DD HH:mm:ss`, horário de Brasília.")
]

Street: TypeAlias = Annotated[str, doc("Logradouro.")]
HouseNumber: TypeAlias = Annotated[str, doc("Número.")]
District: TypeAlias = Annotated[str, doc("Bairro.")]
City: TypeAlias = Annotated[str, doc("Município.")]
CityCode: TypeAlias = Annotated[str, doc("Código IBGE do município. Vazio se a fonte não informa.")]
AddressUf: TypeAlias = Annotated[str, doc("Sigla da UF do endereço.")]
Cep: TypeAlias = Annotated[str, doc("CEP, só dígitos.")]

ONLY_WITH_ADDRESSES = doc("Só com `endereco=true`, se a fonte tem o endereço.")
IN_ORDER = doc("Inscrições encontradas: ativas primeiro, depois por UF e número.")

FromCache: TypeAlias = Annotated[bool, doc("`true` se nada veio da fonte nesta consulta.")]


@described("OrigemUf", "Origem da resposta de uma UF.")
class UfOrigin(msgspec.Struct, frozen=True):
    """The origin of the answer about one UF, with `uf=BR`."""

    uf: Annotated[str, doc("A UF.")]
    origem: Annotated[
        str,
        doc(
            "`online`, `cache`, ou `indisponivel`: não respondeu e não foi cobrada.",
            enum=["online", "cache", "indisponivel"],
        ),
    ]


Origins: TypeAlias = Annotated[
    Sequence[UfOrigin] | msgspec.UnsetType,
    doc("Só com `uf=BR`: origem da resposta de cada UF, na ordem das UFs."),
]

Omitted: TypeAlias = Annotated[
    int | msgspec.UnsetType,
    doc(
        "Só quando maior que zero: quantas inscrições ficaram fora da lista por terem uma"
        " situação desconhecida na fonte."
    ),
]


class RegistrationShape(Protocol):
    """A registration in the type of an operation's answer."""

    @property
    def inscricao_estadual(self) -> str: ...

    @property
    def uf(self) -> str: ...

    @property
    def ativa(self) -> bool: ...

    @property
    def endereco(self) -> msgspec.Struct | None: ...
