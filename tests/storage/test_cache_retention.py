"""Retention in caches: expired entries, and erasure of a person."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import apsw
import msgspec
import psycopg
import pytest

from balcao.core.company import Coded, Company
from balcao.core.data_subject import data_subject
from balcao.core.documents import Cpf
from balcao.core.freshness import CacheEntry
from balcao.core.questions import Inquiry
from balcao.storage.contract import Cache, PersonEntry, SweepResult
from balcao.storage.postgresql import cache as postgres_cache
from balcao.storage.postgresql.cache import PostgresCache
from balcao.storage.sqlite import cache as sqlite_cache
from balcao.storage.sqlite.cache import SqliteCache

SECRET = b"s" * 32
PERSON = data_subject(SECRET, Cpf.parse("90010000100"))
OTHER = data_subject(SECRET, Cpf.parse("90010000291"))

COMPANY = "company:11222333000181:"
PARTNERS = "company+socios:11222333000181:"
RURAL = Inquiry("rural_producer", PERSON.cpf, "SP").cache_key
FEDERAL = Inquiry("federal_certificate", PERSON.cpf, birth="1980-01-01").cache_key
FEDERAL_BORN_LATER = Inquiry("federal_certificate", PERSON.cpf, birth="1990-01-01").cache_key
OTHERS = Inquiry("rural_producer", OTHER.cpf, "SP").cache_key


def kept(asked_ms: int, body: bytes = b"{}") -> CacheEntry:
    return CacheEntry(body, asked_ms, "cnpja")


class Caches:
    """Two processes with the same cache, and raw access to its entries."""

    def __init__(self, make: Callable[[], Cache], stored: Callable[[], Sequence[str]]) -> None:
        self.one, self.two, self.stored = make(), make(), stored
        self._runner = asyncio.Runner()

    def keep(self, *entries: tuple[str, CacheEntry]) -> None:
        async def work() -> None:
            self.one.keep(entries)
            await self.one.entries_about(PERSON)  # runs after the pending entries are written

        self._runner.run(work())

    def read(self, cache: Cache, *keys: str) -> set[str]:
        return set(self._runner.run(cache.read(keys)))

    def sweep(self, before_ms: int, people_before_ms: int) -> list[SweepResult]:
        """Sweep a whole round."""
        swept: list[SweepResult] = []
        while not swept or not swept[-1].over:
            swept.append(self._runner.run(self.one.sweep(before_ms, people_before_ms)))
        return swept

    def about(self) -> Sequence[PersonEntry]:
        return self._runner.run(self.two.entries_about(PERSON))

    def erase(self) -> int:
        return self._runner.run(self.two.erase(PERSON))

    def close(self) -> None:
        self.one.close()
        self.two.close()
        self._runner.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def caches(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Caches]:
    monkeypatch.setattr(sqlite_cache, "SWEPT_AT_ONCE", 3)
    monkeypatch.setattr(postgres_cache, "SWEPT_AT_ONCE", 3)
    if request.param == "sqlite":
        path = tmp_path / "cache.db"

        def in_file() -> Sequence[str]:
            with closing(apsw.Connection(str(path))) as connection:
                return [str(key) for (key,) in connection.execute("SELECT key FROM entry")]

        with closing(Caches(lambda: SqliteCache(path, SECRET), in_file)) as both:
            yield both
        return
    address = request.getfixturevalue("address")

    def in_table() -> Sequence[str]:
        with psycopg.connect(address) as connection:
            return [key for (key,) in connection.execute("SELECT key FROM entry")]

    with closing(Caches(lambda: PostgresCache(address, "live", SECRET), in_table)) as both:
        yield both


def test_a_persons_keys_contain_neither_cpf_nor_birth_date(caches: Caches) -> None:
    everything = (COMPANY, RURAL, FEDERAL, FEDERAL_BORN_LATER)
    caches.keep(*((key, kept(1)) for key in everything))
    assert caches.read(caches.one, *everything) == set(everything)
    assert caches.read(caches.two, *everything) == set(everything)

    stored = caches.stored()
    assert len(stored) == 4
    assert COMPANY in stored
    for secret in ("90010000100", "1980", "1990"):
        assert not [key for key in stored if secret in key]


def test_expired_entries_are_removed_and_persons_sooner(caches: Caches) -> None:
    old = [(f"company:{number:014}:", kept(10)) for number in range(7)]
    young = [(f"company:{number:014}:", kept(30)) for number in range(7, 11)]
    caches.keep(*old, *young, (RURAL, kept(30)), (OTHERS, kept(60)), (COMPANY, kept(20)))
    caches.read(caches.one, RURAL, old[0][0])  # now they are in memory, too

    swept = caches.sweep(20, 50)
    assert sum(one.entries for one in swept) == 8
    assert sum(one.people_entries for one in swept) == 1
    assert len(swept) == 5, "fourteen entries, three at once"
    left = {key for key, _ in young} | {OTHERS, COMPANY}
    asked = [key for key, _ in old + young] + [RURAL, OTHERS, COMPANY]
    assert caches.read(caches.one, *asked) == left

    assert sum(one.entries for one in caches.sweep(20, 50)) == 0
    assert sum(one.entries for one in caches.sweep(100, 100)) == 6, "a new round begins"
    assert caches.stored() == []


def test_companies_that_are_natural_persons_expire_like_persons(caches: Caches) -> None:
    """ADR 0049: sole traders, and all of group 4."""

    def of(nature: str, number: int) -> tuple[str, CacheEntry]:
        document = f"{number:014}"
        record = Company(cnpj=document, natureza_juridica=Coded(nature, None))
        return f"company:{document}:", kept(30, msgspec.json.encode(record))

    sole, rural, limited, public = (
        of(nature, number) for number, nature in enumerate(("2135", "4120", "2062", "1244"))
    )
    with_partners = (PARTNERS, sole[1])
    unknown = ("company:11222333000181:", kept(30))
    caches.keep(sole, rural, limited, public, with_partners, unknown)

    assert sum(one.entries for one in caches.sweep(20, 30)) == 0, "not yet too old"
    assert sum(one.entries for one in caches.sweep(20, 31)) == 3
    assert set(caches.stored()) == {limited[0], public[0], unknown[0]}


def test_a_persons_entries_are_found_and_erased_and_no_others(caches: Caches) -> None:
    whole = b'{"socios":[{"cpf":"90010000100"}]}'
    caches.keep(
        (RURAL, kept(1)),
        (FEDERAL, kept(2)),
        (FEDERAL_BORN_LATER, kept(3)),
        (OTHERS, kept(4)),
        (COMPANY, kept(5)),
        (PARTNERS, kept(6, whole)),
        ("company+socios:00000000000191:", kept(7, b'{"socios":[]}')),
    )
    found = {(one.subject, one.uf, one.asked_ms) for one in caches.about()}
    assert found == {
        ("rural_producer", "SP", 1),
        ("federal_certificate", "", 2),
        ("federal_certificate", "", 3),
        ("company+socios", "", 6),
    }

    assert caches.erase() == 4
    assert caches.about() == []
    everything = (RURAL, FEDERAL, FEDERAL_BORN_LATER, OTHERS, COMPANY, PARTNERS)
    assert caches.read(caches.two, *everything) == {OTHERS, COMPANY}
    assert len(caches.stored()) == 3


def test_entries_erased_by_another_process_are_forgotten_on_request(caches: Caches) -> None:
    caches.keep((RURAL, kept(1)), (OTHERS, kept(2)))
    assert caches.read(caches.one, RURAL, OTHERS) == {RURAL, OTHERS}
    caches.erase()
    caches.one.forget()
    assert caches.read(caches.one, RURAL, OTHERS) == {OTHERS}


def test_freed_space_is_reused(tmp_path: Path) -> None:
    """The file does not shrink, but does not grow either when as much is stored again."""
    path = tmp_path / "cache.db"

    def fill(first: int) -> None:
        entries = [(f"company:{first + n:014}:", kept(first, b"x" * 2_000)) for n in range(2_000)]
        cache.keep(entries)
        asyncio.run(cache.entries_about(PERSON))

    with closing(SqliteCache(path, SECRET)) as cache:
        fill(0)
        full = path.stat().st_size
        while not asyncio.run(cache.sweep(1, 1)).over:
            pass
        cache._writing.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        assert b"x" * 100 not in path.read_bytes(), "it is overwritten, too"
        fill(10_000)
        cache._writing.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        assert path.stat().st_size < full * 1.2 + 100_000
