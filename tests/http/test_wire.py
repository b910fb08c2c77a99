"""HTTP/1.1: valid and invalid requests, and the form of the answers.

RFC 9110 and 9112; contract 1.1, 7.4 and 9.9. Over real sockets, in this process.
"""

import socket
from collections.abc import Iterator

import pytest

from balcao.http.wire.head import read_head
from tests.http.wire import HELLO, LARGE, Served, answers_in, assert_refusal, heard, served


@pytest.fixture(scope="module")
def running() -> Iterator[Served]:
    with served() as here:
        yield here


def get(*lines: bytes, path: bytes = b"/hello", version: bytes = b"HTTP/1.1") -> bytes:
    """Return a GET with a Host, and further header lines."""
    return b"\r\n".join([b"GET %b %b" % (path, version), b"Host: a", *lines, b"", b""])


def head_of(size: int) -> bytes:
    """Return a request of exactly so many bytes."""
    empty = len(get(b"x: "))
    return get(b"x: " + b"a" * (size - empty))


BAD, LONG = "REQUISICAO_INVALIDA", "REQUISICAO_GRANDE_DEMAIS"
NOT_ALLOWED = "METODO_NAO_PERMITIDO"

CHUNKED = b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

REFUSED = {
    "101 fields": (get(*[b"x%d: 1" % n for n in range(100)]), 431, LONG),
    "150 fields": (get(*[b"x%d: 1" % n for n in range(150)]), 431, LONG),
    "a head of a byte too many": (head_of(16_385), 431, LONG),
    "a head of 100 kB": (head_of(100_000), 431, LONG),
    "a head without an end": (b"GET /" + b"a" * 20_000, 431, LONG),
    "raw bytes in the path": (get(path="/é".encode()), 400, BAD),
    "raw bytes in the query": (get(path=b"/?x=\xff"), 400, BAD),
    "a blank in the path": (get(path=b"/a b"), 400, BAD),
    "a tab in the path": (get(path=b"/a\tb"), 400, BAD),
    "a fragment": (get(path=b"/a#b"), 400, BAD),
    "absolute-form": (get(path=b"http://a/hello"), 400, BAD),
    "authority-form": (get(path=b"a:443"), 400, BAD),
    "asterisk": (get(path=b"*"), 400, BAD),
    "no target": (b"GET HTTP/1.1\r\nHost: a\r\n\r\n", 400, BAD),
    "two blanks": (b"GET  /hello HTTP/1.1\r\nHost: a\r\n\r\n", 400, BAD),
    "signed length": (get(b"Content-Length: +0"), 400, BAD),
    "negative length": (get(b"Content-Length: -1"), 400, BAD),
    "length in hexadecimal": (get(b"Content-Length: 0x0"), 400, BAD),
    "length of nothing": (get(b"Content-Length:"), 400, BAD),
    "length with a comma": (get(b"Content-Length: 0, 0"), 400, BAD),
    "length with an underscore": (get(b"Content-Length: 1_0"), 400, BAD),
    "length in other digits": (get("Content-Length: ٣".encode()), 400, BAD),
    "two lengths": (get(b"Content-Length: 0", b"Content-Length: 1"), 400, BAD),
    "the same length twice": (get(b"Content-Length: 0", b"Content-Length: 0"), 400, BAD),
    "a length of 19 digits": (get(b"Content-Length: " + b"9" * 19), 400, BAD),
    "length and coding": (get(b"Content-Length: 5", b"Transfer-Encoding: chunked"), 400, BAD),
    "coding and length": (get(b"Transfer-Encoding: chunked", b"Content-Length: 5"), 400, BAD),
    "two codings": (
        get(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"),
        400,
        BAD,
    ),
    "gzip, chunked": (get(b"Transfer-Encoding: gzip, chunked"), 501, BAD),
    "identity": (get(b"Transfer-Encoding: identity"), 400, BAD),
    "chunked with a vertical tab": (get(b"Transfer-Encoding: \x0bchunked"), 400, BAD),
    "xchunked": (get(b"Transfer-Encoding: xchunked"), 400, BAD),
    "a blank before the colon": (get(b"Transfer-Encoding : chunked"), 400, BAD),
    "coding in HTTP/1.0": (
        get(b"Transfer-Encoding: chunked", version=b"HTTP/1.0"),
        400,
        BAD,
    ),
    "no Host": (b"GET /hello HTTP/1.1\r\n\r\n", 400, BAD),
    "two Hosts": (get(b"Host: b"), 400, BAD),
    "the same Host twice": (get(b"Host: a"), 400, BAD),
    "a Host with a path": (b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400, BAD),
    "a Host with a user": (b"GET / HTTP/1.1\r\nHost: b@a\r\n\r\n", 400, BAD),
    "bare line feeds": (b"GET /hello HTTP/1.1\nHost: a\n\n", 400, BAD),
    "one bare line feed": (b"GET /hello HTTP/1.1\r\nHost: a\nx: y\r\n\r\n", 400, BAD),
    "a bare carriage return": (get(b"x: a\rb"), 400, BAD),
    "a folded line": (get(b"x: a", b" b"), 400, BAD),
    "a folded first line": (b"GET /hello HTTP/1.1\r\n Host: a\r\n\r\n", 400, BAD),
    "a NUL": (get(b"x: a\x00b"), 400, BAD),
    "a control character": (get(b"x: a\x1fb"), 400, BAD),
    "a DEL": (get(b"x: a\x7fb"), 400, BAD),
    "a field without a name": (get(b": a"), 400, BAD),
    "a field without a colon": (get(b"abc"), 400, BAD),
    "a field with a blank in its name": (get(b"a b: c"), 400, BAD),
    "a field with raw bytes in its name": (get("é: c".encode()), 400, BAD),
    "HTTP/0.9": (b"GET /hello\r\n\r\n", 400, BAD),
    "HTTP/1.2": (get(version=b"HTTP/1.2"), 505, BAD),
    "HTTP/2.0": (get(version=b"HTTP/2.0"), 505, BAD),
    "http/1.1": (get(version=b"http/1.1"), 400, BAD),
    "HTTP/1.10": (get(version=b"HTTP/1.10"), 400, BAD),
    "the preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, BAD),
    "CONNECT": (b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 405, NOT_ALLOWED),
    "a method of nobody's": (b"LER /hello HTTP/1.1\r\nHost: a\r\n\r\n", 405, NOT_ALLOWED),
    "a method in small letters": (b"get /hello HTTP/1.1\r\nHost: a\r\n\r\n", 405, NOT_ALLOWED),
    "a method that is no word": (b"G@T /hello HTTP/1.1\r\nHost: a\r\n\r\n", 400, BAD),
    "TLS": (bytes.fromhex("16030100c8010000c40303") + bytes(100), 400, BAD),
    "a bad chunk": (
        CHUNKED + b"xyz\r\n",
        400,
        BAD,
    ),
    "a signed chunk": (
        CHUNKED + b"+3\r\nabc\r\n0\r\n\r\n",
        400,
        BAD,
    ),
    "a chunk ended by a line feed": (
        CHUNKED + b"3\nabc\r\n0\r\n\r\n",
        400,
        BAD,
    ),
    "a chunk of another length": (
        CHUNKED + b"2\r\nabc\r\n0\r\n\r\n",
        400,
        BAD,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_invalid_request_is_refused_in_the_envelope(name: str, running: Served) -> None:
    """Bytes after it on the connection are not read as a request."""
    text, status, code = REFUSED[name]
    assert_refusal(running.say(text + HELLO), status, code)


@pytest.mark.parametrize("name", [name for name in REFUSED if "a head" not in name])
def test_an_invalid_request_byte_by_byte(name: str, running: Served) -> None:
    """Its packets make no difference."""
    text, status, code = REFUSED[name]
    with running.connect() as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for at in range(0, len(text), 7):
                client.sendall(text[at : at + 7])
        except (BrokenPipeError, ConnectionResetError):
            pass  # it was refused before its end
        assert_refusal(heard(client), status, code)


TAKEN = {
    "a head of 16 KB": (head_of(16_384), b"GET /hello"),
    "100 fields": (get(*[b"x%d: 1" % n for n in range(99)]), b"GET /hello"),
    "raw bytes in a value": (get("x: é".encode()), b"GET /hello"),
    "an empty value": (get(b"x:"), b"GET /hello"),
    "blanks around a value": (get(b"x: \t a \t "), b"GET /hello"),
    "escapes in the path": (get(path=b"/a%2Fb%C3%A9"), "GET /a/bé".encode()),
    "escapes of no character": (get(path=b"/a%ff%zz"), "GET /a\ufffd%zz".encode()),
    "a length of 0": (get(b"Content-Length: 0"), b"GET /hello"),
    "a length of 00": (get(b"Content-Length: 00"), b"GET /hello"),
    "an empty line before": (b"\r\n" + HELLO, b"GET /hello"),
    "an offer of HTTP/2": (
        get(b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMA"),
        b"GET /hello",
    ),
    "OPTIONS *": (b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", b"OPTIONS *"),
    "a Host with a port": (b"GET /hello HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", b"GET /hello"),
    "an empty Host": (b"GET /hello HTTP/1.1\r\nHost:\r\n\r\n", b"GET /hello"),
    "another method": (b"PATCH /hello HTTP/1.1\r\nHost: a\r\n\r\n", b"PATCH /hello"),
    "a form": (b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", b"abc"),
    "a form in chunks": (
        CHUNKED + b"3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nTrailer: x\r\n\r\n",
        b"abcdefg",
    ),
    "CHUNKED": (
        b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n",
        b"",
    ),
}


@pytest.mark.parametrize("size", [1, 5, 100_000])
@pytest.mark.parametrize("name", TAKEN)
def test_a_valid_request_is_served(name: str, size: int, running: Served) -> None:
    """In one packet or in many. The client closes its side and still gets the answer."""
    text, body = TAKEN[name]
    if len(text) > 10_000 and size < 100:
        size *= 1_000
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    ((status, headers, answer),) = answers_in(running.say(*pieces, end=True), ["GET"])
    assert (status, answer) == (200, body)
    assert headers["content-length"] == str(len(body))
    assert headers["date"]


def test_requests_in_a_row_are_answered_in_order(running: Served) -> None:
    """Sent without waiting: one after the other, whole, on one connection."""
    count = 500
    text = b"".join(get(path=b"/%d" % number) for number in range(count))
    answer = running.say(text, get(b"Connection: close", path=b"/last"))
    bodies = [body for _, _, body in answers_in(answer, ["GET"] * (count + 1))]
    assert bodies == [*(b"GET /%d" % number for number in range(count)), b"GET /last"]


def test_a_body_is_not_read_as_the_next_request(running: Served) -> None:
    inside = b"GET /inside HTTP/1.1\r\nHost: a\r\n\r\n"
    form = b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(inside)
    answer = running.say(form + inside + get(b"Connection: close"))
    assert [body for _, _, body in answers_in(answer, ["POST", "GET"])] == [inside, b"GET /hello"]


def test_after_chunks_nothing_is_read(running: Served) -> None:
    """Parsers disagree most about the end of such a body, so the connection is closed."""
    form = CHUNKED + b"3\r\nabc\r\n0\r\n\r\n"
    ((status, headers, body),) = answers_in(running.say(form + HELLO), ["POST"])
    assert (status, headers["connection"], body) == (200, "close", b"abc")


def test_an_unread_body_ends_the_connection(running: Served) -> None:
    """The client still gets the answer, even if it goes on sending."""
    text = b"POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n"
    with running.connect() as client:
        client.sendall(text)
        client.sendall(b"x" * 500_000)
        ((status, headers, _),) = answers_in(heard(client), ["POST"])
    assert (status, headers["connection"]) == (200, "close")


def test_continue_is_sent_when_the_body_is_read(running: Served) -> None:
    expecting = b"Host: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"
    with running.connect() as client:
        client.sendall(b"POST /echo HTTP/1.1\r\n" + expecting)
        assert client.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"abc")
        assert answers_in(heard(client), ["POST"])[0][2] == b"abc"
    with running.connect() as client:
        client.sendall(b"POST /hello HTTP/1.1\r\n" + expecting)
        assert heard(client).startswith(b"HTTP/1.1 200 ")


def test_a_connection_is_kept_alive_as_the_client_asks(running: Served) -> None:
    with running.connect() as client:
        for _ in range(3):
            client.sendall(HELLO)
            assert client.recv(10_000).endswith(b"\r\n\r\nGET /hello")
        client.sendall(get(b"Connection: Keep-Alive", version=b"HTTP/1.0"))
        assert b"connection: keep-alive\r\n" in client.recv(10_000)
        client.sendall(get(version=b"HTTP/1.0"))
        assert b"connection: close\r\n" in heard(client)
    ended = running.say(get(b"Connection: foo, Close"))
    assert b"connection: close\r\n" in ended
    ended = running.say(get(b"Connection: close", b"Connection: foo"))
    assert b"connection: close\r\n" in ended


def test_head_is_answered_without_content(running: Served) -> None:
    answer = running.say(
        b"HEAD /large HTTP/1.1\r\nHost: a\r\n\r\n", get(b"Connection: close", path=b"/x")
    )
    (first, second) = answers_in(answer, ["HEAD", "GET"])
    assert (first[1]["content-length"], first[2]) == (str(LARGE), b"")
    assert second[2] == b"GET /x"


@pytest.mark.parametrize("path", [b"/large", b"/stream"])
@pytest.mark.parametrize("version", [b"HTTP/1.0", b"HTTP/1.1"])
def test_large_answers_arrive_whole(path: bytes, version: bytes, running: Served) -> None:
    answer = running.say(get(b"Connection: close", path=path, version=version))
    ((_, headers, body),) = answers_in(answer, ["GET"])
    assert body == b"x" * LARGE
    chunked = path == b"/stream" and version == b"HTTP/1.1"
    assert ("transfer-encoding" in headers) == chunked


@pytest.mark.parametrize("path", [b"/bug", b"/silent", b"/split"])
def test_errors_of_the_application_are_answered(path: bytes, running: Served) -> None:
    """Clients cannot inject headers, either."""
    assert_refusal(running.say(get(path=path)), 500, "ERRO_INTERNO")


def test_an_incomplete_answer_is_recognisable(running: Served) -> None:
    answer = running.say(get(path=b"/short"))
    assert b"content-length: 2\r\n" in answer
    assert answer.endswith(b"\r\n\r\nx")
    cut = running.say(get(path=b"/cut"))
    assert b"transfer-encoding: chunked\r\n" in cut
    assert cut.endswith(b"\r\n\r\n3e8\r\n" + b"x" * 1000 + b"\r\n"), "without the last chunk"


def test_the_path_is_passed_as_sent() -> None:
    head = read_head(get(path=b"/a%2Fb?c=%2F"))
    assert (head.raw_path, head.path, head.query) == (b"/a%2Fb", "/a/b", b"c=%2F")
