"""A source that combines inquiries about several UFs into one call.

Inquiries about one document that start in the same turn of the event loop share a call. Each gets
its UF's part of the answer, or the error of the call.
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
from balcao.sources.online import Adapter, AdapterSource, UpstreamFor, validated_and_masked

ByUf: TypeAlias = Mapping[str, Registrations]


@runtime_checkable
class MultiUfAdapter(Adapter, Protocol):
    """An adapter for a provider that answers several UFs in one call."""

    def can_combine(self, inquiry: Inquiry) -> bool:
        """Return whether inquiries like this one may share a call."""
        ...

    def converse_combined(self, inquiries: Sequence[Inquiry]) -> Exchange[ByUf]:
        """Converse about several UFs of one document; the answer has every UF."""
        ...


@dataclass(slots=True)
class _Group:
    """Inquiries that share a call, and the futures of their callers."""

    inquiries: list[Inquiry] = field(default_factory=list)
    futures: dict[str, asyncio.Future[Answer]] = field(default_factory=dict)  # by UF
    deadline: float = inf  # the first caller's


class MultiUfSource(AdapterSource):
    """An `OnlineSource` (see `contract.py`) that combines inquiries about several UFs."""

    def __init__(
        self,
        name: str,
        adapter: MultiUfAdapter,
        upstream_for: UpstreamFor,
        *,
        now: Callable[[], datetime],
    ) -> None:
        super().__init__(name, adapter, upstream_for, now=now)
        self._multi_uf_adapter = adapter
        self._groups: dict[Inquiry, _Group] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, inquiry: Inquiry, deadline: float = inf) -> Answer:
        """Ask, combined with concurrent inquiries about the same document."""
        if inquiry.uf is None or not self._multi_uf_adapter.can_combine(inquiry):
            return await super().ask(inquiry, deadline)
        combined = msgspec.structs.replace(inquiry, uf=ALL)
        group = self._groups.get(combined)
        if group is None:
            group = self._groups[combined] = _Group(deadline=deadline)
            # by the next turn, all inquiries that start in this one have joined
            asyncio.get_running_loop().call_soon(self._start, combined)
        if inquiry.uf not in group.futures:
            group.futures[inquiry.uf] = asyncio.get_running_loop().create_future()
            group.inquiries.append(inquiry)
        return await asyncio.shield(group.futures[inquiry.uf])

    def _start(self, combined: Inquiry) -> None:
        task = asyncio.create_task(self._run_group(combined, self._groups.pop(combined)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run_group(self, combined: Inquiry, group: _Group) -> None:
        """Resolve all futures of the group, with an answer or an error."""
        try:
            answers = await self._answers(combined, group)
        except BaseException as error:
            for future in group.futures.values():
                if not future.done():
                    # one copy per caller: each raise adds its traceback to the exception
                    own = copy.copy(error) if isinstance(error, SourceError) else error
                    future.set_exception(own)
                    future.exception()  # mark as retrieved: the caller may be gone
            if not isinstance(error, Exception):  # cancelled
                raise
            return
        for uf, future in group.futures.items():
            if not future.done():
                future.set_result(answers[uf])

    async def _answers(self, combined: Inquiry, group: _Group) -> Mapping[str, Answer]:
        inquiries = group.inquiries
        if len(inquiries) == 1:
            answer = await super().ask(inquiries[0], group.deadline)
            return dict.fromkeys(group.futures, answer)
        asked_at = self._now()
        records = await self._upstream_for(combined).run(
            self._multi_uf_adapter.converse_combined(inquiries),
            group.deadline,
            check=lambda found: self._checked(found, inquiries),
        )
        if records is None:
            absent = Absent(self.name, conclusive=self._adapter.conclusive_absence)
            return dict.fromkeys(group.futures, absent)
        return {uf: Found(records[uf], self.name, asked_at) for uf in group.futures}

    def _checked(self, found: ByUf, inquiries: Sequence[Inquiry]) -> ByUf:
        """Check all records: if one is about another document, the whole reply fails."""
        ready: dict[str, Registrations] = {}
        for inquiry in inquiries:
            record = found.get(inquiry.uf or "")
            if record is None:
                raise SourceFailed(f"{self.name}: resposta sem uma UF consultada")
            checked = validated_and_masked(self.name, record, inquiry)
            assert isinstance(checked, Registrations)
            ready[checked.uf] = checked
        return ready
