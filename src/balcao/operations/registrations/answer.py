"""Fields that both answers about state registrations have, and what makes them of a record."""

from collections.abc import Sequence
from typing import Annotated, Protocol, TypeAlias

import msgspec

from balcao.core.described import described, said
from balcao.core.registration import ALL_TYPE_TEXTS, SITUATION_TEXTS

Number: TypeAlias = Annotated[str, said("Número da inscrição.")]
OfUf: TypeAlias = Annotated[str, said("UF da inscrição.")]
Active: TypeAlias = Annotated[bool, said("`true` se está ativa.")]
TypeText: TypeAlias = Annotated[str | None, said("Tipo da inscrição.", enum=[*ALL_TYPE_TEXTS])]
Situation: TypeAlias = Annotated[
    str | None, said("Situação do contribuinte na UF.", enum=[*SITUATION_TEXTS.values()])
]
UpdatedAt: TypeAlias = Annotated[
    str | None, said("Última atualização, `YYYY-MM-DD HH:mm:ss`, horário de Brasília.")
]

Street: TypeAlias = Annotated[str, said("Logradouro.")]
HouseNumber: TypeAlias = Annotated[str, said("Número.")]
District: TypeAlias = Annotated[str, said("Bairro.")]
City: TypeAlias = Annotated[str, said("Município.")]
CityCode: TypeAlias = Annotated[str, said("Código IBGE do município; vazio se a fonte não o diz.")]
AddressUf: TypeAlias = Annotated[str, said("Sigla da UF do endereço.")]
Cep: TypeAlias = Annotated[str, said("CEP, só dígitos.")]

ONLY_WITH_ADDRESSES = said("Só com `endereco=true`, quando a fonte tem um.")
IN_ORDER = said("Inscrições encontradas: ativas primeiro, depois por UF e número.")

FromCache: TypeAlias = Annotated[bool, said("`true` se nada veio da fonte nesta consulta.")]


@described("OrigemUf", "De onde veio a resposta de uma UF.")
class UfOrigin(msgspec.Struct, frozen=True):
    """With `uf=BR`: where the answer about one UF came from."""

    uf: Annotated[str, said("A UF.")]
    origem: Annotated[
        str,
        said(
            "`online`, `cache`, ou `indisponivel`: não respondeu e não foi cobrada.",
            enum=["online", "cache", "indisponivel"],
        ),
    ]


Origins: TypeAlias = Annotated[
    Sequence[UfOrigin] | msgspec.UnsetType,
    said("Só com `uf=BR`: de onde veio a resposta de cada UF, na ordem das UFs."),
]

Omitted: TypeAlias = Annotated[
    int | msgspec.UnsetType,
    said(
        "Só quando maior que zero: quantas inscrições ficaram fora da lista, porque a fonte as traz"
        " numa situação que não se sabe ler."
    ),
]


class RegistrationShape(Protocol):
    """A registration in an operation's own shape, which leaves out what it does not know."""

    @property
    def inscricao_estadual(self) -> str:
        """Its number."""
        ...

    @property
    def uf(self) -> str:
        """Of which UF."""
        ...

    @property
    def ativa(self) -> bool:
        """Whether it is active."""
        ...

    @property
    def endereco(self) -> msgspec.Struct | None:
        """Its address, where the source said one."""
        ...
