"""Connections to PostgreSQL: what the address says, what holds in any case, and locks."""

import re
from collections import Counter
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

import balcao
from balcao.errors import StorageUnreleased
from balcao.storage.postgresql.connections import LastingConnection
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.postgresql.pipeline import pipelined

_LOCK = re.compile(r"\b0x6261\w{4}\b")  # "ba.."


def setting(line: LastingConnection, name: str) -> str:
    with line.guarded() as connection:
        row = connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
    assert row is not None
    return str(row[0])


def test_options_of_the_address_join_ours(address: str) -> None:
    """Who names a schema there still wants nobody to wait for ever."""
    named = address + "&options=-c%20search_path%3Dbalcao%20-c%20lock_timeout%3D3s"
    with closing(LastingConnection(named)) as line:
        assert setting(line, "search_path") == "balcao"
        assert setting(line, "lock_timeout") == "3s"
        assert setting(line, "statement_timeout") == "5s"
        assert setting(line, "idle_in_transaction_session_timeout") == "3s"
        assert setting(line, "enable_seqscan") == "off"


def test_text_is_written_in_one_encoding_whatever_the_address_says(address: str) -> None:
    with closing(LastingConnection(address + "&client_encoding=latin1", pipelines=True)) as line:
        with line.guarded() as connection, pipelined(connection) as pipeline:
            lengths = pipeline.queue("SELECT length(%s::text), %s::text", ("é", "é"))
            pipeline.sync()
        assert lengths == [(1, "é")]
        assert setting(line, "client_encoding") == "UTF8"


def test_a_database_from_before_the_release_is_refused_as_it_is(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP FUNCTION make_partition")
    with pytest.raises(StorageUnreleased):
        PostgresDesk(address)
    with psycopg.connect(address) as connection:
        assert connection.execute("SELECT count(*) FROM node").fetchone() == (0,)


def test_every_advisory_lock_has_a_number_of_its_own() -> None:
    """Else a first start would wait for another node's backup before a migration."""
    source = Path(balcao.__file__).parent
    numbers = Counter(
        number for file in source.rglob("*.py") for number in _LOCK.findall(file.read_text("utf-8"))
    )
    assert len(numbers) >= 7, "they begin differently now"
    assert set(numbers.values()) == {1}, numbers
