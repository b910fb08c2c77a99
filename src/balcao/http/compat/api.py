"""Compatible APIs: paths, keys, shape and errors of another service. No I/O."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import msgspec

from balcao.core.company import Company
from balcao.core.month_detail import MonthDetail

JSON = b"application/json; charset=utf-8"

_encode = msgspec.json.Encoder(decimal_format="number").encode


class CompatInput(msgspec.Struct, frozen=True):
    """The company as the lookup answered it, with the month's data (`core.month_detail`)."""

    company: Company
    month: MonthDetail
    day: str | None  # of the data, YYYY-MM-DD
    simples_day: str | None  # of the data on Simples and MEI
    free: bool  # not charged
    kept: bool  # from the cache or our own copy


class RefusedLookup(msgspec.Struct, frozen=True):
    """A lookup that was refused or failed."""

    status: int
    code: str
    message: str
    asked: str  # the path's text in place of the CNPJ


class CompatAnswer(msgspec.Struct, frozen=True):
    """An answer in the shape of another service."""

    status: int
    body: bytes
    media_type: bytes = JSON


class CompatApi(ABC):
    """One service whose shape we answer in. `name` is part of our paths and of its keys (16.4)."""

    name: str
    path: str  # the original's path before the CNPJ, without the first slash
    key_headers: tuple[bytes, ...] = ()  # may contain the key, in addition to `x-api-key`

    def key_in(self, headers: Mapping[bytes, bytes]) -> bytes | None:
        """Return the key in a request's headers; `x-api-key` takes precedence."""
        for name in (b"x-api-key", *self.key_headers):
            if (sent := headers.get(name)) is not None:
                return self.bare(sent)
        return None

    def bare(self, sent: bytes) -> bytes:
        """Remove the original's prefix of keys."""
        return sent

    def document(self, rest: str) -> str:
        """Extract the CNPJ from the path below the API's prefix."""
        return rest

    def query(self, rest: str) -> bytes:
        """Return the lookup's query string for this path. Raises `InvalidParameter`."""
        return b""

    def render(self, found: CompatInput) -> CompatAnswer:
        """Return the answer of a lookup."""
        return CompatAnswer(200, _encode(self.body(found)))

    @abstractmethod
    def body(self, found: CompatInput) -> msgspec.Struct:
        """Return the body in the original's shape."""

    @abstractmethod
    def refuse(self, refused: RefusedLookup) -> CompatAnswer:
        """Return a refusal or failure in the original's shape."""


def as_json(status: int, body: object) -> CompatAnswer:
    """Return a refusal with this body."""
    return CompatAnswer(status, _encode(body))
