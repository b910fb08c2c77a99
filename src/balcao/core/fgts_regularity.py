"""An employer's regularity with the FGTS (CRF), as its sources answer."""

from collections.abc import Sequence
from typing import Literal, Self, TypeAlias

import msgspec

from balcao.core.certificates import Certificate, StoredReceipt, Verdict
from balcao.core.documents import first_establishment
from balcao.core.personal import mask_cpf_in_text
from balcao.core.questions import Inquiry

# `nao_comprovada`: not provable online, which is no proof of debts. `nao_cadastrado`: Caixa has
# no record of the employer, as is normal for a company that never had employees.
Situation: TypeAlias = Literal["regular", "irregular", "nao_comprovada", "nao_cadastrado"]

_VERDICTS: dict[Situation, Verdict] = {
    "regular": "CND",
    "irregular": "CPD",
    "nao_comprovada": "none",
    "nao_cadastrado": "other",
}


class PastRegularity(msgspec.Struct, frozen=True):
    """An earlier certificate of the same registration."""

    number: str | None = None
    issued_on: str | None = None
    valid_from: str | None = None
    validity: str | None = None


class FgtsRegularity(Certificate, frozen=True, omit_defaults=True):
    """A source's answer about one registration of an employer."""

    registration: str  # the CNPJ certified, or asked where nothing was
    situation: Situation
    number: str | None = None
    name: str | None = None
    address: str | None = None
    issued_on: str | None = None
    valid_from: str | None = None
    validity: str | None = None
    history: tuple[PastRegularity, ...] = ()
    message: str | None = None  # why it is not regular
    queried_at: str | None = None  # ISO 8601 with offset, by the source
    provider_code: int = 0
    provider_billable: bool = False
    provider_elapsed_ms: int = 0
    receipt: StoredReceipt | None = None

    @property
    def good(self) -> bool:
        return self.situation == "regular"

    @property
    def inconclusive(self) -> bool:
        return self.situation in ("nao_comprovada", "nao_cadastrado")

    @property
    def verdict(self) -> Verdict:
        return _VERDICTS[self.situation]

    @property
    def last_day(self) -> str | None:
        return self.validity

    @property
    def is_identified(self) -> bool:
        return self.number is not None and self.validity is not None

    @property
    def codes(self) -> Sequence[str | None]:
        return (self.number,)

    def without_cpf(self) -> Self:
        return msgspec.structs.replace(
            self,
            name=mask_cpf_in_text(self.name),
            address=mask_cpf_in_text(self.address),
            message=mask_cpf_in_text(self.message),
        )

    def timed(self, elapsed_ms: int) -> Self:
        if self.provider_elapsed_ms:
            return self
        return msgspec.structs.replace(self, provider_elapsed_ms=elapsed_ms)

    def flaw(self, inquiry: Inquiry) -> str | None:
        if self.registration == first_establishment(inquiry.document.text[:8]):
            return None  # the source named the head office by itself
        return self.another(self.registration, inquiry)
