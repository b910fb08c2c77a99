"""The last examination of the installation, run by a thread while pages are served.

It checks what `balcao doctor` checks. On a large ledger it may take minutes, so it runs only when
its page is first opened or on request, one at a time, and its findings are shown until the next.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from balcao.core.findings import Finding

log = structlog.get_logger()

# The page waits this long for the result.
PATIENCE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Examination:
    """The findings of an examination, its time and its duration."""

    findings: Sequence[Finding]
    at_ms: int
    took_ms: float


class Examinations:
    """The examinations of one process. `look` is slow and is called in a thread."""

    def __init__(self, examine: Callable[[], Sequence[Finding]]) -> None:
        self._examine = examine
        self._under_way: asyncio.Task[None] | None = None
        self.last: Examination | None = None
        self.since_ms: int | None = None  # None: none is under way

    async def start(self, now_ms: int) -> None:
        """Start an examination, unless one is running, and wait a little for its end."""
        if self._under_way is None or self._under_way.done():
            self.since_ms = now_ms
            self._under_way = asyncio.create_task(self._run(now_ms))
        await asyncio.wait([self._under_way], timeout=PATIENCE_SECONDS)

    async def _run(self, now_ms: int) -> None:
        begun = time.perf_counter()
        try:
            findings = await asyncio.to_thread(self._examine)
        except Exception as error:
            log.exception("examination.bug")
            text = (
                f"a verificação parou ({type(error).__name__}). Veja os detalhes com balcao doctor"
            )
            findings = [Finding("fail", text, "verificação")]
        finally:
            self.since_ms = None
        self.last = Examination(findings, now_ms, (time.perf_counter() - begun) * 1000)
