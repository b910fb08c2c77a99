"""A second migration, and databases of versions that are newer or were never released."""

from pathlib import Path

import apsw
import psycopg
import pytest

from balcao.core.access import Account
from balcao.core.errors import StorageNewer, StorageUnreleased
from balcao.storage import statements
from balcao.storage.desk.desk import Desk
from tests.storage.engines import Engine, PostgresEngine, SqliteEngine
from tests.storage.later import COLUMN, add_migration
from tests.storage.world import a_charge

NICKNAMES = "SELECT nickname FROM account"
LEDGER = "SELECT * FROM ledger_entry ORDER BY entry_id"


def test_a_second_migration(
    engine: Engine, desk: Desk, ana: Account, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert engine.commit(desk, a_charge(ana, "r1", 3)) is None
    entries = engine.sql(LEDGER)
    add_migration(monkeypatch, tmp_path)

    later = engine.open()
    engine.open()  # nothing to do

    assert engine.sql(NICKNAMES) == [("",)]
    assert engine.sql(LEDGER) == entries
    assert later.accounts()[0].balance_credits == 7
    assert not later.check().complaints
    for statement in ("UPDATE ledger_entry SET rule = 'x'", "DELETE FROM ledger_entry"):
        with pytest.raises(engine.wall, match="a ledger entry never"):
            engine.sql(statement)


def test_a_desk_whose_data_moved_away_is_migrated_too(
    engine: Engine, desk: Desk, ana: Account, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A later move may bring the data back to it. Writes are blocked before and afterwards."""
    if isinstance(engine, SqliteEngine):
        wall = "BEGIN SELECT RAISE(ABORT, 'moved away'); END"
        engine.sql(f"CREATE TRIGGER moved_account BEFORE UPDATE ON account {wall}")
        change = f"{COLUMN}; UPDATE account SET nickname = name"  # triggers are disabled
    else:
        wall = "FOR EACH STATEMENT EXECUTE FUNCTION never('moved away')"
        engine.sql(f"CREATE TRIGGER a_moved BEFORE INSERT OR UPDATE ON account {wall}")
        change = COLUMN
    add_migration(monkeypatch, tmp_path, change)
    engine.open()
    assert len(engine.sql(NICKNAMES)) == 1
    with pytest.raises(engine.wall, match="moved away"):
        engine.sql("UPDATE account SET nickname = 'x'")


def test_a_database_of_a_newer_version_is_not_touched(engine: Engine, desk: Desk) -> None:
    engine.pretend_newer_schema()
    with pytest.raises(StorageNewer):
        engine.open()


# The newest of those versions, the number of the present first one, and a later one.
@pytest.mark.parametrize("version", [22, 1, 2])
def test_a_database_from_before_the_first_release_is_refused_as_it_is(
    engine: Engine, desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: int
) -> None:
    engine.pretend_unreleased_schema(version)
    add_migration(monkeypatch, tmp_path, number=max(version, 2))
    with pytest.raises(StorageUnreleased):
        engine.open()
    with pytest.raises((apsw.SQLError, psycopg.errors.UndefinedColumn)):
        engine.sql(NICKNAMES)
    kept = "PRAGMA user_version"
    if isinstance(engine, PostgresEngine):
        kept = "SELECT version FROM schema_version WHERE folder = 'desk'"
    assert engine.sql(kept) == [(version,)]


def test_a_database_of_an_earlier_edition_is_refused(engine: Engine, desk: Desk) -> None:
    """It has the same schema number, but other tables."""
    engine.pretend_earlier_edition()
    with pytest.raises(StorageUnreleased):
        engine.open()


@pytest.mark.parametrize("folder", ["desk", "cache"])
def test_both_engines_number_their_schemas_alike(folder: str) -> None:
    """A backup of either engine is restored into the other by that number (ADR 0093)."""
    sqlite, postgresql = (statements.migrations(one, folder) for one in ("sqlite", "postgresql"))
    assert set(sqlite) == set(postgresql)
