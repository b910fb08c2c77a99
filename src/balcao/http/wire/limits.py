"""Limits per client: seconds, bytes, connections (contract 9.9)."""

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import TypeAlias

Networks: TypeAlias = tuple[IPv4Network | IPv6Network, ...]

# Interval of the sweep over all connections, and so the precision of all times.
TICK_SECONDS = 1.0

# Answers are handed to the transport in pieces of this size. A client that reads less than one
# piece in `write_seconds` is disconnected.
PIECE_BYTES = 32_768

# Longer answers are large ones, which are limited in number.
LARGE_BYTES = 262_144


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of one server. Further bytes do not restart a time that has begun."""

    head_bytes: int = 16_384
    head_seconds: float = 10.0  # a whole head, since the connection or the head's first byte
    body_seconds: float = 30.0  # a whole short body, since its head
    pace_bytes: int = 20_000  # of a longer body, at least this many
    pace_seconds: float = 10.0  # in each interval of this length
    write_seconds: float = 30.0  # one piece of an answer
    idle_seconds: float = 75.0  # until the next request
    linger_seconds: float = 2.0  # a client may continue to send after it was refused
    per_address: int = 1_024
    trusted: Networks = ()  # proxies, which may have more
    connections: int = 4_096
    unread_bytes: int = 64_000_000  # of answers that clients have not read yet
    large_at_once: int = 64

    def has_pace(self, announced: int) -> bool:
        """Return whether a body of this length has a minimum pace instead of a total time.

        A body in chunks (a negative length) has.
        """
        return announced < 0 or announced > self.pace_bytes
