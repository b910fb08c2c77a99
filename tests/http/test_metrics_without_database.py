"""`/metrics` without a database: only the database's own measurements are missing."""

import signal
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from balcao.http import health
from tests.service import Service, open_service
from tests.storage import postgres


def measured(house: Service) -> dict[str, float]:
    reply = house.get("/metrics")
    assert reply.status == 200
    families = text_string_to_metric_families(reply.body.decode())
    return {sample.name: sample.value for family in families for sample in family.samples}


def test_measurements_without_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "VERDICT_MS", 0)
    server = postgres.Server()
    try:
        with open_service(tmp_path, database=SecretStr(server.new_database())) as house:
            seen = measured(house)
            assert (seen["balcao_database_up"], seen["balcao_database_commits_waiting"]) == (1, 0)
            assert (seen["balcao_budgets"], seen["balcao_wallet_items"]) == (0, 0)

            server.stop(signal.SIGQUIT)
            seen = measured(house)
            assert seen["balcao_database_up"] == 0
            asked = {"balcao_budgets", "balcao_wallet_items", "balcao_database_commits_waiting"}
            assert not asked & set(seen)
            assert "balcao_clock_jumps_total" in seen
            server.start()
    finally:
        server.remove()


def test_a_file_is_no_server(tmp_path: Path) -> None:
    with open_service(tmp_path) as house:
        seen = measured(house)
        assert "balcao_budgets" in seen
        assert "balcao_database_up" not in seen
