"""A client made by OpenAPI Generator from the served document reads the sandbox.

Python here, in the suite; `python -m bench clients` does it in every available language.
"""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from bench import clients

from tests.cli.shell import Server, free_port, keys_in, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("servidor") / "dados"
    with serving(folder, free_port(), establishments=20) as server:
        server.wait_until_it_answers()
        yield server


def test_a_generated_client_reads_results_negatives_and_errors(
    server: Server, tmp_path: Path
) -> None:
    """All operations of the specification, a 404 that is a result, an error, and consumption."""
    document, folder = tmp_path / "openapi.json", tmp_path / "client"
    document.write_bytes(httpx2.get(f"{server.base}/openapi.json").content)

    command = clients.python(document, folder)

    assert len(list((folder / "openapi_client" / "models").glob("*.py"))) <= 127  # and __init__
    key = keys_in(server.out)["pre-pago"]
    assert tuple(clients.read(command, folder, server.base, key)) == clients.LINES
