"""Certificates of companies that expire soon and were not renewed."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from balcao.core.calendar import civil_day
from balcao.core.documents import Cnpj
from balcao.core.writing import counted
from balcao.web.kit.context import PageContext
from balcao.web.kit.lookups.forms import BY_PATH
from balcao.web.pages.history import DatedCertificate, certificates_until

WITHIN_DAYS = 7
SHOWN = 8
# The page that opens most reads few; the history reads more.
CERTIFICATES_READ_MAX = 1_000


@dataclass(frozen=True, slots=True)
class ExpiringCertificate:
    """A certificate in force that expires soon."""

    dated: DatedCertificate
    left: str  # `faltam 7 dias`

    @property
    def cnpj(self) -> Cnpj:
        return self.dated.cnpj

    @property
    def until(self) -> datetime.date:
        return self.dated.until

    @property
    def kind(self) -> str:
        """The certificate's kind: `Certidão estadual SP`."""
        trace = self.dated.trace
        return BY_PATH[trace.operation].title + (f" {trace.uf}" if trace.uf else "")

    @property
    def name(self) -> str | None:
        given = self.dated.trace.certificate
        return given.name if given else None


@dataclass(frozen=True, slots=True)
class ExpiringCertificates:
    """The certificates that expire first; `more` counts the others."""

    shown: Sequence[ExpiringCertificate]
    more: int
    only_newest: bool  # older certificates were not searched
    looked_at: int = CERTIFICATES_READ_MAX


def days_left(days: int) -> str:
    """Return `vence hoje`, `falta 1 dia` or `faltam 7 dias`."""
    if days == 0:
        return "vence hoje"
    return f"{'falta' if days == 1 else 'faltam'} {counted(days, 'dia', 'dias')}"


async def expiring_certificates(context: PageContext) -> ExpiringCertificates:
    """Return the visible certificates that expire within a week. No source is asked."""
    today = civil_day(context.now_ms())
    last = today + datetime.timedelta(days=WITHIN_DAYS)
    dated = await certificates_until(context, today, last, read_max=CERTIFICATES_READ_MAX)
    shown = [
        ExpiringCertificate(each, days_left((each.until - today).days))
        for each in dated.found[:SHOWN]
    ]
    return ExpiringCertificates(shown, len(dated.found) - len(shown), dated.only_newest)
