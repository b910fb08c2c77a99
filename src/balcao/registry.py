"""What the company registry says, for the house's own use: nobody is charged for it.

State registrations need it twice: to find the UF of a company when the caller names none
(decisions 2.3), and to tell a company without registrations from a CNPJ that does not exist
(decisions 3), which the states answer alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from balcao.core.calendar import to_ms
from balcao.core.company import Company
from balcao.core.documents import Cnpj
from balcao.core.federation import UFS
from balcao.core.freshness import Kept
from balcao.core.questions import Inquiry
from balcao.core.registration import Registrations
from balcao.errors import SourceError
from balcao.sources.asking import Sources
from balcao.sources.contract import Absent, Answer
from balcao.storage.contract import Cache
from balcao.subjects import company

_company = msgspec.json.Decoder(Company).decode
_registrations = msgspec.json.Decoder(Registrations).decode


@dataclass(frozen=True, slots=True)
class Registry:
    """The registry of one mode, live or test."""

    cache: Cache
    sources: Sources

    def home_at_hand(self, cnpj: Cnpj, ufs: Sequence[str]) -> str | None:
        """The company's own UF, from what is here already: our copy, or an answer of any age."""
        inquiry = Inquiry("company", cnpj)
        said = self.sources.at_hand(inquiry)
        if said is not None and not isinstance(said, Absent):
            return _home(said.record)
        if (kept := self.cache.read(inquiry.key)) is not None:
            return _home(_company(kept.body))
        for uf in ufs:
            kept = self.cache.read(Inquiry("state_registration", cnpj, uf).key)
            if kept is not None and (home := _registrations(kept.body).uf_principal):
                return home
        return None

    async def find_home(self, cnpj: Cnpj) -> str | Absent | None:
        """The company's own UF, asking the sources; absent where there is no such company."""
        try:
            said = await self._ask(Inquiry("company", cnpj))
        except SourceError:
            return None
        return said if isinstance(said, Absent) else _home(said.record)

    async def denies(self, cnpj: Cnpj) -> Absent | None:
        """The proof that there is no such company, where somebody has one."""
        inquiry = Inquiry("company", cnpj)
        said = self.sources.at_hand(inquiry)
        if said is None and self.cache.read(inquiry.key) is None:
            try:
                said = await self._ask(inquiry)
            except SourceError:  # whoever answered about registrations is believed
                return None
        return said if isinstance(said, Absent) else None

    async def _ask(self, inquiry: Inquiry) -> Answer:
        said = await self.sources.ask(inquiry)
        if not isinstance(said, Absent) and not said.local:
            body = company.encode(inquiry, said.record)
            self.cache.keep([(inquiry.key, Kept(body, to_ms(said.as_of), said.source))])
        return said


def _home(record: object) -> str | None:
    """The UF of a company in Brazil."""
    uf = record.uf if isinstance(record, Company) else None
    return uf if uf in UFS else None
