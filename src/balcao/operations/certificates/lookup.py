"""Rules shared by all certificates: permission, prices, failures, extensions by acts of law.

Specification, "Credits", "HTTP status - federal certificate"; contract 2.10, 3, 4.14.
"""

from collections.abc import Iterable, Mapping, Sequence

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
from balcao.core.extensions import STATE, Extended, Extension, extended
from balcao.core.ledger import Origin, Trace
from balcao.core.questions import Question
from balcao.core.receipts import ReceiptSubject, proven
from balcao.operations.contract import PROBLEMS_OF_ALL, Operation
from balcao.operations.views import Body

# A cached result costs less than one from the source.
PRICES: Mapping[Origin, int] = {"cache": 1, "online": 2}

PROBLEMS_OF_CERTIFICATES: Sequence[type[BalcaoError]] = (
    CertificateFailed,
    CertificatesNotEnabled,
    ResultExpired,
    *(problem for problem in PROBLEMS_OF_ALL if problem is not SourceFailed),
)


class _Recorded(msgspec.Struct):
    """The validity in a recorded answer of any of them."""

    success: bool = False
    effective_validity: str | None = None
    validade: str | None = None


_recorded = msgspec.json.Decoder(_Recorded).decode


class CertificateLookup(Operation):
    """A certificate, served by its validity, with a receipt."""

    receipt_kind: str  # in names of files: `federal`

    absence = CertificateFailed
    answer_bytes_max = 10_000_000  # may include the receipt (contract 9.5)
    issues = True

    def check_account(self, caller: Caller) -> None:
        """Raise `CertificatesNotEnabled` for an account without certificates."""
        if not caller.has_certificates:
            raise CertificatesNotEnabled

    def greatest_price(self, question: Question) -> int:
        return PRICES["online"]

    def still_valid(self, body: bytes, now_ms: int) -> bool:
        recorded = _recorded(body)
        last = recorded.effective_validity or recorded.validade
        return not recorded.success or last is None or civil_day_text(now_ms) <= last

    @classmethod
    def receipt_name(cls, about: ReceiptSubject) -> str:
        """Return how the name of a receipt's file begins: `CND-federal`, `CND-estadual-SP`."""
        where = f"-{about.uf}" if about.uf else ""
        return f"{proven(about.verdict)}-{cls.receipt_kind}{where}"

    def error_for_caller(self, error: SourceError) -> BalcaoError:
        # A source that was asked and failed is 400 here, not 500 (contract 3).
        return CertificateFailed(error.detail) if isinstance(error, SourceFailed) else error


# The fields with the day of issue and the last day. A state certificate has no day of issue:
# treasuries issue it when they are asked.
_DATED = ("issued_at", "effective_validity")
_DATED_BY_STATES = ("datahora", "validade")


def by_act(acts: Iterable[Extension], subject: str, uf: str | None, body: Body) -> Extended | None:
    """Return the act with the latest day for an answer; None if none is later than its own."""
    names = _DATED_BY_STATES if subject == STATE else _DATED
    issued_on, until = (body.get(name) for name in names)
    return extended(acts, subject, uf if subject == STATE else None, issued_on, until)


def by_act_of(acts: Iterable[Extension], subject: str, trace: Trace) -> Extended | None:
    """Return the act with the latest day for a trace, after its answer was deleted."""
    certificate = trace.certificate
    if certificate is None:
        return None
    uf = trace.uf if subject == STATE else None
    return extended(acts, subject, uf, certificate.issued_on, certificate.validity)
