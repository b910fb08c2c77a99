"""Shape of an entry of the catalogue of event types."""

from dataclasses import dataclass
from typing import Annotated

import msgspec

from balcao.core.described import doc

_WHEN = {"format": "date-time"}


class EventData(msgspec.Struct, frozen=True, kw_only=True):
    """The members of any event's `dados` beside those of its type."""

    corrige: Annotated[
        str | msgspec.UnsetType, doc("O `id` do evento que este corrige. Só em uma correção.")
    ] = msgspec.UNSET


class ItemRef(msgspec.Struct, frozen=True):
    """The watched subject that an event is about."""

    id: Annotated[str, doc("Identificador do item da carteira.", format="uuid")]
    ref: Annotated[str | None, doc("A sua referência do item.")]
    cliente: Annotated[str | None, doc("O cliente do item, como em `X-Cliente`.")]
    etiquetas: Annotated[tuple[str, ...], doc("As etiquetas do item.")]


class ItemData(EventData, frozen=True, kw_only=True):
    """The members that the data of every event about a watched subject begin with."""

    item: Annotated[ItemRef, doc("O item da carteira.")]
    cnpj: Annotated[str | None, doc("O CNPJ; de uma raiz, o da matriz. Nulo se o item é um CPF.")]
    pessoa: Annotated[
        bool,
        doc(
            "Se é uma pessoa física ou uma empresa individual. Nesse caso, nome, endereço e contato"
            " são nulos."
        ),
    ]
    fonte: Annotated[str | None, doc("A fonte dos dados.")]
    dados_de: Annotated[str | None, doc("Data ou data e hora dos dados na fonte.")]
    competencia: Annotated[str | None, doc("Mês dos dados abertos do CNPJ, `AAAA-MM`.")]
    sequencia: Annotated[
        int, doc("Número do evento neste item, a partir de 1, sem lacunas.", minimum=1)
    ]
    retroativo: Annotated[
        bool | msgspec.UnsetType,
        doc("Se é uma diferença entre os dois últimos meses, pedida ao incluir o item."),
    ] = msgspec.UNSET


@dataclass(frozen=True, slots=True)
class EventType:
    """A type of event: its name, when it is written, and an example, whose type is the shape."""

    name: str
    when: str  # in Portuguese, a sentence
    example: EventData

    @property
    def group(self) -> str:
        """The part of the name that types of one subject share."""
        return self.name.partition(".")[0]

    @property
    def about_item(self) -> bool:
        """Whether it is about a watched subject."""
        return isinstance(self.example, ItemData)


# Of examples of several modules.
EXAMPLE_ITEM = ItemRef("0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6c1", "F-118", "loja-sul", ("fornecedor",))
EXAMPLE_REQUEST = "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6c2"


def when(text: str) -> msgspec.Meta:
    """Return the description of a field that is an instant."""
    return doc(text, **_WHEN)
