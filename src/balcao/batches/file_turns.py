"""Files that are written for downloads, by the API and the application alike (decision 0078).

One file of an account is written at a time, and one of all; a file that is being downloaded still
takes its room, so an account may have only so many.
"""

import asyncio
import weakref
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial

from balcao.core.errors import FileRunning


class FileTurns:
    """The turns of one process.

    `most_of`: how many files an account may have at once; `most`: how many there may be of all.
    """

    def __init__(
        self,
        most_of: Callable[[int], int],
        most: int,
        refused: Callable[[], None] = lambda: None,
    ) -> None:
        self._most_of, self._most, self._refused = most_of, most, refused
        self._writing: set[int] = set()
        self._writer = asyncio.Lock()
        self._open: Counter[int] = Counter()  # files of each account

    @asynccontextmanager
    async def turn(self, account_id: int) -> AsyncGenerator[None, None]:
        """Hold while one of the account's files is being written. Raises `FileRunning`."""
        crowded = self._open[account_id] >= self._most_of(account_id)
        if account_id in self._writing or crowded or self._open.total() >= self._most:
            self._refused()
            raise FileRunning
        self._writing.add(account_id)
        try:
            async with self._writer:
                yield
        finally:
            self._writing.discard(account_id)

    def hold(self, account_id: int, file: object) -> Callable[[], object]:
        """Count a file that was written, until what this returns is called or the file is gone."""
        self._open[account_id] += 1
        return weakref.finalize(file, partial(self._let_go, account_id))

    def _let_go(self, account_id: int) -> None:
        self._open[account_id] -= 1
        if not self._open[account_id]:
            del self._open[account_id]
