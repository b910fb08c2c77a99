"""The data of every release open under the present code, and answer as they did then."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from balcao import __version__
from balcao.storage.statements import migrations, oldest_compatible
from tests.deploy.files import ROOT
from tests.releases.archive import RELEASES, Archive, answer, archives, has_all_of, serving
from tests.storage import postgres

SUMS = RELEASES / "SHA256SUMS"
ARCHIVES_BYTES_MAX = 500_000


@pytest.fixture(params=archives(), ids=lambda archive: archive.folder.name)
def archive(request: pytest.FixtureRequest) -> Archive:
    found: Archive = request.param
    return found


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of an empty database; empty for SQLite."""
    if request.param == "sqlite":
        yield ""
        return
    address = postgres.server().new_database()
    yield address
    postgres.server().drop_database(address)


def test_data_of_a_release(archive: Archive, address: str, tmp_path: Path) -> None:
    record = archive.record
    archive.unpack(tmp_path)
    if address:
        archive.load(address)
        archive.remove_files_of_sqlite(tmp_path)
    with serving(tmp_path, record["at_ms"], address) as service:
        for one in record["answers"]:
            present = answer(service, record["keys"], one)
            assert has_all_of(one, present), (one, present)
        assert service.desk.check().complaints == []


def test_an_archive_has_one_release(archive: Archive) -> None:
    assert archive.record["program"] == archive.folder.name
    assert sum(path.stat().st_size for path in archive.folder.iterdir()) < ARCHIVES_BYTES_MAX


def test_released_migrations_never_change() -> None:
    """Unreleased migrations have higher numbers."""
    released = {}
    for line in SUMS.read_text("utf-8").splitlines():
        digest, _, name = line.partition("  ")
        assert hashlib.sha256((ROOT / name).read_bytes()).hexdigest() == digest, name
        released[name] = int(Path(name).name[:4])
    for engine in ("sqlite", "postgresql"):
        for folder in ("desk", "cache"):
            path = Path("src/balcao/storage") / engine / "migrations" / folder
            last = max(n for name, n in released.items() if Path(name).parent == path)
            files = migrations(engine, folder)
            assert sorted(files) == list(range(1, max(files) + 1))
            listed = sum(Path(name).parent == path for name in released)
            assert listed == last, "a number below the last released one is new"


def test_engines_agree_on_compatible_schemas() -> None:
    declared = [
        {
            (folder, number): oldest_compatible(number, file.read_text("utf-8"))
            for folder in ("desk", "cache")
            for number, file in migrations(engine, folder).items()
        }
        for engine in ("sqlite", "postgresql")
    ]
    assert declared[0] == declared[1]


def test_the_present_version_has_its_archive() -> None:
    assert __version__ in {archive.folder.name for archive in archives()}
