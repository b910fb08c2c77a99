"""The head office of a company, which some answers are about (contract 4.13).

Found without asking a source or charging: by the flag in the month in use (order 0001 proves
nothing), then by a cached answer about the establishment.
"""

import asyncio
from dataclasses import dataclass
from typing import Protocol

import structlog

from balcao.core.company import HEAD_OFFICE
from balcao.core.documents import Cnpj
from balcao.core.questions import Inquiry
from balcao.lookup.registry import decode_company
from balcao.storage.contract import Cache

log = structlog.get_logger()


class HeadOfficeRegistry(Protocol):
    """The establishments of a month: `balcao.opendata.current.CurrentSnapshot`.

    Each method may raise if the files are damaged.
    """

    def is_head_office(self, cnpj: Cnpj) -> bool | None:
        """Return the establishment's flag; None: the month does not have it."""
        ...

    def has_company(self, root: str) -> bool:
        """Return whether the imported month contains the company."""
        ...

    def find_head_office(self, root: str) -> Cnpj | None:
        """Return the establishment of a root that has the flag. Blocks for up to a second."""
        ...


@dataclass(frozen=True, slots=True)
class HeadOffices:
    """Finds head offices in one mode, live or test."""

    month: HeadOfficeRegistry
    cache: Cache

    async def head_office_of(self, cnpj: Cnpj) -> Cnpj:
        """Return the head office of an establishment's company; order 0001 where none is known."""
        try:
            known = await self._in_month(cnpj)
        except Exception as error:  # a damaged file: the lookup continues without it
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
        if not self.month.has_company(cnpj.root):
            return None
        return await asyncio.to_thread(self.month.find_head_office, cnpj.root)

    async def _was_answered(self, cnpj: Cnpj) -> bool:
        """Return whether a cached answer calls this establishment a head office."""
        known = decode_company(await self.cache.read([Inquiry("company", cnpj).cache_key]))
        return known is not None and known[0].identificador_matriz_filial == HEAD_OFFICE
