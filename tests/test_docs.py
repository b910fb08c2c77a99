"""What the pages point at is there: files, names in them, settings, commands."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import typer

from balcao.cli.app import app

ROOT = Path(__file__).parent.parent
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "deploy").rglob("*.md")),
]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))  # they tell of their own time

# What pages tell of and the repository does not have: the reader's own files.
THEIRS = {"balcao.toml", "/etc/systemd/journald.conf"}
TREES = ("src", "tests", "docs", "deploy", "bench", "tools")
FILES = [
    *(path for path in ROOT.iterdir() if path.is_file()),
    *(path for tree in TREES for path in (ROOT / tree).rglob("*") if path.is_file()),
]


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


page = pytest.mark.parametrize("page", PAGES, ids=named)


def files_called(name: str) -> list[Path]:
    """`sources/call.py` is any file whose path ends so."""
    wanted = Path(name).parts
    return [path for path in FILES if path.parts[-len(wanted) :] == wanted]


@page
def test_files_that_a_page_names_are_there(page: Path) -> None:
    names = re.findall(r"`([\w./-]+\.(?:py|md|conf|toml|ya?ml|service))`", page.read_text("utf-8"))
    missing = [name for name in names if name not in THEIRS and not files_called(name)]
    assert not missing


@pytest.mark.parametrize("page", [*PAGES, *DECISIONS], ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


def test_names_beside_a_file_stand_in_it() -> None:
    """`file.py`, `Name`: as the page for adapters says where each thing is done."""
    text = (ROOT / "docs" / "adding-a-source.md").read_text("utf-8")
    pairs = re.findall(r"`([\w/]+\.py)`, `(\w+)`", text)
    assert len(pairs) >= 4
    for file, name in pairs:
        text = "".join(path.read_text("utf-8") for path in files_called(file))
        assert re.search(rf"\b{name}\b", text), f"{name} is not in {file}"


@page
def test_settings_that_a_page_names_exist(page: Path) -> None:
    known = {"BALCAO_CONFIG"} | set(re.findall(r"`(BALCAO_\w+)`", manual()))
    for name in re.findall(r"\bBALCAO_[A-Z0-9_]*[A-Z0-9]\b", page.read_text("utf-8")):
        of_a_group = any(other.startswith(f"{name}__") for other in known)
        assert name in known or of_a_group, name


def manual() -> str:
    return (ROOT / "docs" / "settings.md").read_text("utf-8")


def commands() -> Mapping[str, object]:
    """Every command by its words, groups included."""

    def below(group: object, words: str) -> Iterator[tuple[str, object]]:
        for name, command in getattr(group, "commands", {}).items():
            yield f"{words}{name}", command
            yield from below(command, f"{words}{name} ")

    return dict(below(typer.main.get_command(app), ""))


@page
def test_commands_that_a_page_names_exist(page: Path) -> None:
    known = commands()
    for line in re.findall(r"(?:^|[`$\n] ?)balcao ([a-z][a-z -]*)", page.read_text("utf-8")):
        first, *rest = line.split()
        assert first in known, f"balcao {line}"
        if rest and hasattr(known[first], "commands"):
            assert f"{first} {rest[0]}" in known, f"balcao {line}"


def test_the_month_for_trials_is_told_of_in_a_page() -> None:
    assert "balcao opendata sample" in (ROOT / "docs" / "sandbox.md").read_text("utf-8")
