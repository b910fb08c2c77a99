"""A desk of the version before rules were codes, on either engine."""

from contextlib import closing
from pathlib import Path
from unittest.mock import patch

import apsw
import psycopg

from balcao.core.calendar import civil_day
from balcao.storage.postgresql.partitions import Partitions
from balcao.storage.statements import migrations
from tests.storage.world import NOW


def before(engine: str) -> dict[int, str]:
    """The desk's migrations that came before rules were codes."""
    files = migrations(engine, "desk")
    rules = next(number for number, file in files.items() if file.name.endswith("_rules.sql"))
    return {number: files[number].read_text("utf-8") for number in sorted(files) if number < rules}


def make_sqlite(path: Path) -> None:
    """An empty one in this file."""
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for number, text in before("sqlite").items():
            connection.execute(text)
            connection.execute(f"PRAGMA user_version = {number}")


def make_postgresql(address: str) -> None:
    """An empty one in place of what is in this database, with the partitions of one month."""
    files = before("postgresql")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        connection.execute("CREATE TABLE schema_version (folder text PRIMARY KEY, version bigint)")
        for text in files.values():
            connection.execute(text.encode())
        connection.execute("INSERT INTO schema_version VALUES ('desk', %s)", (max(files),))
        with patch("balcao.storage.postgresql.partitions.TABLES", ("ledger_entry", "trace")):
            Partitions().make(connection, civil_day(NOW), civil_day(NOW))
