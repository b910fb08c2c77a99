"""What the company registry says, for our own use: nobody is charged for it.

State registrations need it twice: to find the UF of a company when the caller names none
(contract 2.3), and to tell a company without registrations from a CNPJ that does not exist
(contract 3), which the states answer alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from balcao.core.calendar import to_ms
from balcao.core.company import Company
from balcao.core.documents import Cnpj
from balcao.core.errors import SourceError
from balcao.core.freshness import Kept
from balcao.core.questions import Inquiry
from balcao.core.registration import Registrations
from balcao.operations import OPERATIONS
from balcao.sources.asking import Sources
from balcao.sources.contract import Absent, Answer
from balcao.storage.contract import Cache

_company = msgspec.json.Decoder(Company).decode
_registrations = msgspec.json.Decoder(Registrations).decode


@dataclass(frozen=True, slots=True)
class CompanyRegistry:
    """The registry of one mode, live or test."""

    cache: Cache
    sources: Sources

    async def company_at_hand(self, cnpj: Cnpj) -> Company | None:
        """The company, from what is here already: our copy, or an answer of any age."""
        known = await self.dated_at_hand(cnpj)
        return None if known is None else known[0]

    async def dated_at_hand(self, cnpj: Cnpj) -> tuple[Company, int] | None:
        """The same, and when its source was asked, which tells one answer from another."""
        if (known := self._in_our_copy(cnpj)) is not None:
            return known
        return company_in(await self.cache.read([Inquiry("company", cnpj).cache_key]))

    def company_of(self, cnpj: Cnpj, kept: Mapping[str, Kept]) -> Company | None:
        """The same for who cannot wait. `kept`: the cache's entry, if there is one."""
        known = self._in_our_copy(cnpj) or company_in(kept)
        return None if known is None else known[0]

    def in_our_copy(self, cnpj: Cnpj) -> Company | None:
        """The company of the month in use, as callers without the opt-in may see it."""
        known = self._in_our_copy(cnpj)
        return None if known is None else known[0]

    def _in_our_copy(self, cnpj: Cnpj) -> tuple[Company, int] | None:
        said = self.sources.at_hand(Inquiry("company", cnpj))
        if said is None or isinstance(said, Absent):
            return None
        assert isinstance(said.record, Company)
        return said.record, to_ms(said.as_of)

    async def home_at_hand(self, cnpj: Cnpj, ufs: Sequence[str]) -> str | None:
        """The company's own UF, if it is one of these and what is here already tells it."""
        if (company := await self.company_at_hand(cnpj)) is not None:
            return company.uf if company.uf in ufs else None
        keys = [Inquiry("state_registration", cnpj, uf).cache_key for uf in ufs]
        kept = await self.cache.read(keys)
        for key in keys:
            if key in kept and (home := _registrations(kept[key].body).uf_principal) in ufs:
                return home
        return None

    async def find_home(self, cnpj: Cnpj, ufs: Sequence[str], until: float) -> str | Absent | None:
        """The company's own UF, asking the sources; absent where there is no such company.

        None: it is not known, or none of these (abroad, or not served here).
        """
        try:
            said = await self._ask(Inquiry("company", cnpj), until)
        except SourceError:
            return None
        if isinstance(said, Absent):
            return said
        assert isinstance(said.record, Company)
        return said.record.uf if said.record.uf in ufs else None

    async def denies(self, cnpj: Cnpj, until: float) -> Absent | None:
        """The proof that there is no such company, where somebody has one."""
        inquiry = Inquiry("company", cnpj)
        said = self.sources.at_hand(inquiry)
        if said is None and not await self.cache.read([inquiry.cache_key]):
            try:
                said = await self._ask(inquiry, until)
            except SourceError:  # whoever answered about registrations is believed
                return None
        return said if isinstance(said, Absent) else None

    async def _ask(self, inquiry: Inquiry, until: float) -> Answer:
        said = await self.sources.ask(inquiry, until=until)
        if not isinstance(said, Absent) and not said.local:
            body = OPERATIONS["company"].encode(inquiry, said.record)
            self.cache.keep([(inquiry.cache_key, Kept(body, to_ms(said.as_of), said.source))])
        return said


def company_in(kept: Mapping[str, Kept]) -> tuple[Company, int] | None:
    """The company of the only entry, and when its source was asked; None: there is no entry."""
    entry = next(iter(kept.values()), None)
    return None if entry is None else (_company(entry.body), entry.asked_ms)
