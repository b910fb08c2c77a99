"""The labour debt certificate (CNDT), as its sources answer."""

from collections.abc import Sequence
from typing import Self

import msgspec

from balcao.core.certificates import Certificate, CertificateType, StoredReceipt, Verdict
from balcao.core.documents import Cnpj
from balcao.core.personal import mask_cpf_in_text
from balcao.core.questions import Inquiry


class LabourCertificate(Certificate, frozen=True, omit_defaults=True):
    """A source's answer about unpaid debts before the labour courts."""

    document: str  # CNPJ or CPF, without punctuation, to which it was issued
    kind: CertificateType | None = None  # None: nothing was issued
    title: str = ""
    number: str | None = None  # `NNNNNNNN/AAAA`, by which the portal validates it
    code: str | None = None
    name: str | None = None
    issued_on: str | None = None
    issued_time: str | None = None  # HH:MM:SS in Brasília
    validity: str | None = None
    issued: bool = False
    listed: bool | None = None  # in the register of debtors
    lawsuits: tuple[str, ...] = ()
    lawsuits_total: int | None = None
    message: str | None = None  # why nothing was issued
    provider_code: int = 0
    provider_billable: bool = False
    provider_elapsed_ms: int = 0
    receipt: StoredReceipt | None = None

    @property
    def good(self) -> bool:
        """Whether it is a CND or CPEND."""
        return self.kind in ("CND", "CPEND")

    @property
    def inconclusive(self) -> bool:
        return self.kind is None

    @property
    def verdict(self) -> Verdict:
        return self.kind or "none"

    @property
    def last_day(self) -> str | None:
        return self.validity

    @property
    def is_identified(self) -> bool:
        return self.number is not None and self.validity is not None

    @property
    def codes(self) -> Sequence[str | None]:
        return (self.number, self.code)

    def without_cpf(self) -> Self:
        return msgspec.structs.replace(
            self,
            name=mask_cpf_in_text(self.name),
            title=mask_cpf_in_text(self.title) or "",
            message=mask_cpf_in_text(self.message),
        )

    def timed(self, elapsed_ms: int) -> Self:
        if self.provider_elapsed_ms:
            return self
        return msgspec.structs.replace(self, provider_elapsed_ms=elapsed_ms)

    def flaw(self, inquiry: Inquiry) -> str | None:
        asked = inquiry.document  # it certifies all establishments of a company
        if isinstance(asked, Cnpj) and self.document[:8] == asked.root:
            return None
        return self.another(self.document, inquiry)
