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
from tests.cli.shell import PATIENCE_SECONDS
from tests.simulator.sefaz import PATHS, SOAP_12, TreasuryReply, envelope, question, read

T = TypeVar("T")

NOW = datetime.now(UTC)  # TLS uses the real clock
PATH = f"/sefaz{PATHS['SP']}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates_in(tmp_path_factory.mktemp("certificates") / "new" / "folder", NOW)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Certificates of another authority with the same name."""
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
    """Return the application that `balcao simulator` serves with TLS."""
    return create_server_app(never_seconds=never_seconds, providers=[sefaz.PROVIDER])


def with_listener(
    made: Certificates,
    scenario: Callable[[int], Awaitable[T]],
    *,
    app: ASGIApp | None = None,
    limits: ListenerLimits | None = None,
) -> T:
    """Run a scenario with a listener, within a time limit."""

    async def run_scenario() -> T:
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
            return await scenario(port)

    return asyncio.run(run_scenario(), debug=True)


def http(made: Certificates, client: Path | None, port: int) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        base_url=f"https://127.0.0.1:{port}",
        verify=client_context(made, client),
        trust_env=False,
        timeout=PATIENCE_SECONDS,
    )


def reply_to(
    made: Certificates, client: Path | None, cnpj: str = "90010001000100", **headers: str
) -> TreasuryReply:
    async def scenario(port: int) -> httpx2.Response:
        async with http(made, client, port) as client_:
            return await client_.post(
                PATH, content=envelope(question("SP", "CNPJ", cnpj)), headers=SOAP_12 | headers
            )

    return read(with_listener(made, scenario))


def test_an_authorised_requester(made: Certificates) -> None:
    result = reply_to(made, made.client)

    assert result.status == 111
    assert result.entries[0]["xNome"] == "EMPRESA ATIVA FICTICIA LTDA"


@pytest.mark.parametrize(
    ("client", "status"),
    [("refused_client", 257), ("expired_client", 281), ("client_without_cnpj", 282)],
)
def test_requesters_that_are_refused(made: Certificates, client: str, status: int) -> None:
    result = reply_to(made, getattr(made, client))

    assert result.status == status
    assert result.entries == []


def test_client_cannot_send_the_certificate_header(made: Certificates) -> None:
    """The listener replaces the client's header."""
    certificate = pkcs12.load_pkcs12(made.client.read_bytes(), PASSWORD.encode()).cert
    assert certificate is not None
    good = base64.b64encode(certificate.certificate.public_bytes(Encoding.DER)).decode()

    assert reply_to(made, made.refused_client, **{"X-SSL-Client-Cert": good}).status == 257


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_without_a_certificate_there_is_no_connection(
    made: Certificates, version: ssl.TLSVersion
) -> None:
    async def scenario(port: int) -> None:
        context = client_context(made, None)
        context.minimum_version = context.maximum_version = version
        async with httpx2.AsyncClient(verify=context, trust_env=False) as client:
            with pytest.raises(httpx2.TransportError):
                await client.post(f"https://127.0.0.1:{port}{PATH}", content=b"", headers=SOAP_12)

    with_listener(made, scenario)


def test_a_certificate_of_another_authority(made: Certificates, foreign: Certificates) -> None:
    async def scenario(port: int) -> None:
        async with http(made, foreign.client, port) as client:
            with pytest.raises(httpx2.TransportError):
                await client.post(PATH, content=b"", headers=SOAP_12)

    with_listener(made, scenario)


def test_a_client_that_does_not_trust_the_server(made: Certificates, foreign: Certificates) -> None:
    async def scenario(port: int) -> None:
        async with http(foreign, None, port) as client:
            with pytest.raises(httpx2.ConnectError):
                await client.post(PATH, content=b"", headers=SOAP_12)

    with_listener(made, scenario)


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1:DeprecationWarning")
def test_old_versions_of_tls_are_refused(made: Certificates) -> None:
    async def scenario(port: int) -> None:
        context = client_context(made, made.client)
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.minimum_version = ssl.TLSVersion.TLSv1_1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises(OSError):  # noqa: PT011 - which one depends on who is faster
            await asyncio.open_connection("127.0.0.1", port, ssl=context)

    with_listener(made, scenario)


def test_plain_http_and_half_a_handshake_block_no_other_client(made: Certificates) -> None:
    async def scenario(port: int) -> int:
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

    assert with_listener(made, scenario) == 405


def test_only_treasuries_are_served_and_connections_are_reused(made: Certificates) -> None:
    async def scenario(port: int) -> list[int]:
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

    assert with_listener(made, scenario, limits=ListenerLimits(requests=1)) == [
        404,
        404,
        405,
        200,
        200,
        200,
    ]


def test_misbehaviour(made: Certificates) -> None:
    async def scenario(port: int) -> None:
        async with http(made, made.client, port) as client:
            cut = envelope(question("SP", "CNPJ", "90020010000181"))
            with pytest.raises(httpx2.RemoteProtocolError):
                await client.post(PATH, content=cut, headers=SOAP_12)
            never = envelope(question("SP", "CNPJ", "90020002000135"))
            with pytest.raises(httpx2.ReadTimeout):
                await client.post(PATH, content=never, headers=SOAP_12, timeout=0.2)
            reply = await client.post(PATH, content=never, headers=SOAP_12)
            assert reply.status_code == 500  # "never answers" lasts a second here

    with_listener(made, scenario)


def test_disconnect_frees_the_slot(made: Certificates) -> None:
    async def scenario(port: int) -> None:
        async with http(made, made.client, port) as client:
            never = envelope(question("SP", "CNPJ", "90020002000135"))
            with pytest.raises(httpx2.ReadTimeout):
                await client.post(PATH, content=never, headers=SOAP_12, timeout=0.2)
        async with http(made, made.client, port) as client:  # only one request at a time
            assert (await client.get(PATH)).status_code == 405

    app = an_app(never_seconds=3600)
    with_listener(made, scenario, app=app, limits=ListenerLimits(requests=1))


def test_shutdown_does_not_wait(made: Certificates) -> None:
    async def run_scenario() -> None:
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

    asyncio.run(run_scenario(), debug=True)


def raw_reply(made: Certificates, sent: bytes) -> Callable[[int], Awaitable[bytes]]:
    """Return a scenario that sends bytes and returns the raw reply."""

    async def scenario(port: int) -> bytes:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=client_context(made, made.client)
        )
        writer.write(sent)
        result = await reader.read()
        writer.close()
        await writer.wait_closed()
        return result

    return scenario


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
def test_too_large_or_invalid_http(made: Certificates, sent: bytes, status: int) -> None:
    assert with_listener(made, raw_reply(made, sent)).startswith(b"HTTP/1.1 %d " % status)


def test_silent_client_is_disconnected(made: Certificates) -> None:
    sent = b"POST /sefaz/ HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\n"
    limits = ListenerLimits(request_seconds=0.2)
    assert with_listener(made, raw_reply(made, sent), limits=limits) == b""


# The service's own client.


async def run(port: int, tls: ssl.SSLContext) -> HttpReply | SourceError:
    """Ask twice through `Upstream`, and return the second result."""
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

    result: HttpReply | SourceError | None = None
    for _ in range(2):
        try:
            result = await upstream.run(asking())
        except SourceError as error:
            result = error
    await upstream.close()
    assert result is not None
    return result


def test_the_service_asks_with_its_certificate(made: Certificates) -> None:
    context = client_context(made, made.client)
    result = with_listener(made, lambda port: run(port, context))

    assert isinstance(result, HttpReply)
    assert result.status == 200
    assert b"EMPRESA ATIVA FICTICIA LTDA" in result.body


def test_untrusted_server_is_reported(made: Certificates, foreign: Certificates) -> None:
    result = with_listener(made, lambda port: run(port, client_context(foreign, None)))

    assert isinstance(result, SourceUnavailable)
    assert "o certificado do servidor não confere" in result.detail


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_the_service_without_a_certificate_fails(
    made: Certificates, version: ssl.TLSVersion
) -> None:
    context = client_context(made, None)
    context.minimum_version = context.maximum_version = version
    result = with_listener(made, lambda port: run(port, context))

    assert isinstance(result, SourceError)
    assert result.detail.startswith(("sefaz: sem conexão", "sefaz: conversa interrompida"))
