"""What both engines say in their own words: each by the same name, and nothing that nobody asks."""

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
def test_a_statement_is_one_and_is_asked(engine: str) -> None:
    files = [*(STORAGE / engine).glob("*.py"), *(STORAGE / "desk").glob("*.py")]
    source = "\n".join(file.read_text("utf-8") for file in [*files, STORAGE / "moved.py"])
    for name, sql in queries(engine).items():
        assert sql, name
        assert ";" not in sql, f"{name}: one statement each"
        assert "--" not in sql, f"{name}: comments are not sent"
        assert f'"{name}"' in source, f"{engine}: nobody asks {name}"
    assert not set(re.findall(r'QUERIES\["(\w+)"\]', source)) - set(queries(engine))
