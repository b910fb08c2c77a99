"""`/app/comprovantes/{receipt_id}`: the stored receipts, to those who are signed in."""

from starlette.responses import Response, StreamingResponse

from balcao.http.receipts import Files
from balcao.http.write import Pieces
from balcao.web.kit.context import PageContext

PATH = "/app/comprovantes"


async def show(context: PageContext) -> Response:
    """A federal receipt of the visitor's account, or a state one, which are public.

    `?baixar=1` saves it instead of showing it. Raises `ReceiptNotFound`.
    """
    tools = context.tools
    number = context.request.path_params["receipt_id"]
    owners = {None, context.account.account_id}
    # The API's windows are for programs that fetch the same one again and again; people do not.
    files = Files(tools.desk, tools.blobs)
    headers, content = await files.fetch(number, owners, download=context.query("baixar") == "1")
    named = {name.decode(): value.decode() for name, value in headers}
    named["cache-control"] = "private, no-store"  # behind a sign-in, whatever it is
    # The pages' own policy would keep browsers from showing a PDF.
    named.setdefault("content-security-policy", "frame-ancestors 'none'")
    if isinstance(content, Pieces):
        named["content-length"] = str(content.size_bytes)
        return StreamingResponse(content.pieces, headers=named)
    return Response(content, headers=named)
