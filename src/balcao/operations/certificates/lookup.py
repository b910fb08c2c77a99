"""What the two certificates share: who may ask, the prices, and how failures are told.

Specification, "Credits", "HTTP status" of both; decisions 2.10, 3.
"""

from collections.abc import Mapping, Sequence

import msgspec

from balcao.core.access import Caller
from balcao.core.calendar import civil_day_text
from balcao.core.errors import (
    BalcaoError,
    CertificateFailed,
    CertificatesNotEnabled,
    ResultExpired,
    SourceError,
    SourceFailed,
)
from balcao.core.ledger import Origin
from balcao.core.questions import Question
from balcao.operations.contract import PROBLEMS_OF_ALL, Operation

# What is kept costs less than what is asked for.
PRICES: Mapping[Origin, int] = {"cache": 1, "online": 2}

PROBLEMS_OF_CERTIFICATES: Sequence[type[BalcaoError]] = (
    CertificateFailed,
    CertificatesNotEnabled,
    ResultExpired,
    *(problem for problem in PROBLEMS_OF_ALL if problem is not SourceFailed),
)


class _Recorded(msgspec.Struct):
    """What a recorded answer says of its own validity, each operation in its own words."""

    success: bool = False
    effective_validity: str | None = None
    validade: str | None = None


_recorded = msgspec.json.Decoder(_Recorded).decode


class CertificateLookup(Operation):
    """A tax clearance certificate, served by its validity, with a receipt."""

    absence = CertificateFailed
    answer_bytes_max = 10_000_000  # it may bring its receipt (decisions 9.5)
    issues = True

    def enter(self, caller: Caller) -> None:
        """Certificates need a plan or a contract. Raises `CertificatesNotEnabled`."""
        if not caller.certifies:
            raise CertificatesNotEnabled

    def greatest_price(self, question: Question) -> int:
        return PRICES["online"]

    def still_valid(self, body: bytes, now_ms: int) -> bool:
        """An expired certificate is never delivered as valid, by a replay neither."""
        said = _recorded(body)
        last = said.effective_validity or said.validade
        return not said.success or last is None or civil_day_text(now_ms) <= last

    def as_told(self, error: SourceError) -> BalcaoError:
        """A source that was asked and failed is 400 here, not 500 (decisions 3)."""
        return CertificateFailed(error.detail) if isinstance(error, SourceFailed) else error
