"""The cache on SQLite. Promises: `storage.contract.Cache`."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

from balcao.core.data_subject import DataSubject
from balcao.core.freshness import Kept
from balcao.storage.ballast import Ballast
from balcao.storage.cache.behind import (
    RECENT_BYTES_MAX,
    RECENT_MAX,
    WAITING_MAX,
    WrittenBehind,
)
from balcao.storage.cache.keys import PARTNERS, old
from balcao.storage.sqlite import QUERIES
from balcao.storage.sqlite.files import connect, empty_log, is_full, make_room, migrate, transaction

log = logging.getLogger(__name__)

# A stretch of entries looked through for old ones: about a megabyte, some milliseconds.
SWEPT_AT_ONCE = 500


class SqliteCache(WrittenBehind[Kept]):
    """One file; reads in place on the event loop's thread, which alone adds to `_recent`."""

    def __init__(
        self,
        path: Path,
        pepper: bytes = b"",
        ballast: Ballast | None = None,
        now_ms: Callable[[], int] | None = None,
    ) -> None:
        self._ballast = ballast or Ballast(path.parent)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._open(path)
        except (apsw.NotADBError, apsw.CorruptError):
            # A damaged cache is worth nothing and must not keep the service down.
            log.error("cache file damaged; set aside and begun anew")
            path.replace(path.with_suffix(".damaged"))
            self._open(path)
        self._swept_to = 0  # a rowid
        super().__init__(pepper, "cache-writer", WAITING_MAX, now_ms)

    def _open(self, path: Path) -> None:
        self._writing = connect(path, synchronous="NORMAL")
        try:
            migrate(self._writing, "cache")
            self._writing.execute("SELECT * FROM entry ORDER BY key LIMIT 1").fetchall()
        except BaseException:
            self._writing.close()  # before the file gets another name: it has the -wal by name
            raise
        self._reading = connect(path, synchronous="NORMAL")

    async def read(self, keys: Sequence[str]) -> Mapping[str, Kept]:
        """See the contract."""
        return self.at_hand(keys)

    def at_hand(self, keys: Sequence[str]) -> Mapping[str, Kept]:
        """See the contract. Nobody is waited for here."""
        found: dict[str, Kept] = {}
        for key in keys:
            kept = self._at_hand(self._keys.stored(key))
            if kept is not None:
                found[key] = kept
        return found

    def _at_hand(self, key: str) -> Kept | None:
        known = self._waiting.get(key) or self._recent.get(key)
        if known is not None:
            return known
        try:
            row = self._reading.execute(QUERIES["read_entries"], (key,)).fetchone()
        except apsw.Error as error:
            log.error("cache unreadable: %s", type(error).__name__)
            return None
        if row is None:
            return None
        kept = Kept(*row)
        if len(kept.body) <= RECENT_BYTES_MAX:
            if len(self._recent) >= RECENT_MAX:
                self._recent.popitem(last=False)
            self._recent[key] = kept
        return kept

    def close(self) -> None:
        """See the contract."""
        super().close()
        self._reading.close()
        self._writing.close()

    def _sweep(self, before_ms: int, people_before_ms: int) -> tuple[Sequence[str], bool]:
        stretch: Any = self._writing.execute(
            QUERIES["stretch"], (self._swept_to, SWEPT_AT_ONCE)
        ).fetchone()
        last, count = stretch
        over = count < SWEPT_AT_ONCE
        gone: list[str] = []
        if count:
            values = (self._swept_to, last, *old(before_ms, people_before_ms))
            rows: Any = self._writing.execute(QUERIES["sweep"], values).fetchall()
            gone = [key for (key,) in rows]
        self._swept_to = 0 if over else last
        return gone, over

    def _about(self, person: DataSubject) -> Sequence[Any]:
        values = (*self._keys.about(person.cpf.text), *PARTNERS, *person.written)
        return self._writing.execute(QUERIES["entries_about"], values).fetchall()

    def _erase(self, person: DataSubject) -> Sequence[str]:
        gone = [key for key, _, _ in self._about(person)]
        with self._writing:
            self._writing.executemany(QUERIES["erase_entries"], [(key,) for key in gone])
        empty_log(self._writing)
        return gone

    def _write(self, batch: Sequence[tuple[str, Kept]]) -> None:
        latest_ms = self._latest_ms()
        rows = [(key, kept.asked_ms, kept.source, kept.body, latest_ms) for key, kept in batch]
        try:
            try:
                self._insert(rows)
            except apsw.Error as error:
                if not is_full(error):
                    raise
                make_room(self._writing, self._ballast)
                self._insert(rows)
        except apsw.Error as error:
            log.error("cache not written: %s", type(error).__name__)

    def _insert(self, rows: Sequence[tuple[str, int, str, bytes, int]]) -> None:
        # A full disk may roll back by itself, which a savepoint would take for another error.
        with transaction(self._writing):
            self._writing.executemany(QUERIES["write_entries"], rows)
