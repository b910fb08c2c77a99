"""The proxies' own files in the proxies themselves, where they are installed.

What matters most: after requests of every kind, none of their logs holds a document, a birth date,
a one-time link or an address.
"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from balcao.subjects import OPERATIONS
from tests.cli.shell import PATIENCE_SECONDS, free_port
from tests.deploy.files import text

SECRET = ("90010001000100", "90010000100", "1980-02-29", "um-convite-secreto", "quem-mandou")
# A browser's words that only the test says: no proxy may repeat them.
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


def self_signed(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate for that name and its key, in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    files = folder / "fullchain.pem", folder / "privkey.pem"
    files[0].write_bytes(certificate.public_bytes(Encoding.PEM))
    files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return files


class Upstream:
    """Something that takes requests: answers, or hangs up on them when it was told so."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self.heads: list[str] = []
        self.hangs_up = False
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
        with connection:
            head = b""
            while b"\r\n\r\n" not in head:
                piece = connection.recv(65536)
                if not piece:
                    return
                head += piece
            self.heads.append(head.decode("latin-1"))
            if self.hangs_up and b"/readyz" not in head:
                return
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
            )

    def close(self) -> None:
        """Refuse connections from now on."""
        with contextlib.suppress(OSError):  # closed before
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@pytest.fixture
def upstreams() -> Iterator[tuple[Upstream, Upstream]]:
    both = Upstream(), Upstream()
    yield both
    for one in both:
        one.close()


class Proxy:
    """A running proxy, what it wrote, and how it is asked."""

    def __init__(self, name: str, port: int, plain: int, folder: Path) -> None:
        self.name, self.port, self.plain, self.folder = name, port, plain, folder

    def get(self, path: str, *, plain: bool = False) -> httpx2.Response:
        host = "balcao.example.com.br"
        base = f"http://127.0.0.1:{self.plain}" if plain else f"https://127.0.0.1:{self.port}"
        with httpx2.Client(verify=False, trust_env=False) as client:
            return client.get(
                base + path,
                headers={**HEADERS, "Host": host},
                extensions={"sni_hostname": host},
            )

    def written(self) -> str:
        return "\n".join(
            file.read_text("utf-8", "replace") for file in sorted(self.folder.glob("*.log"))
        )


@contextmanager
def _running(command: list[str], proxy: Proxy, environment: dict[str, str]) -> Iterator[Proxy]:
    with (proxy.folder / "said.log").open("wb") as said:
        process = subprocess.Popen(
            command, stdout=said, stderr=said, env={**os.environ, **environment}
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
    # Its own certificate, high ports, and no remote control: the rest as it is.
    tuned = (
        f"admin off\n\tskip_install_trust\n\tlocal_certs\n\thttp_port {plain}\n\thttps_port {port}"
    )
    ours, times = re.subn(r"\n\{\n", f"\n{{\n\t{tuned}\n", ours, count=1)
    assert times == 1
    file.write_text(ours, "utf-8")
    said = subprocess.run(
        [program, "validate", "--adapter", "caddyfile", "--config", str(file)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
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
        for path in PATHS:  # what goes wrong is logged by others than the access log
            assert proxy.get(path).status_code in (502, 503)
        for one in upstreams:
            one.close()
        assert proxy.get(PATHS[0]).status_code in (502, 503)
    written = proxy.written()
    for operation in OPERATIONS.values():
        assert operation.path in written
    assert "convite" in written
    for secret in (*SECRET, *("203.0.113.77", "remote_ip", "Referer")):
        assert secret not in written, secret


@pytest.mark.parametrize("start", [nginx, caddy])
def test_the_nodes_learn_the_callers_address(
    start: Start, tmp_path: Path, upstreams: tuple[Upstream, Upstream]
) -> None:
    with start(tmp_path, [one.port for one in upstreams]) as proxy:
        proxy.get("/app/entrar")
        heads = [head for one in upstreams for head in one.heads if "/app/entrar" in head]
    told = re.findall(r"^x-forwarded-for: (.*?)\r$", heads[0], re.IGNORECASE | re.MULTILINE)
    assert told == ["127.0.0.1"]  # and not what the caller claims


@pytest.mark.parametrize("start", [nginx, caddy])
def test_a_request_is_never_sent_twice(
    start: Start, tmp_path: Path, upstreams: tuple[Upstream, Upstream]
) -> None:
    """A GET may buy a certificate, and proxies repeat them as they come."""
    path = "/consultas/v2/certidao-negativa-de-debitos-federal?cnpj=90010001000100"
    with start(tmp_path, [one.port for one in upstreams]) as proxy:
        before = sum(len(one.lookups) for one in upstreams)
        for one in upstreams:
            one.hangs_up = True
        assert proxy.get(path).status_code == 502
        assert sum(len(one.lookups) for one in upstreams) == before + 1


@pytest.mark.parametrize("start", [nginx, caddy])
def test_what_stays_inside(
    start: Start, tmp_path: Path, upstreams: tuple[Upstream, Upstream]
) -> None:
    with start(tmp_path, [one.port for one in upstreams]) as proxy:
        assert proxy.get("/metrics").status_code == 404
        assert not [head for one in upstreams for head in one.heads if "/metrics" in head]
        # A key must not travel in the clear: refused, and not led on.
        assert proxy.get("/conta/v1/saldo", plain=True).status_code == 403
        led = proxy.get("/app?x=90010001000100", plain=True)
        assert (led.status_code, led.headers["location"]) == (
            308,
            "https://balcao.example.com.br/app",
        )


@pytest.mark.parametrize("gone", [0, 1])
def test_a_node_that_is_gone_is_passed_over(
    gone: int, tmp_path: Path, upstreams: tuple[Upstream, Upstream]
) -> None:
    """Caddy tells a refused connection from a request that was sent; nginx needs a moment."""
    with caddy(tmp_path, [one.port for one in upstreams]) as proxy:
        upstreams[gone].close()
        for _ in range(5):
            assert proxy.get("/consultas/v2/sintegra/90010001000100").status_code == 200
