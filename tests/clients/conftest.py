"""The service that snippets and clients ask."""

from collections.abc import Iterator

import pytest

from tests.cli.shell import Server, free_port, serving


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One that has just had its first start; nothing here depends on what others asked of it."""
    folder = tmp_path_factory.mktemp("servidor") / "dados"
    with serving(folder, free_port(), establishments=20) as server:
        server.wait_until_it_answers()
        yield server
