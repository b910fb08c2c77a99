"""Where connections go to: another process that has some of the clients (decision 0046)."""

import socket
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from balcao.http.wire.connection import Connection


class Elsewhere(Protocol):
    """That process, or those, as connections see it."""

    def want(self, raw: bytes) -> bool:
        """Whether it would answer a request of this head. Raises what `read_head` raises."""
        ...

    def take(self, connection: "Connection", client: int, read: bytes, *, overdue: bool) -> None:
        """Hand a connection over: its socket's number, which the caller closes, and what was read.

        `overdue`: the rest of the head did not come in time.
        """
        ...

    def over(self, address: str) -> None:
        """A connection of this address that came from there has ended here."""
        ...

    def deal(self, client: socket.socket, address: str, peer: tuple[str, int]) -> bool:
        """Hand a new client over, which is closed here; `address`: as which it is counted.

        False: there is nobody to take it.
        """
        ...
