"""`/carteira/v1`: the portfolio of the caller's account (contract 20)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from balcao.batches.desk import BatchDesk
from balcao.core import errors
from balcao.core.access import Caller
from balcao.core.budgets import CEILING_MAX
from balcao.core.people import signed_by
from balcao.core.wallet import (
    ITEMS_AT_ONCE,
    SYNCED_AT_ONCE,
    ItemRequest,
    WalletItem,
    WalletSettings,
    check_notices,
    check_recheck,
    check_renewal,
    label_of,
)
from balcao.http.contents import Json, RequestBody, Result
from balcao.http.creating import CREATION_KEY, Creation
from balcao.http.json_bodies import (
    ITEMS_MAX,
    ITEMS_USUAL,
    JSON_BODY,
    PAGE_PARAMETERS,
    body_of,
    free_answer,
    id_cursor,
    limit_of,
)
from balcao.http.paper_types import paper_view
from balcao.http.read import BodyLimit, Request
from balcao.http.routes import Answer, Route
from balcao.http.texts import TAG_WALLET, TEXT, UUID_SCHEMA
from balcao.http.wallet_batches import BATCH, BATCH_PROBLEMS, batch_named, lines_of_batch
from balcao.http.wallet_types import (
    EXAMPLE_ITEM,
    EXAMPLE_WALLET,
    ItemAnswer,
    ItemBody,
    ItemChangeBody,
    ItemsAnswer,
    LineAnswer,
    LinesAnswer,
    NewItemsBody,
    SyncAnswer,
    SyncBody,
    WalletChangeBody,
    change_of,
    invalid_lines,
    item_answer,
    line_of,
    lines_answer,
    stated_by,
    wallet_answer,
)
from balcao.lookup.context import Parts
from balcao.lookup.wallet import ItemLine, WalletDesk
from balcao.operations.parameters import Flag, Parameter, Parameters, read_tags
from balcao.storage.desk.wallet import Added, ListAdded, Synced
from balcao.storage.desk.wallet.planning import Outcome

ADDRESS = "/carteira/v1"
AnyItemBody = TypeVar("AnyItemBody", ItemBody, NewItemsBody)
_ITEMS = f"{ADDRESS}/itens"
_ITEM = f"{_ITEMS}/{{id}}"

# Bodies with lists.
LIST_BODY = BodyLimit(4_000_000, (b"application/json",))

_FILTERS = (
    Parameter("cliente", "Só os itens deste cliente.", TEXT),
    Parameter("etiqueta", "Só os itens com esta etiqueta.", TEXT),
    Parameter("documento", "Só os itens deste CNPJ ou CPF, ou desta raiz de 8 caracteres.", TEXT),
)
_SIMULATE = Flag("simular", "Só informa o que mudaria; nada muda.")
_RETROACTIVE = Flag(
    "retroativo",
    "Itens novos recebem, uma vez, as diferenças entre os dois últimos meses, como eventos com"
    " `retroativo: true`, que não são enviados por webhook nem e-mail.",
)
_ID = Parameter("id", "O `id` do item.", UUID_SCHEMA, place="path", required=True)
_ONE = Json(EXAMPLE_ITEM, "RespostaItem", "Um item.", envelope=True)
_WALLET = Json(EXAMPLE_WALLET, envelope=True)
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
_WRITING = (
    errors.InvalidParameter,
    errors.InvalidBody,
    errors.UnsupportedMediaType,
    errors.StorageFailed,
    errors.CommitUncertain,
)
_CREATING = (
    errors.InvalidIdempotencyKey,
    errors.IdempotencyKeyReused,
    errors.StillRunning,
    errors.RepeatedParameter,
    errors.ResultUnavailable,
)
_TERMS = (
    errors.TagWithCpf,
    errors.InvalidUf,
    errors.BirthDateRequired,
    errors.InvalidBirthDate,
    errors.BirthDateInFuture,
    errors.OperationNotAllowed,
    errors.CertificatesNotEnabled,
)
_WalletRoute = partial(Route, needs_key=True, tag=TAG_WALLET)


@dataclass(frozen=True, slots=True)
class WalletRoutes:
    """The routes of the portfolio."""

    parts: Parts
    wallet: WalletDesk
    batches: BatchDesk

    @_WalletRoute(
        ADDRESS,
        "carteira",
        id="carteira",
        summary="Consultar carteira",
        text="As regras da carteira, quantos itens ela tem e a última comparação de meses.",
        gives=[_WALLET],
        problems=(errors.StorageFailed,),
    )
    async def show(self, request: Request) -> Answer:
        """Return the settings and standing of the portfolio."""
        return self._wallet(request.account_id, None)

    @_WalletRoute(
        ADDRESS,
        "carteira",
        method="PATCH",
        body=JSON_BODY,
        id="alterar_carteira",
        summary="Alterar carteira",
        text=(
            "O que não vem fica como está. Acompanhar é grátis: nada é comprado enquanto"
            " `teto_creditos_mes` for 0. As compras são feitas pela chave que definiu o limite por"
            " último, com as restrições e os orçamentos dela."
        ),
        takes=RequestBody([Json(WalletChangeBody(teto_creditos_mes=200))]),
        gives=[_WALLET],
        problems=(*_WRITING, errors.AdminKeyRequired),
    )
    async def change(self, request: Request) -> Answer:
        """Change the settings of the portfolio."""
        caller, body = _caller(request), body_of(request, WalletChangeBody)
        ceiling = None if body.teto_creditos_mes is UNSET else body.teto_creditos_mes
        assert not isinstance(ceiling, msgspec.UnsetType)
        if ceiling is not None and not caller.administers:
            raise errors.AdminKeyRequired
        if ceiling is not None and not 0 <= ceiling <= CEILING_MAX:
            raise errors.InvalidParameter(f"teto_creditos_mes: de 0 a {CEILING_MAX}.")
        settings = await self.parts.desk.wallets.change_settings(
            caller.account_id,
            partial(_edited, body),
            ceiling,
            self.wallet.new_id,
            signed_by(caller),
            self.parts.now_ms(),
        )
        return self._wallet(caller.account_id, settings)

    @_WalletRoute(
        _ITEMS,
        "carteira_itens",
        id="itens_da_carteira",
        summary="Listar itens",
        text=(
            "Os itens da carteira. Uma chave que exige `X-Cliente` vê os itens do cliente que ela"
            " informa, em `cliente` ou em `X-Cliente`."
        ),
        parameters=(*_FILTERS, *PAGE_PARAMETERS),
        gives=[Json(ItemsAnswer([EXAMPLE_ITEM], None), envelope=True)],
        problems=(
            errors.InvalidParameter,
            errors.RepeatedParameter,
            errors.InvalidCnpj,
            errors.InvalidCpf,
            errors.ClientRequired,
            errors.StorageFailed,
        ),
    )
    async def list_items(self, request: Request) -> Answer:
        """Return a page of the items."""
        caller = _caller(request)
        names = (*(each.name for each in _FILTERS), "limite", "cursor")
        sent = Parameters(request.query, request.headers, names)
        limit = limit_of(sent.text("limite"), ITEMS_USUAL, ITEMS_MAX)
        after = id_cursor(sent.text("cursor")) or ""
        client = sent.text("cliente") or None
        if client is None and _needs_client(caller):
            client = _client_of(request)
        chosen = self.wallet.filter_of(
            client, sent.text("etiqueta") or None, sent.text("documento") or None
        )
        found = self.parts.desk.wallets.page(
            caller.account_id, chosen, after=after, limit=limit + 1
        )
        cursor = found[limit - 1].item_id if len(found) > limit else None
        return free_answer(ItemsAnswer(self._items(found[:limit]), cursor))

    @_WalletRoute(
        _ITEMS,
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
            " das linhas dele (202), e o corpo diz o que vale para todos."
        ),
        parameters=(BATCH, _RETROACTIVE, CREATION_KEY),
        takes=RequestBody(
            [Json(NewItemsBody("90010001000100", ref="17", cliente="loja-7"))],
            text="Até 4 MB.",
        ),
        gives=[_NEW],
        status=201,
        other_results=(
            Result(200, "O item já estava na carteira, ou o resultado de cada linha.", (_LINES,)),
            Result(202, "O resultado de cada linha do lote.", (_LINES,)),
        ),
        problems=(
            *BATCH_PROBLEMS,
            *_WRITING,
            *_CREATING,
            *_TERMS,
            errors.InvalidCnpj,
            errors.InvalidCpf,
            errors.ClientRequired,
            errors.WalletFull,
        ),
    )
    async def add(self, request: Request) -> Answer:
        """Add one item or a list."""
        caller, body = _caller(request), body_of(request, NewItemsBody)
        creation = Creation(self.parts, keyed=True)
        retroactive = _flag(_RETROACTIVE, request)
        batch_id = batch_named(request)
        if batch_id is not None:
            return await self._add_batch(request, caller, body, batch_id, retroactive=retroactive)
        if body.itens is UNSET:
            line = line_of(_with_client(request, caller, body))
            return await creation.once(
                request,
                lambda keep: self.wallet.add(caller, line, keep, retroactive=retroactive),
                self._added,
            )
        assert not isinstance(body.itens, msgspec.UnsetType)
        if body != NewItemsBody(itens=body.itens):
            raise errors.InvalidParameter("itens: sem outros campos ao lado.")
        lines = [
            line_of(_with_client(request, caller, each))
            for each in _within(body.itens, ITEMS_AT_ONCE)
        ]

        async def listed() -> Sequence[ItemLine]:
            return lines

        return await self._add_lines(request, caller, listed, 200, retroactive=retroactive)

    @_WalletRoute(
        _ITEM,
        "carteira_item",
        id="item_da_carteira",
        summary="Consultar item",
        text="O estado atual do item e o número do seu último evento (`sequencia`).",
        parameters=(_ID,),
        gives=[_ONE],
        problems=(errors.ItemNotFound, errors.StorageFailed),
    )
    async def show_item(self, request: Request) -> Answer:
        """Return one item."""
        return self._item(self.parts.desk.wallets.one(request.account_id, request.rest))

    @_WalletRoute(
        _ITEM,
        "carteira_item",
        method="PATCH",
        body=JSON_BODY,
        id="alterar_item",
        summary="Alterar item",
        text="O que não vem fica como está. `tratado: true` silencia o item até o próximo evento.",
        parameters=(_ID,),
        takes=RequestBody([Json(ItemChangeBody(tratado=True))]),
        gives=[_ONE],
        problems=(*_WRITING, *_TERMS, errors.ItemNotFound),
    )
    async def change_item(self, request: Request) -> Answer:
        """Change one item."""
        body = body_of(request, ItemChangeBody)
        changed = await self.wallet.change(
            _caller(request),
            request.rest,
            change_of(body),
            birth=body.data_nascimento,
            handled=None if isinstance(body.tratado, msgspec.UnsetType) else body.tratado,
        )
        return self._item(changed)

    @_WalletRoute(
        _ITEM,
        "carteira_item",
        method="DELETE",
        id="remover_item",
        summary="Remover item",
        text="Tira o item da carteira. Os eventos dele ficam por 90 dias.",
        parameters=(_ID,),
        gives=[_ONE],
        problems=(errors.ItemNotFound, errors.StorageFailed, errors.CommitUncertain),
    )
    async def end_item(self, request: Request) -> Answer:
        """Remove one item, and return it as it was."""
        ended = await self.parts.desk.wallets.end(
            request.account_id, request.rest, self.parts.now_ms()
        )
        return free_answer(item_answer(ended, ()))

    @_WalletRoute(
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
            " `lote`, a lista são os documentos das linhas dele (202)."
        ),
        parameters=(BATCH, _SIMULATE, _RETROACTIVE, CREATION_KEY),
        takes=RequestBody(
            [Json(SyncBody((ItemBody("90010001000100"),), etiqueta="fornecedores"))],
            text="Até 4 MB.",
        ),
        gives=[_SYNCED],
        other_results=(Result(202, "O que a lista do lote mudou.", (_SYNCED,)),),
        problems=(
            *_WRITING,
            *_CREATING,
            *BATCH_PROBLEMS,
            errors.TagWithCpf,
            errors.WalletFull,
        ),
    )
    async def sync(self, request: Request) -> Answer:
        """Make a part of the portfolio equal to a list."""
        caller, body = _caller(request), body_of(request, SyncBody)
        if (body.cliente is None) == (body.etiqueta is None):
            raise errors.InvalidParameter("cliente, etiqueta: informe um dos dois.")
        client = None if body.cliente is None else label_of(body.cliente, "cliente")
        tag = None if body.etiqueta is None else label_of(body.etiqueta, "etiqueta")
        batch_id = batch_named(request)
        if batch_id is None:
            if isinstance(body.itens, msgspec.UnsetType) or body.vigiar is not UNSET:
                raise errors.InvalidParameter("itens: é obrigatório; vigiar, só com lote.")
            sent = [line_of(each) for each in _within(body.itens, SYNCED_AT_ONCE)]
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
            return free_answer(body, 200 if batch_id is None else 202)

        if simulate:
            return answer(await make(lambda synced: None))
        return await Creation(self.parts, keyed=True).once(request, make, answer)

    async def _add_batch(
        self,
        request: Request,
        caller: Caller,
        body: NewItemsBody,
        batch_id: str,
        *,
        retroactive: bool,
    ) -> Answer:
        for name in ("documento", "data_nascimento", "itens"):
            value = getattr(body, name)
            if value is not None and value is not UNSET:
                raise errors.InvalidParameter(f"{name}: não com lote.")
        client = _client_of(request) if _needs_client(caller) and not body.cliente else None

        async def of_batch() -> Sequence[ItemLine]:
            return await lines_of_batch(
                self.batches, caller, batch_id, stated_by(body), client_otherwise=client
            )

        return await self._add_lines(request, caller, of_batch, 202, retroactive=retroactive)

    async def _add_lines(
        self,
        request: Request,
        caller: Caller,
        read: Callable[[], Awaitable[Sequence[ItemLine]]],
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

    def _added(self, added: Added) -> Answer:
        return self._item(added.item, new=added.new, status=201 if added.new else 200)

    def _item(self, item: WalletItem, *, new: bool | None = None, status: int = 200) -> Answer:
        (answer,) = self._items([item], new=new)
        return free_answer(answer, status)

    def _items(
        self, items: Sequence[WalletItem], *, new: bool | None = None
    ) -> Sequence[ItemAnswer]:
        """Return items with their certificates."""
        papers = self.parts.desk.wallets.papers([item.item_id for item in items])
        if not papers:
            return [item_answer(item, (), new=new) for item in items]
        view = paper_view(self.parts, items[0].account_id)
        return [
            item_answer(item, view.answers(papers.get(item.item_id, ()), item.item_id), new=new)
            for item in items
        ]

    def _wallet(self, account_id: int, settings: WalletSettings | None) -> Answer:
        wallets = self.parts.desk.wallets
        return free_answer(
            wallet_answer(
                settings or wallets.settings(account_id),
                wallets.ceiling(account_id, self.parts.now_ms()),
                wallets.count(account_id),
                self.wallet.items_max,
            )
        )


def _flag(flag: Flag, request: Request) -> bool:
    return flag.read(Parameters(request.query, request.headers, (flag.name,)))


def _edited(body: WalletChangeBody, before: WalletSettings) -> WalletSettings:
    changes: dict[str, object] = {}
    if body.renovar_padrao is not UNSET:
        if body.renovar_padrao:
            check_renewal(body.renovar_padrao, "renovar_padrao")
        changes["renew"] = body.renovar_padrao
    if body.reconsultar_padrao is not UNSET:
        if body.reconsultar_padrao:
            check_recheck(body.reconsultar_padrao, "reconsultar_padrao")
        changes["recheck"] = body.reconsultar_padrao
    if not isinstance(body.avisos, msgspec.UnsetType):
        check_notices(body.avisos)
        changes["notices"] = body.avisos
    return msgspec.structs.replace(before, **changes)


def _within(items: Sequence[ItemBody], most: int) -> Sequence[ItemBody]:
    if len(items) > most:
        raise errors.InvalidParameter(f"itens: até {most}.")
    return items


def _with_client(request: Request, caller: Caller, body: AnyItemBody) -> AnyItemBody:
    if not _needs_client(caller) or body.cliente:
        return body
    return msgspec.structs.replace(body, cliente=_client_of(request))


def _needs_client(caller: Caller) -> bool:
    return caller.restrictions is not None and caller.restrictions.client_required


def _client_of(request: Request) -> str:
    client = read_tags(request.headers).client
    if client is None:
        raise errors.ClientRequired
    return client


def _caller(request: Request) -> Caller:
    assert request.caller is not None, "the route wants a key"
    return request.caller
