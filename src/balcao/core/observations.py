"""Answers of an account's own lookups about subjects that it watches (contract 20.4, 20.5)."""

import msgspec

from balcao.core.certificates import CertificateSummary
from balcao.core.papers import PaperKey
from balcao.core.questions import Mode, Subject
from balcao.core.renewals import Renews

# Operations whose answers change an item.
OBSERVED_SUBJECTS: frozenset[Subject] = frozenset(
    {"company", "state_registration", "rural_producer", "suframa"}
)


class ObservedAnswer(msgspec.Struct, frozen=True, gc=False):
    """The answer to one inquiry. `body`: the record as JSON; None: the subject does not exist."""

    uf: str | None
    source: str
    asked_ms: int  # when the source was asked; of our own copy, the day of its data
    body: bytes | None
    of_own_copy: bool = False


class ObservedCertificate(msgspec.Struct, frozen=True, gc=False):
    """The certificate that a lookup brought, or that none was issued."""

    key: PaperKey
    source: str
    asked_ms: int
    summary: CertificateSummary
    receipt: str | None  # its address
    credits: int  # charged for it
    client: str | None = None  # `X-Cliente`
    renews: Renews | None = None  # the portfolio's certificate that a scheduled lookup renews


class Observation(msgspec.Struct, frozen=True, gc=False):
    """The answers of a lookup, to be compared with what the account's items have. Never refused.

    It is the last change of the commit that charges the lookup, so that both are kept or neither.
    """

    account_id: int
    mode: Mode
    request_id: str
    subject: Subject
    cnpj: str | None
    document_hash: bytes | None  # of a CPF
    answers: tuple[ObservedAnswer, ...]
    at_ms: int  # of the commit, by the portfolio's clock
    certificate: ObservedCertificate | None = None
    clock_run: int | None = None  # of the test portfolio that asked by its own clock
