"""What the two certificates share: who may ask, the prices, and how failures are told.

Specification, "Credits", "HTTP status" of both; decisions 2.10, 3.
"""

from collections.abc import Mapping, Sequence

from balcao.core.access import Caller
from balcao.core.ledger import Origin
from balcao.core.questions import Question
from balcao.errors import (
    BalcaoError,
    CertificateFailed,
    CertificatesNotEnabled,
    ResultExpired,
    SourceError,
    SourceFailed,
)
from balcao.operations.contract import PROBLEMS_OF_ALL, Operation

# What is kept costs less than what is asked for.
PRICES: Mapping[Origin, int] = {"cache": 1, "online": 2}

PROBLEMS_OF_CERTIFICATES: Sequence[type[BalcaoError]] = (
    CertificateFailed,
    CertificatesNotEnabled,
    ResultExpired,
    *(problem for problem in PROBLEMS_OF_ALL if problem is not SourceFailed),
)


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

    def as_told(self, error: SourceError) -> BalcaoError:
        """A source that was asked and failed is 400 here, not 500 (decisions 3)."""
        return CertificateFailed(error.detail) if isinstance(error, SourceFailed) else error
