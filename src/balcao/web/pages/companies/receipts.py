"""`/app/empresas/{cnpj}/comprovantes`: a company's receipts in one ZIP, with readable names."""

from collections.abc import Mapping, Sequence
from typing import IO

from starlette.responses import Response

from balcao.batches.receipts_zip import ReceiptOfRow, write_receipts
from balcao.batches.results import receipt_reader
from balcao.core.ledger import Trace
from balcao.operations.contract import Operation
from balcao.storage.batches import StoredRow
from balcao.web.kit.context import PageContext
from balcao.web.kit.exports import ZIP
from balcao.web.kit.lookups.forms import BY_PATH
from balcao.web.pages.companies.page import cnpj_of
from balcao.web.pages.companies.registers import requests_of


async def save(context: PageContext) -> Response:
    """Download all receipts that this person may see, newest first, each certificate once.

    Raises `FileRunning`.
    """
    cnpj = cnpj_of(context)
    account_id, desk = context.account.account_id, context.desk
    content = receipt_reader(context.tools.blobs)
    newest = _newest_requests(context, await requests_of(context, cnpj))

    def write(file: IO[bytes]) -> None:
        write_receipts(
            file,
            (
                ReceiptOfRow(operation, row, receipt, content(receipt))
                for receipt in desk.receipts(newest)
                if receipt.account_id in {None, account_id}
                for operation, row in [newest[receipt.receipt_id]]
            ),
        )

    return await context.export(write, ZIP, f"comprovantes-{cnpj.text}")


def _newest_requests(
    context: PageContext, requests: Sequence[Trace]
) -> Mapping[str, tuple[Operation, StoredRow]]:
    """Return the newest request that obtained each receipt."""
    found: dict[str, tuple[Operation, StoredRow]] = {}
    for number, trace in enumerate(requests, 1):
        form, given = BY_PATH.get(trace.operation), trace.certificate
        if form is None or given is None or given.receipt_id is None:
            continue
        operation = context.tools.parts.operations[form.subject]
        row = StoredRow(
            number, "concluida", ref=trace.reference, document=trace.document,
            request_id=trace.request_id,
        )  # fmt: skip
        found.setdefault(given.receipt_id, (operation, row))
    return found
