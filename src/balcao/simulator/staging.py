"""How documents that are promised to fail, fail: the same plan for every provider and subject.

A provider brings its voice (how it says that it is down) and its lines (the good answer for a
document); which of them is heard, and when, is decided here.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from balcao.fiction.sandbox import MISBEHAVING_COMPANIES, Misbehaviour
from balcao.simulator.exchange import Receive, Reply, html_reply

# Whose data come when the data of another CNPJ are promised.
SOMEBODY_ELSE = "90010001000100"

# "Well after 3 s": later than anybody's patience of 3 s, sooner than one of 5.
SLOW_SECONDS = 3.2


class Voice(Protocol):
    """How a provider speaks of its own troubles."""

    def maintenance(self) -> Reply:
        """Down on purpose."""
        ...

    def error(self) -> Reply:
        """Down by accident: HTTP 500."""
        ...


@dataclass(frozen=True, slots=True)
class Lines:
    """A provider's answers about one document.

    `good` answers about the CNPJ it is given; `incomplete` leaves a mandatory field out.
    """

    good: Callable[[str], Reply]
    incomplete: Callable[[str], Reply]


class Stage:
    """One simulator process: its patience, and what it was asked before."""

    def __init__(self, *, delay_seconds: float, never_seconds: float, slow_seconds: float) -> None:
        self._delay_seconds = delay_seconds
        self._never_seconds = never_seconds
        self._slow_seconds = slow_seconds
        # One document per subject is promised a first time: this cannot grow.
        self._asked: set[tuple[str, str]] = set()

    async def play(
        self, subject: str, cnpj: str, voice: Voice, lines: Lines, receive: Receive
    ) -> Reply:
        """What a provider says about an existing company, or fails to say."""
        if self._delay_seconds:
            await asyncio.sleep(self._delay_seconds)
        match MISBEHAVING_COMPANIES.get(cnpj):
            case None | Misbehaviour.SOME_UFS:
                # The company registry knows no UFs: for it this document is like any other.
                return lines.good(cnpj)
            case Misbehaviour.MAINTENANCE:
                return voice.maintenance()
            case Misbehaviour.NEVER:
                await self._wait_for_disconnect(receive)
                return voice.error()
            case Misbehaviour.ERROR:
                return voice.error()
            case Misbehaviour.HTML:
                return html_reply(200, "Bem-vindo")
            case Misbehaviour.ANOTHER:
                return lines.good(SOMEBODY_ELSE)
            case Misbehaviour.SLOW:
                await asyncio.sleep(self._slow_seconds)
                return lines.good(cnpj)
            case Misbehaviour.ONCE:
                if (subject, cnpj) in self._asked:
                    return voice.error()
                self._asked.add((subject, cnpj))
                return lines.good(cnpj)
            case Misbehaviour.INCOMPLETE:
                return lines.incomplete(cnpj)
            case Misbehaviour.CUT:
                return replace(lines.good(cnpj), cut=True)

    async def _wait_for_disconnect(self, receive: Receive) -> None:
        """Say nothing for `never_seconds`, or until nobody listens any more."""
        try:
            async with asyncio.timeout(self._never_seconds):
                while (await receive())["type"] != "http.disconnect":
                    pass
        except TimeoutError:
            pass
