"""`/carteira/v1`: certificates entered by hand, and the list of last days (contract 20.5)."""

from dataclasses import dataclass
from functools import partial

from balcao.core import errors
from balcao.core.manual_papers import checked_day
from balcao.core.papers import Paper
from balcao.core.receipts import RECEIPT_BYTES_MAX, UPLOADED, short_name
from balcao.http.contents import File, Header, Json, RequestBody
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
from balcao.http.paper_types import (
    EXAMPLE_EXPIRY,
    EXAMPLE_MANUAL,
    STATES,
    UNTIL,
    ExpiriesAnswer,
    ManualPaperBody,
    ManualPaperChangeBody,
    PaperView,
    change_of,
    day_of,
    manual_of,
    paper_view,
    states_of,
)
from balcao.http.read import BodyLimit, Request
from balcao.http.receipts import ReceiptRoutes
from balcao.http.routes import Answer, Route
from balcao.http.texts import TAG_WALLET, TEXT, UUID_SCHEMA
from balcao.http.wallet_requests import listed_client
from balcao.lookup.context import Parts
from balcao.lookup.wallet import WalletDesk
from balcao.operations.parameters import Parameter, Parameters
from balcao.storage.contract import Blobs
from balcao.storage.desk.wallet.expiries import ExpiryFilter, ExpiryKey
from balcao.storage.receipts.uploads import store_pdf

_PAPERS = "/carteira/v1/itens/{id}/papeis"
_PAPER = f"{_PAPERS}/{{papel}}"
_FILE = f"{_PAPER}/arquivo"

_ID = Parameter("id", "O `id` do item.", UUID_SCHEMA, place="path", required=True)
_PAPER_ID = Parameter("papel", "O `id` da certidão.", UUID_SCHEMA, place="path", required=True)
_ONE = Json(EXAMPLE_MANUAL, "RespostaCertidao", "Uma certidão.", envelope=True)
PDF_BODY = BodyLimit(RECEIPT_BYTES_MAX, (b"application/pdf",), seconds=60.0)

_SINCE = Parameter("de", "Certidões que vencem a partir deste dia: AAAA-MM-DD.", UNTIL.schema)
_MARKS = (
    Parameter("cliente", "Só as dos itens deste cliente.", TEXT),
    Parameter("etiqueta", "Só as dos itens com esta etiqueta.", TEXT),
)

_WRITING = (errors.InvalidParameter, errors.StorageFailed, errors.CommitUncertain)
_SENDING = (errors.InvalidBody, errors.UnsupportedMediaType, errors.TagWithCpf)
_FINDING = (errors.ItemNotFound, errors.PaperNotFound)
_PaperRoute = partial(Route, needs_key=True, tag=TAG_WALLET)


@dataclass(frozen=True, slots=True)
class WalletPaperRoutes:
    """The routes of certificates entered by hand."""

    parts: Parts
    wallet: WalletDesk
    blobs: Blobs
    receipts: ReceiptRoutes

    @_PaperRoute(
        _PAPERS,
        "carteira_papeis",
        method="POST",
        body=JSON_BODY,
        id="incluir_certidao",
        summary="Incluir certidão à mão",
        text=(
            "Inclui uma certidão que não se consulta aqui, como um alvará municipal. Ela aparece"
            " nas listas, no calendário e nos avisos como as outras, e nunca é comprada."
        ),
        parameters=(_ID, CREATION_KEY),
        takes=RequestBody([Json(ManualPaperBody("Alvará de funcionamento", "2026-12-31"))]),
        gives=[_ONE],
        status=201,
        problems=(
            *_WRITING,
            *_SENDING,
            errors.ItemNotFound,
            errors.InvalidIdempotencyKey,
            errors.IdempotencyKeyReused,
            errors.StillRunning,
            errors.RepeatedParameter,
            errors.ResultUnavailable,
        ),
    )
    async def add(self, request: Request) -> Answer:
        """Add a certificate to an item."""
        item_id = _ids(request)[0]
        new = manual_of(body_of(request, ManualPaperBody))
        view = self._view(request)
        return await Creation(self.parts, keyed=True).once(
            request,
            lambda keep: self.parts.desk.manual_papers.add(
                request.account_id, item_id, new, self.wallet.new_id(), self.parts.now_ms(), keep
            ),
            lambda paper: _answer(view, paper, item_id, 201),
        )

    @_PaperRoute(
        _PAPER,
        "carteira_papel",
        method="PATCH",
        body=JSON_BODY,
        id="alterar_certidao",
        summary="Alterar certidão incluída à mão",
        text="O que não vem fica como está. Com outra `valida_ate`, os avisos recomeçam.",
        parameters=(_ID, _PAPER_ID),
        takes=RequestBody([Json(ManualPaperChangeBody(valida_ate="2027-12-31"))]),
        gives=[_ONE],
        problems=(*_WRITING, *_SENDING, *_FINDING),
    )
    async def change(self, request: Request) -> Answer:
        """Change a certificate that was entered by hand."""
        changed = change_of(body_of(request, ManualPaperChangeBody))
        ids = _ids(request)
        paper = await self.parts.desk.manual_papers.change(request.account_id, *ids, changed)
        return self._shown(request, paper)

    @_PaperRoute(
        _PAPER,
        "carteira_papel",
        method="DELETE",
        id="remover_certidao",
        summary="Remover certidão incluída à mão",
        text="Remove a certidão e o arquivo dela.",
        parameters=(_ID, _PAPER_ID),
        gives=[_ONE],
        problems=(*_WRITING, *_FINDING),
    )
    async def remove(self, request: Request) -> Answer:
        """Delete a certificate that was entered by hand, and return it as it was."""
        paper = await self.parts.desk.manual_papers.remove(
            request.account_id, *_ids(request), self.parts.now_ms()
        )
        return self._shown(request, paper)

    @_PaperRoute(
        _FILE,
        "carteira_papel_arquivo",
        method="PUT",
        body=PDF_BODY,
        id="enviar_arquivo_da_certidao",
        summary="Enviar arquivo da certidão",
        text=(
            "O PDF de uma certidão incluída à mão, no lugar do anterior. Fica guardado pelo tempo"
            " dos comprovantes."
        ),
        parameters=(_ID, _PAPER_ID),
        takes=RequestBody([File("application/pdf")], text="Um PDF de até 10 MB."),
        gives=[_ONE],
        problems=(*_WRITING, errors.UnsupportedMediaType, *_FINDING),
    )
    async def put_file(self, request: Request) -> Answer:
        """Store the PDF of a certificate that was entered by hand."""
        desk, account_id, ids = self.parts.desk, request.account_id, _ids(request)
        before = desk.manual_papers.one(account_id, *ids)
        stored = await store_pdf(self.blobs, request.body)
        file = self.parts.receipt_numbers.uploaded(account_id, before.paper_id, stored)
        paper = await desk.manual_papers.set_file(account_id, *ids, file, self.parts.now_ms())
        return self._shown(request, paper)

    @_PaperRoute(
        _FILE,
        "carteira_papel_arquivo",
        id="arquivo_da_certidao",
        summary="Arquivo da certidão",
        text="O PDF que foi enviado.",
        parameters=(_ID, _PAPER_ID),
        gives=[File("application/pdf")],
        outcome="O PDF, como foi enviado.",
        headers={
            "Content-Disposition": Header("Nome do arquivo, aberto no navegador (`inline`).", TEXT),
            "Cache-Control": Header(
                "Quem pode guardar o arquivo.", {**TEXT, "const": "private, no-store"}
            ),
        },
        tells_cost=False,
        problems=(errors.InvalidParameter, *_FINDING, errors.ReceiptNotFound, errors.StorageFailed),
    )
    async def file(self, request: Request) -> Answer:
        """Return the PDF of a certificate that was entered by hand."""
        paper = self.parts.desk.manual_papers.one(request.account_id, *_ids(request))
        if paper.receipt_id is None:
            raise errors.ReceiptNotFound
        name = f"{short_name(paper.name or '') or 'certidao'}_vale-{paper.last_day}.pdf"
        owners = {request.account_id}
        return 200, *await self.receipts.fetch(paper.receipt_id, owners, UPLOADED, name=name)

    @_PaperRoute(
        "/carteira/v1/vencimentos",
        "carteira_vencimentos",
        id="vencimentos",
        summary="Listar vencimentos",
        text=(
            "As certidões com um último dia, por dia, cada uma com um item que a tem. Uma certidão"
            " da empresa inteira vem uma vez para cada item da mesma raiz, com o mesmo `id`. Sem"
            " `de`, vêm também as vencidas. Uma chave que exige `X-Cliente` vê as do cliente que"
            " ela informa."
        ),
        parameters=(_SINCE, UNTIL, STATES, *_MARKS, *PAGE_PARAMETERS),
        gives=[Json(ExpiriesAnswer([EXAMPLE_EXPIRY], None), envelope=True)],
        problems=(
            errors.InvalidParameter,
            errors.RepeatedParameter,
            errors.ClientRequired,
            errors.StorageFailed,
        ),
    )
    async def expiries(self, request: Request) -> Answer:
        """Return a page of last days."""
        names = (_SINCE, UNTIL, STATES, *_MARKS, *PAGE_PARAMETERS)
        sent = Parameters(request.query, request.headers, [each.name for each in names])
        limit = limit_of(sent.text("limite"), ITEMS_USUAL, ITEMS_MAX)
        after = _cursor(sent.text("cursor"))
        chosen = ExpiryFilter(
            day_of(sent, _SINCE.name) or "",
            day_of(sent, UNTIL.name),
            states_of(sent),
            listed_client(request, sent.text("cliente")),
            sent.text("etiqueta") or None,
        )
        view = self._view(request)
        found = await self.parts.desk.expiries.page(
            request.account_id, chosen, view.standing, after, limit + 1
        )
        cursor = "/".join(found[limit - 1].key) if len(found) > limit else None
        page = ExpiriesAnswer([view.expiry(each) for each in found[:limit]], cursor)
        return free_answer(page)

    def _view(self, request: Request) -> PaperView:
        return paper_view(self.parts, self.parts.desk.wallets.settings(request.account_id))

    def _shown(self, request: Request, paper: Paper) -> Answer:
        view = self._view(request)
        return _answer(view, paper, _ids(request)[0], 200)


def _cursor(text: str | None) -> ExpiryKey | None:
    """Read the cursor of last days. Raises `InvalidParameter`."""
    if not text:
        return None
    day, _, ids = text.partition("/")
    paper_id, _, item_id = ids.partition("/")
    key = (checked_day(day, "cursor"), id_cursor(paper_id), id_cursor(item_id))
    return ExpiryKey(*[part or "" for part in key])


def _answer(view: PaperView, paper: Paper, item_id: str, status: int) -> Answer:
    return free_answer(view.manual(paper, item_id), status)


def _ids(request: Request) -> tuple[str, str]:
    """Return the ids of an item and, if the address has one, of its certificate."""
    item_id, _, paper_id = request.rest.partition("/")
    return item_id, paper_id
