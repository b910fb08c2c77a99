"""The head office of a company, which some answers are about (contract 4.13).

Looked for in what is here already: the month in use, whose flag counts and not order 0001, then
what a source answered about the establishment. Nobody is asked, and nobody is charged.
"""

import asyncio
from dataclasses import dataclass
from typing import Protocol

import structlog

from balcao.core.documents import Cnpj
from balcao.core.questions import Inquiry
from balcao.lookup.registry import company_in
from balcao.storage.contract import Cache

log = structlog.get_logger()

HEAD_OFFICE = "MATRIZ"


class HeadOfficeRegistry(Protocol):
    """The establishments of a month: `balcao.opendata.current.CurrentSnapshot`.

    Any of these may raise where its files are damaged.
    """

    def is_head_office(self, cnpj: Cnpj) -> bool | None:
        """The establishment's flag; None: the month does not have it."""
        ...

    def knows_company(self, root: str) -> bool:
        """Whether it has the company at all."""
        ...

    def find_head_office(self, root: str) -> Cnpj | None:
        """The establishment of a root that has the flag. Takes up to a second, in a thread."""
        ...


@dataclass(frozen=True, slots=True)
class HeadOffices:
    """Head offices as known in one mode, live or test."""

    month: HeadOfficeRegistry
    cache: Cache

    async def of(self, cnpj: Cnpj) -> Cnpj:
        """Return the head office of an establishment's company; order 0001 where none is known."""
        try:
            known = await self._in_month(cnpj)
        except Exception as error:  # a damaged file: the lookup goes on without it
            log.warning("head_office.month_unreadable", error=type(error).__name__)
            known = None
        if known is not None:
            return known
        first = cnpj.first_establishment
        return cnpj if cnpj != first and await self._was_answered(cnpj) else first

    async def _in_month(self, cnpj: Cnpj) -> Cnpj | None:
        for candidate in (cnpj.first_establishment, cnpj):  # nearly always the first
            if self.month.is_head_office(candidate):
                return candidate
        if not self.month.knows_company(cnpj.root):
            return None
        return await asyncio.to_thread(self.month.find_head_office, cnpj.root)

    async def _was_answered(self, cnpj: Cnpj) -> bool:
        """Whether a source said that this establishment is a head office."""
        known = company_in(await self.cache.read([Inquiry("company", cnpj).cache_key]))
        return known is not None and known[0].identificador_matriz_filial == HEAD_OFFICE
