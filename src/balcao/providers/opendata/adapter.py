"""The imported monthly snapshot as a source."""

import datetime
from collections.abc import Hashable
from functools import lru_cache
from typing import Protocol

from balcao.core.calendar import BRASILIA, to_ms
from balcao.core.company import Company, has_masked_partner, masked
from balcao.core.documents import Cnpj
from balcao.core.questions import Inquiry, Part
from balcao.operations import OPERATIONS
from balcao.sources.contract import Absent, Answer, FinishedAnswer, Found


class ImportedRegistry(Protocol):
    """The interface of the copy: `balcao.opendata.current.CurrentSnapshot`."""

    @property
    def extraction_date(self) -> datetime.date | None:
        """The extraction date; None if nothing is imported."""
        ...

    @property
    def edition(self) -> int:
        """A number that grows with each published month."""
        ...

    def find(self, cnpj: Cnpj) -> Company | None:
        """Return an establishment, or None."""
        ...

    def answer(self, cnpj: Cnpj) -> tuple[datetime.date, bytes] | None:
        """Return the extraction date and the precomputed `finished_company`, if there is one."""
        ...


def finished_company(company: Company) -> bytes:
    """Encode a company as the lookup returns it without the partner opt-in."""
    inquiry = Inquiry("company", Cnpj(company.cnpj))
    return OPERATIONS["company"].encode(inquiry, masked(company))


class SnapshotSource:
    """A `LocalSource` (see `contract.py`)."""

    parts: frozenset[Part] = frozenset()

    def __init__(self, registry: ImportedRegistry, name: str = "snapshot") -> None:
        self.name = name
        self._registry = registry

    @property
    def edition(self) -> Hashable:
        return self._registry.edition

    def find(self, inquiry: Inquiry) -> Answer | None:
        """Look up a company; None if nothing is imported or a requested CPF would be masked.

        An absence is not conclusive: the company may be newer than the copy.
        """
        # date first: if a new month is published in between, the record is newer than stated
        extracted = self._registry.extraction_date
        if extracted is None or inquiry.subject != "company":
            return None
        if not isinstance(inquiry.document, Cnpj):
            return None
        record = self._registry.find(inquiry.document)
        if record is None:
            return Absent(self.name, conclusive=False)
        if not inquiry.full_partners:
            return Found(masked(record), self.name, _midnight(extracted), local=True)
        if has_masked_partner(record):
            return None
        return Found(record, self.name, _midnight(extracted), local=True)

    def finished(self, inquiry: Inquiry) -> FinishedAnswer | None:
        if inquiry.subject != "company" or inquiry.full_partners:
            return None
        if not isinstance(inquiry.document, Cnpj):
            return None
        if (finished := self._registry.answer(inquiry.document)) is None:
            return None
        extracted, body = finished
        return FinishedAnswer(body, self.name, _midnight_ms(extracted))


@lru_cache(maxsize=8)
def _midnight(day: datetime.date) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time(), BRASILIA)


@lru_cache(maxsize=8)
def _midnight_ms(day: datetime.date) -> int:
    return to_ms(_midnight(day))
