"""Commands and `serve` on a PostgreSQL with commits that wait for a silent standby."""

from collections.abc import Iterator

import pytest

from balcao.storage.postgresql.connections import TimedConnection
from tests.cli.shell import Shell
from tests.storage import postgres


@pytest.fixture
def server(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[postgres.Server]:
    """A server with the desk of this data folder."""
    server = postgres.Server()
    monkeypatch.setenv("BALCAO_DATABASE", server.new_database())
    monkeypatch.setenv("BALCAO_SANDBOX_ESTABLISHMENTS", "0")
    shell("account create acme --plan pre_pago")
    monkeypatch.setattr(TimedConnection, "patience_seconds", 0.5)
    yield server
    server.remove()


def test_commands_fail_in_time_with_the_reason(shell: Shell, server: postgres.Server) -> None:
    with server.waiting_for_a_standby():
        for command in ("credit add acme 10 --reason carga", "serve"):
            assert "réplica síncrona" in shell(command, code=1).err
        checks = {check["name"]: check for check in shell("doctor --json", code=1).json["checks"]}
        assert checks["réplicas"]["status"] == "fail"
        assert "espera" in checks["réplicas"]["text"]
        assert checks["livro-razão"]["status"] == "ok"
    assert shell("account show acme --json").json["balance_credits"] == 0
