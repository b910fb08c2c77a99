"""Findings of `balcao doctor` about a PostgreSQL server, from its settings."""

from typing import Any

import msgspec
import pytest

from balcao.core.database_server import ServerFacts, remarks

GOOD = ServerFacts(
    version=15,
    synchronous_commit="on",
    fsync=True,
    full_page_writes=True,
    standby_names="*",
    standbys=2,
    waiting_commits=0,
    connections_max=97,
    nodes=2,
    pools_transactions=False,
)


def found(**changed: Any) -> dict[str, tuple[str, str]]:
    facts = msgspec.structs.replace(GOOD, **changed)
    return {each.name: (each.status, each.text) for each in remarks(facts) if each.status != "ok"}


def test_a_server_in_order() -> None:
    assert found() == {}
    assert found(standby_names="", standbys=0) == {}
    assert found(synchronous_commit="local", standby_names="", standbys=0) == {}


@pytest.mark.parametrize(
    ("changed", "name", "status", "text"),
    [
        ({"version": 13}, "servidor PostgreSQL", "fail", "Atualize para a 14"),
        ({"synchronous_commit": "off"}, "durabilidade", "warn", "synchronous_commit está em off"),
        ({"synchronous_commit": "local"}, "durabilidade", "warn", "está em local"),
        ({"fsync": False}, "durabilidade", "warn", "fsync está desativado"),
        ({"full_page_writes": False}, "durabilidade", "warn", "full_page_writes está desativado"),
        ({"standby_names": ""}, "réplicas", "warn", "nenhuma é esperada"),
        ({"standbys": 0}, "réplicas", "warn", "nenhuma está conectada"),
        ({"waiting_commits": 3}, "réplicas", "fail", "3 transações esperam"),
        ({"connections_max": 18}, "conexões do banco", "warn", "2 nós precisam de 19"),
        ({"connections_max": 9, "nodes": 0}, "conexões do banco", "warn", "1 nó precisa de 11"),
        ({"pools_transactions": True}, "conexões do banco", "warn", "PgBouncer"),
    ],
)
def test_each_fault_is_named(changed: dict[str, Any], name: str, status: str, text: str) -> None:
    complaints = found(**changed)
    assert set(complaints) == {name}
    assert complaints[name][0] == status
    assert text in complaints[name][1]
