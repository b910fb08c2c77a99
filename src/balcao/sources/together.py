"""A provider that answers all UFs in one call, while everybody else thinks in single UFs.

Inquiries about one document that are made in the same turn of the event loop travel together;
each gets its own UF's part of the answer, or the failure of the one call.
"""

import asyncio
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from typing import Protocol, TypeAlias, runtime_checkable

import msgspec

from balcao.core.errors import SourceError, SourceFailed
from balcao.core.federation import ALL
from balcao.core.questions import Inquiry
from balcao.core.registration import Registrations
from balcao.sources.contract import Absent, Answer, Exchange, Found
from balcao.sources.online import Adapter, Online, UpstreamFor, usable

ByUf: TypeAlias = Mapping[str, Registrations]


@runtime_checkable
class TogetherAdapter(Adapter, Protocol):
    """An adapter whose provider takes several UFs at once."""

    def takes_together(self, inquiry: Inquiry) -> bool:
        """Whether inquiries like this one, which it serves, may share a call."""
        ...

    def converse_about(self, inquiries: Sequence[Inquiry]) -> Exchange[ByUf]:
        """One conversation about several UFs of one document; every UF asked is in the answer."""
        ...


@dataclass(slots=True)
class _Group:
    """Inquiries that travel together, and those who wait for them."""

    inquiries: list[Inquiry] = field(default_factory=list)
    waiting: dict[str, asyncio.Future[Answer]] = field(default_factory=dict)  # by UF
    until: float = inf  # as whoever came first said


class Together(Online):
    """An `OnlineSource` (see `contract.py`) whose provider takes several UFs at once."""

    def __init__(
        self,
        name: str,
        adapter: TogetherAdapter,
        upstream_for: UpstreamFor,
        *,
        now: Callable[[], datetime],
    ) -> None:
        super().__init__(name, adapter, upstream_for, now=now)
        self._together = adapter
        self._groups: dict[Inquiry, _Group] = {}
        self._travelling: set[asyncio.Task[None]] = set()

    async def ask(self, inquiry: Inquiry, until: float = inf) -> Answer:
        """Ask it, together with whoever asks of the same document at this moment."""
        if inquiry.uf is None or not self._together.takes_together(inquiry):
            return await super().ask(inquiry, until)
        several = msgspec.structs.replace(inquiry, uf=ALL)
        group = self._groups.get(several)
        if group is None:
            group = self._groups[several] = _Group(until=until)
            # In the next turn everybody who starts in this one is aboard.
            asyncio.get_running_loop().call_soon(self._depart, several)
        if inquiry.uf not in group.waiting:
            group.waiting[inquiry.uf] = asyncio.get_running_loop().create_future()
            group.inquiries.append(inquiry)
        return await asyncio.shield(group.waiting[inquiry.uf])

    def _depart(self, several: Inquiry) -> None:
        task = asyncio.create_task(self._travel(several, self._groups.pop(several)))
        self._travelling.add(task)
        task.add_done_callback(self._travelling.discard)

    async def _travel(self, several: Inquiry, group: _Group) -> None:
        """Bring everybody an answer or an error; nobody is left waiting."""
        try:
            answers = await self._answers(several, group)
        except BaseException as error:
            for future in group.waiting.values():
                if not future.done():
                    # A copy each: an exception collects the traceback of everyone who raises it.
                    own = copy.copy(error) if isinstance(error, SourceError) else error
                    future.set_exception(own)
                    future.exception()  # seen: whoever waited may have gone away
            if not isinstance(error, Exception):  # we are told to stop
                raise
            return
        for uf, future in group.waiting.items():
            if not future.done():
                future.set_result(answers[uf])

    async def _answers(self, several: Inquiry, group: _Group) -> Mapping[str, Answer]:
        inquiries = group.inquiries
        if len(inquiries) == 1:
            answer = await super().ask(inquiries[0], group.until)
            return dict.fromkeys(group.waiting, answer)
        asked_at = self._now()
        records = await self._upstream_for(several).hold(
            self._together.converse_about(inquiries),
            group.until,
            check=lambda found: self._usable(found, inquiries),
        )
        if records is None:
            absent = Absent(self.name, conclusive=self._adapter.conclusive_absence)
            return dict.fromkeys(group.waiting, absent)
        return {uf: Found(records[uf], self.name, asked_at) for uf in group.waiting}

    def _usable(self, found: ByUf, inquiries: Sequence[Inquiry]) -> ByUf:
        """All or nothing: one UF about somebody else casts doubt on the others."""
        ready: dict[str, Registrations] = {}
        for inquiry in inquiries:
            record = found.get(inquiry.uf or "")
            if record is None:
                raise SourceFailed(f"{self.name}: resposta sem uma UF consultada")
            said = usable(self.name, record, inquiry)
            assert isinstance(said, Registrations)
            ready[said.uf] = said
        return ready
