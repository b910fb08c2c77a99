"""Acts that extend certificates, on every engine (contract 4.12)."""

from dataclasses import replace

import pytest

from balcao.core.errors import FormDone, StorageFailed
from balcao.core.extensions import Extension
from balcao.storage.desk.desk import Desk
from tests.storage.engines import Engine
from tests.storage.people import BY, a_form, deeds
from tests.storage.world import NOW

FEDERAL = Extension(
    "federal_certificate", None, "2020-01-01", "2020-03-24", None, 90, "Portaria 555/2020"
)
STATE = Extension(
    "state_certificate", "SP", "2026-05-01", "2026-05-31", "2026-12-31", None, "Decreto 1"
)


def test_acts_are_added_read_and_removed(engine: Engine, desk: Desk) -> None:
    first = engine.run(desk.extensions.add(FEDERAL, a_form("a"), NOW))
    second = engine.run(desk.extensions.add(STATE, a_form("b"), NOW + 1))
    with pytest.raises(FormDone):
        engine.run(desk.extensions.add(STATE, a_form("b"), NOW))
    kept = replace(STATE, extension_id=second, added_ms=NOW + 1)
    assert desk.extensions.all() == [kept, replace(FEDERAL, extension_id=first, added_ms=NOW)]
    assert desk.extensions.all_in_thread() == desk.extensions.all()

    assert engine.run(desk.extensions.remove(second, BY, NOW)) == kept
    with pytest.raises(LookupError):
        engine.run(desk.extensions.remove(second, BY, NOW))
    assert [one.extension_id for one in desk.extensions.all()] == [first]
    said = "state_certificate SP, emitidas de 01/05/2026 a 31/05/2026, até 31/12/2026: Decreto 1"
    assert deeds(desk, "extension.add")[1] == ("extension.add", None, f"prorrogação {second}", said)
    assert deeds(desk, "extension.remove") == [
        ("extension.remove", None, f"prorrogação {second}", said)
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        replace(FEDERAL, until_day="2026-01-01"),
        replace(FEDERAL, days=None),
        replace(FEDERAL, days=0),
        replace(FEDERAL, issued_to="2019-12-31"),
    ],
)
def test_walls(engine: Engine, desk: Desk, wrong: Extension) -> None:
    with pytest.raises(StorageFailed):
        engine.run(desk.extensions.add(wrong, BY, NOW))
    assert desk.extensions.all() == []
    assert deeds(desk, "extension.add") == []


def test_an_act_never_changes(engine: Engine, desk: Desk) -> None:
    engine.run(desk.extensions.add(FEDERAL, BY, NOW))
    with pytest.raises(engine.wall):
        engine.sql("UPDATE certificate_extension SET act = 'x'")
