"""`/app/carteira/certidoes/comprovantes.zip` and `planilha.xlsx`: files of a selection."""

from typing import Final

from starlette.responses import Response

from balcao.batches.paper_files import RECEIPTS_NAME, SHEET_NAME
from balcao.web.kit.context import PageContext
from balcao.web.kit.exports import XLSX, ZIP, download
from balcao.web.pages.portfolio.paper_views import CERTIFICATES
from balcao.web.pages.portfolio.selection import chosen_of

RECEIPTS: Final = f"{CERTIFICATES}/comprovantes.zip"
SHEET: Final = f"{CERTIFICATES}/planilha.xlsx"


async def receipts(context: PageContext) -> Response:
    """Download the receipts of the selection."""
    chosen = chosen_of(context, context.request.query_params).filter
    file = await context.tools.paper_files.receipts(context.account.account_id, chosen)
    return download(file.pieces(), file.size_bytes, ZIP, RECEIPTS_NAME)


async def spreadsheet(context: PageContext) -> Response:
    """Download the selection as a spreadsheet."""
    chosen = chosen_of(context, context.request.query_params).filter
    file = await context.tools.paper_files.spreadsheet(context.account.account_id, chosen)
    return download(file.pieces(), file.size_bytes, XLSX, SHEET_NAME)
