"""What requests ask on their way in, all that wait in one round trip."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from balcao.storage.desk.rows import attempt_of, caller_of
from balcao.storage.postgresql import QUERIES
from balcao.storage.postgresql.connections import LastingConnection
from balcao.storage.postgresql.rows import arrays, blobs

_RECEIVED = ("bigint", "text", "text", "bytea", "smallint")


class Wanted(msgspec.Struct, frozen=True, gc=False):
    """A question, and what it is about.

    A key's hash, an idempotency key and the time, or the fields of an `AnswerAbout`.
    """

    kind: Literal["caller", "earlier", "received"]
    about: Any


def answer(line: LastingConnection, questions: Sequence[Wanted]) -> Sequence[Any]:
    """What each asked for, or None. Raises `StorageFailed`."""
    hashes = {asked.about for asked in questions if asked.kind == "caller"}
    keys = {asked.about for asked in questions if asked.kind == "earlier"}
    answers = {asked.about for asked in questions if asked.kind == "received"}
    found: dict[Any, Any] = {}
    if hashes:
        for row in line.execute(QUERIES["caller"], (blobs(hashes),)):
            found[row[0]] = caller_of(row[1:])
    if keys:
        for row in line.execute(QUERIES["earlier"], arrays(("bigint", "text", "bigint"), [*keys])):
            found[row[:3]] = attempt_of(row[3:])
    if answers:
        for row in line.execute(QUERIES["received"], arrays(_RECEIVED, [*answers])):
            found[(*row[:3], bytes(row[3]), bool(row[4]))] = True
    return [found.get(asked.about) for asked in questions]
