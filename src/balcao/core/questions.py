"""Requests as values: of a caller to the service (`Question`), of it to a source (`Inquiry`)."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, Self, TypeAlias

import msgspec
from msgspec import structs

from balcao.core.deprecations import DeprecatedFeature
from balcao.core.documents import Cnpj, Cpf

# An operation's internal name (`operations/`).
Subject: TypeAlias = str
# Optional parts of a registration. The national base has types (tipo_ie, situacao_pj), the states'
# own bases have addresses (`ccc.md`).
Part: TypeAlias = Literal["types", "addresses"]
Mode: TypeAlias = Literal["live", "test"]  # of an account, permanently (sandbox.md)


class Strategy(StrEnum):
    """Cache or source first (specification, "Cache strategies")."""

    CACHE_SE_EXISTIR = "CACHE_SE_EXISTIR"
    CACHE_PREFERENCIAL = "CACHE_PREFERENCIAL"
    SO_CACHE = "SO_CACHE"
    SO_ONLINE = "SO_ONLINE"
    ONLINE_PREFERENCIAL = "ONLINE_PREFERENCIAL"


class Inquiry(msgspec.Struct, frozen=True, gc=False):
    """A request to the sources, and the cache key of its answer.

    `full_partners`: with partners' documents unmasked (the opt-in); such answers have cache keys of
    their own, so that callers without the opt-in never get them. `addresses`: with the
    registrations' addresses; the cache key is the same (contract 4.5). `birth`: the date that
    belongs to a CPF (`YYYY-MM-DD`), part of the key (4.6). `reissue`: a new certificate even if one
    is in force. `of_company`: about the company as a whole; its establishments share the answer
    (4.13).
    """

    subject: Subject
    document: Cnpj | Cpf
    uf: str | None = None
    full_partners: bool = False
    addresses: bool = False
    birth: str | None = None
    reissue: bool = False
    of_company: bool = False
    # Made of subject, document, UF or birth date, and variant; nothing about the caller. Computed
    # once, since inquiries are memoized and their keys are used on each request.
    cache_key: str = ""

    def __post_init__(self) -> None:
        variant = "+socios" if self.full_partners else ""
        document = self.document
        if self.of_company and isinstance(document, Cnpj):
            # Instead of the root: entries from before 4.13 have a whole CNPJ, mostly this one.
            document = document.first_establishment
        key = f"{self.subject}{variant}:{document.text}:{self.uf or self.birth or ''}"
        structs.force_setattr(self, "cache_key", key)

    @property
    def flight_key(self) -> str:
        """The key of the request to a source; concurrent callers with the same key share it."""
        if self.reissue:
            return f"{self.cache_key}+nova"
        return f"{self.cache_key}+enderecos" if self.addresses else self.cache_key

    def about_establishment(self, cnpj: Cnpj) -> "Inquiry":
        """Return this inquiry about one establishment instead of the whole company."""
        return structs.replace(self, document=cnpj, of_company=False)


class Record(msgspec.Struct, frozen=True):
    """A source's answer to an inquiry, with the checks that every one must pass."""

    def flaw(self, inquiry: Inquiry) -> str | None:
        """Return why the record must be neither served nor cached (contract 4.4), or None.

        The text is for the operator, without personal data.
        """
        raise NotImplementedError

    def as_allowed(self, inquiry: Inquiry) -> Self:
        """Return the record with persons' data masked as the inquiry requires."""
        return self

    def another(self, about: str, inquiry: Inquiry, needed: Sequence[str] = ()) -> str | None:
        """Return the flaw if the record is about another document, or lacks a needed field."""
        if about != inquiry.document.text:
            return "respondeu sobre outro documento"
        missing = next((field for field in needed if not getattr(self, field)), None)
        return missing and f"resposta incompleta, sem {missing}"


class Question(msgspec.Struct, frozen=True, gc=False):
    """A caller's request, validated and normalised (contract 2)."""

    subject: Subject
    inquiries: tuple[Inquiry, ...]  # one, or one per UF
    strategy: Strategy
    max_age_days: int
    error_fallback: bool = False
    deprecated: DeprecatedFeature | None = None  # used by the request (contract 18)
    uf: str | None = None  # as requested: a UF, BR, or none
    refresh: bool = False  # of certificates: `atualizar_online`
    home_unknown: bool = False  # the only inquiry is about the company's own UF, not yet known

    @property
    def document(self) -> Cnpj | Cpf:
        """The document of the first (or only) inquiry."""
        return self.inquiries[0].document

    @property
    def addresses_requested(self) -> bool:
        """Whether the addresses of registrations are requested."""
        return self.inquiries[0].addresses

    def about(self, document: Cnpj | Cpf) -> "Question":
        """Return this question about another document."""
        asked = tuple([structs.replace(each, document=document) for each in self.inquiries])
        return structs.replace(self, inquiries=asked)

    def with_home_uf(self, uf: str) -> "Question":
        """Return this question with the company's own UF filled in (contract 2.3)."""
        (inquiry,) = self.inquiries
        return structs.replace(
            self, inquiries=(structs.replace(inquiry, uf=uf),), home_unknown=False
        )
