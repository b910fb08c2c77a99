"""What a client may take of us: seconds, bytes, connections (decisions 9.9)."""

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import TypeAlias

Networks: TypeAlias = tuple[IPv4Network | IPv6Network, ...]

# The sweep looks at all connections this often; times are kept no more exactly than that.
TICK_SECONDS = 1.0

# An answer is handed to the transport in such pieces, and a piece is taken in time or the
# connection ends: a client that takes less than this in `write_seconds` is not served.
PIECE_BYTES = 32_768

# Longer answers are large ones: only so many are under way at once.
LARGE_BYTES = 262_144


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Of one door. All seconds are counted from what is named, and not begun anew by a trickle."""

    head_bytes: int = 16_384
    head_seconds: float = 10.0  # a whole head, from the connection, or from the head's first byte
    body_seconds: float = 30.0  # a whole short body, from its head
    pace_bytes: int = 20_000  # of a longer one, at least so many
    pace_seconds: float = 10.0  # in each of these
    write_seconds: float = 30.0  # a piece of an answer
    idle_seconds: float = 75.0  # until the next request
    linger_seconds: float = 2.0  # a client may go on sending after it was refused
    per_address: int = 1_024
    trusted: Networks = ()  # proxies, which may have more
    connections: int = 4_096
    unread_bytes: int = 64_000_000  # of answers that clients have not taken yet
    large_at_once: int = 64

    def has_pace(self, announced: int) -> bool:
        """Return whether a body has to keep a pace instead of a time; in chunks it does."""
        return announced < 0 or announced > self.pace_bytes
