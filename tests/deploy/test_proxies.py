"""The deployed proxy files in the real proxies, where these are installed.

Most important: after requests of every kind, their logs hold no document, birth date, one-time link
or address.
"""

import contextlib
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import httpx2
import pytest

from balcao.core.errors import RequestTooLarge, StorageFailed
from balcao.core.problems import problem_of
from balcao.http.routes import PREFIX
from balcao.operations import OPERATIONS
from balcao.operations.envelope import plain_error_fields
from balcao.settings import Settings
from balcao.web.kit.application import UPLOAD_BYTES_MAX
from balcao.web.routes import PAGES as ALL_PAGES
from tests.certificates import self_signed
from tests.cli.shell import PATIENCE_SECONDS, free_port
from tests.deploy.files import text

LIST_BYTES_MAX = 101 * 2**20

SECRET = ("90010001000100", "90010000100", "1980-02-29", "um-convite-secreto", "quem-mandou")
# Header values that only the test sends: no proxy may log them.
HEADERS = {
    "Referer": "https://balcao.example.com.br/quem-mandou?cpf=90010000100",
    "X-Forwarded-For": "203.0.113.77",
    "User-Agent": "90010001000100",
}
PATHS = (
    *(f"/consultas/v2/{one.path}/90010001000100?uf=SP" for one in OPERATIONS.values()),
    "/consultas/v2/certidao-negativa-de-debitos-federal?cpf=90010000100&data=1980-02-29",
    "/consultas/v2/90010001000100",
    "/app/convite/um-convite-secreto",
    "/app/90010001000100",
    "/90010001000100?cpf=90010000100",
    "/conta/v1/operacoes/90010001000100",
)


# First segments of the pages' paths.
PAGES = {
    part
    for page in ALL_PAGES
    if page.path.startswith("/app/")
    for part in [re.split(r"[/.{]", page.path.removeprefix("/app/"))[0]]
}

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
PEOPLES = ("/", "/app", "/app/convite/um-convite-secreto", "/status", "/docs", "/docs/chaves")
PROGRAMS = ("/conta/v1/saldo", "/status/estado.json", "/openapi.json", "/unknown/%20/app", "/apps")


class Upstream:
    """A server that answers requests, or closes their connections if configured so.

    `keeps`: keep connections open. `dies`: stop listening before closing a connection.
    """

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self.heads: list[str] = []
        self.bodies_bytes: list[int] = []
        self.hangs_up = self.keeps = self.dies = False
        self.answer = OK
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def lookups(self) -> list[str]:
        return [head for head in self.heads if "/readyz" not in head]

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        # A proxy that ends or gives up resets its open connections.
        with connection, contextlib.suppress(ConnectionError):
            while self._answered(connection) and self.keeps:
                pass

    def _answered(self, connection: socket.socket) -> bool:
        head = b""
        while b"\r\n\r\n" not in head:
            piece = connection.recv(65536)
            if not piece:
                return False
            head += piece
        self.heads.append(head.decode("latin-1"))
        if self.hangs_up and b"/readyz" not in head:
            if self.dies:
                self.close()
            return False
        head, _, body = head.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        received = len(body)
        while length and received < int(length[1]):
            piece = connection.recv(1_000_000)
            if not piece:  # the proxy gave up
                return False
            received += len(piece)
        self.bodies_bytes.append(received)
        answer = OK if b"/readyz" in head else self.answer
        connection.sendall(answer.replace(b"Connection: close\r\n", b"") if self.keeps else answer)
        return True

    def close(self) -> None:
        """Refuse connections from now on."""
        with contextlib.suppress(OSError):  # already closed
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@pytest.fixture
def upstreams() -> Iterator[tuple[Upstream, Upstream]]:
    both = Upstream(), Upstream()
    yield both
    for one in both:
        one.close()


class Proxy:
    """A running proxy: requests to it, and its output."""

    def __init__(self, name: str, port: int, plain: int, folder: Path) -> None:
        self.name, self.port, self.plain, self.folder = name, port, plain, folder

    def get(self, path: str, *, plain: bool = False) -> httpx2.Response:
        return self._ask("GET", path, plain=plain)

    def post(self, path: str, content: bytes) -> httpx2.Response:
        return self._ask("POST", path, content)

    def _ask(
        self, method: str, path: str, content: bytes = b"", *, plain: bool = False
    ) -> httpx2.Response:
        host = "balcao.example.com.br"
        base = f"http://127.0.0.1:{self.plain}" if plain else f"https://127.0.0.1:{self.port}"
        with httpx2.Client(verify=False, trust_env=False, timeout=PATIENCE_SECONDS) as client:
            return client.request(
                method,
                base + path,
                content=content,
                headers={**HEADERS, "Host": host},
                extensions={"sni_hostname": host},
            )

    def connected(self) -> ssl.SSLSocket:
        """Return a new HTTP/1.1 connection."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        plain = socket.create_connection(("127.0.0.1", self.port), PATIENCE_SECONDS)
        return context.wrap_socket(plain, server_hostname="balcao.example.com.br")

    def written(self) -> str:
        return "\n".join(
            file.read_text("utf-8", "replace") for file in sorted(self.folder.glob("*.log"))
        )


@contextmanager
def _running(command: list[str], proxy: Proxy, environment: dict[str, str]) -> Iterator[Proxy]:
    with (proxy.folder / "output.log").open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env={**os.environ, **environment}
        )
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            assert process.poll() is None, proxy.written()
            assert time.monotonic() < deadline, proxy.written()
            try:
                if proxy.get("/livez").status_code < 600:
                    break
            except httpx2.TransportError:
                time.sleep(0.02)
        yield proxy
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


@contextmanager
def nginx(folder: Path, ports: list[int]) -> Iterator[Proxy]:
    program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    if program is None:
        pytest.skip("no nginx here")
    certificate, key = self_signed(folder, "balcao.example.com.br")
    port, plain = free_port(), free_port()
    ours = text("nginx.conf")
    for pattern, instead in (
        (r"listen \[::\]:\d+.*?;", ""),
        (r"listen 80;", f"listen 127.0.0.1:{plain};"),
        (r"listen 443 ", f"listen 127.0.0.1:{port} "),
        (r"/etc/letsencrypt/live/\S+/fullchain.pem", str(certificate)),
        (r"/etc/letsencrypt/live/\S+/privkey.pem", str(key)),
        (r"/var/log/nginx/", f"{folder}/"),
        (
            r"server 127.0.0.1:8000 (.*?);",
            " ".join(rf"server 127.0.0.1:{one} \1;" for one in ports),
        ),
    ):
        ours, times = re.subn(pattern, instead, ours)
        assert times, pattern
    temporary = " ".join(
        f"{kind}_temp_path {folder}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    file = folder / "nginx.conf"
    file.write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/main.log; events {{}}\n"
        f"http {{ {temporary}\n{ours}\n}}\n",
        "utf-8",
    )
    command = [program, "-p", str(folder), "-e", f"{folder}/main.log", "-c", str(file)]
    if os.getuid() == 0:
        command += ["-g", "user root;"]
    tested = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stderr
    assert "[warn]" not in tested.stderr
    with _running(command, Proxy("nginx", port, plain, folder), {}) as proxy:
        yield proxy


@contextmanager
def caddy(folder: Path, ports: list[int]) -> Iterator[Proxy]:
    program = shutil.which("caddy")
    if program is None:
        pytest.skip("no caddy here")
    environment = {
        "DOMAIN": "balcao.example.com.br",
        "NODES": " ".join(f"127.0.0.1:{port}" for port in ports),
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "HOME": str(folder),
    }
    file = folder / "Caddyfile"
    port, plain = free_port(), free_port()
    ours = text("Caddyfile")
    # Replaces only the certificate, the ports, and the remote control.
    tuned = (
        f"admin off\n\tskip_install_trust\n\tlocal_certs\n\thttp_port {plain}\n\thttps_port {port}"
    )
    ours, times = re.subn(r"\n\{\n", f"\n{{\n\t{tuned}\n", ours, count=1)
    assert times == 1
    file.write_text(ours, "utf-8")
    output = subprocess.run(
        [program, "validate", "--adapter", "caddyfile", "--config", str(file)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert output.returncode == 0, output.stderr
    command = [program, "run", "--adapter", "caddyfile", "--config", str(file)]
    with _running(command, Proxy("caddy", port, plain, folder), environment) as proxy:
        yield proxy


Start: TypeAlias = Callable[[Path, list[int]], AbstractContextManager[Proxy]]


@pytest.mark.parametrize("start", [nginx, caddy])
def test_logs_hold_nothing_personal(
    start: Start, tmp_path: Path, upstreams: tuple[Upstream, Upstream]
) -> None:
    with start(tmp_path, [one.port for one in upstreams]) as proxy:
        for path in PATHS:
            assert proxy.get(path).status_code == 200, path
        proxy.get("/90010001000100", plain=True)
        for one in upstreams:
            one.hangs_up = True
        for path in PATHS:  # failures are logged elsewhere than in the access log
            assert proxy.get(path).status_code in (500, 503)
        for one in upstreams:
            one.close()
        assert proxy.get(PATHS[0]).status_code in (500, 503)
    written = proxy.written()
    for operation in OPERATIONS.values():
        assert operation.path in written
    assert "convite" in written
    for secret in (*SECRET, *("203.0.113.77", "remote_ip", "Referer")):
        assert secret not in written, secret


@pytest.mark.parametrize("start", [nginx, caddy])
def test_nodes_receive_the_callers_address(
    start: Start, tmp_path: Path, upstreams: tuple[Upstream, Upstream]
) -> None:
    with start(tmp_path, [one.port for one in upstreams]) as proxy:
        proxy.get("/app/entrar")
        heads = [head for one in upstreams for head in one.heads if "/app/entrar" in head]
    addresses = re.findall(r"^x-forwarded-for: (.*?)\r$", heads[0], re.IGNORECASE | re.MULTILINE)
    assert addresses == ["127.0.0.1"]  # and not what the caller claims


@pytest.mark.parametrize("start", [nginx, caddy])
def test_a_request_is_never_sent_twice(
    start: Start, tmp_path: Path, upstreams: tuple[Upstream, Upstream]
) -> None:
    """A GET may buy a certificate, and proxies repeat GETs by default."""
    path = "/consultas/v2/certidao-negativa-de-debitos-federal?cnpj=90010001000100"
    with start(tmp_path, [one.port for one in upstreams]) as proxy:
        before = sum(len(one.lookups) for one in upstreams)
        for one in upstreams:
            one.hangs_up = True
        assert proxy.get(path).status_code == 500
        assert sum(len(one.lookups) for one in upstreams) == before + 1


@pytest.mark.parametrize("start", [nginx, caddy])
@pytest.mark.parametrize("gone", [False, True])
def test_a_request_on_a_reused_connection_is_never_sent_twice(
    gone: bool, start: Start, tmp_path: Path, upstreams: tuple[Upstream, Upstream]
) -> None:
    """HTTP libraries of proxies retry as well: a node dies with a request in progress."""
    node, _ = upstreams
    node.keeps = True
    with start(tmp_path, [node.port]) as proxy:
        assert proxy.get(PATHS[0]).status_code == 200
        before = len(node.lookups)
        node.hangs_up, node.dies = True, gone
        assert_envelope(proxy.get(PATHS[0]), PATHS[0], 500, "ERRO_INTERNO")
        assert len(node.lookups) == before + 1


@pytest.mark.parametrize("start", [nginx, caddy])
def test_internal_addresses_are_not_forwarded(
    start: Start, tmp_path: Path, upstreams: tuple[Upstream, Upstream]
) -> None:
    with start(tmp_path, [one.port for one in upstreams]) as proxy:
        assert proxy.get("/metrics").status_code == 404
        assert not [head for one in upstreams for head in one.heads if "/metrics" in head]
        # A key must not be sent in the clear: refused, not redirected.
        assert proxy.get("/conta/v1/saldo", plain=True).status_code == 403
        led = proxy.get("/app?x=90010001000100", plain=True)
        assert (led.status_code, led.headers["location"]) == (
            308,
            "https://balcao.example.com.br/app",
        )


@pytest.mark.parametrize("gone", [0, 1])
def test_a_dead_node_is_skipped(
    gone: int, tmp_path: Path, upstreams: tuple[Upstream, Upstream]
) -> None:
    """Caddy distinguishes refused connections from sent requests; nginx needs a moment."""
    with caddy(tmp_path, [one.port for one in upstreams]) as proxy:
        upstreams[gone].close()
        for _ in range(5):
            assert proxy.get("/consultas/v2/sintegra/90010001000100").status_code == 200


def fields_of(path: str) -> dict[str, Any]:
    """Return the fields of the service's own errors at this address, without a document."""
    operations = {f"{PREFIX}{one.path}": one for one in OPERATIONS.values()}
    operation = operations.get("/".join(path.partition("?")[0].split("/")[:4]))
    form = operation.error_fields if operation else plain_error_fields
    fields: dict[str, Any] = json.loads(b"{" + form(problem_of(StorageFailed()), ""))
    return fields


def assert_envelope(answer: httpx2.Response, path: str, status: int, code: str) -> str:
    """Check the form of the service's own errors. Returns the message."""
    assert answer.status_code == status, path
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "x-request-id" in answer.headers["access-control-expose-headers"]
    assert answer.headers.get("server") != "Caddy"
    assert answer.headers["strict-transport-security"] == "max-age=31536000"
    body = answer.json()
    message: str = body["message"]
    assert body.pop("request_id") == answer.headers["x-request-id"]
    assert uuid.UUID(answer.headers["x-request-id"]).version == 4
    error = {"message": message, "code": code}
    assert body == fields_of(path) | {"error_message": error, "message": message}
    # Existing clients interpret any of these words as an exhausted balance (contract 1.4).
    assert not re.search("saldo|crédito|limite", message, re.IGNORECASE)
    return message


def assert_page(answer: httpx2.Response, path: str) -> None:
    assert answer.status_code == 503, path
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["retry-after"] == "30"
    assert answer.headers["strict-transport-security"] == "max-age=31536000"
    assert "O Balcão está fora do ar" in answer.text


@pytest.mark.parametrize("start", [nginx, caddy])
def test_without_any_node_the_proxy_answers(
    start: Start, tmp_path: Path, upstreams: tuple[Upstream, Upstream]
) -> None:
    """Caddy searches for a node for three seconds: all paths concurrently."""
    paths = [*PATHS[: len(OPERATIONS)], *PROGRAMS, *PEOPLES]
    with start(tmp_path, [one.port for one in upstreams]) as proxy:
        for one in upstreams:
            one.close()
        with ThreadPoolExecutor(len(paths)) as callers:
            answers = dict(zip(paths, callers.map(proxy.get, paths), strict=True))
    for path in PEOPLES:
        assert_page(answers.pop(path), path)
    for path, answer in answers.items():
        message = assert_envelope(answer, path, 503, "SERVICO_INDISPONIVEL")
        assert "Nada foi cobrado" in message
        assert answer.headers["x-creditos-cobrados"] == "0"
        assert answer.headers["retry-after"] == "30"
    numbers = {answer.headers["x-request-id"] for answer in answers.values()}
    assert len(numbers) == len(answers)


@pytest.mark.parametrize("start", [nginx, caddy])
def test_a_lost_request_may_have_been_charged(
    start: Start, tmp_path: Path, upstreams: tuple[Upstream, Upstream]
) -> None:
    """503 would mean that nothing began, and a caller would buy again under a new key."""

    def taken() -> int:
        return sum(len(one.lookups) for one in upstreams)

    with start(tmp_path, [one.port for one in upstreams]) as proxy:
        for one in upstreams:
            one.hangs_up = True
        assert_page(proxy.get(PEOPLES[1]), PEOPLES[1])
        lost = 0
        for path in (*PATHS[: len(OPERATIONS)], *PROGRAMS):
            before = taken()
            answer = proxy.get(path)
            if taken() == before:  # nginx skips nodes that closed connections
                assert_envelope(answer, path, 503, "SERVICO_INDISPONIVEL")
                continue
            lost += 1
            message = assert_envelope(answer, path, 500, "ERRO_INTERNO")
            assert "Idempotency-Key" in message
            assert "x-creditos-cobrados" not in answer.headers
            assert "retry-after" not in answer.headers
        assert lost


@pytest.mark.parametrize("start", [nginx, caddy])
def test_a_body_that_is_too_large_is_refused(
    start: Start, tmp_path: Path, upstreams: tuple[Upstream, Upstream]
) -> None:
    with start(tmp_path, [one.port for one in upstreams]) as proxy:
        answer = proxy.post("/conta/v1/saldo", b"x" * 100_000)
    message = assert_envelope(answer, "/conta/v1/saldo", 413, "REQUISICAO_GRANDE_DEMAIS")
    assert message == problem_of(RequestTooLarge(headers=False)).message


@pytest.mark.parametrize("start", [nginx, caddy])
@pytest.mark.parametrize(
    "path",
    [
        "/lotes/v1?operacao=suframa",
        "/app/lotes/novo",
        "/app/carteira/lista/confirmar",
        "/carteira/v1/sincronizar?simular=true",
        "/carteira/v1/itens/0198f2d4/papeis/0198f2d5/arquivo",
    ],
)
def test_a_list_is_forwarded(
    path: str, start: Start, tmp_path: Path, upstreams: tuple[Upstream, Upstream]
) -> None:
    with start(tmp_path, [one.port for one in upstreams]) as proxy:
        answer = proxy.post(path, b"x" * 1_000_000)
    assert (answer.status_code, answer.content) == (200, b"ok")
    assert max(size for one in upstreams for size in one.bodies_bytes) == 1_000_000


@pytest.mark.parametrize("start", [nginx, caddy])
def test_a_list_is_streamed(
    start: Start, tmp_path: Path, upstreams: tuple[Upstream, Upstream]
) -> None:
    """No proxy buffers the whole answer, nor keeps a copy."""
    with start(tmp_path, [one.port for one in upstreams]) as proxy, proxy.connected() as connection:
        connection.sendall(
            b"POST /lotes/v1 HTTP/1.1\r\nHost: balcao.example.com.br\r\n"
            b"Content-Length: 1000000\r\nConnection: close\r\n\r\n" + b"x" * 1000
        )
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not any("/lotes/v1" in head for one in upstreams for head in one.heads):
            assert time.monotonic() < deadline, proxy.written()
            time.sleep(0.02)
        connection.sendall(b"x" * 999_000)
        assert connection.recv(1000).startswith(b"HTTP/1.1 200 ")


def assert_too_large(answer: httpx2.Response, path: str) -> None:
    """A page for people has the limits and instructions."""
    assert answer.status_code == 413, path
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["strict-transport-security"] == "max-age=31536000"
    assert "O envio é grande demais" in answer.text
    assert "100 MB" in answer.text


@pytest.mark.parametrize("start", [nginx, caddy])
def test_a_list_that_is_too_large_is_refused(
    start: Start, tmp_path: Path, upstreams: tuple[Upstream, Upstream]
) -> None:
    """On pages people get a page; the service's own limit is below the proxies'."""
    assert LIST_BYTES_MAX > UPLOAD_BYTES_MAX
    body = b"x" * (LIST_BYTES_MAX + 1)
    with start(tmp_path, [one.port for one in upstreams]) as proxy:
        answer = proxy.post("/lotes/v1", body)
        assert_too_large(proxy.post("/app/lotes/novo", body), "/app/lotes/novo")
        assert_too_large(proxy.post("/app/lotes/colar", body[:100_000]), "/app/lotes/colar")
    message = assert_envelope(answer, "/lotes/v1", 413, "REQUISICAO_GRANDE_DEMAIS")
    assert "100 MB" in message


# Names in Caddy's log, where they differ.
_PLACES = {
    "lotes": "lotes/v1",
    "carteira": "carteira/v1",
    "eventos": "eventos/v1",
    "webhooks": "webhooks/v1",
    "cotacoes": "cotacoes/v2",
    "buscas-empresas": "buscas/v1/empresas",
    "buscas-socios": "buscas/v1/socios",
    "conta-orcamentos": "conta/v1/orcamentos",
    "openapi": "openapi.json",
}


@pytest.mark.parametrize("start", [nginx, caddy])
def test_logs_have_the_operation(
    start: Start, tmp_path: Path, upstreams: tuple[Upstream, Upstream]
) -> None:
    named = dict(
        [
            ("/lotes/v1/0197-0001/linhas", "lotes"),
            ("/carteira/v1/vencimentos?cliente=loja-sul", "carteira"),
            ("/eventos/v1?cliente=loja-sul", "eventos"),
            ("/webhooks/v1/0197-0001/entregas", "webhooks"),
            ("/cotacoes/v2/suframa/90010001000100", "cotacoes"),
            ("/buscas/v1/empresas?q=90010001000100", "buscas-empresas"),
            ("/buscas/v1/socios?nome=FULANO", "buscas-socios"),
            ("/conta/v1/orcamentos/7", "conta-orcamentos"),
            ("/compat/k/um-convite-secreto/receitaws/v1/cnpj/90010001000100", "compat-receitaws"),
            ("/docs/guias/lotes", "docs"),
            ("/openapi.json", "openapi"),
            ("/readyz", "readyz"),
            ("/livez", "livez"),
            ("/app/historico.csv", "app-historico"),
            *((f"/app/{each}/x", f"app-{each}") for each in sorted(PAGES)),
        ]
    )
    with start(tmp_path, [one.port for one in upstreams]) as proxy:
        for path in named:
            assert proxy.get(path).status_code == 200, path
    written = proxy.written()
    for path, name in named.items():
        if start is nginx:
            assert f'"operation":"{name}"' in written, path
        else:
            place = _PLACES.get(name, name.replace("-", "/", 1))
            assert f'"uri":"/{place}"' in written, path
    assert '"operation":"other"' not in written
    for secret in SECRET:
        assert secret not in written, secret


@pytest.mark.parametrize("start", [nginx, caddy])
def test_the_node_limits_the_request_line(
    start: Start, tmp_path: Path, upstreams: tuple[Upstream, Upstream]
) -> None:
    with start(tmp_path, [one.port for one in upstreams]) as proxy:
        answer = proxy.get(f"{PATHS[0]}&x={'x' * Settings().header_bytes_max}")
        assert (answer.status_code, answer.content) == (200, b"ok")


@pytest.mark.parametrize("start", [nginx, caddy])
@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_errors_of_a_node_are_forwarded(
    status: int, start: Start, tmp_path: Path, upstreams: tuple[Upstream, Upstream]
) -> None:
    body = b'{"request_id":"01940000-0000-7000-8000-000000000000","message":"do n\xc3\xb3"}'
    for one in upstreams:
        one.answer = (
            b"HTTP/1.1 %d Said\r\nContent-Type: application/json\r\nRetry-After: 7\r\n"
            b"X-Request-Id: 01940000-0000-7000-8000-000000000000\r\n"
            b"Strict-Transport-Security: max-age=1\r\n"
            b"Content-Length: %d\r\nConnection: close\r\n\r\n%s" % (status, len(body), body)
        )
    with start(tmp_path, [one.port for one in upstreams]) as proxy:
        for path in (PATHS[0], "/conta/v1/saldo", "/app/entrar", "/status"):
            answer = proxy.get(path)
            assert (answer.status_code, answer.content) == (status, body)
            assert answer.headers["content-type"] == "application/json"
            assert answer.headers["retry-after"] == "7"
            assert answer.headers["x-request-id"] == "01940000-0000-7000-8000-000000000000"
            assert answer.headers["strict-transport-security"] == "max-age=31536000"
