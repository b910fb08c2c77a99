"""Receipts, fetched at the addresses that `print` names (specification, "Receipt download").

Contract 7.3: the state ones are public, the others private to the account that obtained them.
Nothing in them can run in a browser: PDFs were checked before they were stored, HTML is sent as an
attachment, in a sandbox without any rights.
"""

from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping

from balcao.core.errors import OperationNotAllowed, ReceiptNotFound, StorageFailed
from balcao.core.receipts import Receipt, file_name
from balcao.http.contents import File, Header
from balcao.http.read import Request
from balcao.http.routes import PREFIX, Answer, Route
from balcao.http.texts import TAG_RECEIPTS, TEXT, UUID_SCHEMA
from balcao.http.write import Headers, Pieces
from balcao.operations import ALL_OPERATIONS
from balcao.operations.certificates.lookup import CertificateLookup
from balcao.operations.federal_certificate.operation import FederalCertificateLookup
from balcao.operations.fgts_regularity.operation import FgtsRegularityLookup
from balcao.operations.labour_certificate.operation import LabourCertificateLookup
from balcao.operations.parameters import Parameter
from balcao.operations.state_certificate.operation import StateCertificateLookup
from balcao.storage.contract import Blobs
from balcao.storage.desk.desk import Desk

# Larger ones are sent in pieces. Most receipts are a tenth of it: read, checked and kept in memory
# as a whole, since many callers fetch the same one within a short time.
WHOLE_BYTES_MAX = 262_144
RECENT_MAX = 64

_PRIVATE, _PUBLIC = "private, no-store", "public, max-age=86400, immutable"
_LOOKUPS: Mapping[str, type[CertificateLookup]] = {
    each.path: each for each in ALL_OPERATIONS if issubclass(each, CertificateLookup)
}
_NUMBER = Parameter(
    "receipt_id", "O fim do endereço em `print`.", UUID_SCHEMA, place="path", required=True
)


def _file_headers(caching: str, disposition: str) -> Mapping[str, Header]:
    return {
        "Content-Disposition": Header(disposition, TEXT),
        "X-Content-Type-Options": Header(
            "O navegador não deve deduzir o tipo.", {**TEXT, "const": "nosniff"}
        ),
        "Cache-Control": Header("Quem pode guardar o arquivo.", {**TEXT, "const": caching}),
    }


def _private_route(lookup: type[CertificateLookup], id: str, of: str, outcome: str) -> Route:
    return Route(
        f"{PREFIX}{lookup.path}/print/{{receipt_id}}",
        f"comprovante-{id}",
        needs_key=True,
        id=f"comprovante_{id}",
        tag=TAG_RECEIPTS,
        summary=f"Comprovante de {of}",
        text=(
            "PDF ou HTML. Precisa de uma chave da conta que fez a consulta. Com a de outra conta,"
            " a resposta é 404. O HTML vem como arquivo anexo, sem conteúdo executável."
        ),
        parameters=(_NUMBER,),
        gives=[File("application/pdf"), File("text/html")],
        outcome=outcome,  # different ones: the clients' generator needs these responses in place
        headers=_file_headers(_PRIVATE, "Nome do arquivo. O HTML vem como anexo (`attachment`)."),
        tells_cost=False,
        problems=(OperationNotAllowed, ReceiptNotFound, StorageFailed),
    )


class ReceiptRoutes:
    """Receipts by number. Unknown ones and those of other accounts are both a 404."""

    def __init__(
        self, desk: Desk, blobs: Blobs, forget_callbacks: list[Callable[[], None]] | None = None
    ) -> None:
        """`forget_callbacks` receives the function that clears recent receipts, for erasures."""
        self._desk = desk
        self._blobs = blobs
        # A plain dict is slow to find its oldest entry.
        self._recent: OrderedDict[str, bytes] = OrderedDict()
        if forget_callbacks is not None:
            forget_callbacks.append(self._recent.clear)

    @_private_route(
        FederalCertificateLookup,
        "federal",
        "uma certidão federal",
        "O documento, como a fonte o emitiu.",
    )
    @_private_route(
        LabourCertificateLookup,
        "trabalhista",
        "uma certidão trabalhista",
        "A certidão, como a fonte a emitiu.",
    )
    @_private_route(
        FgtsRegularityLookup,
        "fgts",
        "uma regularidade do FGTS",
        "O certificado, como a fonte o emitiu.",
    )
    async def private(self, request: Request) -> Answer:
        """Return a private receipt, to keys of its account that serve its operation.

        Raises `OperationNotAllowed`.
        """
        operation = request.path.removeprefix(PREFIX).partition("/")[0]
        seen = request.caller.visible_operations if request.caller else None
        if seen is not None and operation not in seen:
            raise OperationNotAllowed
        return 200, *await self.fetch(request.rest, {request.account_id}, operation)

    @Route(
        f"{PREFIX}{StateCertificateLookup.path}/print/{{receipt_id}}",
        "comprovante-estadual",
        id="comprovante_estadual",
        tag=TAG_RECEIPTS,
        summary="Comprovante de uma certidão estadual",
        text=(
            "PDF público: não precisa de chave e é o mesmo para todos que consultam o CNPJ na UF."
            " O endereço não pode ser adivinhado."
        ),
        parameters=(_NUMBER,),
        gives=[File("application/pdf")],
        outcome="O documento, como a fonte o emitiu.",
        headers=_file_headers(_PUBLIC, "Nome do arquivo, aberto no navegador (`inline`)."),
        problems=(ReceiptNotFound, StorageFailed),
    )
    async def public(self, request: Request) -> Answer:
        """Return a state receipt, to anyone who has its number."""
        return 200, *await self.fetch(request.rest, {None}, StateCertificateLookup.path)

    async def fetch(
        self,
        number: str,
        owners: Collection[int | None],
        operation: str | None = None,
        *,
        download: bool = False,
        name: str = "",
    ) -> tuple[Headers, bytes | Pieces]:
        """Return headers and content of a receipt that belongs to one of `owners`.

        The owner of a public receipt is None. `operation`: the path of the one that must have
        obtained it. `download`: as an attachment, even if a browser could show it. `name`: of the
        file, in place of one by its subject. Raises `ReceiptNotFound`, `StorageFailed`.
        """
        receipt = self._desk.receipt(number.lower())
        if receipt is None or receipt.account_id not in owners:
            raise ReceiptNotFound
        if operation is not None and receipt.operation != operation:
            raise ReceiptNotFound
        name = name or file_name(receipt, _beginning(receipt))
        return _headers(receipt, name, download=download), await self._content(receipt)

    async def _content(self, receipt: Receipt) -> bytes | Pieces:
        if receipt.size_bytes > WHOLE_BYTES_MAX:
            pieces = self._blobs.pieces(receipt.digest, receipt.size_bytes)
            async for first in pieces:  # a failure shows before the answer begins
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


def _headers(receipt: Receipt, name: str, *, download: bool) -> Headers:
    html = receipt.media_type == "text/html"
    kind = "attachment" if html or download else "inline"
    public = receipt.account_id is None
    headers: Headers = [
        (b"content-type", receipt.media_type.encode()),
        (b"content-disposition", f"{kind}; filename=\"{name}\"; filename*=UTF-8''{name}".encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cache-control", (_PUBLIC if public else _PRIVATE).encode()),
    ]
    if html:
        headers.append((b"content-security-policy", b"sandbox; default-src 'none'"))
    return headers


def _beginning(receipt: Receipt) -> str:
    """Return how the name of a receipt's file begins; empty: its subject is unknown."""
    if receipt.about is None:
        return ""
    return _LOOKUPS[receipt.operation].receipt_name(receipt.about)
