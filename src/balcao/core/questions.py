"""What is asked, as values: of us by a caller (`Question`), of a source by us (`Inquiry`)."""

from enum import StrEnum
from typing import Literal, TypeAlias

import msgspec

from balcao.core.documents import Cnpj, Cpf

Subject: TypeAlias = Literal["company"]  # what can be asked about; one file each in `subjects/`
Mode: TypeAlias = Literal["live", "test"]  # an account is one of them for ever (sandbox.md)


class Strategy(StrEnum):
    """Cache or source first (specification, "Cache strategies")."""

    CACHE_SE_EXISTIR = "CACHE_SE_EXISTIR"
    CACHE_PREFERENCIAL = "CACHE_PREFERENCIAL"
    SO_CACHE = "SO_CACHE"
    SO_ONLINE = "SO_ONLINE"
    ONLINE_PREFERENCIAL = "ONLINE_PREFERENCIAL"


class Inquiry(msgspec.Struct, frozen=True):
    """One thing asked of the sources, and the key under which its answer is kept.

    `full_partners` asks for partners' documents unmasked (the opt-in): such answers are kept
    apart, so that no caller without the opt-in can ever be served one.
    """

    subject: Subject
    document: Cnpj | Cpf
    uf: str | None = None
    full_partners: bool = False

    @property
    def key(self) -> str:
        """Cache key. Subject, document, UF and variant; nothing about the caller."""
        variant = "+socios" if self.full_partners else ""
        return f"{self.subject}{variant}:{self.document.text}:{self.uf or ''}"


class Question(msgspec.Struct, frozen=True):
    """One caller's request, checked and normalised (decisions 2)."""

    subject: Subject
    inquiries: tuple[Inquiry, ...]  # one, or one per UF
    strategy: Strategy
    max_age_days: int
    error_fallback: bool = False
    deprecated_header: bool = False  # `cache` came as a header (decisions 2.4)

    @property
    def document(self) -> Cnpj | Cpf:
        """The document of the first (or only) inquiry."""
        return self.inquiries[0].document
