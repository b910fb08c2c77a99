"""The treasuries behind mutual TLS, over real connections."""

import asyncio
import base64
import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import httpx2
import pytest
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from starlette.types import ASGIApp, Receive, Scope, Send

from balcao.core.errors import SourceError, SourceUnavailable
from balcao.providers import sefaz
from balcao.providers.sefaz.simulator.certificates import (
    PASSWORD,
    Certificates,
    certificates_in,
    mutual_tls,
)
from balcao.providers.simulation.app import create_server_app
from balcao.providers.simulation.server import ListenerLimits, listening, server_context
from balcao.sources.contract import Exchange, HttpReply, HttpRequest
from balcao.sources.upstream import Upstream
from tests.simulator.sefaz import PATHS, SOAP_12, Said, envelope, question, read

T = TypeVar("T")

NOW = datetime.now(UTC)  # TLS knows no other clock
PATH = f"/sefaz{PATHS['SP']}"
PATIENCE_SECONDS = 20


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates_in(tmp_path_factory.mktemp("certificates") / "new" / "folder", NOW)


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Those of another authority of the same name."""
    return certificates_in(tmp_path_factory.mktemp("strange"), NOW)


def client_context(made: Certificates, client: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=made.authority)
    if client is not None:
        found = pkcs12.load_pkcs12(client.read_bytes(), PASSWORD.encode())
        assert found.cert is not None
        assert found.key is not None
        pem = client.with_suffix(".pem")
        pem.write_bytes(
            found.cert.certificate.public_bytes(Encoding.PEM)
            + found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        )
        context.load_cert_chain(pem)
    return context


def an_app(*, never_seconds: float) -> ASGIApp:
    """What `balcao simulator` serves there."""
    return create_server_app(never_seconds=never_seconds, providers=[sefaz.PROVIDER])


def story(
    made: Certificates,
    tell: Callable[[int], Awaitable[T]],
    *,
    app: ASGIApp | None = None,
    limits: ListenerLimits | None = None,
) -> T:
    """Tell something with a listener there, in bounded time."""

    async def told() -> T:
        async with (
            asyncio.timeout(PATIENCE_SECONDS),
            listening(
                app or an_app(never_seconds=1),
                host="127.0.0.1",
                port=0,
                context=server_context([mutual_tls(made.folder, NOW)]),
                limits=limits,
            ) as port,
        ):
            return await tell(port)

    return asyncio.run(told(), debug=True)


def http(made: Certificates, client: Path | None, port: int) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        base_url=f"https://127.0.0.1:{port}",
        verify=client_context(made, client),
        trust_env=False,
        timeout=PATIENCE_SECONDS,
    )


def asked(
    made: Certificates, client: Path | None, cnpj: str = "90010001000100", **headers: str
) -> Said:
    async def tell(port: int) -> httpx2.Response:
        async with http(made, client, port) as client_:
            return await client_.post(
                PATH, content=envelope(question("SP", "CNPJ", cnpj)), headers=SOAP_12 | headers
            )

    return read(story(made, tell))


def test_an_authorised_requester(made: Certificates) -> None:
    said = asked(made, made.client)

    assert said.status == 111
    assert said.entries[0]["xNome"] == "EMPRESA ATIVA FICTICIA LTDA"


@pytest.mark.parametrize(
    ("client", "status"),
    [("refused_client", 257), ("expired_client", 281), ("client_without_cnpj", 282)],
)
def test_requesters_that_are_refused(made: Certificates, client: str, status: int) -> None:
    said = asked(made, getattr(made, client))

    assert said.status == status
    assert said.entries == []


def test_nobody_speaks_for_another(made: Certificates) -> None:
    """The header of the listener counts, and not the client's."""
    certificate = pkcs12.load_pkcs12(made.client.read_bytes(), PASSWORD.encode()).cert
    assert certificate is not None
    good = base64.b64encode(certificate.certificate.public_bytes(Encoding.DER)).decode()

    assert asked(made, made.refused_client, **{"X-SSL-Client-Cert": good}).status == 257


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_without_a_certificate_there_is_no_connection(
    made: Certificates, version: ssl.TLSVersion
) -> None:
    async def tell(port: int) -> None:
        context = client_context(made, None)
        context.minimum_version = context.maximum_version = version
        async with httpx2.AsyncClient(verify=context, trust_env=False) as client:
            with pytest.raises(httpx2.TransportError):
                await client.post(f"https://127.0.0.1:{port}{PATH}", content=b"", headers=SOAP_12)

    story(made, tell)


def test_a_certificate_of_another_authority(made: Certificates, strange: Certificates) -> None:
    async def tell(port: int) -> None:
        async with http(made, strange.client, port) as client:
            with pytest.raises(httpx2.TransportError):
                await client.post(PATH, content=b"", headers=SOAP_12)

    story(made, tell)


def test_a_client_that_does_not_trust_the_server(made: Certificates, strange: Certificates) -> None:
    async def tell(port: int) -> None:
        async with http(strange, None, port) as client:
            with pytest.raises(httpx2.ConnectError):
                await client.post(PATH, content=b"", headers=SOAP_12)

    story(made, tell)


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1:DeprecationWarning")
def test_old_versions_of_tls_are_refused(made: Certificates) -> None:
    async def tell(port: int) -> None:
        context = client_context(made, made.client)
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.minimum_version = ssl.TLSVersion.TLSv1_1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises(OSError):  # noqa: PT011 - which one depends on who is faster
            await asyncio.open_connection("127.0.0.1", port, ssl=context)

    story(made, tell)


def test_plain_http_and_half_a_handshake_hold_up_nobody(made: Certificates) -> None:
    async def tell(port: int) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            assert b"HTTP" not in await reader.read()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        silent = socket.create_connection(("127.0.0.1", port))
        with silent:
            async with http(made, made.client, port) as client:
                return (await client.get(PATH)).status_code

    assert story(made, tell) == 405


def test_only_treasuries_are_here_and_a_connection_serves_again(made: Certificates) -> None:
    async def tell(port: int) -> list[int]:
        async with http(made, made.client, port) as client:
            assert (await client.get("/")).json()["providers"] == ["/sefaz"]
            found = [
                (await client.get("/minha-receita/90010001000100")).status_code,
                (await client.get("/sefaz/nowhere")).status_code,
                (await client.get(PATH)).status_code,
            ]
            body = envelope(question("SP", "CNPJ", "90010001000100"))
            for _ in range(3):
                found.append((await client.post(PATH, content=body, headers=SOAP_12)).status_code)
            return found

    assert story(made, tell, limits=ListenerLimits(requests=1)) == [404, 404, 405, 200, 200, 200]


def test_misbehaviour(made: Certificates) -> None:
    async def tell(port: int) -> None:
        async with http(made, made.client, port) as client:
            cut = envelope(question("SP", "CNPJ", "90020010000181"))
            with pytest.raises(httpx2.RemoteProtocolError):
                await client.post(PATH, content=cut, headers=SOAP_12)
            never = envelope(question("SP", "CNPJ", "90020002000135"))
            with pytest.raises(httpx2.ReadTimeout):
                await client.post(PATH, content=never, headers=SOAP_12, timeout=0.2)
            reply = await client.post(PATH, content=never, headers=SOAP_12)
            assert reply.status_code == 500  # never ends after a second here

    story(made, tell)


def test_who_leaves_while_waiting_is_noticed(made: Certificates) -> None:
    async def tell(port: int) -> None:
        async with http(made, made.client, port) as client:
            never = envelope(question("SP", "CNPJ", "90020002000135"))
            with pytest.raises(httpx2.ReadTimeout):
                await client.post(PATH, content=never, headers=SOAP_12, timeout=0.2)
        async with http(made, made.client, port) as client:  # there is one place only
            assert (await client.get(PATH)).status_code == 405

    app = an_app(never_seconds=3600)
    story(made, tell, app=app, limits=ListenerLimits(requests=1))


def test_the_end_waits_for_nobody(made: Certificates) -> None:
    async def told() -> None:
        begun = asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            begun.set()
            await asyncio.Event().wait()

        context = server_context([mutual_tls(made.folder, NOW)])
        async with asyncio.timeout(PATIENCE_SECONDS):
            async with listening(app, host="127.0.0.1", port=0, context=context) as port:
                client = http(made, made.client, port)
                waiting = asyncio.ensure_future(client.get(PATH))
                silent = socket.create_connection(("127.0.0.1", port))
                await begun.wait()
            silent.close()
            with pytest.raises(httpx2.TransportError):
                await waiting
            await client.aclose()

    asyncio.run(told(), debug=True)


def answered(made: Certificates, sent: bytes) -> Callable[[int], Awaitable[bytes]]:
    """What comes back, byte for byte, until the connection is closed."""

    async def tell(port: int) -> bytes:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=client_context(made, made.client)
        )
        writer.write(sent)
        said = await reader.read()
        writer.close()
        await writer.wait_closed()
        return said

    return tell


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"POST /sefaz/ HTTP/1.1\r\nhost: a\r\ncontent-length: 70000\r\n\r\n" + b"x" * 70000, 413),
        (b"GET /sefaz/ HTTP/1.1\r\nhost: a\r\nx: " + b"y" * 30_000 + b"\r\n\r\n", 431),
        (b"nonsense\r\n\r\n", 400),
        (b"GET /sefaz/ HTTP/1.1\r\n\r\n", 400),  # no host
        (b"GET /sefaz/ HTTP/1.0\r\n\r\n", 404),
    ],
)
def test_what_is_too_much_or_no_http(made: Certificates, sent: bytes, status: int) -> None:
    assert story(made, answered(made, sent)).startswith(b"HTTP/1.1 %d " % status)


def test_whoever_says_nothing_is_left(made: Certificates) -> None:
    sent = b"POST /sefaz/ HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\n"
    limits = ListenerLimits(request_seconds=0.2)
    assert story(made, answered(made, sent), limits=limits) == b""


# The service itself, on its own connections.


async def hold(port: int, tls: ssl.SSLContext) -> HttpReply | SourceError:
    """Ask twice through `Upstream`; what came of it the second time."""
    upstream = Upstream(
        "sefaz",
        f"https://127.0.0.1:{port}",
        timeout_seconds=PATIENCE_SECONDS,
        answer_bytes_max=100_000,
        tls=tls,
    )
    body = envelope(question("SP", "CNPJ", "90010001000100"))

    def asking() -> Exchange[HttpReply]:
        reply = yield HttpRequest("POST", PATH, headers=SOAP_12, body=body)
        return reply

    said: HttpReply | SourceError | None = None
    for _ in range(2):
        try:
            said = await upstream.hold(asking())
        except SourceError as error:
            said = error
    await upstream.close()
    assert said is not None
    return said


def test_the_service_asks_with_its_certificate(made: Certificates) -> None:
    context = client_context(made, made.client)
    said = story(made, lambda port: hold(port, context))

    assert isinstance(said, HttpReply)
    assert said.status == 200
    assert b"EMPRESA ATIVA FICTICIA LTDA" in said.body


def test_the_service_says_that_it_does_not_trust_a_server(
    made: Certificates, strange: Certificates
) -> None:
    said = story(made, lambda port: hold(port, client_context(strange, None)))

    assert isinstance(said, SourceUnavailable)
    assert "o certificado do servidor não confere" in said.detail


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_the_service_without_a_certificate_fails(
    made: Certificates, version: ssl.TLSVersion
) -> None:
    context = client_context(made, None)
    context.minimum_version = context.maximum_version = version
    said = story(made, lambda port: hold(port, context))

    assert isinstance(said, SourceError)
    assert said.detail.startswith(("sefaz: sem conexão", "sefaz: conversa interrompida"))
