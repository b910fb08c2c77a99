"""`/eventos/v1`: what happened in an account, and the types of events (contract 19.2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import msgspec

from balcao.core import errors
from balcao.core.described import described, doc
from balcao.core.event_types import EVENT_TYPES, page_of
from balcao.http.contents import Json
from balcao.http.event_pages import AFTER, CLIENT, ITEM, KINDS, LIMIT, EventPages, example_events
from balcao.http.json_bodies import free_answer
from balcao.http.read import Request
from balcao.http.routes import Answer, Route
from balcao.http.texts import TAG_EVENTS

PREFIX = "/eventos/v1"


@described("TipoDeEvento", "Um tipo de evento.")
class EventTypeAnswer(msgspec.Struct, frozen=True):
    """A type of events."""

    tipo: Annotated[str, doc("O tipo.")]
    quando: Annotated[str, doc("Quando o evento é gravado.")]
    pagina: Annotated[str, doc("A página da documentação, relativa a este serviço.")]


@described("RespostaTiposDeEvento", "Todos os tipos de evento.")
class EventTypesAnswer(msgspec.Struct, frozen=True):
    """All types of events."""

    itens: Annotated[Sequence[EventTypeAnswer], doc("Os tipos.")]


_TYPES = EventTypesAnswer(
    [EventTypeAnswer(each.name, each.when, page_of(each.name)) for each in EVENT_TYPES.values()]
)
_EventRoute = partial(Route, needs_key=True, tag=TAG_EVENTS)


@dataclass(frozen=True, slots=True)
class EventRoutes:
    """The routes of the feed."""

    pages: EventPages

    @_EventRoute(
        PREFIX,
        "eventos",
        id="eventos",
        summary="Listar eventos",
        text=(
            "Os eventos da conta dos últimos 90 dias, do mais antigo ao mais recente. Envie em"
            " `depois` o `cursor` da resposta anterior: nenhum evento é pulado nem repetido. Com"
            " `If-None-Match`, a resposta é 304 se nada mudou."
        ),
        parameters=(AFTER, KINDS, CLIENT, ITEM, LIMIT),
        gives=[Json(example_events("empresa.situacao", "carteira.comparada"), envelope=True)],
        problems=(
            errors.InvalidParameter,
            errors.RepeatedParameter,
            errors.InvalidCursor,
            errors.CursorExpired,
            errors.ClientRequired,
            errors.TagWithCpf,
            errors.StorageFailed,
        ),
    )
    async def feed(self, request: Request) -> Answer:
        """Return a page of the account's events."""
        return await self.pages.answer(request)

    @_EventRoute(
        f"{PREFIX}/tipos",
        "eventos_tipos",
        id="tipos_de_evento",
        summary="Listar tipos de evento",
        text="Todos os tipos de evento, com a página de cada um. Podem aparecer novos.",
        gives=[Json(EventTypesAnswer(_TYPES.itens[:2]), envelope=True)],
    )
    async def types(self, request: Request) -> Answer:
        """Return the catalogue."""
        return free_answer(_TYPES)
