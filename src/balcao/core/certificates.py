"""Certificates: what their records share, those of the treasuries, and how long each is served.

Specification, "Federal joint tax clearance certificate", "State tax clearance certificate",
"Cache"; contract 3, 4.6 to 4.8, 8. Days are civil days in Brasília, as ISO text `YYYY-MM-DD`,
which sorts like the days themselves.
"""

import datetime
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, Self, TypeAlias

import msgspec

from balcao.core.calendar import civil_day_text
from balcao.core.documents import Cnpj
from balcao.core.freshness import is_ahead
from balcao.core.personal import mask_cpf_in_text
from balcao.core.questions import Inquiry, Record

CertificateType: TypeAlias = Literal["CND", "CPEND", "CPD"]

# The outcome of a request: `none` if nothing was issued, `other` if the type is unknown. Of FGTS
# regularity: CND if regular, CPD if not, `none` if not provable online, `other` if not registered.
Verdict: TypeAlias = Literal["CND", "CPEND", "CPD", "other", "none"]

# A negative result may change as soon as debts are paid (contract 4.6).
SHORT_CACHE_MS = 60 * 60 * 1000

MediaType: TypeAlias = Literal["application/pdf", "text/html"]


class StoredReceipt(msgspec.Struct, frozen=True):
    """A receipt's bytes in the store, under the digest of their content."""

    digest: str  # BLAKE2b-256, hexadecimal
    media_type: MediaType
    size_bytes: int


class CertificateSummary(msgspec.Struct, frozen=True, gc=False):
    """The facts of a certificate stored with the request's trace, as long as its receipt."""

    verdict: Verdict
    validity: str | None  # the last day
    name: str | None  # a company's, without a CPF; a person's is not stored
    receipt_id: str | None  # None: there was no receipt, or it was deleted
    media_type: MediaType | None  # of the receipt
    issued_on: str | None = None  # None: the source does not give it, or it was not stored then

    @property
    def undated(self) -> bool:
        """Whether it proves something until a day that the source did not give."""
        return self.verdict in ("CND", "CPEND") and self.validity is None


class Certificate(Record, frozen=True):
    """A source's answer about a certificate, also if none was issued."""

    @property
    def good(self) -> bool:
        """Whether it proves what it was asked for."""
        raise NotImplementedError

    @property
    def inconclusive(self) -> bool:
        """Whether nothing was issued, which proves no debts either."""
        raise NotImplementedError

    @property
    def verdict(self) -> Verdict:
        raise NotImplementedError

    @property
    def last_day(self) -> str | None:
        """The last day on which it proves something."""
        raise NotImplementedError

    @property
    def is_identified(self) -> bool:
        """Whether it has what it is checked by, and a last day; else it is not kept."""
        raise NotImplementedError

    @property
    def codes(self) -> Sequence[str | None]:
        """The codes and numbers printed on it, by which people search for it."""
        raise NotImplementedError

    def without_cpf(self) -> Self:
        """Mask the owner's CPF, which ends a sole trader's name and may occur in messages."""
        raise NotImplementedError

    def timed(self, elapsed_ms: int) -> Self:
        """Return the record with our own measure of the source's time, if it reports none."""
        return self


class FederalCertificate(Certificate, frozen=True, omit_defaults=True):
    """A source's answer about a taxpayer's federal certificate, also if none was issued."""

    document: str  # CNPJ or CPF, without punctuation
    kind: CertificateType | None = None  # None: impossible to issue, or unclassified
    kind_text: str | None = None  # the source's text, if it could not be classified
    title: str = ""
    code: str | None = None
    name: str = ""
    status: str = ""
    issued_on: str | None = None
    validity: str | None = None
    extended_validity: str | None = None
    queried_at: str | None = None  # ISO 8601 with offset, by the source
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
        """Whether it is a CND or CPEND."""
        return self.kind in ("CND", "CPEND")

    @property
    def inconclusive(self) -> bool:
        return self.kind is None

    @property
    def verdict(self) -> Verdict:
        if self.kind is not None:
            return self.kind
        return "other" if self.kind_text or self.title else "none"

    @property
    def last_day(self) -> str | None:
        return self.effective_validity

    @property
    def is_identified(self) -> bool:
        return self.code is not None and self.validity is not None

    @property
    def codes(self) -> Sequence[str | None]:
        return (self.code,)

    def without_cpf(self) -> Self:
        name, message = mask_cpf_in_text(self.name) or "", mask_cpf_in_text(self.message)
        return msgspec.structs.replace(self, name=name, message=message)

    def timed(self, elapsed_ms: int) -> Self:
        if self.provider_elapsed_ms:
            return self
        return msgspec.structs.replace(self, provider_elapsed_ms=elapsed_ms)

    def flaw(self, inquiry: Inquiry) -> str | None:
        asked = inquiry.document  # a branch has the certificate of its head office
        if isinstance(asked, Cnpj) and self.document[:8] == asked.root:
            return None
        return self.another(self.document, inquiry)


class StateCertificate(Certificate, frozen=True, omit_defaults=True):
    """A state treasury's answer about a company's certificate, also if none was issued."""

    document: str
    uf: str
    negative: bool | None = None
    issued: bool | None = None
    code: str | None = None
    number: str | None = None
    fiscal_message: str | None = None
    message: str | None = None
    queried_at: str | None = None  # YYYY-MM-DD HH:mm:ss in Brasília, by the source
    validity: str | None = None
    receipt: StoredReceipt | None = None

    @property
    def good(self) -> bool:
        """Whether a negative certificate was issued."""
        return bool(self.issued) and self.negative is not False

    @property
    def verdict(self) -> Verdict:
        return "CND" if self.good else "none"  # states issue no other kinds (specification)

    @property
    def inconclusive(self) -> bool:
        return not self.good

    @property
    def last_day(self) -> str | None:
        return self.validity

    @property
    def is_identified(self) -> bool:
        return self.validity is not None

    @property
    def codes(self) -> Sequence[str | None]:
        return (self.code, self.number)

    def without_cpf(self) -> Self:
        message, fiscal = mask_cpf_in_text(self.message), mask_cpf_in_text(self.fiscal_message)
        return msgspec.structs.replace(self, message=message, fiscal_message=fiscal)

    def flaw(self, inquiry: Inquiry) -> str | None:
        if self.uf != inquiry.uf:
            return "respondeu sobre outra UF"
        return self.another(self.document, inquiry)


def valid_until(certificate: Certificate, asked_ms: int) -> str | None:
    """Return the last day on which the entry may be served from the cache; None: never.

    A good one with its code or number and validity: the day before its last one. Other results may
    change after regularization: the day on which the source was asked (contract 4.6, 4.14).
    """
    if not certificate.good:
        return civil_day_text(asked_ms)
    if not certificate.is_identified:
        return None
    assert certificate.last_day is not None
    last = _day_before(certificate.last_day)
    return last if last >= civil_day_text(asked_ms) else None


def may_serve(certificate: Certificate, asked_ms: int, now_ms: int) -> bool:
    """Return whether the entry may be served now by a strategy that reads the cache first."""
    last = valid_until(certificate, asked_ms)
    if last is None or civil_day_text(now_ms) > last:
        return False
    if certificate.good:
        return True
    return now_ms - asked_ms < SHORT_CACHE_MS and not is_ahead(asked_ms, now_ms)


def state_valid_until(certificate: StateCertificate, asked_ms: int) -> str | None:
    """Return the last day on which the entry may be served; None: never.

    Only a good certificate with a validity may be (contract 4.7).
    """
    if not certificate.good or certificate.validity is None:
        return None
    last = _day_before(certificate.validity)
    return last if last >= civil_day_text(asked_ms) else None


def state_may_serve(certificate: StateCertificate, asked_ms: int, now_ms: int) -> bool:
    """Return whether the entry may be served now."""
    last = state_valid_until(certificate, asked_ms)
    return last is not None and civil_day_text(now_ms) <= last


@lru_cache(maxsize=4096)
def _day_before(day: str) -> str:
    try:
        return (datetime.date.fromisoformat(day) - datetime.timedelta(days=1)).isoformat()
    except OverflowError:  # the first day there is
        return day
