"""Items added to the portfolio, one by one and as lists, and synchronization (contract 20.2)."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET

from balcao.batches.desk import BatchDesk
from balcao.core import errors
from balcao.core.access import Caller
from balcao.core.wallet import ITEMS_AT_ONCE, SYNCED_AT_ONCE, ItemRequest, label_of
from balcao.http.contents import Json, RequestBody, Result
from balcao.http.creating import CREATION_KEY, Creation
from balcao.http.json_bodies import free_answer
from balcao.http.list_bodies import list_body_of
from balcao.http.read import BodyLimit, Request
from balcao.http.routes import Answer
from balcao.http.searches import Searches
from balcao.http.wallet_batches import BATCH, BATCH_PROBLEMS, batch_named, lines_of_batch
from balcao.http.wallet_requests import (
    ADDRESS,
    CREATING,
    ITEMS,
    TERMS,
    WRITING,
    ItemAnswers,
    WalletRoute,
    caller_of,
    client_of,
    needs_client,
)
from balcao.http.wallet_searches import SEARCH, SEARCH_PROBLEMS, lines_of_search, search_named
from balcao.http.wallet_types import (
    EXAMPLE_ITEM,
    ItemBody,
    LineAnswer,
    LinesAnswer,
    NewItemsBody,
    SyncAnswer,
    SyncBody,
    invalid_lines,
    line_of,
    lines_answer,
    stated_by,
)
from balcao.lookup.context import Parts
from balcao.lookup.wallet import ItemLine, WalletDesk
from balcao.operations.parameters import Flag, Parameters
from balcao.storage.desk.wallet import ListAdded, Synced
from balcao.storage.desk.wallet.planning import Outcome

ReadLines: TypeAlias = Callable[[], Awaitable[Sequence[ItemLine]]]
AnyItemBody = TypeVar("AnyItemBody", ItemBody, NewItemsBody)

# Bodies with lists.
LIST_BODY = BodyLimit(4_000_000, (b"application/json",))

_SIMULATE = Flag("simular", "Só informa o que mudaria; nada muda.")
_RETROACTIVE = Flag(
    "retroativo",
    "Itens novos recebem, uma vez, as diferenças entre os dois últimos meses, como eventos com"
    " `retroativo: true`, que não são enviados por webhook nem e-mail.",
)
_LINES = Json(
    LinesAnswer(
        [
            LineAnswer(1, EXAMPLE_ITEM.id, novo=True, codigo=None),
            LineAnswer(2, None, novo=False, codigo=errors.InvalidCnpj.code),
        ]
    ),
    envelope=True,
)
_NEW = Json(
    msgspec.structs.replace(EXAMPLE_ITEM, novo=True), "RespostaItem", "Um item.", envelope=True
)
_SYNCED = Json(SyncAnswer(1, 0, 0, []), envelope=True)


@dataclass(frozen=True, slots=True)
class WalletListRoutes:
    """The routes that add items."""

    parts: Parts
    wallet: WalletDesk
    batches: BatchDesk
    searches: Searches

    @property
    def _answers(self) -> ItemAnswers:
        return ItemAnswers(self.parts)

    @WalletRoute(
        ITEMS,
        "carteira_itens",
        method="POST",
        body=LIST_BODY,
        id="acrescentar_itens",
        summary="Acrescentar itens",
        text=(
            "Acompanha uma empresa ou pessoa, ou até"
            f" {ITEMS_AT_ONCE} de uma vez, em `itens`. O mesmo documento do mesmo cliente é um só"
            " item: enviar de novo altera o que veio (200, `novo: false`). Numa lista, cada linha"
            " tem a sua resposta. Acompanhar não custa nada. Com `lote`, a lista são os documentos"
            " das linhas dele; com `busca`, as empresas que ela encontra. A resposta é 202, e o"
            " corpo diz o que vale para todos."
        ),
        parameters=(BATCH, SEARCH, _RETROACTIVE, CREATION_KEY),
        takes=RequestBody(
            [Json(NewItemsBody("90010001000100", ref="17", cliente="loja-7"))],
            text="Até 4 MB.",
        ),
        gives=[_NEW],
        status=201,
        other_results=(
            Result(200, "O item já estava na carteira, ou o resultado de cada linha.", (_LINES,)),
            Result(202, "O resultado de cada linha do lote ou da busca.", (_LINES,)),
        ),
        problems=(
            *BATCH_PROBLEMS,
            *SEARCH_PROBLEMS,
            *WRITING,
            *CREATING,
            *TERMS,
            errors.InvalidCnpj,
            errors.InvalidCpf,
            errors.ClientRequired,
            errors.WalletFull,
        ),
    )
    async def add(self, request: Request) -> Answer:
        """Add one item or a list."""
        caller, body = caller_of(request), await list_body_of(request, NewItemsBody)
        creation = Creation(self.parts, keyed=True)
        retroactive = _flag(_RETROACTIVE, request)
        batch_id, query = batch_named(request), search_named(request)
        if batch_id is not None or query is not None:
            read = self._lines_named(request, caller, body, batch_id, query)
            return await self._add_lines(request, caller, read, 202, retroactive=retroactive)
        if body.itens is UNSET:
            line = line_of(_with_client(_client_to_add(request, caller, [body]), body))
            return await creation.once(
                request,
                lambda keep: self.wallet.add(caller, line, keep, retroactive=retroactive),
                self._answers.added,
            )
        assert not isinstance(body.itens, msgspec.UnsetType)
        if body != NewItemsBody(itens=body.itens):
            raise errors.InvalidParameter("itens: sem outros campos ao lado.")
        sent = _within(body.itens, ITEMS_AT_ONCE)
        client = _client_to_add(request, caller, sent)

        async def listed() -> Sequence[ItemLine]:
            return await asyncio.to_thread(_lines, client, sent)

        return await self._add_lines(request, caller, listed, 200, retroactive=retroactive)

    @WalletRoute(
        f"{ADDRESS}/sincronizar",
        "carteira_sincronizar",
        method="POST",
        body=LIST_BODY,
        id="sincronizar_carteira",
        summary="Sincronizar carteira",
        text=(
            "Faz os itens de um `cliente`, ou com uma `etiqueta`, serem exatamente os da lista (até"
            f" {SYNCED_AT_ONCE}). Quem sai de uma etiqueta só sai da carteira com a última. Um"
            " documento repetido conta uma vez. O item de uma linha inválida fica como está. Com"
            " `lote`, a lista são os documentos das linhas dele."
        ),
        parameters=(BATCH, _SIMULATE, _RETROACTIVE, CREATION_KEY),
        takes=RequestBody(
            [Json(SyncBody((ItemBody("90010001000100"),), etiqueta="fornecedores"))],
            text="Até 4 MB.",
        ),
        gives=[_SYNCED],
        problems=(
            *WRITING,
            *CREATING,
            *BATCH_PROBLEMS,
            errors.TagWithCpf,
            errors.WalletFull,
        ),
    )
    async def sync(self, request: Request) -> Answer:
        """Make a part of the portfolio equal to a list."""
        caller, body = caller_of(request), await list_body_of(request, SyncBody)
        if (body.cliente is None) == (body.etiqueta is None):
            raise errors.InvalidParameter("cliente, etiqueta: informe um dos dois.")
        client = None if body.cliente is None else label_of(body.cliente, "cliente")
        tag = None if body.etiqueta is None else label_of(body.etiqueta, "etiqueta")
        batch_id = batch_named(request)
        if batch_id is None:
            if isinstance(body.itens, msgspec.UnsetType) or body.vigiar is not UNSET:
                raise errors.InvalidParameter("itens: é obrigatório; vigiar, só com lote.")
            listed = _within(body.itens, SYNCED_AT_ONCE)
            sent = await asyncio.to_thread(_lines, None, listed)
        elif body.itens is not UNSET:
            raise errors.InvalidParameter("itens: não com lote.")
        simulate = _flag(_SIMULATE, request)
        retroactive = _flag(_RETROACTIVE, request)
        invalid: list[Outcome] = []

        def note(outcomes: Sequence[Outcome], keep: Any) -> Any:
            invalid[:] = outcomes
            return keep

        async def make(keep: Any) -> Synced:
            if batch_id is None:
                lines: Sequence[ItemLine] = sent
            else:
                stated = ItemRequest(watched=body.vigiar)
                lines = await lines_of_batch(
                    self.batches, caller, batch_id, stated, client_of_part=client
                )
            synced, _ = await self.wallet.sync(
                caller,
                lines,
                client,
                tag,
                lambda outcomes: note(outcomes, keep),
                simulate=simulate,
                retroactive=retroactive,
            )
            return synced

        def answer(synced: Synced) -> Answer:
            counts = synced.counts
            failed = invalid_lines([*synced.failed, *invalid])
            body = SyncAnswer(counts.entered, counts.left, counts.stayed, failed)
            return free_answer(body)

        if simulate:
            return answer(await make(lambda synced: None))
        return await Creation(self.parts, keyed=True).once(request, make, answer)

    def _lines_named(
        self,
        request: Request,
        caller: Caller,
        body: NewItemsBody,
        batch_id: str | None,
        query: str | None,
    ) -> ReadLines:
        """Return what reads the lines of the batch, or of the search, that the request names."""
        for name in ("documento", "data_nascimento", "itens"):
            value = getattr(body, name)
            if value is not None and value is not UNSET:
                raise errors.InvalidParameter(f"{name}: não com lote nem busca.")
        client = client_of(request) if needs_client(caller) and not body.cliente else None
        if batch_id is None:
            assert query is not None
            stated = stated_by(_with_client(client, body))
            return partial(lines_of_search, self.searches, caller, query, stated)
        if query is not None:
            raise errors.InvalidParameter("busca: não com lote.")
        stated = stated_by(body)
        return partial(
            lines_of_batch, self.batches, caller, batch_id, stated, client_otherwise=client
        )

    async def _add_lines(
        self,
        request: Request,
        caller: Caller,
        read: ReadLines,
        status: int,
        *,
        retroactive: bool,
    ) -> Answer:
        invalid: list[Outcome] = []

        def note(outcomes: Sequence[Outcome], keep: Any) -> Any:
            invalid[:] = outcomes
            return keep

        async def make(keep: Any) -> ListAdded:
            lines = await read()
            added, _ = await self.wallet.add_list(
                caller, lines, lambda outcomes: note(outcomes, keep), retroactive=retroactive
            )
            return added

        return await Creation(self.parts, keyed=True).once(
            request,
            make,
            lambda added: free_answer(lines_answer([*added.outcomes, *invalid]), status),
        )


def _flag(flag: Flag, request: Request) -> bool:
    return flag.read(Parameters(request.query, request.headers, (flag.name,)))


def _within(items: Sequence[ItemBody], most: int) -> Sequence[ItemBody]:
    if len(items) > most:
        raise errors.InvalidParameter(f"itens: até {most}.")
    return items


def _client_to_add(request: Request, caller: Caller, sent: Iterable[AnyItemBody]) -> str | None:
    """Return the client of items that name none; None: it is not required.

    Raises `ClientRequired`.
    """
    if needs_client(caller) and not all(each.cliente for each in sent):
        return client_of(request)
    return None


def _lines(client: str | None, sent: Iterable[ItemBody]) -> Sequence[ItemLine]:
    return [line_of(_with_client(client, each)) for each in sent]


def _with_client(client: str | None, body: AnyItemBody) -> AnyItemBody:
    if client is None or body.cliente:
        return body
    return msgspec.structs.replace(body, cliente=client)
