"""The service that snippets and clients call."""

from collections.abc import Iterator

import pytest

from tests.cli.shell import Server, free_port, serving


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service after its first start, shared: no test depends on requests of another."""
    folder = tmp_path_factory.mktemp("servidor") / "dados"
    with serving(folder, free_port(), establishments=20) as server:
        server.wait_until_it_answers()
        yield server
