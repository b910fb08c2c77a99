"""Tax clearance certificates: what sources say, until when it may be served, and how it is read.

Specification, "Federal joint tax clearance certificate", "State tax clearance certificate",
"Cache"; contract 3, 4.6 to 4.8, 8. Days are civil days in Brasília, as ISO text `YYYY-MM-DD`,
which sorts like the days themselves.
"""

import datetime
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from balcao.core.calendar import civil_day_text
from balcao.core.documents import Cnpj
from balcao.core.freshness import is_ahead
from balcao.core.questions import Inquiry, Record

CertificateType: TypeAlias = Literal["CND", "CPEND", "CPD"]

# What came of asking for one: `none` where nothing was issued, `other` where nobody can say what.
Verdict: TypeAlias = Literal["CND", "CPEND", "CPD", "other", "none"]

# A result that may change as soon as somebody pays is not believed for longer (contract 4.6).
SHORT_CACHE_MS = 60 * 60 * 1000

MediaType: TypeAlias = Literal["application/pdf", "text/html"]


class StoredReceipt(msgspec.Struct, frozen=True):
    """Where a receipt's bytes are: by the digest of their content."""

    digest: str  # BLAKE2b-256, hexadecimal
    media_type: MediaType
    size_bytes: int


class CertificateGiven(msgspec.Struct, frozen=True, gc=False):
    """What a request brought of a certificate, as it is remembered for as long as the receipt."""

    verdict: Verdict | None  # None: asked for before this was remembered
    validity: str | None  # the last day on which it proves anything
    name: str | None  # a company's, without a CPF; a person's is not remembered
    receipt_id: str | None  # None: there was no receipt, or it is not kept any more
    media_type: MediaType | None  # of the receipt
    issued_on: str | None = None  # None: the source did not say, or nobody remembered it yet


class FederalCertificate(Record, frozen=True, omit_defaults=True):
    """What a source said of one taxpayer, functional negatives included."""

    document: str  # CNPJ or CPF, without punctuation
    kind: CertificateType | None = None  # None: impossible to issue, or unclassified
    kind_text: str | None = None  # the source's own words, where they could not be classified
    title: str = ""
    code: str | None = None
    name: str = ""
    status: str = ""
    issued_on: str | None = None
    validity: str | None = None
    extended_validity: str | None = None
    queried_at: str | None = None  # ISO 8601 with offset, as the source says; None: it does not
    issued: bool = False
    rfb_debts: bool | None = None
    pgfn_debts: bool | None = None
    message: str | None = None  # why nothing was issued
    verification_code: str = ""
    provider_code: int = 0
    provider_billable: bool = False
    provider_elapsed_ms: int = 0
    receipt: StoredReceipt | None = None

    @property
    def effective_validity(self) -> str | None:
        """The later of validity and extension (contract 4.6)."""
        validity, extended = self.validity, self.extended_validity
        if validity is None or extended is None:
            return extended if validity is None else validity
        return max(validity, extended)

    @property
    def good(self) -> bool:
        """CND or CPEND: what the caller hoped for."""
        return self.kind in ("CND", "CPEND")

    @property
    def verdict(self) -> Verdict:
        """What came of asking for it."""
        if self.kind is not None:
            return self.kind
        return "other" if self.kind_text or self.title else "none"

    def flaw(self, inquiry: Inquiry) -> str | None:
        """See `Record`. A branch is certified by its head office."""
        asked = inquiry.document
        if isinstance(asked, Cnpj) and self.document[:8] == asked.root:
            return None
        return self.another(self.document, inquiry)


class StateCertificate(Record, frozen=True, omit_defaults=True):
    """What one state treasury said of a company."""

    document: str
    uf: str
    negative: bool | None = None
    issued: bool | None = None
    code: str | None = None
    number: str | None = None
    fiscal_message: str | None = None
    message: str | None = None
    queried_at: str | None = None  # YYYY-MM-DD HH:mm:ss in Brasília; None: the source says none
    validity: str | None = None
    receipt: StoredReceipt | None = None

    @property
    def good(self) -> bool:
        """A negative certificate was issued."""
        return bool(self.issued) and self.negative is not False

    @property
    def verdict(self) -> Verdict:
        """What came of asking for it; states tell negative ones from nothing (specification)."""
        return "CND" if self.good else "none"

    def flaw(self, inquiry: Inquiry) -> str | None:
        """See `Record`."""
        if self.uf != inquiry.uf:
            return "respondeu sobre outra UF"
        return self.another(self.document, inquiry)


def federal_valid_until(certificate: FederalCertificate, asked_ms: int) -> str | None:
    """The last day on which the entry may be served from cache; None: it may never be.

    CND and CPEND with code and validity: the day before the effective validity. Everything else
    may change after regularization: the day on which the source was asked (contract 4.6).
    """
    if not certificate.good:
        return civil_day_text(asked_ms)
    if certificate.code is None or certificate.validity is None:
        return None
    assert certificate.effective_validity is not None
    last = _day_before(certificate.effective_validity)
    return last if last >= civil_day_text(asked_ms) else None


def federal_may_serve(certificate: FederalCertificate, asked_ms: int, now_ms: int) -> bool:
    """Whether the entry may be served now, by a strategy that takes the cache first."""
    last = federal_valid_until(certificate, asked_ms)
    if last is None or civil_day_text(now_ms) > last:
        return False
    if certificate.good:
        return True
    return now_ms - asked_ms < SHORT_CACHE_MS and not is_ahead(asked_ms, now_ms)


def state_valid_until(certificate: StateCertificate, asked_ms: int) -> str | None:
    """As for the federal one; only a positive result with a validity date is kept (4.7)."""
    if not certificate.good or certificate.validity is None:
        return None
    last = _day_before(certificate.validity)
    return last if last >= civil_day_text(asked_ms) else None


def state_may_serve(certificate: StateCertificate, asked_ms: int, now_ms: int) -> bool:
    """Whether the entry may be served now."""
    last = state_valid_until(certificate, asked_ms)
    return last is not None and civil_day_text(now_ms) <= last


@lru_cache(maxsize=4096)
def _day_before(day: str) -> str:
    try:
        return (datetime.date.fromisoformat(day) - datetime.timedelta(days=1)).isoformat()
    except OverflowError:  # the first day there is
        return day
