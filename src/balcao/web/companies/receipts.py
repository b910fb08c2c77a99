"""`/app/empresas/{cnpj}/comprovantes`: a company's receipts in one ZIP, with names for people."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import IO

from starlette.responses import Response

from balcao.batches.results import bytes_of
from balcao.batches.writing.as_zip import ReceiptOfRow, write_receipts
from balcao.batches.writing.contract import RowFacts
from balcao.core.documents import Cnpj
from balcao.core.ledger import Trace
from balcao.web.companies.page import cnpj_of
from balcao.web.companies.registers import requests_of
from balcao.web.exports import ZIP
from balcao.web.forms import BY_PATH
from balcao.web.visit import Visit


async def save(visit: Visit) -> Response:
    """All that this person may see of them, the newest first; each certificate once.

    Raises `ExportRunning`.
    """
    cnpj = cnpj_of(visit)
    found = list(_receipts(visit, cnpj, await requests_of(visit, cnpj)))
    return await visit.export(partial(_write, found), ZIP, f"comprovantes-{cnpj.text}")


def _write(found: Sequence[ReceiptOfRow], file: IO[bytes]) -> None:
    write_receipts(file, found)


def _receipts(visit: Visit, cnpj: Cnpj, requests: Sequence[Trace]) -> Iterator[ReceiptOfRow]:
    tools, content = visit.tools, bytes_of(visit.tools.blobs)
    seen: set[str] = set()
    for number, trace in enumerate(requests, 1):
        form, given = BY_PATH.get(trace.operation), trace.certificate
        if form is None or given is None or given.receipt_id is None or given.receipt_id in seen:
            continue
        seen.add(given.receipt_id)
        receipt = tools.desk.receipt(given.receipt_id)
        if receipt is None or receipt.account_id not in {None, visit.account.account_id}:
            continue
        operation = tools.parts.operations[form.subject]
        facts = RowFacts(
            number, "concluida", ref=trace.reference, document=cnpj.text,
            request_id=trace.request_id,
        )  # fmt: skip
        yield ReceiptOfRow(operation, facts, receipt, content(receipt))
