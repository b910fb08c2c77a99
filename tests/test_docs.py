"""What the pages point at is there: files, names in them, settings, commands."""

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

from balcao.settings import Settings
from balcao.settings.in_force import OTHER_VARIABLES

ROOT = Path(__file__).parent.parent
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "pt").glob("*.md")),
    *sorted((ROOT / "docs" / "contract").glob("*.md")),
    *sorted((ROOT / "docs" / "security").glob("*.md")),
    *sorted((ROOT / "docs" / "upstreams").glob("*.md")),
    *sorted((ROOT / "deploy").rglob("*.md")),
]
DECISIONS = sorted((ROOT / "docs" / "adr").glob("*.md"))  # they tell of their own time

# What pages tell of and the repository does not have: the reader's own files.
THEIRS = {
    "balcao.toml", ".balcao/balcao.toml", "/etc/systemd/journald.conf", "receipts/", "backups/",
}  # fmt: skip

# Words in back quotes that are others': of the system, of PostgreSQL, of what stands around us.
OTHERS = {
    "srv", "aws", "garage", "cloudflarestorage", "honeycomb", "journalctl", "journald", "ulimits",
    "TMPDIR", "PR_SET_MDWE", "AWS_DISABLE_BULK_DELETE", "s3_region", "HHMMSS",
    "OTEL_TRACES_SAMPLER_ARG", "parentbased_traceidratio",
    "DETACH", "CONCURRENTLY", "TABLESPACE", "pg_basebackup", "synchronous_standby_names",
    "ledger_entry_2026_01", "BRASILAPI_URL", "underscores_in_headers",
    "pg_upgrade", "pg_rewind", "pg_cancel_backend",
    "synchronous_mode", "synchronous_mode_strict", "db2", "db3", "ANY", "ttl", "pgbackrest",
    "_x0001_",
    "sslmode", "sslrootcert", "includeSubDomains", "pickle",
}  # fmt: skip

TREES = ("src", "tests", "docs", "deploy", "bench", "tools", "clients")
FILES = [
    *(path for path in ROOT.iterdir() if path.is_file()),
    *(
        path
        for tree in TREES
        for path in (ROOT / tree).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ),
]
FOLDERS = {parent.as_posix() + "/" for parent in {up for file in FILES for up in file.parents}}


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


page = pytest.mark.parametrize("page", PAGES, ids=named)


FILES_BY_NAME: dict[str, list[Path]] = {}
for _file in FILES:
    FILES_BY_NAME.setdefault(_file.name, []).append(_file)


def files_called(name: str) -> list[Path]:
    """`sources/upstream.py` is any file whose path ends so."""
    wanted = Path(name).parts
    same_name = FILES_BY_NAME.get(wanted[-1], [])
    return [path for path in same_name if path.parts[-len(wanted) :] == wanted]


@pytest.mark.parametrize("page", [*PAGES, *DECISIONS], ids=named)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    names = re.findall(r"`([\w./-]+\.(?:py|md|conf|toml|ya?ml|service))`", page.read_text("utf-8"))
    missing = [name for name in names if name not in THEIRS and not files_called(name)]
    assert not missing


@pytest.mark.parametrize("page", [*PAGES, *DECISIONS], ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    for target, heading in re.findall(r"\]\(([^)#:\s]*)(?:#([^)]*))?\)", page.read_text("utf-8")):
        there = page.parent / target if target else page
        assert there.exists(), target
        assert not heading or unquote(heading) in anchors(there), f"{target}#{heading}"


def anchors(page: Path) -> set[str]:
    """Where links into a page may point: its headings, as they are shown on the web."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, *DECISIONS], ids=named)
def test_names_in_back_quotes_exist(page: Path) -> None:
    """Fields, settings, functions, codes: somewhere in what is not a page there is such a word."""
    said = {word for quoted in quoted_in(page) for word in _NAME.findall(quoted)}
    settings = {word for word in said if word.startswith("BALCAO_")}  # have a test of their own
    strangers = said - words() - OTHERS - settings - set(Settings.model_fields)
    assert not strangers


@pytest.mark.parametrize("page", [*PAGES, *DECISIONS], ids=named)
def test_members_in_back_quotes_are_their_classes(page: Path) -> None:
    """`Operation.plan`: in a file with that class there is such a word."""
    for quoted in quoted_in(page):
        if (found := re.fullmatch(r"([A-Z]\w+)\.(?!zip)(\w+)(?:\(.*\))?", quoted)) is None:
            continue
        if homes := classes().get(found[1]):
            assert any(re.search(rf"\b{found[2]}\b", text) for text in homes), quoted


@pytest.mark.parametrize("page", [*PAGES, *DECISIONS], ids=named)
def test_folders_in_back_quotes_are_there(page: Path) -> None:
    for quoted in quoted_in(page):
        if quoted not in THEIRS and re.fullmatch(r"\.?[\w-]+(?:/[\w.-]+)*/", quoted):
            assert any(folder.endswith(f"/{quoted}") for folder in FOLDERS), quoted


# Not what a placeholder cuts off: `normalizado_…`, `test_<name>.py`, `***NNNNNN**`.
_NAME = re.compile(r"(?<![\w…>*{-])[^\W\d]\w+(?![\w…<*}])")


def quoted_in(page: Path) -> list[str]:
    """What a page has in back quotes, apart from whole blocks of code."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S)
    return re.findall(r"`([^`]+)`", text.replace("\n", " "))


@cache
def code() -> tuple[str, ...]:
    """Every text of the repository that is not a page, nor somebody else's."""
    others = {".md", ".png", ".ico", ".svg", ".woff2", ".pyc"}
    return tuple(
        path.read_text("utf-8", errors="replace")
        for path in FILES
        if path.suffix not in others and path != Path(__file__)
    )


@cache
def classes() -> dict[str, list[str]]:
    """The texts with a class of each name."""
    found: dict[str, list[str]] = {}
    for text in code():
        for name in re.findall(r"^class (\w+)", text, re.M):
            found.setdefault(name, []).append(text)
    return found


@cache
def words() -> frozenset[str]:
    """Every word in these, and in the names of all files."""
    names = " ".join(path.relative_to(ROOT).as_posix() for path in FILES)
    return frozenset(re.findall(r"[^\W\d]\w+", " ".join((*code(), names))))


def test_names_beside_a_file_stand_in_it() -> None:
    """`file.py`, `Name`: as the page for adapters says where each thing is done."""
    text = (ROOT / "docs" / "adding-a-source.md").read_text("utf-8")
    pairs = re.findall(r"`([\w/]+\.py)`,\s+`(\w+)`", text)
    assert len(pairs) >= 4
    for file, name in pairs:
        text = "".join(path.read_text("utf-8") for path in files_called(file))
        assert re.search(rf"\b{name}\b", text), f"{name} is not in {file}"


@page
def test_settings_that_a_page_names_exist(page: Path) -> None:
    known = OTHER_VARIABLES | set(re.findall(r"`(BALCAO_\w+)`", manual()))
    for name in re.findall(r"\bBALCAO_[A-Z0-9_]*[A-Z0-9]\b", page.read_text("utf-8")):
        of_a_group = any(other.startswith(f"{name}__") for other in known)
        assert name in known or of_a_group, name


def manual() -> str:
    return (ROOT / "docs" / "settings.md").read_text("utf-8")


def test_the_month_for_trials_is_told_of_in_a_page() -> None:
    assert "balcao opendata sample" in (ROOT / "docs" / "sandbox.md").read_text("utf-8")


IN_PORTUGUESE = {
    "LEIAME.md": "README.md",
    **{
        f"docs/pt/{page.name}": f"docs/{page.name}"
        for page in sorted((ROOT / "docs" / "pt").glob("*.md"))
        if (ROOT / "docs" / page.name).is_file()
    },
}


@pytest.mark.parametrize("portuguese", IN_PORTUGUESE)
def test_both_languages_say_the_same(portuguese: str) -> None:
    """Headings, tables, lists, links and code; comments in code are translated."""
    assert _bones(IN_PORTUGUESE[portuguese]) == _bones(portuguese)


def _bones(page: str) -> dict[str, list[str]]:
    text, folder = (ROOT / page).read_text("utf-8"), (ROOT / page).parent

    def whither(link: str) -> str:
        """Of both languages the same: the page that is linked to, in English."""
        if "//" in link:
            return link
        path = (folder / link).resolve().relative_to(ROOT.resolve()).as_posix()
        return IN_PORTUGUESE.get(path, path)

    outside = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    code = re.findall(r"^```.*?^```$", text, re.DOTALL | re.MULTILINE)
    return {
        "headings": re.findall(r"^#+ ", outside, re.MULTILINE),
        "rows": [str(line.count("|")) for line in outside.splitlines() if line.startswith("|")],
        "points": re.findall(r"^- ", outside, re.MULTILINE),
        "links": [whither(each) for each in re.findall(r"\]\(([^)#]+)\)", outside)],
        "code": [re.sub(r" +# .*$", "", each, flags=re.MULTILINE) for each in code],
    }
