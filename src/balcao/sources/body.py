"""The body of somebody else's answer: as much of it as we take, and not a byte more."""

import asyncio

import httpx2

from balcao.errors import SourceFailed

# A body may come byte by byte, and what has arrived already is handed out without a pause.
CHUNKS_AT_ONCE = 32
CHUNKS_MAX = 20_000  # each costs its own work, however short it is


# Unasked, too. At most one of them: nobody needs to send us what was compressed twice.
CODINGS = frozenset({"", "identity", "gzip", "deflate"})


async def whole(who: str, reply: httpx2.Response, bytes_max: int) -> bytes:
    """All of it, inflated. Raises `SourceFailed`, which begins with `who`, when it is too long.

    The client inflates in pieces of 1 MiB at the most, so that a bomb is found out by its first
    ones. Codings that it does not know would come as they are: they are told here.
    """
    if reply.headers.get("content-encoding", "identity").strip().lower() not in CODINGS:
        raise SourceFailed(f"{who}: resposta em codificação desconhecida")
    announced = reply.headers.get("content-length", "")
    # By its digits first: a number of thousands of them is refused by Python itself.
    if announced.isdecimal() and (len(announced) > 18 or int(announced) > bytes_max):
        raise SourceFailed(f"{who}: resposta grande demais")
    body = bytearray()
    chunks = 0
    async for chunk in reply.aiter_bytes():
        body += chunk
        if len(body) > bytes_max:
            raise SourceFailed(f"{who}: resposta grande demais")
        chunks += 1
        if chunks > CHUNKS_MAX:
            raise SourceFailed(f"{who}: resposta em pedaços demais")
        if chunks % CHUNKS_AT_ONCE == 0:
            await asyncio.sleep(0)
    return bytes(body)
