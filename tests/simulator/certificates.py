"""Helpers to request certificates and read receipts."""

import io
from typing import Any

import pikepdf
from starlette.types import ASGIApp

from tests.simulator.world import get, post

SERVICES = "/infosimples/api/v2/consultas/"


def infosimples(service: str, app: ASGIApp | None = None, /, **parameters: str) -> Any:
    reply = post(SERVICES + service, app, data={"token": "some-token", **parameters})
    assert reply.status_code == 200
    return reply.json()


def receipt_of(answer: Any, app: ASGIApp | None = None) -> bytes:
    """Fetch the only receipt of a reply."""
    (url,) = answer["site_receipts"]
    reply = get(url, app)
    assert reply.status_code == 200
    return reply.content


def text_of(pdf: bytes) -> str:
    """Return the text of a page: the strings of its text operators."""
    with pikepdf.open(io.BytesIO(pdf)) as document:
        (page,) = document.pages
        return "\n".join(
            bytes(operand).decode("cp1252")
            for instruction in pikepdf.parse_content_stream(page)
            if str(instruction.operator) == "Tj"
            for operand in instruction.operands
        )
