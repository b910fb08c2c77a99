"""Our own imported copy of the registry as a source."""

import datetime
from collections.abc import Hashable
from functools import lru_cache
from typing import Protocol

from balcao.core.calendar import BRASILIA, to_ms
from balcao.core.company import Company, hides_a_partner, masked
from balcao.core.documents import Cnpj
from balcao.core.questions import Inquiry, Part
from balcao.operations import OPERATIONS
from balcao.sources.contract import Absent, Answer, Finished, Found


class ImportedRegistry(Protocol):
    """What is read: `balcao.opendata.current.CurrentSnapshot`."""

    @property
    def extraction_date(self) -> datetime.date | None:
        """The day the registry was extracted; None when nothing is imported."""
        ...

    @property
    def edition(self) -> int:
        """Counts the months that were switched in."""
        ...

    def find(self, cnpj: Cnpj) -> Company | None:
        """One establishment, or None."""
        ...

    def answer(self, cnpj: Cnpj) -> tuple[datetime.date, bytes] | None:
        """The same as `said_of` it and the day, where that was made beforehand."""
        ...


def said_of(company: Company) -> bytes:
    """What the lookup of a company says of it to those without the partner opt-in."""
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
        """The month, and how often one was switched in: the same month may be built again."""
        return self._registry.edition

    def find(self, inquiry: Inquiry) -> Answer | None:
        """Look it up in place; None when nothing is imported or a partner's CPF would be masked.

        Not to be in it proves nothing by itself: the company may be younger than the copy.
        """
        # The date first: a month swapped in between makes the record newer than we say.
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
        if hides_a_partner(record):
            return None
        return Found(record, self.name, _midnight(extracted), local=True)

    def finished(self, inquiry: Inquiry) -> Finished | None:
        """See the contract."""
        if inquiry.subject != "company" or inquiry.full_partners:
            return None
        if not isinstance(inquiry.document, Cnpj):
            return None
        if (said := self._registry.answer(inquiry.document)) is None:
            return None
        extracted, body = said
        return Finished(body, self.name, _midnight_ms(extracted))


@lru_cache(maxsize=8)
def _midnight(day: datetime.date) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time(), BRASILIA)


@lru_cache(maxsize=8)
def _midnight_ms(day: datetime.date) -> int:
    return to_ms(_midnight(day))
