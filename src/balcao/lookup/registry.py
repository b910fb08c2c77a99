"""Uncharged use of the company registry by other lookups.

State registrations need it to find a company's UF when the caller names none (contract 2.3), and
to distinguish a company without registrations from a CNPJ that does not exist (contract 3).
"""

import asyncio
import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from balcao.core.calendar import day_starts_ms, to_ms
from balcao.core.company import Company
from balcao.core.documents import Cnpj
from balcao.core.errors import SourceError
from balcao.core.freshness import CacheEntry
from balcao.core.questions import Inquiry
from balcao.core.registration import Registrations
from balcao.operations import OPERATIONS
from balcao.sources.contract import Absent, Answer
from balcao.sources.router import SourceRouter
from balcao.storage.contract import Cache

_company = msgspec.json.Decoder(Company).decode
_registrations = msgspec.json.Decoder(Registrations).decode


# Cache entries read before other tasks run.
_READ_AT_ONCE = 10


class CompaniesOfMonth(Protocol):
    """The companies of the published month: `balcao.opendata.current.CurrentSnapshot`."""

    def companies(
        self, cnpjs: Collection[Cnpj]
    ) -> tuple[datetime.date | None, Mapping[Cnpj, Company]]:
        """Return the day of the data and the companies found, CPFs masked. Blocks: in a thread."""
        ...


@dataclass(frozen=True, slots=True)
class CompanyRegistry:
    """The registry of one mode, live or test."""

    cache: Cache
    sources: SourceRouter
    month: CompaniesOfMonth

    async def dated_companies(self, cnpjs: Collection[Cnpj]) -> Mapping[Cnpj, tuple[Company, int]]:
        """Return the known ones of many companies, as `dated_company` does for one.

        The month is read for all of them together, in a thread.
        """
        day, of_month = await asyncio.to_thread(self.month.companies, cnpjs)
        as_of_ms = 0 if day is None else day_starts_ms(day)
        found = {cnpj: (company, as_of_ms) for cnpj, company in of_month.items()}
        others = [cnpj for cnpj in cnpjs if cnpj not in found]
        for at in range(0, len(others), _READ_AT_ONCE):
            some = others[at : at + _READ_AT_ONCE]
            keys = {Inquiry("company", cnpj).cache_key: cnpj for cnpj in some}
            kept = await self.cache.read(list(keys))
            found |= {keys[key]: (_company(of.body), of.asked_ms) for key, of in kept.items()}
            await asyncio.sleep(0)
        return found

    async def available_company(self, cnpj: Cnpj) -> Company | None:
        """Return the company without asking a source: from our copy, or a cached answer."""
        known = await self.dated_company(cnpj)
        return None if known is None else known[0]

    async def dated_company(self, cnpj: Cnpj) -> tuple[Company, int] | None:
        """Return the company, and when its source was asked (this identifies the answer)."""
        if (known := self._dated_snapshot_company(cnpj)) is not None:
            return known
        return decode_company(await self.cache.read([Inquiry("company", cnpj).cache_key]))

    def company_from(self, cnpj: Cnpj, kept: Mapping[str, CacheEntry]) -> Company | None:
        """Return the company without waiting. `kept`: its cache entry, if there is one."""
        known = self._dated_snapshot_company(cnpj) or decode_company(kept)
        return None if known is None else known[0]

    def snapshot_company(self, cnpj: Cnpj) -> Company | None:
        """Return the company of the month in use, as callers without the opt-in may see it."""
        known = self._dated_snapshot_company(cnpj)
        return None if known is None else known[0]

    def _dated_snapshot_company(self, cnpj: Cnpj) -> tuple[Company, int] | None:
        answer = self.sources.local_answer(Inquiry("company", cnpj))
        if answer is None or isinstance(answer, Absent):
            return None
        assert isinstance(answer.record, Company)
        return answer.record, to_ms(answer.as_of)

    async def available_home_uf(self, cnpj: Cnpj, ufs: Sequence[str]) -> str | None:
        """Return the company's own UF without asking a source, if it is one of these."""
        if (company := await self.available_company(cnpj)) is not None:
            return company.uf if company.uf in ufs else None
        keys = [Inquiry("state_registration", cnpj, uf).cache_key for uf in ufs]
        kept = await self.cache.read(keys)
        for key in keys:
            if key in kept and (home := _registrations(kept[key].body).uf_principal) in ufs:
                return home
        return None

    async def find_home_uf(
        self, cnpj: Cnpj, ufs: Sequence[str], until: float
    ) -> str | Absent | None:
        """Ask the sources for the company's own UF; absent where there is no such company.

        None: it is not known, or none of these (abroad, or not served here).
        """
        try:
            answer = await self._ask(Inquiry("company", cnpj), until)
        except SourceError:
            return None
        if isinstance(answer, Absent):
            return answer
        assert isinstance(answer.record, Company)
        return answer.record.uf if answer.record.uf in ufs else None

    async def find_denial(self, cnpj: Cnpj, until: float) -> Absent | None:
        """Return the proof of absence of a company, if our copy or a source gives one."""
        inquiry = Inquiry("company", cnpj)
        answer = self.sources.local_answer(inquiry)
        if answer is None and not await self.cache.read([inquiry.cache_key]):
            try:
                answer = await self._ask(inquiry, until)
            except SourceError:  # then the answer about registrations is trusted
                return None
        return answer if isinstance(answer, Absent) else None

    async def _ask(self, inquiry: Inquiry, until: float) -> Answer:
        answer = await self.sources.ask(inquiry, deadline=until)
        if not isinstance(answer, Absent) and not answer.local:
            body = OPERATIONS["company"].encode(inquiry, answer.record)
            kept = CacheEntry(body, to_ms(answer.as_of), answer.source)
            self.cache.keep([(inquiry.cache_key, kept)])
        return answer


def decode_company(kept: Mapping[str, CacheEntry]) -> tuple[Company, int] | None:
    """Decode the only entry into company and instant of asking; None: there is no entry."""
    entry = next(iter(kept.values()), None)
    return None if entry is None else (_company(entry.body), entry.asked_ms)
