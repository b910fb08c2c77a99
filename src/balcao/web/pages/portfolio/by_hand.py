"""Certificates entered by hand, on the page of their item: added, renewed and removed."""

from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from balcao.core.errors import CallerError, InvalidParameter, RequestTooLarge
from balcao.core.manual_papers import checked_last_day, checked_name, checked_note
from balcao.core.problems import problem_of
from balcao.core.receipts import RECEIPT_BYTES_MAX, Receipt
from balcao.storage.desk.wallet.manual_papers import ManualChange, ManualPaper
from balcao.storage.receipts.uploads import store_pdf
from balcao.web.kit.context import PageContext
from balcao.web.pages.portfolio.item import item_page
from balcao.web.pages.portfolio.views import item_path

FORM: Final = "papel"  # precedes the names of complaints
_TOO_LARGE = f"O arquivo pode ter até {RECEIPT_BYTES_MAX // 1_000_000} MB."


async def add(context: PageContext) -> Response:
    """Add a certificate, with its file if one was chosen."""
    account_id, item_id = context.account.account_id, context.request.path_params["item_id"]
    papers, now_ms = context.desk.manual_papers, context.now_ms()
    if missing := _missing(context):
        return await item_page(context, missing, of_paper=True)
    try:
        new = ManualPaper(
            checked_name(context.typed("nome")),
            checked_last_day(context.typed("valida_ate")),
            checked_note(context.typed("nota")),
        )
        paper_id = context.tools.new_id()
        file = await _file(context, paper_id)  # one that is refused adds nothing
        await papers.add(account_id, item_id, new, paper_id, now_ms)
        if file is not None:
            await papers.set_file(account_id, item_id, paper_id, file, now_ms)
    except CallerError as error:
        return await item_page(context, _complaints(error), of_paper=True)
    return context.redirect(item_path(item_id), feito="papel")


async def renew(context: PageContext) -> Response:
    """Give a certificate its next last day, and a new file if one was chosen."""
    account_id, item_id = context.account.account_id, context.request.path_params["item_id"]
    paper_id, papers = context.request.path_params["paper_id"], context.desk.manual_papers
    try:
        day = checked_last_day(context.typed("valida_ate"))
        file = await _file(context, paper_id)
        if file is not None:
            await papers.set_file(account_id, item_id, paper_id, file, context.now_ms())
        await papers.change(account_id, item_id, paper_id, ManualChange(last_day=day))
    except CallerError as error:
        return await item_page(context, {"": problem_of(error).message}, of_paper=True)
    return context.redirect(item_path(item_id), feito="papel")


async def remove(context: PageContext) -> Response:
    """Delete a certificate and its file."""
    item_id, paper_id = (context.request.path_params[name] for name in ("item_id", "paper_id"))
    account_id = context.account.account_id
    await context.desk.manual_papers.remove(account_id, item_id, paper_id, context.now_ms())
    return context.redirect(item_path(item_id), feito="papel_removido")


def _missing(context: PageContext) -> Mapping[str, str]:
    """Return the complaints about required fields that are empty."""
    required = {"nome": "Informe o nome.", "valida_ate": "Informe o último dia de validade."}
    return {f"{FORM}_{name}": text for name, text in required.items() if not context.typed(name)}


async def _file(context: PageContext, paper_id: str) -> Receipt | None:
    """Store the form's file and return its record; None: none was chosen.

    Raises `InvalidParameter`.
    """
    if context.upload is None:
        return None
    content = b""
    try:
        async for piece in context.upload.pieces:
            content += piece
            if len(content) > RECEIPT_BYTES_MAX:
                raise InvalidParameter(f"arquivo: {_TOO_LARGE}")
    except RequestTooLarge:
        raise InvalidParameter(f"arquivo: {_TOO_LARGE}") from None
    if not content:
        return None
    stored = await store_pdf(context.tools.blobs, content)
    numbers = context.tools.parts.receipt_numbers
    return numbers.uploaded(context.account.account_id, paper_id, stored)


def _complaints(error: CallerError) -> Mapping[str, str]:
    text = problem_of(error).message
    field, colon, rest = text.partition(": ")
    if not colon:
        return {f"{FORM}_nome": text}
    return {f"{FORM}_{field}": rest[:1].upper() + rest[1:]}
