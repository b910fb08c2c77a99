"""Fault injection for documents that must fail, the same for every provider and subject.

A provider supplies its replies about a document and its replies when it is down. This module
decides which of them is sent, and when.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from starlette.types import Receive

from balcao.fiction.sandbox import MISBEHAVING_COMPANIES, MISBEHAVING_PEOPLE
from balcao.fiction.sandbox.promises import Misbehaviour
from balcao.providers.simulation.messages import SimulatedReply, html_reply

ReplyT = TypeVar("ReplyT")

# The company of replies about a wrong document.
OTHER_COMPANY = "90010001000100"

# Likewise, registered in the free-trade zone, and in every UF.
OTHER_COMPANY_IN_THE_ZONE = "90010002000154"
OTHER_COMPANY_IN_EVERY_UF = "90020008000102"

# The UFs that fail for `Misbehaviour.SOME_UFS`.
FAILING_UFS = frozenset({"BA", "MG", "RS"})

_MISBEHAVING = {**MISBEHAVING_COMPANIES, **MISBEHAVING_PEOPLE}

# "Well after 3 s": longer than a timeout of 3 s, shorter than one of 5 s.
SLOW_SECONDS = 3.2


class FailureReplies(Protocol):
    """A provider's replies when it is down."""

    def maintenance(self) -> SimulatedReply:
        """Return the reply during maintenance."""
        ...

    def error(self) -> SimulatedReply:
        """Return the reply to an internal error: HTTP 500."""
        ...


@dataclass(frozen=True, slots=True)
class ReplyFactory(Generic[ReplyT]):
    """A requested document and the functions that make a provider's replies.

    `good` makes the reply about a CNPJ or CPF; `incomplete` omits a mandatory field. `ufs` are the
    requested UFs, if the subject has any; they must be valid, because they are stored.
    `other_document` is the document of replies about a wrong one.
    """

    subject: str
    document: str
    good: Callable[[str], ReplyT]
    incomplete: Callable[[str], ReplyT]
    ufs: tuple[str, ...] = ()
    other_document: str = OTHER_COMPANY

    def map(self, encode: "Callable[[ReplyT], SimulatedReply]") -> "ReplyFactory[SimulatedReply]":
        """Return a factory of encoded replies."""
        return ReplyFactory(
            self.subject,
            self.document,
            lambda document: encode(self.good(document)),
            lambda document: encode(self.incomplete(document)),
            self.ufs,
            self.other_document,
        )


class FaultInjector:
    """Selects the reply or the fault for each request. Stores which documents were requested."""

    def __init__(self, *, delay_seconds: float, never_seconds: float, slow_seconds: float) -> None:
        self._delay_seconds = delay_seconds
        self._never_seconds = never_seconds
        self._slow_seconds = slow_seconds
        # bounded: only one document per subject and UF depends on the first time
        self._seen: set[tuple[str, str, str]] = set()

    async def reply(
        self, replies: ReplyFactory[SimulatedReply], failures: FailureReplies, receive: Receive
    ) -> SimulatedReply:
        """Return the reply about an existing company or person, possibly after a delay."""
        document = replies.document
        if self._delay_seconds:
            await asyncio.sleep(self._delay_seconds)
        match _MISBEHAVING.get(document):
            case None:
                return replies.good(document)
            case Misbehaviour.SOME_UFS:
                # without UFs this document is like any other
                return (
                    failures.maintenance()
                    if FAILING_UFS & set(replies.ufs)
                    else replies.good(document)
                )
            case Misbehaviour.MAINTENANCE:
                return failures.maintenance()
            case Misbehaviour.NEVER:
                await self._wait_for_disconnect(receive)
                return failures.error()
            case Misbehaviour.ERROR:
                return failures.error()
            case Misbehaviour.HTML:
                return html_reply(200, "Bem-vindo")
            case Misbehaviour.ANOTHER:
                return replies.good(replies.other_document)
            case Misbehaviour.SLOW:
                await asyncio.sleep(self._slow_seconds)
                return replies.good(document)
            case Misbehaviour.ONCE:
                return replies.good(document) if self._is_first(replies) else failures.error()
            case Misbehaviour.INCOMPLETE:
                return replies.incomplete(document)
            case Misbehaviour.CUT:
                return replace(replies.good(document), cut=True)

    def _is_first(self, replies: ReplyFactory[SimulatedReply]) -> bool:
        """Return whether the document is requested for the first time, in each of the UFs."""
        requested = {(replies.subject, replies.document, uf) for uf in replies.ufs or ("",)}
        first = self._seen.isdisjoint(requested)
        self._seen |= requested
        return first

    async def _wait_for_disconnect(self, receive: Receive) -> None:
        """Wait for `never_seconds`, or until the client disconnects."""
        try:
            async with asyncio.timeout(self._never_seconds):
                while (await receive())["type"] != "http.disconnect":
                    pass
        except TimeoutError:
            pass
