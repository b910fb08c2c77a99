"""The rules of the house. When one of these fails, its message says what to do."""

import ast
import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "balcao"

# What each room of the house, a folder or one of the loose modules, may import of the others.
# Arrows point inward: down this list, nobody knows of who comes later. It names every room.
MAY_IMPORT: dict[str, set[str]] = {
    "__init__": set(),
    "core": set(),
    "observability": {"core"},
    "home": {"core"},
    "lifeline": set(),
    "operations": {"core"},
    "fiction": {"core"},
    "sources": {"core", "operations"},
    "providers": {"core", "fiction", "operations", "sources"},
    "settings": {"core", "home", "operations", "providers"},
    "storage": {"core", "home", "lifeline"},
    "opendata": {"core", "fiction", "lifeline"},
    "accounts": {"core", "home", "storage"},
    "lookup": {"core", "operations", "sources", "storage"},
    "batches": {"core", "lifeline", "lookup", "operations", "storage"},
    "backup": {"core", "home", "opendata", "settings", "storage"},
    "examination": {
        "accounts",
        "core",
        "home",
        "opendata",
        "operations",
        "providers",
        "settings",
        "sources",
        "storage",
    },
    "http": {
        "accounts",
        "batches",
        "core",
        "lookup",
        "observability",
        "operations",
        "providers",
        "settings",
        "storage",
    },
    "web": {
        "accounts",
        "batches",
        "core",
        "examination",
        "home",
        "http",
        "lookup",
        "observability",
        "opendata",
        "operations",
        "providers",
        "settings",
        "storage",
    },
    "service": {
        "accounts",
        "backup",
        "batches",
        "core",
        "examination",
        "fiction",
        "home",
        "http",
        "lifeline",
        "lookup",
        "observability",
        "opendata",
        "operations",
        "providers",
        "settings",
        "sources",
        "storage",
        "web",
    },
    "cli": {
        "accounts",
        "backup",
        "core",
        "examination",
        "home",
        "observability",
        "opendata",
        "operations",
        "providers",
        "service",
        "settings",
        "storage",
    },
    "__main__": {"cli"},
}
LOOSE = {"__init__", "__main__", "home", "lifeline"}
ROOMS_MAX, ARROWS_MAX, FLOORS_MAX = 21, 105, 10
IMPURE = {
    "apsw", "asyncio", "os", "random", "secrets", "socket", "sqlite3", "tempfile", "time", "uuid",
    "uuid_utils",
}  # fmt: skip
# A new API key is drawn by chance, in the one function that knows its form.
IMPURE_ALLOWED = {("access.py", "secrets")}


# What is done in one place: within a room or anywhere, the calls that do it, and who makes them.
DONE_IN: dict[str, tuple[str, set[str], set[str]]] = {
    "the application is put together": ("", {"Front"}, {"service/compose.py"}),
    "the parts of a lookup are put together": ("", {"Parts"}, {"service/parts.py"}),
    "a client of others' services is made": (
        "",
        {"httpx2.AsyncClient", "httpx2.Client"},
        # The doctor and a terminal ask our own address; months come by the gigabyte, and from no
        # provider.
        {
            "sources/upstream.py",
            "examination/service.py",
            "opendata/fetching/share_client.py",
            "cli/service_client.py",
        },
    ),
    "PDFs that others made are opened": (
        "storage/receipts/",
        {"pikepdf.open"},
        {"storage/receipts/check.py"},
    ),
    "a page gets its address": ("web/", {"Route"}, {"web/kit/application.py"}),
    # docs/security/README.md lists the cryptography in use.
    "something is encrypted": (
        "",
        {"Fernet", "AESGCM"},
        {"accounts/seal.py", "batches/sealing.py"},
    ),
    "passwords are hashed": ("", {"PasswordHasher"}, {"web/kit/passwords.py"}),
    "a weak hash is used": (
        "",
        {"hashlib.md5", "hashlib.sha1", "SHA1", "hashlib.new"},
        # Codes by RFC 6238, and a field that a provider's own answers have.
        {"web/pages/signing/second_factor.py", "providers/infosimples/simulator/__init__.py"},
    ),
    "a key is drawn": ("", {"secrets.choice"}, {"core/access.py"}),
}
# Who decides is told the time: limits, months and expiries believe one clock (contract 9.8).
TOLD_THE_TIME = {"accounts", "core", "http", "lookup", "receipts", "sources", "storage"}
ASKS_THE_TIME = re.compile(r"time\.time(_ns)?|(.*\.)?(datetime\.(utc)?now|date\.today)")


@dataclass(frozen=True)
class Facts:
    """Imports, calls and public classes of a file."""

    imports: Sequence[str]  # all of them
    imports_at_run_time: Sequence[str]  # not those below `if TYPE_CHECKING`
    calls: Set[str]  # dotted names: `Front`, `httpx2.Client`, `datetime.now`
    classes: Sequence[str]  # at the top


@cache
def _facts(file: Path) -> Facts:
    """Read a file once, for all rules: this is most of their time."""
    tree = ast.parse(file.read_text("utf-8"))
    imports, at_run_time, calls = list[str](), list[str](), set[str]()
    todo: list[tuple[ast.AST, bool]] = [(tree, True)]
    while todo:
        node, runs = todo.pop()
        names: Iterable[str] = ()
        if isinstance(node, ast.Call):
            calls.add(_dotted(node.func))
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: write imports out in full"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.If) and _dotted(node.test).endswith("TYPE_CHECKING"):
            todo += ((each, False) for each in node.body)
            todo += ((each, runs) for each in node.orelse)
            continue
        imports += names
        at_run_time += names if runs else ()
        todo += ((each, runs) for each in ast.iter_child_nodes(node))
    classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    return Facts(imports, at_run_time, calls, [name for name in classes if name[0] != "_"])


def _dotted(node: ast.AST) -> str:
    """Return a name and its attributes; `?` for any other expression."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def _imports(file: Path) -> Sequence[str]:
    return _facts(file).imports


def _room(file: Path) -> str:
    return file.relative_to(SOURCE).with_suffix("").parts[0]


def _arrows() -> dict[str, dict[str, Path]]:
    """Which rooms each room imports, and a file that does."""
    found: dict[str, dict[str, Path]] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        others = found.setdefault(_room(file), {})
        for name in _imports(file):
            if name.startswith("balcao.") and name != "balcao.__version__":
                others.setdefault(name.split(".")[1], file)
        others.pop(_room(file), None)
    return found


def test_arrows_point_inward() -> None:
    found = _arrows()
    assert set(found) == set(MAY_IMPORT), "a room came or went: say here what it may import"
    assert {room for room in found if (SOURCE / f"{room}.py").is_file()} == LOOSE
    for room, others in found.items():
        for other, file in others.items():
            assert other in MAY_IMPORT[room], (
                f"{file.relative_to(ROOT)} imports {other}: {room} may only know"
                f" {sorted(MAY_IMPORT[room])}; hand the part in through service/compose.py"
            )
        assert MAY_IMPORT[room] == set(others), f"{room} needs fewer rooms: take them off its line"


def test_nobody_knows_of_who_comes_later() -> None:
    """No cycle, and few floors: each room stands on those before it."""
    floor: dict[str, int] = {}
    for room, others in MAY_IMPORT.items():
        assert others <= set(floor), f"{room} knows of {others - set(floor)}, who come later"
        floor[room] = 1 + max((floor[other] for other in others), default=0)
    assert max(floor.values()) <= FLOORS_MAX
    assert sum(map(len, MAY_IMPORT.values())) <= ARROWS_MAX
    assert len(set(MAY_IMPORT) - {"__init__"}) <= ROOMS_MAX


def _modules(room: str) -> dict[str, Path]:
    """The modules of a room, by their dotted names; a package is its `__init__`."""
    files = sorted((SOURCE / room).rglob("*.py"))
    parts = {file: file.relative_to(SOURCE.parent).with_suffix("").parts for file in files}
    return {".".join(names).removesuffix(".__init__"): file for file, names in parts.items()}


@cache
def _graph(room: str) -> dict[str, set[str]]:
    """Which modules of the room each module of it imports."""
    modules = _modules(room)
    found: dict[str, set[str]] = {}
    for module, file in modules.items():
        names = _facts(file).imports_at_run_time
        named = {name if name in modules else name.rpartition(".")[0] for name in names}
        found[module] = named & set(modules) - {module}
    return found


def _siblings(graph: dict[str, set[str]], package: str) -> dict[str, set[str]]:
    """Which children of a package, modules or packages, each child of it imports."""
    found: dict[str, set[str]] = {}
    depth = package.count(".") + 2

    def child(name: str) -> str:
        return ".".join(name.split(".")[:depth])

    for module, others in graph.items():
        if module.startswith(f"{package}."):
            inside = {child(other) for other in others if other.startswith(f"{package}.")}
            found.setdefault(child(module), set()).update(inside - {child(module)})
    return found


def _circles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """The sets of names that import each other, directly or through others."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        todo = [start]
        while todo:
            for other in graph[todo.pop()] - seen:
                seen.add(other)
                todo.append(other)
        return seen

    below = {name: reached(name) for name in graph}
    return {
        frozenset(other for other in below[name] if name in below[other])
        for name in graph
        if name in below[name]
    }


def test_no_import_cycles_within_a_room() -> None:
    """Neither among the modules of a room nor among the children of one of its packages."""
    found: set[frozenset[str]] = set()
    for room in sorted(set(MAY_IMPORT) - LOOSE):
        graph = _graph(room)
        found |= _circles(graph)
        for name, file in _modules(room).items():
            if file.name == "__init__.py":
                found |= _circles(_siblings(graph, name))
    cycles = [sorted(names) for names in found]
    assert not cycles, f"these import each other: {cycles}"


def test_the_kit_of_web_imports_no_page() -> None:
    """A page imports another one only through the package of that page; only routes import all."""
    for module, others in _graph("web").items():
        below, page = module.split(".")[2:4] if module.count(".") > 2 else ("", "")
        for other in others:
            if other.startswith("balcao.web.pages."):
                assert below != "kit", (
                    f"{module} imports {other}: hand it in, or move it to the kit"
                )
                is_own = other.split(".")[3] == page
                assert below != "pages" or is_own or other.count(".") == 3, (
                    f"{module} imports {other}: export the name in the `__init__` of that page"
                )


def test_nobody_outside_storage_asks_which_engine_it_is() -> None:
    """What depends on the engine is asked of the place (ADR 0033)."""
    # SQLite is also the form of an imported month; and its errors are told to the operator.
    apsw_too = {"backup/schedule.py", "examination/checks.py", "examination/failures/__init__.py"}
    engines = tuple(
        f"balcao.storage.{folder.name}"
        for folder in (SOURCE / "storage").iterdir()
        if (folder / "queries.sql").is_file()
    )
    assert len(engines) == 2
    for file in sorted(SOURCE.rglob("*.py")):
        if _room(file) == "storage":
            continue
        names = list(_imports(file))
        known = [name for name in names if name.startswith((*engines, "psycopg"))]
        if _room(file) != "opendata" and str(file.relative_to(SOURCE)) not in apsw_too:
            known += [name for name in names if name.split(".")[0] == "apsw"]
        known += re.findall(r"settings\.database\b", file.read_text("utf-8"))
        assert not known, f"{file.relative_to(ROOT)} knows {known}: ask `storage.places.DataPlace`"


def test_the_core_decides_and_does_nothing_else() -> None:
    for file in sorted((SOURCE / "core").glob("*.py")):
        impure = {name.split(".")[0] for name in _imports(file)} & IMPURE
        impure -= {name for where, name in IMPURE_ALLOWED if where == file.name}
        assert not impure, f"core/{file.name} imports {impure}: take it as an argument instead"


def test_what_is_done_in_one_place() -> None:
    called = {
        file.relative_to(SOURCE).as_posix(): _facts(file).calls
        for file in sorted(SOURCE.rglob("*.py"))
    }
    for what, (within, calls, places) in DONE_IN.items():
        found = {name for name, some in called.items() if some & calls}
        assert {name for name in found if name.startswith(within)} == places, f"where {what}"


def test_who_decides_is_told_the_time() -> None:
    for file in sorted(SOURCE.rglob("*.py")):
        if _room(file) in TOLD_THE_TIME:
            asked = set(filter(ASKS_THE_TIME.fullmatch, _facts(file).calls))
            assert not asked, f"{file.relative_to(ROOT)} asks {asked}: take it as an argument"


def test_every_room_is_in_the_tree_for_newcomers() -> None:
    tree = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for room in set(MAY_IMPORT) - {"__init__", "__main__"}:
        name = f"{room}.py" if room in LOOSE else f"{room}/"
        assert f"`{name}`" in tree, f"say in CONTRIBUTING.md what is in {name}"


def test_files_have_one_idea() -> None:
    """A file is as long as its idea; no idea here has taken so many lines yet."""
    for file in sorted(SOURCE.rglob("*.py")):
        lines = len(file.read_text("utf-8").splitlines())
        assert lines <= 600, f"{file.relative_to(ROOT)} has {lines} lines: find the second idea"


def test_a_class_name_means_one_thing_in_its_room() -> None:
    found: dict[tuple[str, str], Path] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        room = file.relative_to(SOURCE).parts[0]
        for name in _facts(file).classes:
            other = found.setdefault((room, name), file)
            assert other == file, f"{name} is in {other} and in {file}: rename one"


def test_lock_files_name_no_host() -> None:
    for name in ("requirements.lock", "requirements-otel.lock", "requirements-dev.lock"):
        text = (ROOT / name).read_text("utf-8")
        assert "://" not in text, f"{name} names a host; lock with --no-emit-index-url"
        assert "--hash=sha256:" in text
