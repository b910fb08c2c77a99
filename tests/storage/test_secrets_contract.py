"""Replacements of the installation's secret, on every engine (ADR 0106)."""

from balcao.core.secrets import SecretRotation
from balcao.storage.desk.desk import Desk
from balcao.storage.postgresql.engine import PostgresEngine
from tests.storage.engines import Engine
from tests.storage.people import BY
from tests.storage.world import NOW


def test_one_rotation_at_a_time(engine: Engine, desk: Desk) -> None:
    stored = desk.secrets
    assert stored.newest() is None
    assert engine.run(stored.activate("a1", NOW))
    assert stored.newest() == SecretRotation("a1", None, NOW, None)
    assert not engine.run(stored.activate("b2", NOW + 1))
    assert engine.run(stored.finish("a1", BY, NOW + 2)) == []
    assert engine.run(stored.activate("b2", NOW))  # the clock was set back
    assert stored.newest() == SecretRotation("b2", "a1", NOW + 1, None)


def test_a_secret_waits_for_every_node(engine: Engine, desk: Desk) -> None:
    """On a file the only process that serves it activates the secret."""
    engine.run(desk.engine.report_secrets(["a1"]))
    lacking = desk.secrets.nodes_without("b2")
    assert bool(lacking) == isinstance(desk.engine, PostgresEngine)
    assert engine.run(desk.secrets.activate("b2", NOW)) is not bool(lacking)
    engine.run(desk.engine.report_secrets(["a1", "b2"]))
    assert not desk.secrets.nodes_without("b2")
