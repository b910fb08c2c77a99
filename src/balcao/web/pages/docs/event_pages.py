"""A page for each type of event: when it is written, its data, an example of a delivery."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from balcao.core.event_types import EVENT_TYPES, PAGES, EventType
from balcao.http.openapi.events import data_schema
from balcao.web.pages.docs import markdown
from balcao.web.pages.docs.language import PORTUGUESE, Language
from balcao.web.pages.docs.navigation import Chapter, Leaf
from balcao.web.pages.docs.reference import Described, fields_of

INDEX = PAGES.removesuffix("/")

# Titles of the groups, in the order of the catalogue.
GROUPS: Mapping[str, str] = {
    "empresa": "Empresas",
    "inscricao": "Inscrições estaduais",
    "suframa": "Suframa",
    "certidao": "Certidões",
    "carteira": "Carteira",
    "lote": "Lotes",
    "teto": "Orçamentos",
    "saldo": "Saldo",
    "chave": "Chaves",
    "webhook": "Webhooks",
    "base": "Mês dos dados abertos",
    "balcao": "Testes",
}


@dataclass(frozen=True, slots=True)
class EventPage:
    """The content of the page of a type."""

    kind: EventType
    when: str
    fields: Sequence[Described]  # of `dados`
    body: str  # an example of a delivery
    language: Language

    @property
    def href(self) -> str:
        """The page's address."""
        return self.language.href(f"{PAGES}{self.kind.name}")

    @property
    def is_delivered(self) -> bool:
        """Whether it is in the feed."""
        return self.kind.group != "balcao"


def pages(document: Mapping[str, Any], language: Language = PORTUGUESE) -> Mapping[str, EventPage]:
    """Return the page of every type, by its name, in the catalogue's order."""
    found = {}
    for name, kind in EVENT_TYPES.items():
        content = document["webhooks"][name]["post"]["requestBody"]["content"]["application/json"]
        # Their texts are in Portuguese only, as those of most operations.
        fields = fields_of(document, data_schema(kind))
        body = json.dumps(content["example"], ensure_ascii=False, indent=2)
        found[name] = EventPage(kind, language.say(kind.when), fields, body, language)
    return found


def groups(made: Mapping[str, EventPage], language: Language) -> Sequence[tuple[str, Any]]:
    """Return the pages by group, each with its title."""
    return [
        (language.say(title), [page for page in made.values() if page.kind.group == group])
        for group, title in GROUPS.items()
    ]


def chapter(made: Mapping[str, EventPage], language: Language = PORTUGUESE) -> Chapter:
    """Return the chapter of event types, for navigation and search."""
    say = language.say
    every = Leaf(
        language.href(INDEX),
        say("Tipos de evento"),
        say("O que pode acontecer, quando o evento é gravado e os dados de cada um."),
        "webhook feed",
    )
    return Chapter(say("Tipos de evento"), (every, *map(_leaf, made.values())))


def _leaf(page: EventPage) -> Leaf:
    words = " ".join(each.name for each in page.fields)
    return Leaf(page.href, page.kind.name, markdown.plain(page.when), words, listed=False)
