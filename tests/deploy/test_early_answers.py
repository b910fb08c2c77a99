"""Answers that a node sends before the end of an upload, through the proxies."""

from pathlib import Path

import pytest

from tests.cli.shell import free_port, serving
from tests.deploy.test_proxies import Start, caddy, nginx

FILE = b"x" * 5_000_000
REFUSED = (401, "API_KEY_INVALIDA")


@pytest.mark.parametrize("start", [nginx, caddy])
def test_a_wrong_key_with_a_large_file_gets_its_error(start: Start, tmp_path: Path) -> None:
    """An early answer is not lost: the caller need not check the statement."""
    port = free_port()
    with serving(tmp_path / "node", port, establishments=0) as node:
        node.wait_until_it_answers("/readyz")
        _refuses(start, tmp_path, port)


def _refuses(start: Start, folder: Path, port: int) -> None:
    with start(folder, [port]) as proxy:
        for _ in range(5):
            answer = proxy.post("/lotes/v1?operacao=suframa", FILE)
            assert (answer.status_code, answer.json()["error_message"]["code"]) == REFUSED
