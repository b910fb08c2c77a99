"""How documents that are promised to fail, fail: the same plan for every provider and subject.

A provider brings its voice (how it says that it is down) and the scene (its answers about a
document); which of them is heard, and when, is decided here.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from starlette.types import Receive

from balcao.fiction.sandbox import MISBEHAVING_COMPANIES, MISBEHAVING_PEOPLE
from balcao.fiction.sandbox.promises import Misbehaviour
from balcao.providers.simulation.exchange import SimulatedReply, html_reply

A = TypeVar("A")

# Whose data come when the data of another CNPJ are promised.
SOMEBODY_ELSE = "90010001000100"

# The same where the answer must be of somebody whom a subject or a UF knows.
SOMEBODY_ELSE_IN_THE_ZONE = "90010002000154"
SOMEBODY_ELSE_IN_EVERY_UF = "90020008000102"

# Which UFs fail where some are promised to.
FAILING_UFS = frozenset({"BA", "MG", "RS"})

_MISBEHAVING = {**MISBEHAVING_COMPANIES, **MISBEHAVING_PEOPLE}

# "Well after 3 s": later than anybody's patience of 3 s, sooner than one of 5.
SLOW_SECONDS = 3.2


class Voice(Protocol):
    """How a provider speaks of its own troubles."""

    def maintenance(self) -> SimulatedReply:
        """Down on purpose."""
        ...

    def error(self) -> SimulatedReply:
        """Down by accident: HTTP 500."""
        ...


@dataclass(frozen=True, slots=True)
class Scene(Generic[A]):
    """A document that a provider is asked about, and its answers.

    `good` answers about the CNPJ or CPF it is given; `incomplete` leaves a mandatory field out.
    `ufs` are the federative units it is asked about, if the subject knows any; they must have been
    checked, because they are remembered. `somebody_else` is whose data come in place of the right
    ones.
    """

    subject: str
    document: str
    good: Callable[[str], A]
    incomplete: Callable[[str], A]
    ufs: tuple[str, ...] = ()
    somebody_else: str = SOMEBODY_ELSE

    def told(self, tell: "Callable[[A], SimulatedReply]") -> "Scene[SimulatedReply]":
        """The same with every answer as it travels."""
        return Scene(
            self.subject,
            self.document,
            lambda document: tell(self.good(document)),
            lambda document: tell(self.incomplete(document)),
            self.ufs,
            self.somebody_else,
        )


class Stage:
    """One simulator process: its patience, and what it was asked before."""

    def __init__(self, *, delay_seconds: float, never_seconds: float, slow_seconds: float) -> None:
        self._delay_seconds = delay_seconds
        self._never_seconds = never_seconds
        self._slow_seconds = slow_seconds
        # One document per subject and UF is promised a first time: this cannot grow.
        self._asked: set[tuple[str, str, str]] = set()

    async def play(
        self, scene: Scene[SimulatedReply], voice: Voice, receive: Receive
    ) -> SimulatedReply:
        """What a provider says about an existing company or person, or fails to say."""
        document = scene.document
        if self._delay_seconds:
            await asyncio.sleep(self._delay_seconds)
        match _MISBEHAVING.get(document):
            case None:
                return scene.good(document)
            case Misbehaviour.SOME_UFS:
                # Where there are no UFs this document is like any other.
                return voice.maintenance() if FAILING_UFS & set(scene.ufs) else scene.good(document)
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
                return scene.good(scene.somebody_else)
            case Misbehaviour.SLOW:
                await asyncio.sleep(self._slow_seconds)
                return scene.good(document)
            case Misbehaviour.ONCE:
                return scene.good(document) if self._first(scene) else voice.error()
            case Misbehaviour.INCOMPLETE:
                return scene.incomplete(document)
            case Misbehaviour.CUT:
                return replace(scene.good(document), cut=True)

    def _first(self, scene: Scene[SimulatedReply]) -> bool:
        """Whether this is the first time; per UF, so that asking all of them one by one is one."""
        asked = {(scene.subject, scene.document, uf) for uf in scene.ufs or ("",)}
        first = self._asked.isdisjoint(asked)
        self._asked |= asked
        return first

    async def _wait_for_disconnect(self, receive: Receive) -> None:
        """Say nothing for `never_seconds`, or until nobody listens any more."""
        try:
            async with asyncio.timeout(self._never_seconds):
                while (await receive())["type"] != "http.disconnect":
                    pass
        except TimeoutError:
            pass
