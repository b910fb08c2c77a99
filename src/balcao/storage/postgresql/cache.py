"""The cache on PostgreSQL, for all nodes. Promises: `storage.contract.Cache`.

Read in turns of the loop, by a thread of its own. What was read is remembered until somebody, here
or on another node, changes it: whoever does notifies all (LISTEN, NOTIFY), and whoever has not
heard from the database just now believes nothing that it remembers.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import psycopg

from balcao.core.data_subject import DataSubject
from balcao.core.errors import BalcaoError, StorageFailed
from balcao.core.freshness import Kept
from balcao.core.questions import Mode
from balcao.storage.cache.behind import (
    RECENT_BYTES_MAX,
    RECENT_MAX,
    WAITING_MAX,
    WrittenBehind,
)
from balcao.storage.cache.keys import PARTNERS, old
from balcao.storage.postgresql import QUERIES
from balcao.storage.postgresql.connections import LastingConnection, opened_apart
from balcao.storage.postgresql.rows import arrays, texts
from balcao.storage.postgresql.schema import migrated
from balcao.storage.turns import Turns, Worker

log = logging.getLogger(__name__)

# Who has heard from the database within this time knows what others changed before.
HEARD_SECONDS = 0.5
LISTEN_SECONDS = 0.2
# Nothing is believed for longer, should somebody change entries by hand and tell nobody.
RECENT_SECONDS = 60.0

_TYPES = ("text", "bigint", "text", "bytea")
# A stretch of entries looked through for old ones: some milliseconds.
SWEPT_AT_ONCE = 500


class PostgresCache(WrittenBehind[tuple[float, Kept]]):
    """The entries of one mode. Opens nothing before the first key is asked for.

    What it remembers goes with the moment when it was read, on the monotonic clock.
    """

    def __init__(
        self,
        address: str,
        mode: Mode,
        pepper: bytes = b"",
        now_ms: Callable[[], int] | None = None,
    ) -> None:
        self._address = address
        self._mode = mode
        self._channel = f"balcao_cache_{mode}"
        self._heard: float | None = None  # all that was changed before is known; None: never asked
        # What was changed since the reading under way began. None: none is, or who knows.
        self._meanwhile: set[str] | None = None
        self._migrated = migrated("cache")
        self._reading = LastingConnection(address, self._greet_reader)
        self._writing = LastingConnection(address, _greet_writer())
        self._reader = Worker(f"cache-reader-{mode}", self._listen, LISTEN_SECONDS)
        self._asked: Turns[Sequence[str], Mapping[str, Kept]] = Turns(
            self._reader, lambda asked: partial(self._answer, asked)
        )
        self._swept_to = ""  # a key
        super().__init__(pepper, f"cache-writer-{mode}", WAITING_MAX, now_ms)

    async def read(self, keys: Sequence[str]) -> Mapping[str, Kept]:
        """See the contract."""
        stored = {key: self._keys.stored(key) for key in keys}
        found = await self._find(list(stored.values()))
        return {key: found[name] for key, name in stored.items() if name in found}

    def at_hand(self, keys: Sequence[str]) -> Mapping[str, Kept] | None:
        """See the contract. What is not remembered is read over a network."""
        found: dict[str, Kept] = {}
        for key in keys:
            name = self._keys.stored(key)
            remembered = self._remembered(name)
            if remembered is None:
                return None
            found[key] = self._newest(remembered, self._waiting.get(name)) or remembered
        return found

    async def _find(self, keys: Sequence[str]) -> Mapping[str, Kept]:
        known: dict[str, Kept] = {}
        missing = []
        for key in keys:
            kept = self._remembered(key)
            if kept is None:
                missing.append(key)
            if (kept := self._newest(kept, self._waiting.get(key))) is not None:
                known[key] = kept
        if missing:
            try:
                said = await self._asked.ask(missing)
            except BalcaoError as error:
                log.error("cache unreadable: %s", error.detail)
                said = {}
            for key in keys:  # what waits may have come meanwhile
                kept = self._newest(said.get(key), known.get(key))
                if (kept := self._newest(kept, self._waiting.get(key))) is not None:
                    known[key] = kept
        return known

    def _at_hand(self, key: str) -> Kept | None:
        return self._newest(self._remembered(key), self._waiting.get(key))

    def close(self) -> None:
        """See the contract."""
        super().close()
        self._reader.close()
        self._reading.close()
        self._writing.close()

    def _remembered(self, key: str) -> Kept | None:
        heard = self._heard  # first: whatever is still there after this was not yet changed then
        recent = self._recent.get(key)
        if recent is None or heard is None:
            return None
        now = time.monotonic()
        if now - heard >= HEARD_SECONDS or now - recent[0] >= RECENT_SECONDS:
            return None
        return recent[1]

    # In the reader's thread.

    def _greet_reader(self, connection: psycopg.Connection[Any]) -> None:
        self._migrated(connection)
        connection.add_notify_handler(lambda notification: self._forget([notification.payload]))
        connection.execute(f"LISTEN {self._channel}")
        with self._changing:  # who knows what was changed while nobody listened
            self._meanwhile = None
            self._recent.clear()

    def _listen(self) -> None:
        """Hear what others changed, also when nobody asks for anything."""
        if self._heard is None:
            return
        began = time.monotonic()
        try:
            self._reading.execute("SELECT 1")
        except StorageFailed:
            return  # what is remembered is not believed until we hear again
        self._heard = began

    def _answer(self, questions: Sequence[Sequence[str]]) -> Sequence[Mapping[str, Kept]]:
        keys = {key for question in questions for key in question}
        began = time.monotonic()
        with self._changing:
            self._meanwhile = set()
        try:
            rows = self._reading.execute(QUERIES["read_entries"], (texts(keys), self._mode))
            found = {row[0]: Kept(*row[1:]) for row in rows}
            self._remember(found)
        finally:
            with self._changing:
                self._meanwhile = None
        self._heard = began
        return [{key: found[key] for key in question if key in found} for question in questions]

    def _remember(self, found: Mapping[str, Kept]) -> None:
        """What was just read, but for what may be older than a change that came meanwhile."""
        now = time.monotonic()
        with self._changing:
            if self._meanwhile is None:
                return
            for key, kept in found.items():
                if key in self._meanwhile:
                    continue
                self._recent.pop(key, None)  # to the end of the line
                if len(kept.body) > RECENT_BYTES_MAX:
                    continue
                if len(self._recent) >= RECENT_MAX:
                    self._recent.popitem(last=False)
                self._recent[key] = (now, kept)

    # In any thread.

    def _forget(self, keys: Sequence[str]) -> None:
        """They were changed, here or elsewhere: nor is a reading under way to be remembered."""
        with self._changing:
            if self._meanwhile is not None:
                self._meanwhile.update(keys)
            for key in keys:
                self._recent.pop(key, None)

    # In the writer's thread.

    def _sweep(self, before_ms: int, people_before_ms: int) -> tuple[Sequence[str], bool]:
        stretch = (self._mode, self._swept_to, SWEPT_AT_ONCE)
        ((last, count),) = self._writing.execute(QUERIES["stretch"], stretch)
        over = count < SWEPT_AT_ONCE
        gone: list[str] = []
        if count:
            ages = old(before_ms, people_before_ms)
            stretched = (self._mode, self._swept_to, last, *ages, self._channel)
            gone = [key for key, _ in self._writing.execute(QUERIES["sweep"], stretched)]
        self._swept_to = "" if over else last
        return gone, over

    def _about(self, person: DataSubject) -> Sequence[Any]:
        about = self._keys.about(person.cpf.text)
        # Partners' documents are looked for in whole answers: that may take its time.
        with opened_apart(self._address) as patient, patient.guarded() as connection:
            migrated("cache")(connection)
            values = (self._mode, *about, *PARTNERS, *person.written)
            return connection.execute(QUERIES["entries_about"].encode(), values).fetchall()

    def _erase(self, person: DataSubject) -> Sequence[str]:
        gone = [key for key, _, _ in self._about(person)]
        with self._writing.guarded() as connection, connection.transaction():
            # This, unlike an entry, may not be lost in a crash.
            connection.execute("SET LOCAL synchronous_commit = on")
            connection.execute(
                QUERIES["erase_entries"].encode(), (self._mode, texts(gone), self._channel)
            )
        return gone

    def _write(self, batch: Sequence[tuple[str, Kept]]) -> None:
        rows = [(key, kept.asked_ms, kept.source, kept.body) for key, kept in batch]
        try:
            values = (self._mode, *arrays(_TYPES, rows), self._latest_ms(), self._channel)
            self._writing.execute(QUERIES["write_entries"], values, repeatable=True)
        except (BalcaoError, psycopg.Error) as error:
            log.error("cache not written: %s", type(error).__name__)


def _greet_writer() -> Any:
    migrate = migrated("cache")

    def greet(connection: psycopg.Connection[Any]) -> None:
        migrate(connection)
        # It may lose its last seconds in a crash.
        connection.execute("SET synchronous_commit = off")

    return greet
