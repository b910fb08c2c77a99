"""Rules shared by the two certificates: permission, prices, failures, extensions by acts of law.

Specification, "Credits", "HTTP status" of both; contract 2.10, 3.
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
from balcao.core.extensions import FEDERAL, STATE, Extended, Extension, extended
from balcao.core.ledger import Origin, Trace
from balcao.core.questions import Question
from balcao.operations.contract import PROBLEMS_OF_ALL, Operation
from balcao.operations.views import Body

# What is kept costs less than what is asked for.
PRICES: Mapping[Origin, int] = {"cache": 1, "online": 2}

PROBLEMS_OF_CERTIFICATES: Sequence[type[BalcaoError]] = (
    CertificateFailed,
    CertificatesNotEnabled,
    ResultExpired,
    *(problem for problem in PROBLEMS_OF_ALL if problem is not SourceFailed),
)


class _Recorded(msgspec.Struct):
    """The validity in a recorded answer of either operation."""

    success: bool = False
    effective_validity: str | None = None
    validade: str | None = None


_recorded = msgspec.json.Decoder(_Recorded).decode


class CertificateLookup(Operation):
    """A tax clearance certificate, served by its validity, with a receipt."""

    absence = CertificateFailed
    answer_bytes_max = 10_000_000  # it may bring its receipt (contract 9.5)
    issues = True

    def enter(self, caller: Caller) -> None:
        """Certificates need a plan or a contract. Raises `CertificatesNotEnabled`."""
        if not caller.certifies:
            raise CertificatesNotEnabled

    def greatest_price(self, question: Question) -> int:
        return PRICES["online"]

    def still_valid(self, body: bytes, now_ms: int) -> bool:
        """Return whether the certificate may still be delivered, also by a replay."""
        said = _recorded(body)
        last = said.effective_validity or said.validade
        return not said.success or last is None or civil_day_text(now_ms) <= last

    def as_told(self, error: SourceError) -> BalcaoError:
        """A source that was asked and failed is 400 here, not 500 (contract 3)."""
        return CertificateFailed(error.detail) if isinstance(error, SourceFailed) else error


# The fields that say when it was issued, and until when it is valid. A state certificate does not
# say the former: treasuries issue it when they are asked.
_DATED: Mapping[str, tuple[str, str]] = {
    FEDERAL: ("issued_at", "effective_validity"),
    STATE: ("datahora", "validade"),
}


def by_act(acts: Iterable[Extension], subject: str, uf: str | None, body: Body) -> Extended | None:
    """Return the act with the latest day; None if none is later than the answer's own."""
    issued_on, until = (body.get(name) for name in _DATED[subject])
    return extended(acts, subject, uf if subject == STATE else None, issued_on, until)


def by_act_of(acts: Iterable[Extension], subject: str, trace: Trace) -> Extended | None:
    """Return the same by the certificate kept with the request, once its answer is deleted."""
    brought = trace.certificate
    if brought is None:
        return None
    uf = trace.uf if subject == STATE else None
    return extended(acts, subject, uf, brought.issued_on, brought.validity)
