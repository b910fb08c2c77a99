"""`/carteira/v1/recibos.zip` and `planilha.xlsx`: files of certificates (contract 20.7)."""

from dataclasses import dataclass
from functools import partial

from balcao.batches.paper_files import RECEIPTS_NAME, SHEET_NAME, PaperFiles
from balcao.batches.results import MEDIA, ResultFile
from balcao.core import errors
from balcao.core.paper_filters import FIRST_DAY, DayRange
from balcao.http.contents import File
from balcao.http.paper_types import STATES, UNTIL, day_of, states_of
from balcao.http.read import Request
from balcao.http.routes import Answer
from balcao.http.texts import TEXT
from balcao.http.wallet_requests import ADDRESS, WalletRoute, listed_client
from balcao.http.write import Headers, Pieces
from balcao.lookup.context import Parts
from balcao.operations.parameters import Parameter, Parameters
from balcao.storage.desk.wallet.paper_list import PaperFilter

_LAST_DAY = "9999-12-31"
_ZIP = "application/zip"
_XLSX = MEDIA["xlsx"].decode()
_FROM = Parameter("de", "Certidões que vencem a partir deste dia: AAAA-MM-DD.", UNTIL.schema)
_FILTERS = (
    _FROM,
    UNTIL,
    STATES,
    Parameter("cliente", "Só as dos itens deste cliente.", TEXT),
    Parameter("etiqueta", "Só as dos itens com esta etiqueta.", TEXT),
)
_FileRoute = partial(
    WalletRoute,
    parameters=_FILTERS,
    problems=(
        errors.InvalidParameter,
        errors.RepeatedParameter,
        errors.ClientRequired,
        errors.FileRunning,
        errors.NoFileSpace,
        errors.StorageFailed,
    ),
)


@dataclass(frozen=True, slots=True)
class WalletFileRoutes:
    """The routes of files of certificates."""

    parts: Parts
    files: PaperFiles

    @_FileRoute(
        f"{ADDRESS}/recibos.zip",
        "carteira_recibos",
        id="recibos_da_carteira",
        summary="Baixar os comprovantes das certidões",
        text=(
            "Os comprovantes das certidões escolhidas, cada um uma vez, com nomes que se leem, e"
            " um índice. Inclui os arquivos de certidões incluídas à mão."
        ),
        gives=[File(_ZIP)],
    )
    async def receipts(self, request: Request) -> Answer:
        """Return the receipts of certificates, in a ZIP file."""
        file = await self.files.receipts(request.account_id, _chosen(request))
        return _answer(file, _ZIP, f"{RECEIPTS_NAME}.zip")

    @_FileRoute(
        f"{ADDRESS}/planilha.xlsx",
        "carteira_planilha",
        id="planilha_da_carteira",
        summary="Baixar a planilha das certidões",
        text="As certidões escolhidas, uma por linha, e um resumo.",
        gives=[File(_XLSX)],
    )
    async def spreadsheet(self, request: Request) -> Answer:
        """Return a spreadsheet of certificates."""
        file = await self.files.spreadsheet(request.account_id, _chosen(request))
        return _answer(file, _XLSX, f"{SHEET_NAME}.xlsx")


def _chosen(request: Request) -> PaperFilter:
    sent = Parameters(request.query, request.headers, [each.name for each in _FILTERS])
    first, last = day_of(sent, _FROM.name), day_of(sent, UNTIL.name)
    return PaperFilter(
        listed_client(request, sent.text("cliente")),
        sent.text("etiqueta") or None,
        states=states_of(sent),
        days=DayRange(first or FIRST_DAY, last or _LAST_DAY) if first or last else None,
    )


def _answer(file: ResultFile, media_type: str, name: str) -> Answer:
    headers: Headers = [
        (b"content-type", media_type.encode()),
        (b"content-disposition", f'attachment; filename="{name}"'.encode()),
        (b"cache-control", b"private, no-store"),
        (b"x-content-type-options", b"nosniff"),
        (b"x-creditos-cobrados", b"0"),
    ]
    return 200, headers, Pieces(file.size_bytes, file.pieces())
