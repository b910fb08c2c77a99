"""Parser of request heads, and header lines of responses. No I/O.

llhttp (by httptools) parses. What it accepts and we do not is rejected before: wherever two
parsers of one stream could disagree about where a request ends, or what it asks for, requests
can be smuggled. RFC 9112, sections 2.2, 3, 5 and 6; RFC 9110, section 5.
"""

import re
from collections.abc import Callable, Sequence
from urllib.parse import unquote

import httptools
import msgspec

from balcao.core.errors import InvalidRequest, MethodNotAllowed, RequestTooLarge

END = b"\r\n\r\n"
FIELDS_MAX = 100

# Length of a body in chunks.
CHUNKED = -1

# Bytes allowed in a head; line ends are checked separately.
_ALLOWED = bytes(set(range(256)) - set(range(0x20)) - {0x7F}) + b"\t\r\n"
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VERSION = re.compile(rb"HTTP/[0-9]\.[0-9]")
_HOST = re.compile(rb"[A-Za-z0-9._~!$&'()*+,;=:\[\]%-]*")
_DIGITS_MAX = 18  # of a length in bytes


class Head(msgspec.Struct, gc=False):
    """Request line and header fields. Field names are in lower case."""

    method: str
    raw_path: bytes  # as received
    query: bytes
    version: str  # `1.0` or `1.1`
    headers: list[tuple[bytes, bytes]]
    length: int  # of the body in bytes; `CHUNKED`
    keep_alive: bool
    expects_continue: bool = False

    @property
    def path(self) -> str:
        """The decoded path; bytes that are not UTF-8 become U+FFFD."""
        text = self.raw_path.decode("ascii")
        return unquote(text) if "%" in text else text


class _Fields:
    """Collects the header fields that llhttp finds."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found: list[tuple[bytes, bytes]] = []

    def on_header(self, name: bytes, value: bytes) -> None:
        self.found.append((name.lower(), value.rstrip(b" \t")))


class Chunks:
    """Parser of a request body in chunks.

    llhttp continues to parse after the body's end as if another request followed. What it reports
    then is ignored, and the connection is closed after the answer.
    """

    def __init__(self, head: bytes, take: Callable[[bytes], object]) -> None:
        self.complete = False
        self._take = take
        self._parser = httptools.HttpRequestParser(self)
        self._parser.feed_data(head)

    def feed(self, data: bytes) -> None:
        """Parse further bytes. Raises `InvalidRequest`."""
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if not self.complete:
                raise InvalidRequest from error

    def on_body(self, piece: bytes) -> None:
        """Collect a piece; called by llhttp."""
        if not self.complete:
            self._take(piece)

    def on_message_complete(self) -> None:
        """Note the end; called by llhttp."""
        self.complete = True


def read_head(head: bytes) -> Head:
    """Parse a whole head, its empty line included.

    Raises `InvalidRequest`, `MethodNotAllowed`, and `RequestTooLarge` for more than 100 fields.
    """
    if is_malformed(head) or b"\r\n " in head or b"\r\n\t" in head:
        raise InvalidRequest
    method, target, version = _line(head)
    if head.count(b"\n") - 2 > FIELDS_MAX:
        raise RequestTooLarge(headers=True)
    fields = _Fields()
    parser = httptools.HttpRequestParser(fields)
    try:
        parser.feed_data(head)
    except httptools.HttpParserInvalidMethodError:
        raise MethodNotAllowed from None
    except httptools.HttpParserUpgrade:
        pass  # a server may ignore an offer to change the protocol (RFC 9110, 7.8)
    except httptools.HttpParserError as error:
        raise InvalidRequest from error
    named: dict[bytes, bytes] = {}
    for name, value in fields.found:
        if name in named and name in _ONCE:
            raise InvalidRequest
        # A list may come in several lines (RFC 9110, 5.3): one `close` among them is enough.
        named[name] = b"%b,%b" % (named[name], value) if name in named else value
    host = named.get(b"host")
    if (host is None and version == b"1.1") or (host and not _HOST.fullmatch(host)):
        raise InvalidRequest
    path, _, query = target.partition(b"?")
    return Head(
        method.decode(),
        path,
        query,
        version.decode(),
        fields.found,
        _length(named, version),
        _keep_alive(named.get(b"connection"), version),
        named.get(b"expect", b"").lower() == b"100-continue" and version == b"1.1",
    )


def header_lines(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Return headers as lines of a head, each with its line end."""
    return b"\r\n".join([*map(b": ".join, headers), b""])


def is_malformed(text: bytes) -> bool:
    """Return whether the start of a head has a bare CR or LF, or a control character."""
    ends = text.count(b"\r\n")
    if text.translate(None, _ALLOWED) or text.count(b"\n") != ends:
        return True
    return text.count(b"\r") - text.endswith(b"\r") != ends


def path_of(head: bytes) -> str:
    """Return the path in a head that may be invalid, or an empty one.

    The form of the error depends on it.
    """
    words = head.partition(b"\r\n")[0].split(b" ")
    if len(words) < 2 or not words[1].startswith(b"/") or not words[1].isascii():
        return ""
    return unquote(words[1].partition(b"?")[0].decode("ascii"))


# Fields that are ambiguous if sent twice.
_ONCE = frozenset({b"host", b"content-length", b"transfer-encoding", b"expect"})


def _line(head: bytes) -> tuple[bytes, bytes, bytes]:
    """Return method, target and version number. Raises what `read_head` raises."""
    words = head[: head.index(b"\r\n")].split(b" ")
    if len(words) != 3 or not _TOKEN.fullmatch(words[0]) or not _VERSION.fullmatch(words[2]):
        raise InvalidRequest
    method, target, version = words[0], words[1], words[2][5:]
    if version not in (b"1.0", b"1.1"):
        raise InvalidRequest(505)
    if method == b"CONNECT":
        raise MethodNotAllowed
    if target == b"*" and method == b"OPTIONS":
        return method, target, version
    # The origin form alone: clients have no reason to send another one.
    if not target.startswith(b"/") or not target.isascii() or b"#" in target or b"\t" in target:
        raise InvalidRequest
    return method, target, version


def _length(named: dict[bytes, bytes], version: bytes) -> int:
    """Return the body's length. Raises `InvalidRequest` where it is ambiguous."""
    coding, length = named.get(b"transfer-encoding"), named.get(b"content-length")
    if coding is not None:
        if length is not None or version != b"1.1":
            raise InvalidRequest
        if coding.lower() != b"chunked":
            raise InvalidRequest(501)
        return CHUNKED
    if length is None:
        return 0
    if not length.isdigit() or len(length) > _DIGITS_MAX:
        raise InvalidRequest
    return int(length)


def _keep_alive(connection: bytes | None, version: bytes) -> bool:
    if connection is None:
        return version == b"1.1"
    options = {option.strip() for option in connection.lower().split(b",")}
    return b"close" not in options and (version == b"1.1" or b"keep-alive" in options)
