"""The newest certificates of an account, by their last day of validity."""

import asyncio
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from balcao.accounts.statement import month_of
from balcao.core.certificates import Verdict
from balcao.core.documents import Cnpj
from balcao.core.errors import InvalidCnpj
from balcao.core.ledger import Trace
from balcao.operations import OPERATIONS
from balcao.operations.certificates.lookup import by_act_of
from balcao.storage.people import TraceFilter
from balcao.web.kit.context import PageContext
from balcao.web.kit.lookups.forms import BY_PATH

# The newest, by primary key. Older ones are not searched; pages mention it.
CERTIFICATES_READ_MAX = 10_000

EXPIRED = "vencidas"  # and not renewed
# Values of the filter, and their texts.
VALIDITIES: Mapping[str, str] = {
    "7": "em 7 dias",
    "15": "em 15 dias",
    "30": "em 30 dias",
    "mes": "este mês",
    EXPIRED: "vencidas",
}


@dataclass(frozen=True, slots=True)
class DatedCertificate:
    """The newest certificate of a holder, of one kind and UF, with its last day."""

    cnpj: Cnpj
    trace: Trace
    until: datetime.date  # by an act of law, if it is later


@dataclass(frozen=True, slots=True)
class DatedCertificates:
    """Certificates, the first to expire first."""

    found: Sequence[DatedCertificate]
    only_newest: bool  # older certificates were not searched


def days_of(validity: str, today: datetime.date) -> tuple[datetime.date, datetime.date]:
    """Return the first and last day of a value of `VALIDITIES`."""
    if validity == EXPIRED:
        return datetime.date.min, today - datetime.timedelta(days=1)
    if validity == "mes":
        month = month_of(today)
        return month.first, month.last
    return today, today + datetime.timedelta(days=int(validity))


async def certificates_until(
    context: PageContext,
    first: datetime.date,
    last: datetime.date,
    wanted: TraceFilter | None = None,
    read_max: int = CERTIFICATES_READ_MAX,
) -> DatedCertificates:
    """Return the visible certificates of companies whose last day is within these days.

    A renewed certificate is left out, whatever `wanted` selects; its period is ignored. No source
    is asked.
    """
    own, account_id = context.person.own_only, context.account.account_id
    certificates = context.desk.people.certificates
    read = await asyncio.to_thread(certificates, account_id, own, read_max)
    acts = context.desk.extensions.all()
    newest: dict[tuple[str, str, str | None], Trace] = {}
    for trace in read:
        if trace.operation in BY_PATH and trace.of_company and "*" not in trace.document:
            newest.setdefault((holder_of(trace), trace.operation, trace.uf), trace)
    found: list[DatedCertificate] = []
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
        if first <= until <= last:
            found.append(DatedCertificate(cnpj, trace, until))
    if found and wanted is not None:
        numbers = await asyncio.to_thread(_matching, context, wanted, read_max)
        found = [each for each in found if each.trace.request_id in numbers]
    found.sort(key=lambda each: (each.until, each.trace.document))
    return DatedCertificates(found, len(read) == read_max)


def holder_of(trace: Trace) -> str:
    """Return the certificate's holder: the root of a company, or an establishment's CNPJ."""
    form = BY_PATH.get(trace.operation)
    by_root = form is not None and OPERATIONS[form.subject].of_company
    return trace.document[:8] if by_root else trace.document


def _matching(context: PageContext, wanted: TraceFilter, limit: int) -> set[str]:
    """Return the numbers of the requests with a certificate that a filter selects, of any day."""
    results = wanted.results or get_args(Verdict)
    always = replace(wanted, from_ms=0, to_ms=2**62, charged=False, results=results)
    traces = context.desk.people.traces(context.account.account_id, always, limit)
    return {trace.request_id for trace in traces}
