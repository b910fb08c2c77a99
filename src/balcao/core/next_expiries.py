"""The certificates of a file that expire next, for its summary."""

import datetime
import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

from balcao.core import writing

_SHOWN = 10


@dataclass
class NextExpiries:
    """The first certificates to expire from `today` on, among any number of rows."""

    today: datetime.date
    _soonest: list[tuple[int, int, str, str]] = field(default_factory=list)

    def add(self, until: datetime.date, line: int, document: str, name: str | None) -> None:
        """Consider the certificate of a line, a CNPJ or a masked CPF."""
        if until >= self.today:
            heapq.heappush(self._soonest, (-until.toordinal(), -line, document, name or ""))
            if len(self._soonest) > _SHOWN:
                heapq.heappop(self._soonest)

    def rows(self) -> Iterator[tuple[str, datetime.date, str]]:
        """Yield name (else document), last day and document, the first to expire first."""
        for day, _, document, name in sorted(self._soonest, reverse=True):
            written = writing.document(document)
            yield f"  {name or written}", datetime.date.fromordinal(-day), written
