"""A batch as the list of subjects of a request to the portfolio: `?lote=` (contract 20.2)."""

from collections.abc import Sequence
from uuid import UUID

import msgspec
from msgspec import UNSET

from balcao.batches.desk import BatchDesk
from balcao.batches.row_documents import RowDocument
from balcao.core import errors
from balcao.core.access import Caller
from balcao.core.wallet import SYNCED_AT_ONCE, ItemRequest
from balcao.http.read import Request
from balcao.http.texts import UUID_SCHEMA
from balcao.lookup.wallet import ItemLine
from balcao.operations.parameters import Parameter, Parameters

BATCH = Parameter(
    "lote",
    f"O `id` de um lote da conta, de até {SYNCED_AT_ONCE} linhas: os documentos dele são a lista.",
    UUID_SCHEMA,
)
BATCH_PROBLEMS = (
    errors.BatchNotFound,
    errors.OperationNotAllowed,
    errors.BatchErased,
    errors.BatchStateRefused,
)


def batch_named(request: Request) -> str | None:
    """Return the id of the batch that a request names. Raises `BatchNotFound`."""
    sent = Parameters(request.query, request.headers, (BATCH.name,)).text(BATCH.name)
    if sent is None:
        return None
    try:
        return str(UUID(sent))
    except ValueError:
        raise errors.BatchNotFound from None


async def lines_of_batch(
    batches: BatchDesk,
    caller: Caller,
    batch_id: str,
    stated: ItemRequest,
    *,
    client_of_part: str | None = None,
    client_otherwise: str | None = None,
) -> Sequence[ItemLine]:
    """Return the lines of a batch; `stated` holds for all, before `ref` and `cliente` of rows.

    `client_of_part`: the client whose items the batch becomes; rows' clients do not count then.
    `client_otherwise`: of rows without one.
    """
    rows = await batches.documents(caller, batch_id, SYNCED_AT_ONCE)
    return [_line(row, stated, client_of_part, client_otherwise) for row in rows]


def _line(
    row: RowDocument, stated: ItemRequest, of_part: str | None, otherwise: str | None
) -> ItemLine:
    client, reference = stated.client, stated.reference
    if client is UNSET and of_part is None:
        client = row.client or otherwise or UNSET
    if reference is UNSET:
        reference = row.ref or UNSET
    request = msgspec.structs.replace(stated, client=client, reference=reference)
    return ItemLine(row.document, request, row.birth, row.line)
