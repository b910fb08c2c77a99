"""Stored use of deprecated features, on every engine (ADR 0104)."""

from balcao.core.access import Account
from balcao.core.deprecations import DeprecatedUse
from balcao.storage.desk.deprecated_uses import KeyUse
from balcao.storage.desk.desk import Desk
from tests.storage.engines import Engine
from tests.storage.people import BY
from tests.storage.world import NOW


def test_nodes_add_up_and_days_expire(
    engine: Engine, desk: Desk, ana: Account, bruno: Account
) -> None:
    other = engine.open()
    (key,), (his,) = desk.keys(ana.account_id), desk.keys(bruno.account_id)

    def use(day: str, requests: int) -> DeprecatedUse:
        return DeprecatedUse(ana.account_id, "a", key.key_id, day, requests)

    engine.run(desk.deprecated_uses.add([use("2026-08-19", 3), use("2026-07-01", 5)]))
    theirs = DeprecatedUse(bruno.account_id, "a", his.key_id, "2026-08-20", 1)
    engine.run(other.deprecated_uses.add([use("2026-08-19", 4), theirs]))
    engine.run(desk.deprecated_uses.add([]))
    of_ana = KeyUse(ana.account_id, "ana", "a", key.key_id, key.name, key.prefix, "2026-08-19", 7)
    of_bruno = KeyUse(
        bruno.account_id, "bruno", "a", his.key_id, his.name, his.prefix, "2026-08-20", 1
    )
    read = desk.deprecated_uses.read
    assert read(None, "2026-07-21", 10) == [of_bruno, of_ana]
    assert read(None, "2026-07-21", 1) == [of_bruno]
    assert read(ana.account_id, "2026-07-21", 10) == [of_ana]
    assert read(ana.account_id, "2026-07-01", 10)[0].requests == 12

    assert engine.run(desk.deprecated_uses.purge("2026-08-19")) == 1
    assert read(ana.account_id, "2026-07-01", 10) == [of_ana]
    assert engine.run(desk.deprecated_uses.purge("2026-08-20")) == 1
    assert read(None, "2026-07-01", 10) == [of_bruno]
    desk.revoke_key(his.key_id, NOW, BY)
    assert read(None, "2026-07-01", 10) == []
