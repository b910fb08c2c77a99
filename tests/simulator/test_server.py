"""The simulator as a separate server, over real connections."""

import subprocess
import sys
import time
from collections.abc import Iterator

import httpx2
import pytest

from tests.cli.shell import free_port


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port = free_port()
    log = tmp_path_factory.mktemp("simulator") / "log"
    with log.open("wb") as sink:
        server = subprocess.Popen(
            [
                *(sys.executable, "-m", "balcao", "simulator", "serve"),
                f"--port={port}",
            ],
            stdout=sink,
            stderr=subprocess.STDOUT,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(200):
            try:
                httpx2.get(url, timeout=1)
                break
            except httpx2.TransportError:
                assert server.poll() is None, log.read_text()
                time.sleep(0.05)
        yield url
    finally:
        server.terminate()
        server.wait(10)
    assert "Traceback" not in log.read_text()


def test_server_answers(base_url: str) -> None:
    assert "/serpro" in httpx2.get(base_url).json()["providers"]
    reply = httpx2.get(f"{base_url}/minha-receita/90010001000100")
    assert reply.json()["razao_social"] == "EMPRESA ATIVA FICTICIA LTDA"


def test_a_token_travels(base_url: str) -> None:
    token = httpx2.post(
        f"{base_url}/serpro/token",
        data={"grant_type": "client_credentials"},
        auth=("key", "secret"),
    ).json()["access_token"]
    reply = httpx2.get(
        f"{base_url}/serpro/consulta-cnpj-df/v2/qsa/90010002000154",
        headers={"authorization": f"Bearer {token}"},
    )

    assert reply.json()["endereco"]["uf"] == "AM"


def test_the_connection_is_cut_in_the_middle_of_the_body(base_url: str) -> None:
    with (
        httpx2.Client() as client,
        client.stream("GET", f"{base_url}/minha-receita/90020010000181") as reply,
    ):
        received: list[bytes] = []
        with pytest.raises(httpx2.RemoteProtocolError):
            received.extend(reply.iter_bytes())

    assert reply.status_code == 200
    assert 0 < len(b"".join(received)) < int(reply.headers["content-length"])


def test_never_answers_ends_with_the_client(base_url: str) -> None:
    with pytest.raises(httpx2.ReadTimeout):
        httpx2.get(f"{base_url}/minha-receita/90020002000135", timeout=0.3)

    assert httpx2.get(f"{base_url}/minha-receita/healthz", timeout=5).status_code == 200
