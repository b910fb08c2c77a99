"""Certificates of companies that expire soon and were not renewed."""

import asyncio
import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from balcao.core.calendar import civil_day
from balcao.core.documents import Cnpj
from balcao.core.errors import InvalidCnpj
from balcao.core.ledger import Trace
from balcao.core.writing import counted
from balcao.operations.certificates.lookup import by_act_of
from balcao.web.kit.context import PageContext
from balcao.web.kit.lookups.forms import BY_PATH

WITHIN_DAYS = 7
SHOWN = 8
# The newest, by primary key. Older ones are not searched; the page mentions it.
CERTIFICATES_READ_MAX = 1_000


@dataclass(frozen=True, slots=True)
class ExpiringCertificate:
    """A certificate in force that expires soon."""

    cnpj: Cnpj
    trace: Trace
    until: datetime.date  # by an act of law, if it is later
    left: str  # `faltam 7 dias`

    @property
    def kind(self) -> str:
        """The certificate's kind: `Certidão estadual SP`."""
        uf = self.trace.uf
        return BY_PATH[self.trace.operation].title + (f" {uf}" if uf else "")

    @property
    def name(self) -> str | None:
        return self.trace.certificate.name if self.trace.certificate else None


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


def _holder(context: PageContext, trace: Trace) -> str:
    """Return the certificate's holder: the root of a company, or an establishment's CNPJ."""
    operation = context.tools.parts.operations[BY_PATH[trace.operation].subject]
    return trace.document[:8] if operation.of_company else trace.document


async def expiring_certificates(context: PageContext) -> ExpiringCertificates:
    """Return the visible certificates that expire within a week. No source is asked."""
    certificates = context.desk.people.certificates
    found = await asyncio.to_thread(
        certificates, context.account.account_id, context.person.own_only, CERTIFICATES_READ_MAX
    )
    newest: dict[tuple[str, str, str | None], Trace] = {}
    for trace in found:
        if trace.operation in BY_PATH and len(trace.document) == 14 and "*" not in trace.document:
            newest.setdefault((_holder(context, trace), trace.operation, trace.uf), trace)
    today, acts = civil_day(context.now_ms()), context.desk.extensions.all()
    last = today + datetime.timedelta(days=WITHIN_DAYS)
    near: list[ExpiringCertificate] = []
    for trace in newest.values():
        if trace.certificate is None or not trace.certificate.validity:
            continue
        try:
            cnpj = Cnpj.parse(trace.document)
        except InvalidCnpj:  # recorded by an older version
            continue
        later = by_act_of(acts, BY_PATH[trace.operation].subject, trace)
        validity = trace.certificate.validity if later is None else later.until
        until = datetime.date.fromisoformat(validity[:10])
        if today <= until <= last:
            left = days_left((until - today).days)
            near.append(ExpiringCertificate(cnpj, trace, until, left))
    near.sort(key=lambda each: (each.until, each.trace.document))
    more = max(0, len(near) - SHOWN)
    return ExpiringCertificates(near[:SHOWN], more, len(found) == CERTIFICATES_READ_MAX)
