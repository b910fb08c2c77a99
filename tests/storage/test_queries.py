"""The statements in `queries.sql`: the same names on both engines, and no unused ones."""

import re
from pathlib import Path

import pytest

import balcao.storage
from balcao.storage.statements import queries

STORAGE = Path(balcao.storage.__file__).parent
ENGINES = ("sqlite", "postgresql")


def test_both_engines_have_statements_of_the_same_names() -> None:
    assert list(queries("sqlite")) == list(queries("postgresql"))


@pytest.mark.parametrize("engine", ENGINES)
def test_each_statement_is_single_and_used(engine: str) -> None:
    files = [*(STORAGE / engine).glob("*.py"), *(STORAGE / "desk").glob("*.py")]
    source = "\n".join(file.read_text("utf-8") for file in [*files, STORAGE / "moved.py"])
    for name, sql in queries(engine).items():
        assert sql, name
        assert ";" not in sql, f"{name}: one statement each"
        assert "--" not in sql, f"{name}: comments are not sent"
        assert f'"{name}"' in source, f"{engine}: {name} is unused"
    assert not set(re.findall(r'QUERIES\["(\w+)"\]', source)) - set(queries(engine))
