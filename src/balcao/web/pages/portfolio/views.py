"""Items and events as the pages of the portfolio show them."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from balcao.core.calendar import civil_day_text
from balcao.core.documents import CNPJ_CHARACTERS, Cnpj
from balcao.core.event_words import EventText, event_text
from balcao.core.events import StoredEvent
from balcao.core.wallet import ROOT_CHARACTERS, RegistryFacts, WalletItem
from balcao.core.writing import cnpj, document
from balcao.storage.desk.portfolio_views import ItemChange, ListedItem
from balcao.web.kit.context import PageContext

PATH: Final = "/app/carteira"
ITEMS: Final = f"{PATH}/itens"
CHANGES: Final = f"{PATH}/mudancas"
ADD: Final = f"{PATH}/incluir"
LIST: Final = f"{PATH}/lista"
SETTINGS: Final = f"{PATH}/avisos"

WATCHED: Final[Mapping[str, str]] = {
    "cadastro": "Cadastro",
    "socios": "Sócios",
    "simples": "Simples e MEI",
    "filiais": "Filiais",
    "inscricoes": "Inscrição estadual",
    "suframa": "Suframa",
    "produtor": "Produtor rural",
    "certidao_federal": "Certidão federal",
    "certidao_estadual": "Certidão estadual",
    "certidao_trabalhista": "Certidão trabalhista",
    "regularidade_fgts": "Regularidade do FGTS",
}


@dataclass(frozen=True, slots=True)
class EventView:
    """An event in words."""

    event: StoredEvent
    text: EventText

    @property
    def at_ms(self) -> int:
        return self.event.at_ms


@dataclass(frozen=True, slots=True)
class ItemView:
    """An item with its name and place. `last`: its latest event."""

    item: WalletItem
    name: str
    document: str
    status: str | None
    last: EventView | None = None

    @property
    def href(self) -> str:
        return item_path(self.item.item_id)

    @property
    def company(self) -> str | None:
        """The address of its company's page; None: a root or a person."""
        text = self.item.document
        if self.item.is_person or len(text) != CNPJ_CHARACTERS:
            return None
        return f"/app/empresas/{text}"

    @property
    def watched(self) -> Sequence[str]:
        """Everything that is watched, in words."""
        return [watched_text(one) for one in self.item.watched]


@dataclass(frozen=True, slots=True)
class ItemDay:
    """The events of one item on one day."""

    view: ItemView
    events: Sequence[EventView]

    @property
    def grave(self) -> bool:
        return any(each.text.grave for each in self.events)


def item_path(item_id: str) -> str:
    """Return the address of an item's page."""
    return f"{ITEMS}/{item_id}"


def watched_text(name: str) -> str:
    """Return a member of `vigiar` in words: `Inscrição estadual SP`."""
    kind, _, uf = name.partition(":")
    return f"{WATCHED.get(kind, kind)} {uf}".strip()


def event_view(event: StoredEvent) -> EventView:
    """Return a stored event in words."""
    return EventView(event, event_text(event.kind, msgspec.json.decode(event.body)))


async def item_views(context: PageContext, items: Sequence[ListedItem]) -> Sequence[ItemView]:
    """Return items with names; of those that were not compared yet, from the month in use."""
    unnamed = {
        each.item.document
        for each in items
        if each.item.registry is None
        and not each.item.is_person
        and len(each.item.document) == CNPJ_CHARACTERS
    }
    found = await _registry(context, unnamed) if unnamed else {}
    return [_item_view(each, found) for each in items]


async def days_of(
    context: PageContext, changes: Sequence[ItemChange]
) -> Sequence[tuple[str, Sequence[ItemDay]]]:
    """Group changes, newest first, by day and item; within a day what is grave comes first."""
    items = {each.item.item_id: ListedItem(each.item, None) for each in changes}
    views = {view.item.item_id: view for view in await item_views(context, [*items.values()])}
    days: dict[str, dict[str, list[EventView]]] = {}
    for event, item in changes:
        day = days.setdefault(civil_day_text(event.at_ms), {})
        day.setdefault(item.item_id, []).append(event_view(event))
    return [
        (
            day,
            sorted(
                (ItemDay(views[item_id], events[::-1]) for item_id, events in found.items()),
                key=lambda one: not one.grave,
            ),
        )
        for day, found in days.items()
    ]


async def _registry(context: PageContext, documents: set[str]) -> Mapping[str, RegistryFacts]:
    """Return companies of the month in use, by CNPJ."""
    month = context.tools.months[context.account.mode]
    wanted = [Cnpj(text) for text in sorted(documents)]
    _, companies = await asyncio.to_thread(month.companies, wanted)
    return {
        each.text: RegistryFacts(found.nome_empresarial, found.situacao_cadastral, None, None)
        for each, found in companies.items()
    }


def _item_view(listed: ListedItem, found: Mapping[str, RegistryFacts]) -> ItemView:
    item = listed.item
    registry = item.registry or found.get(item.document)
    last = None if listed.last is None else event_view(listed.last)
    if len(item.document) == ROOT_CHARACTERS:
        shown = cnpj(f"{item.document}000000")[:10]
        kind = "Raiz"
    else:
        shown = document(item.document)
        kind = "Pessoa" if item.is_person else "Empresa"
    name = registry.nome_empresarial if registry and registry.nome_empresarial else None
    status = registry.situacao if registry else None
    return ItemView(item, name or item.reference or f"{kind} {shown}", shown, status, last)
