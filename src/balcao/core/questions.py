"""What is asked, as values: of us by a caller (`Question`), of a source by us (`Inquiry`)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, TypeAlias

import msgspec

from balcao.core.documents import Cnpj, Cpf
from balcao.core.registration import Part

# What can be asked about; one file each in `operations/`.
Subject: TypeAlias = Literal[
    "company",
    "state_registration",
    "rural_producer",
    "suframa",
    "federal_certificate",
    "state_certificate",
]
Mode: TypeAlias = Literal["live", "test"]  # an account is one of them for ever (sandbox.md)


class Strategy(StrEnum):
    """Cache or source first (specification, "Cache strategies")."""

    CACHE_SE_EXISTIR = "CACHE_SE_EXISTIR"
    CACHE_PREFERENCIAL = "CACHE_PREFERENCIAL"
    SO_CACHE = "SO_CACHE"
    SO_ONLINE = "SO_ONLINE"
    ONLINE_PREFERENCIAL = "ONLINE_PREFERENCIAL"


# Bytes of a source's answer about one of them; certificates may bring their receipt (9.5).
ANSWER_BYTES_MAX: Mapping[Subject, int] = {
    "company": 4_000_000,
    "state_registration": 1_000_000,
    "rural_producer": 1_000_000,
    "suframa": 1_000_000,
    "federal_certificate": 10_000_000,
    "state_certificate": 10_000_000,
}

REGISTRATION_SUBJECTS: frozenset[Subject] = frozenset({"state_registration", "rural_producer"})
CERTIFICATE_SUBJECTS: frozenset[Subject] = frozenset({"federal_certificate", "state_certificate"})

_NO_PARTS: frozenset[Part] = frozenset()
_TYPES_ONLY: frozenset[Part] = frozenset({"types"})
_WITH_ADDRESSES: frozenset[Part] = frozenset({"types", "addresses"})


class Inquiry(msgspec.Struct, frozen=True):
    """One thing asked of the sources, and the key under which its answer is kept.

    `full_partners` asks for partners' documents unmasked (the opt-in): such answers are kept
    apart, so that no caller without the opt-in can ever be served one. `addresses` asks for the
    registrations' addresses: the answer is kept in the same place (decisions 4.5). `birth` is
    the date that belongs to a CPF (`YYYY-MM-DD`): it is part of the key (4.6). `reissue` asks for
    a new certificate even where one is in force.
    """

    subject: Subject
    document: Cnpj | Cpf
    uf: str | None = None
    full_partners: bool = False
    addresses: bool = False
    birth: str | None = None
    reissue: bool = False

    @property
    def cache_key(self) -> str:
        """Where the cache keeps its answer.

        Subject, document, UF or birth date, variant; nothing about the caller.
        """
        variant = "+socios" if self.full_partners else ""
        return f"{self.subject}{variant}:{self.document.text}:{self.uf or self.birth or ''}"

    @property
    def flight_key(self) -> str:
        """What is asked of sources: who waits for one of these may share its answer."""
        if self.reissue:
            return f"{self.cache_key}+nova"
        return f"{self.cache_key}+enderecos" if self.addresses else self.cache_key

    @property
    def parts(self) -> frozenset[Part]:
        """What the answer should tell, and what not every source knows."""
        if self.subject not in REGISTRATION_SUBJECTS:
            return _NO_PARTS
        return _WITH_ADDRESSES if self.addresses else _TYPES_ONLY


class Question(msgspec.Struct, frozen=True):
    """One caller's request, checked and normalised (decisions 2)."""

    subject: Subject
    inquiries: tuple[Inquiry, ...]  # one, or one per UF
    strategy: Strategy
    max_age_days: int
    error_fallback: bool = False
    deprecated_header: bool = False  # `cache` came as a header (decisions 2.4)
    uf: str | None = None  # as asked: a UF, BR, or none
    refresh: bool = False  # of certificates: `atualizar_online`
    home_unknown: bool = False  # the only inquiry is about the company's own UF, still to be found

    @property
    def document(self) -> Cnpj | Cpf:
        """The document of the first (or only) inquiry."""
        return self.inquiries[0].document

    def at_home(self, uf: str) -> "Question":
        """The same question, now that the company's own UF is known (decisions 2.3)."""
        (inquiry,) = self.inquiries
        return msgspec.structs.replace(
            self, inquiries=(msgspec.structs.replace(inquiry, uf=uf),), home_unknown=False
        )
