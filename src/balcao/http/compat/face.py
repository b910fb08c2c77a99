"""What a face is: one original's addresses, keys, shape and errors. No I/O."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import msgspec

from balcao.core.company import Company
from balcao.core.month_detail import MonthDetail

JSON = b"application/json; charset=utf-8"

_encode = msgspec.json.Encoder(decimal_format="number").encode


class ToldCompany(msgspec.Struct, frozen=True):
    """What the lookup answered, and what the month says beside it (`core.month_detail.beside`)."""

    company: Company
    month: MonthDetail
    day: str | None  # of the data, YYYY-MM-DD
    free: bool  # nothing was charged for it
    kept: bool  # nobody was asked for it: it was at hand


class RefusedLookup(msgspec.Struct, frozen=True):
    """What the lookup refused, or could not answer."""

    status: int
    code: str
    message: str
    asked: str  # what stood in the address in place of the CNPJ


class Dressed(msgspec.Struct, frozen=True):
    """An answer as it goes out."""

    status: int
    body: bytes
    media_type: bytes = JSON


class Face(ABC):
    """One original. `name` is its part of our addresses and of face keys (contract 16.4)."""

    name: str
    path: str  # where the CNPJ follows, as the original has it: without the first slash
    key_headers: tuple[bytes, ...] = ()  # in which its clients may send a key, beside `x-api-key`

    def key_in(self, headers: Mapping[bytes, bytes]) -> bytes | None:
        """The key, as the original's clients send it; ours outdoes theirs."""
        for name in (b"x-api-key", *self.key_headers):
            if (sent := headers.get(name)) is not None:
                return self.bare(sent)
        return None

    def bare(self, sent: bytes) -> bytes:
        """A key without what the original has before it."""
        return sent

    def document(self, rest: str) -> str:
        """The document in the rest of an address."""
        return rest

    def query(self, rest: str) -> bytes:
        """The lookup's query that the rest amounts to. Raises `InvalidParameter`."""
        return b""

    def dress(self, told: ToldCompany) -> Dressed:
        """An answer."""
        return Dressed(200, _encode(self.body(told)))

    @abstractmethod
    def body(self, told: ToldCompany) -> msgspec.Struct:
        """The answer in the original's shape."""

    @abstractmethod
    def refuse(self, refused: RefusedLookup) -> Dressed:
        """A refusal or failure in the original's shape."""


def as_json(status: int, body: object) -> Dressed:
    """A body of a refusal."""
    return Dressed(status, _encode(body))
