"""`/carteira/v1/renovar`: certificates of the portfolio are bought now (contract 20.7)."""

from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from balcao.batches.api_types import NewBatchAnswer
from balcao.batches.paper_purchases import PaperPurchases, name_of
from balcao.core import errors
from balcao.core.budgets import CEILING_MAX
from balcao.core.described import described, doc
from balcao.core.wallet import SYNCED_AT_ONCE
from balcao.http.contents import Json, RequestBody
from balcao.http.creating import CREATION_KEY, Creation
from balcao.http.json_bodies import body_of, free_answer
from balcao.http.read import BodyLimit, Request
from balcao.http.routes import Answer
from balcao.http.wallet_calendars import PaperFilterBody, chosen_by
from balcao.http.wallet_requests import ADDRESS, CREATING, WRITING, WalletRoute, caller_of
from balcao.lookup.context import Parts
from balcao.storage.desk.recorded_answer import MakeAnswer, record_answer
from balcao.storage.desk.wallet.paper_list import PaperFilter

# Ten thousand ids.
RENEWAL_BODY = BodyLimit(500_000, (b"application/json",))
_BATCHES = "/lotes/v1"
_EXAMPLE = NewBatchAnswer(
    "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6c0",
    "Renovação: certidão federal",
    "certidao-negativa-de-debitos-federal",
    "recebido",
)


@described("RenovacaoAgora", "As certidões a renovar agora, e o limite de gasto.")
class RenewNowBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The certificates to buy now: of items, or of a selection."""

    papel: Annotated[
        Literal[
            "certidao_federal", "certidao_estadual", "certidao_trabalhista", "regularidade_fgts"
        ],
        doc("O tipo das certidões."),
    ]
    teto_creditos: Annotated[
        int,
        doc("O limite de gasto do lote, em créditos.", minimum=0, maximum=CEILING_MAX),
    ]
    itens: Annotated[
        tuple[str, ...] | None,
        doc("Os `id`s dos itens. Não com `filtro`.", maxItems=SYNCED_AT_ONCE),
    ] = None
    filtro: Annotated[PaperFilterBody | None, doc("Não com `itens`.")] = None


@dataclass(frozen=True, slots=True)
class WalletPurchaseRoutes:
    """The route of purchases on request."""

    parts: Parts
    purchases: PaperPurchases

    @WalletRoute(
        f"{ADDRESS}/renovar",
        "carteira_renovar",
        method="POST",
        body=RENEWAL_BODY,
        id="renovar_certidoes",
        summary="Renovar certidões agora",
        text=(
            "Cria um lote com uma linha por certidão, já confirmado, com `teto_creditos` como"
            " limite de gasto; `teto_creditos_mes` não conta. Uma certidão da empresa inteira é"
            " consultada uma vez. A federal é emitida de novo na fonte; as outras são consultadas"
            " na fonte. As respostas atualizam a carteira. Acompanhe o lote em"
            " `/lotes/v1/{id}`."
        ),
        parameters=(CREATION_KEY,),
        takes=RequestBody(
            [Json(RenewNowBody("certidao_federal", 24, filtro=PaperFilterBody(estado="a_vencer")))],
            text="Até 500 kB.",
        ),
        gives=[Json(_EXAMPLE, envelope=True)],
        status=201,
        problems=(
            *WRITING,
            *CREATING,
            errors.TagWithCpf,
            errors.ClientRequired,
            errors.ItemNotFound,
            errors.OperationNotAllowed,
            errors.CertificatesNotEnabled,
            errors.TooManyUnreadFiles,
            errors.TooManyOpenBatches,
            errors.FileSpaceUsed,
            errors.NoFileSpace,
        ),
    )
    async def renew(self, request: Request) -> Answer:
        """Make a batch of the certificates, which starts by itself."""
        caller, body = caller_of(request), body_of(request, RenewNowBody)
        if (body.itens is None) == (body.filtro is None):
            raise errors.InvalidParameter("itens, filtro: informe um dos dois.")
        selected = chosen_by(request, caller, body.filtro)
        items = None if body.itens is None else tuple(dict.fromkeys(body.itens))
        if items is not None and not items:
            raise errors.InvalidParameter("itens: ao menos um.")
        chosen = PaperFilter(selected.client, selected.tag, states=selected.states, items=items)

        path = self.purchases.operation_of(body.papel).path
        made = NewBatchAnswer(request.request_id, name_of(body.papel), path, "recebido")

        async def make(keep: MakeAnswer[NewBatchAnswer]) -> NewBatchAnswer:
            await self.purchases.buy(
                caller,
                body.papel,
                chosen,
                body.teto_creditos,
                batch_id=made.id,
                also=lambda connection: record_answer(connection, keep(made)),
            )
            return made

        def answer(made: NewBatchAnswer) -> Answer:
            return free_answer(made, 201, (b"location", f"{_BATCHES}/{made.id}".encode()))

        return await Creation(self.parts).once(request, make, answer)
