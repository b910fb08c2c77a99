"""Certificates of watched subjects: whose they are, and their states (contract 20.5).

Days are civil days in Brasília, as ISO text `YYYY-MM-DD`, which sorts like the days themselves.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from balcao.core.certificates import MediaType, Verdict
from balcao.core.documents import CNPJ_CHARACTERS
from balcao.core.questions import Subject

ROOT_CHARACTERS: Final = 8

PaperKind: TypeAlias = Literal[
    "certidao_federal",
    "certidao_estadual",
    "certidao_trabalhista",
    "regularidade_fgts",
    "outra",
]
PaperState: TypeAlias = Literal[
    "sem_certidao",
    "valida",
    "a_vencer",
    "renovando",
    "vencida",
    "nao_emitida",
    "positiva",
    "positiva_com_efeito_de_negativa",
    "nao_verificada",
]

# The lookup that buys each kind; `outra` is entered by hand and never bought.
BOUGHT_BY: Final[Mapping[PaperKind, Subject]] = {
    "certidao_federal": "federal_certificate",
    "certidao_estadual": "state_certificate",
    "certidao_trabalhista": "labour_certificate",
    "regularidade_fgts": "fgts_regularity",
}
KINDS_BY_SUBJECT: Final[Mapping[Subject, PaperKind]] = {
    subject: kind for kind, subject in BOUGHT_BY.items()
}
# `Paper.reason` after an answer by which nothing was issued. It is bought again only on request.
NOT_ISSUED: Final = "nao_emitida"

# These belong to the company: items of one root share them.
OF_ROOT: Final = frozenset[PaperKind]({"certidao_federal", "certidao_trabalhista"})


class PaperKey(NamedTuple):
    """The identity of a bought certificate within an account."""

    kind: PaperKind
    uf: str  # empty: of no state
    subject: str | None  # a root or a CNPJ; None: of a person
    document_hash: bytes | None  # keyed, of a CPF


class Paper(msgspec.Struct, frozen=True, gc=False):
    """A certificate of a portfolio, as stored: one for all items that share it."""

    paper_id: str
    account_id: int
    kind: PaperKind
    uf: str  # empty: of no state
    subject: str | None  # a root or a CNPJ; None: of a person, or entered by hand
    name: str | None  # of one entered by hand, as is the note
    note: str | None
    verdict: Verdict | None  # None: not known yet
    issued_on: str | None
    validity: str | None  # the last day according to the source, or as entered by hand
    extended_until: str | None  # by an act
    act: str | None
    last_day: str | None  # the later of the two
    answered_ms: int | None  # of the newest answer; None: there was none
    request_id: str | None  # of that answer
    receipt_id: str | None
    media_type: MediaType | None  # of the receipt
    purchases: int  # charged renewals of the present validity
    attempts: int  # renewals of the present validity, charged or not
    failures: int  # that failed since the last answer
    reason: str | None  # code of the last failure, or why nothing is bought
    renewing_ms: int | None  # a renewal is under way since
    next_ms: int | None  # the next renewal; 0: not computed yet; None: none
    told: int | None  # the smallest notice of the present validity, in days; 0: expired
    created_ms: int

    @property
    def is_refused(self) -> bool:
        """Whether the last answer was positive, or nothing was issued: it is not renewed."""
        return self.verdict is not None and (self.verdict not in _GOOD or self.reason == NOT_ISSUED)

    def state(self, today: date, notice_days: int) -> PaperState:
        """Return the first state that fits on a day (contract 20.5).

        `notice_days`: the portfolio's greatest notice; from then on a certificate is `a_vencer`.
        """
        if self.renewing_ms is not None:
            return "renovando"
        if self.verdict == "CPD":
            return "positiva"
        if self.last_day is not None and (self.kind == "outra" or self.verdict in _GOOD):
            left = days_left(self.last_day, today)
            if left < 0:
                return "vencida"
            if left <= notice_days:
                return "a_vencer"
        if self.verdict == "CPEND":
            return "positiva_com_efeito_de_negativa"
        if self.verdict == "CND" or self.kind == "outra":
            return "valida"
        if self.verdict is not None:
            return "nao_emitida"
        return "nao_verificada" if self.failures else "sem_certidao"


_GOOD: Final = frozenset[Verdict]({"CND", "CPEND"})


def paper_keys(
    document: str, document_hash: bytes | None, watched: Sequence[str]
) -> Sequence[PaperKey]:
    """Return the certificates that an item watches. `document`: a CNPJ, a root, or a masked CPF."""
    found = []
    for topic in watched:
        name, _, uf = topic.partition(":")
        kind = _KINDS.get(name)
        if kind is None:
            continue
        company = document if document_hash is None else None
        found.append(paper_key(kind, uf, company, document_hash))
    return found


def paper_key(
    kind: PaperKind, uf: str, company: str | None, document_hash: bytes | None
) -> PaperKey:
    """Return the key of a company's certificate, by CNPJ, or of a person's, by keyed hash."""
    if company is None:
        return PaperKey(kind, uf, None, document_hash)
    assert len(company) == CNPJ_CHARACTERS, "certificates of a root are not watched"
    return PaperKey(kind, uf, company[:ROOT_CHARACTERS] if kind in OF_ROOT else company, None)


def watches_papers(watched: Sequence[str]) -> bool:
    """Return whether topics include a certificate."""
    return any(topic.partition(":")[0] in _KINDS for topic in watched)


_KINDS: Final[Mapping[str, PaperKind]] = {kind: kind for kind in BOUGHT_BY}


def days_left(last_day: str, today: date) -> int:
    """Return the days until a last day: 0 on that day, negative after it."""
    return (date.fromisoformat(last_day) - today).days
