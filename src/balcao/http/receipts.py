"""Receipts, fetched at the addresses that `print` names (specification, "Receipt download").

Decisions 7.3: the federal ones are private to the account that obtained them, the state ones
public. Nothing in them can run in a browser: PDFs were checked before they were stored, HTML is
handed out as a file, in a sandbox without any rights.
"""

from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Sequence

from balcao.core.errors import OperationNotAllowed, ReceiptNotFound
from balcao.core.receipts import Receipt, file_name
from balcao.http.read import Request
from balcao.http.routes import PREFIX, Answer, Route
from balcao.http.write import Headers, Pieces
from balcao.operations.federal_certificate.operation import FederalCertificateLookup
from balcao.operations.state_certificate.operation import StateCertificateLookup
from balcao.storage.contract import Blobs
from balcao.storage.desk.desk import Desk

# Larger ones are handed on in pieces. Most receipts are a tenth of it: read, checked and
# remembered as a whole, since many fetch the same one within a short time.
WHOLE_BYTES_MAX = 262_144
RECENT_MAX = 64


class Files:
    """Receipts by number. Unknown and foreign ones look alike: 404."""

    def __init__(
        self, desk: Desk, blobs: Blobs, remembering: list[Callable[[], None]] | None = None
    ) -> None:
        """`remembering`: told how the latest are forgotten, when somebody is erased."""
        self._desk = desk
        self._blobs = blobs
        # Of a plain dict the oldest takes long to find.
        self._recent: OrderedDict[str, bytes] = OrderedDict()
        if remembering is not None:
            remembering.append(self._recent.clear)

    def routes(self) -> Sequence[Route]:
        """The two addresses."""
        federal, state = FederalCertificateLookup.path, StateCertificateLookup.path
        return (
            Route(
                f"{PREFIX}{federal}/print/{{numero}}",
                "comprovante-federal",
                self.private,
                needs_key=True,
            ),
            Route(f"{PREFIX}{state}/print/{{numero}}", "comprovante-estadual", self.public),
        )

    async def private(self, request: Request) -> Answer:
        """A federal receipt, to keys of the account that obtained it, if they serve the operation.

        Raises `OperationNotAllowed`.
        """
        seen = request.caller.operations_seen if request.caller else None
        if seen is not None and FederalCertificateLookup.path not in seen:
            raise OperationNotAllowed
        return 200, *await self.fetch(request.rest, {request.account_id})

    async def public(self, request: Request) -> Answer:
        """A state receipt, to everybody who knows its number."""
        return 200, *await self.fetch(request.rest, {None})

    async def fetch(
        self, number: str, owners: Collection[int | None], *, download: bool = False
    ) -> tuple[Headers, bytes | Pieces]:
        """A receipt of one of these accounts (None: the public ones), as it is handed out.

        `download`: as a file to be saved, also where a browser could show it. Raises
        `ReceiptNotFound`, `StorageFailed`.
        """
        receipt = self._desk.receipt(number.lower())
        if receipt is None or receipt.account_id not in owners:
            raise ReceiptNotFound
        return _headers(receipt, download=download), await self._content(receipt)

    async def _content(self, receipt: Receipt) -> bytes | Pieces:
        if receipt.size_bytes > WHOLE_BYTES_MAX:
            pieces = self._blobs.pieces(receipt.digest, receipt.size_bytes)
            async for first in pieces:  # what is wrong with it at all shows before the answer
                return Pieces(receipt.size_bytes, _chained(first, pieces))
            raise ReceiptNotFound
        content = self._recent.get(receipt.digest)
        if content is None:
            content = await self._blobs.get(receipt.digest)
            if content is None:
                raise ReceiptNotFound
            if len(self._recent) >= RECENT_MAX:
                self._recent.popitem(last=False)
            self._recent[receipt.digest] = content
        return content


async def _chained(first: bytes, others: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    yield first
    async for piece in others:
        yield piece


def _headers(receipt: Receipt, *, download: bool) -> Headers:
    html = receipt.media_type == "text/html"
    kind = "attachment" if html or download else "inline"
    name = file_name(receipt)
    public = receipt.account_id is None
    headers: Headers = [
        (b"content-type", receipt.media_type.encode()),
        (b"content-disposition", f"{kind}; filename=\"{name}\"; filename*=UTF-8''{name}".encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cache-control", b"public, max-age=86400, immutable" if public else b"private, no-store"),
    ]
    if html:
        headers.append((b"content-security-policy", b"sandbox; default-src 'none'"))
    return headers
