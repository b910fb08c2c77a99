"""`/carteira/v1`: the portfolio of the caller's account (contract 20)."""

from dataclasses import dataclass
from functools import partial

import msgspec
from msgspec import UNSET
from msgspec.structs import asdict, replace

from balcao.core import errors
from balcao.core.budgets import CEILING_MAX
from balcao.core.people import signed_by
from balcao.core.wallet import (
    WalletSettings,
    check_notices,
    check_recheck,
    check_renewal,
)
from balcao.http.contents import Json, RequestBody
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
from balcao.http.paper_types import STATES, UNTIL, day_of, paper_view, states_of
from balcao.http.read import Request
from balcao.http.routes import Answer
from balcao.http.texts import TEXT, UUID_SCHEMA
from balcao.http.wallet_requests import (
    ADDRESS,
    ITEMS,
    TERMS,
    WRITING,
    ItemAnswers,
    WalletRoute,
    caller_of,
    listed_client,
)
from balcao.http.wallet_types import (
    EXAMPLE_ITEM,
    EXAMPLE_WALLET,
    ItemChangeBody,
    ItemsAnswer,
    WalletChangeBody,
    change_of,
    wallet_answer,
)
from balcao.lookup.context import Parts
from balcao.lookup.wallet import WalletDesk
from balcao.operations.parameters import Parameter, Parameters

_ITEM = f"{ITEMS}/{{id}}"

_FILTERS = (
    Parameter("cliente", "Só os itens deste cliente.", TEXT),
    Parameter("etiqueta", "Só os itens com esta etiqueta.", TEXT),
    Parameter("documento", "Só os itens deste CNPJ ou CPF, ou desta raiz de 8 caracteres.", TEXT),
    STATES,
    UNTIL,
)
_ID = Parameter("id", "O `id` do item.", UUID_SCHEMA, place="path", required=True)
_ONE = Json(EXAMPLE_ITEM, "RespostaItem", "Um item.", envelope=True)
_WALLET = Json(EXAMPLE_WALLET, envelope=True)


@dataclass(frozen=True, slots=True)
class WalletRoutes:
    """The routes of the portfolio."""

    parts: Parts
    wallet: WalletDesk

    @property
    def _answers(self) -> ItemAnswers:
        return ItemAnswers(self.parts)

    @WalletRoute(
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

    @WalletRoute(
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
        problems=(*WRITING, errors.AdminKeyRequired),
    )
    async def change(self, request: Request) -> Answer:
        """Change the settings of the portfolio."""
        caller, body = caller_of(request), body_of(request, WalletChangeBody)
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

    @WalletRoute(
        ITEMS,
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
        caller = caller_of(request)
        names = (*(each.name for each in _FILTERS), "limite", "cursor")
        sent = Parameters(request.query, request.headers, names)
        limit = limit_of(sent.text("limite"), ITEMS_USUAL, ITEMS_MAX)
        after = id_cursor(sent.text("cursor")) or ""
        client = listed_client(request, sent.text("cliente"))
        chosen = self.wallet.filter_of(
            client, sent.text("etiqueta") or None, sent.text("documento") or None
        )
        settings = self.parts.desk.wallets.settings(caller.account_id)
        chosen = replace(
            chosen,
            states=states_of(sent),
            until=day_of(sent, UNTIL.name),
            standing=paper_view(self.parts, settings).standing,
        )
        return await self._answers.page(caller.account_id, chosen, after, limit)

    @WalletRoute(
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
        return self._answers.one(self.parts.desk.wallets.one(request.account_id, request.rest))

    @WalletRoute(
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
        problems=(*WRITING, *TERMS, errors.ItemNotFound),
    )
    async def change_item(self, request: Request) -> Answer:
        """Change one item."""
        body = body_of(request, ItemChangeBody)
        changed = await self.wallet.change(
            caller_of(request),
            request.rest,
            change_of(body),
            birth=body.data_nascimento,
            handled=None if isinstance(body.tratado, msgspec.UnsetType) else body.tratado,
        )
        return self._answers.one(changed)

    @WalletRoute(
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
        wallets = self.parts.desk.wallets
        papers = wallets.papers([request.rest])  # they go with the item
        ended = await wallets.end(request.account_id, request.rest, self.parts.now_ms())
        return self._answers.ended(ended, papers)

    def _wallet(self, account_id: int, settings: WalletSettings | None) -> Answer:
        wallets = self.parts.desk.wallets
        return free_answer(
            wallet_answer(
                settings or wallets.settings(account_id),
                wallets.ceiling(account_id, self.parts.now_ms()),
                wallets.count(account_id),
                self.wallet.items_max,
                wallets.next_purchase_ms(account_id),
            )
        )


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
        stated = {name: value for name, value in asdict(body.avisos).items() if value is not UNSET}
        notices = replace(before.notices, **stated)
        check_notices(notices)
        changes["notices"] = notices
    return replace(before, **changes)
