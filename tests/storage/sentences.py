"""A desk of the version before rules were codes, on either engine."""

import re
from contextlib import closing
from importlib import resources
from pathlib import Path

import apsw
import psycopg

from balcao.core.calendar import civil_day
from balcao.storage.postgresql.partitions import Partitions
from tests.storage.world import NOW


def before(folder: str) -> dict[int, str]:
    """The files of `sql/{folder}` that came before rules were codes."""
    found = {}
    for entry in resources.files("balcao.storage").joinpath("sql", folder).iterdir():
        if match := re.fullmatch(r"(\d{4})_(\w+)\.sql", entry.name):
            found[int(match[1])] = entry.read_text("utf-8"), match[2]
    rules = next(number for number, (_, name) in found.items() if name == "rules")
    return {number: found[number][0] for number in sorted(found) if number < rules}


def make_sqlite(path: Path) -> None:
    """An empty one in this file."""
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for number, text in before("desk").items():
            connection.execute(text)
            connection.execute(f"PRAGMA user_version = {number}")


def make_postgresql(address: str) -> None:
    """An empty one in place of what is in this database, with the partitions of one month."""
    files = before("postgresql/desk")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        connection.execute("CREATE TABLE schema_version (folder text PRIMARY KEY, version bigint)")
        for text in files.values():
            connection.execute(text.encode())
        connection.execute("INSERT INTO schema_version VALUES ('desk', %s)", (max(files),))
        Partitions().make(connection, civil_day(NOW), civil_day(NOW))
