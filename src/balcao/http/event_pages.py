"""Pages of the feed of events, as the API answers them (contract 19.2)."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec

from balcao.core import event_feed
from balcao.core.budgets import iso_instant
from balcao.core.described import described, doc
from balcao.core.errors import ClientRequired, InvalidCursor, InvalidParameter, TagWithCpf
from balcao.core.event_feed import FeedCursor, FeedFilter, FeedPage
from balcao.core.event_types import EVENT_TYPES, kinds_named
from balcao.core.events import StoredEvent, event_id
from balcao.core.request_tags import tag_problem
from balcao.http.json_bodies import ITEMS_MAX, ITEMS_USUAL, enveloped, limit_of
from balcao.http.read import Request
from balcao.http.routes import Answer
from balcao.http.texts import TEXT, WHEN
from balcao.operations.parameters import Parameter, Parameters, read_tags
from balcao.storage.desk.events import Events

NOW = "agora"
_JSON = (b"content-type", b"application/json; charset=utf-8")
_FREE = (b"x-creditos-cobrados", b"0")
_REVALIDATED = (b"cache-control", b"private, no-cache")
_KINDS_MAX = 100

AFTER = Parameter(
    "depois",
    "O `cursor` da resposta anterior, ou `agora` para só receber o cursor deste momento. Sem ele,"
    " a lista começa no evento mais antigo.",
    TEXT,
)
KINDS = Parameter(
    "tipo",
    "Só estes tipos ou grupos, separados por vírgula: `empresa.situacao,certidao.*`.",
    TEXT,
)
CLIENT = Parameter(
    "cliente",
    "Só os eventos dos itens deste cliente. Obrigatório, aqui ou em `X-Cliente`, se a chave exige"
    " o cliente.",
    TEXT,
)
ITEM = Parameter("item", "Só os eventos deste item da carteira.", TEXT)
LIMIT = Parameter(
    "limite",
    f"Quantos por página, de 1 a {ITEMS_MAX}.",
    {"type": "integer", "minimum": 1, "maximum": ITEMS_MAX, "default": ITEMS_USUAL},
)


@described("Evento", "Um evento da conta.")
class EventAnswer(msgspec.Struct, frozen=True):
    """An event of the feed."""

    id: Annotated[str, doc("Identificador, o mesmo no `webhook-id` de cada entrega.")]
    tipo: Annotated[str, doc("O tipo, como `empresa.situacao`. Podem aparecer novos.")]
    em: Annotated[str, doc("Quando foi gravado.", **WHEN)]
    dados: Annotated[
        msgspec.Raw,
        doc("Os dados, por tipo. Veja `webhooks` e a página do tipo.", type="object"),
    ]


@described("RespostaEventos", "Uma página de eventos.")
class EventsAnswer(msgspec.Struct, frozen=True):
    """A page of events."""

    itens: Annotated[Sequence[EventAnswer], doc("Os eventos, do mais antigo ao mais recente.")]
    cursor: Annotated[
        str, doc("O que enviar em `depois` na próxima vez, também depois de uma página vazia.")
    ]


@dataclass(frozen=True, slots=True)
class EventPages:
    """Reads pages of an account's feed."""

    events: Events
    now_ms: Callable[[], int]

    async def page(
        self, account_id: int, after: str | None, limit: int, only: FeedFilter
    ) -> FeedPage:
        """Return the page after a cursor's text. Raises `InvalidCursor`, `CursorExpired`."""
        now_ms = self.now_ms()
        since_ms = event_feed.kept_since(now_ms)
        if after == NOW:
            _, last = await self.events.oldest(account_id, since_ms)
            return FeedPage((), event_feed.current_cursor(last, now_ms))
        cursor: FeedCursor | None = None
        if after is not None:
            cursor = event_feed.read_cursor(after)
            if event_feed.is_expired(cursor, now_ms):
                oldest, last = await self.events.oldest(account_id, since_ms)
                raise event_feed.expired(oldest, last, now_ms)
        number = 0 if cursor is None else cursor.number
        stored = await self.events.page(account_id, number, limit + 1, since_ms, only)
        if number > stored.last and number > await self.events.last_number():
            raise InvalidCursor  # of another installation
        return event_feed.page_after(cursor, stored, limit, now_ms)

    async def answer(
        self,
        request: Request,
        *,
        items_only: bool = False,
        month: str | None = None,
    ) -> Answer:
        """Answer a request for a page, 304 if the client has it.

        Raises `InvalidParameter`, `InvalidCursor`, `CursorExpired`, `ClientRequired`, `TagWithCpf`.
        """
        names = ("depois", "tipo", "cliente", "item", "limite")
        parameters = Parameters(request.query, request.headers, names)
        only = FeedFilter(
            kinds=_kinds(parameters.text("tipo")),
            client=_client(request, parameters),
            item_id=parameters.text("item"),
            items_only=items_only,
            month=month,
        )
        limit = limit_of(parameters.text("limite"), ITEMS_USUAL, ITEMS_MAX)
        page = await self.page(request.account_id, parameters.text("depois"), limit, only)
        return _revalidated(request, EventsAnswer([*map(answer_of, page.events)], page.cursor.text))


def answer_of(event: StoredEvent) -> EventAnswer:
    """Return the API's representation of an event."""
    em = iso_instant(event.at_ms) or ""
    return EventAnswer(event.event_id, event.kind, em, msgspec.Raw(event.body.encode()))


def example_events(*names: str) -> EventsAnswer:
    """Return a page with the examples of these types."""
    made = [
        EventAnswer(
            event_id(41 + at),
            name,
            "2026-08-08T10:15:30.120-03:00",
            msgspec.Raw(msgspec.json.encode(EVENT_TYPES[name].example)),
        )
        for at, name in enumerate(names)
    ]
    return EventsAnswer(made, "42-1786190130120")


def _kinds(text: str | None) -> frozenset[str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    kinds: set[str] = set()
    for name in names[:_KINDS_MAX]:
        found = kinds_named(name)
        if not found:
            raise InvalidParameter(
                "O parâmetro tipo deve ter tipos ou grupos de eventos, como empresa.situacao ou"
                " certidao.*; /eventos/v1/tipos tem a lista."
            )
        kinds |= found
    if len(names) > _KINDS_MAX:
        raise InvalidParameter(f"O parâmetro tipo pode ter até {_KINDS_MAX} tipos.")
    return frozenset(kinds)


def _client(request: Request, parameters: Parameters) -> str | None:
    """Return the client whose events are requested; None: of all, and of none."""
    assert request.caller is not None, "the route needs a key"
    client = parameters.text("cliente")
    match None if client is None else tag_problem(client):
        case "cpf":
            raise TagWithCpf
        case "form":
            raise InvalidParameter("O parâmetro cliente deve ser como em X-Cliente.")
    restrictions = request.caller.restrictions
    if restrictions is None or not restrictions.client_required:
        return client
    named = read_tags(request.headers).client
    if client is not None and named is not None and client != named:
        raise InvalidParameter("O parâmetro cliente e o cabeçalho X-Cliente são diferentes.")
    if client is None and named is None:
        raise ClientRequired
    return client or named


def _revalidated(request: Request, answer: EventsAnswer) -> Answer:
    body = enveloped(answer)
    etag = f'W/"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'.encode()
    headers = [_FREE, _REVALIDATED, (b"etag", etag)]
    known = request.headers.get(b"if-none-match", b"").split(b",")
    if {etag, b"*"} & {part.strip() for part in known}:
        return 304, headers, b""
    return 200, [_JSON, *headers], body
