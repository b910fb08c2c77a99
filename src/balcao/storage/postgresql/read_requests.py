"""Reads for requests: callers, attempts and received answers, in batches."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from balcao.storage.desk.rows import attempt_of, caller_of
from balcao.storage.postgresql import QUERIES
from balcao.storage.postgresql.connections import ReconnectingConnection
from balcao.storage.postgresql.rows import arrays, blobs

_RECEIVED = ("bigint", "text", "text", "bytea", "smallint")


class ReadRequest(msgspec.Struct, frozen=True, gc=False):
    """A row to read, by its key.

    The key is a key's hash; account, idempotency key and time; or the fields of an `AnswerAbout`.
    """

    kind: Literal["caller", "earlier", "received"]
    key: Any


def read_all(database: ReconnectingConnection, requests: Sequence[ReadRequest]) -> Sequence[Any]:
    """Return the result of each request, or None. Raises `StorageFailed`."""
    hashes = {request.key for request in requests if request.kind == "caller"}
    keys = {request.key for request in requests if request.kind == "earlier"}
    answers = {request.key for request in requests if request.kind == "received"}
    found: dict[Any, Any] = {}
    if hashes:
        for row in database.execute(QUERIES["caller"], (blobs(hashes),)):
            found[row[0]] = caller_of(row[1:])
    if keys:
        for row in database.execute(
            QUERIES["earlier"], arrays(("bigint", "text", "bigint"), [*keys])
        ):
            found[row[:3]] = attempt_of(row[3:])
    if answers:
        for row in database.execute(QUERIES["received"], arrays(_RECEIVED, [*answers])):
            found[(*row[:3], bytes(row[3]), bool(row[4]))] = True
    return [found.get(request.key) for request in requests]
