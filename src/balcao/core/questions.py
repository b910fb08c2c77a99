"""What is asked, as values: of us by a caller (`Question`), of a source by us (`Inquiry`)."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, Self, TypeAlias

import msgspec
from msgspec import structs

from balcao.core.documents import Cnpj, Cpf

# What can be asked about: an operation's name inside (`operations/`).
Subject: TypeAlias = str
# What a source may know of a registration besides its number and whether it is active. Types
# (tipo_ie, situacao_pj) stand in the national base, addresses in the states' own (`ccc.md`).
Part: TypeAlias = Literal["types", "addresses"]
Mode: TypeAlias = Literal["live", "test"]  # an account is one of them for ever (sandbox.md)


class Strategy(StrEnum):
    """Cache or source first (specification, "Cache strategies")."""

    CACHE_SE_EXISTIR = "CACHE_SE_EXISTIR"
    CACHE_PREFERENCIAL = "CACHE_PREFERENCIAL"
    SO_CACHE = "SO_CACHE"
    SO_ONLINE = "SO_ONLINE"
    ONLINE_PREFERENCIAL = "ONLINE_PREFERENCIAL"


class Inquiry(msgspec.Struct, frozen=True, gc=False):
    """One thing asked of the sources, and the key under which its answer is kept.

    `full_partners` asks for partners' documents unmasked (the opt-in): such answers are kept
    apart, so that no caller without the opt-in can ever be served one. `addresses` asks for the
    registrations' addresses: the answer is kept in the same place (contract 4.5). `birth` is
    the date that belongs to a CPF (`YYYY-MM-DD`): it is part of the key (4.6). `reissue` asks for
    a new certificate even where one is in force. `of_company` asks about the company as a whole:
    its establishments share the answer (4.13).
    """

    subject: Subject
    document: Cnpj | Cpf
    uf: str | None = None
    full_partners: bool = False
    addresses: bool = False
    birth: str | None = None
    reissue: bool = False
    of_company: bool = False
    # Where the cache keeps its answer: subject, document, UF or birth date, variant; nothing about
    # the caller. Made with the rest, since inquiries are remembered, and asked for it each time.
    cache_key: str = ""

    def __post_init__(self) -> None:
        variant = "+socios" if self.full_partners else ""
        document = self.document
        if self.of_company and isinstance(document, Cnpj):
            # In place of the root: entries of before 4.13 have the whole CNPJ, most often this one.
            document = document.first_establishment
        key = f"{self.subject}{variant}:{document.text}:{self.uf or self.birth or ''}"
        structs.force_setattr(self, "cache_key", key)

    @property
    def flight_key(self) -> str:
        """What is asked of sources: who waits for one of these may share its answer."""
        if self.reissue:
            return f"{self.cache_key}+nova"
        return f"{self.cache_key}+enderecos" if self.addresses else self.cache_key

    def about_establishment(self, cnpj: Cnpj) -> "Inquiry":
        """Return this inquiry about one establishment, on behalf of the company."""
        return structs.replace(self, document=cnpj, of_company=False)


class Record(msgspec.Struct, frozen=True):
    """What a source found: what every one must pass is asked of it here, once."""

    def flaw(self, inquiry: Inquiry) -> str | None:
        """Why it must neither be answered nor kept (contract 4.4), for the operator; None: it may.

        Without personal data.
        """
        raise NotImplementedError

    def as_allowed(self, inquiry: Inquiry) -> Self:
        """The same, showing persons as the inquiry allows."""
        return self

    def another(self, about: str, inquiry: Inquiry, needed: Sequence[str] = ()) -> str | None:
        """The flaw of being about somebody else, or without one of these fields."""
        if about != inquiry.document.text:
            return "respondeu sobre outro documento"
        missing = next((field for field in needed if not getattr(self, field)), None)
        return missing and f"resposta incompleta, sem {missing}"


class Question(msgspec.Struct, frozen=True, gc=False):
    """One caller's request, checked and normalised (contract 2)."""

    subject: Subject
    inquiries: tuple[Inquiry, ...]  # one, or one per UF
    strategy: Strategy
    max_age_days: int
    error_fallback: bool = False
    deprecated_header: bool = False  # `cache` came as a header (contract 2.4)
    uf: str | None = None  # as asked: a UF, BR, or none
    refresh: bool = False  # of certificates: `atualizar_online`
    home_unknown: bool = False  # the only inquiry is about the company's own UF, still to be found

    @property
    def document(self) -> Cnpj | Cpf:
        """The document of the first (or only) inquiry."""
        return self.inquiries[0].document

    @property
    def wants_addresses(self) -> bool:
        """Whether the addresses of registrations are asked for."""
        return self.inquiries[0].addresses

    def about(self, document: Cnpj | Cpf) -> "Question":
        """The same question about somebody else."""
        asked = tuple([structs.replace(each, document=document) for each in self.inquiries])
        return structs.replace(self, inquiries=asked)

    def at_home(self, uf: str) -> "Question":
        """The same question, now that the company's own UF is known (contract 2.3)."""
        (inquiry,) = self.inquiries
        return structs.replace(
            self, inquiries=(structs.replace(inquiry, uf=uf),), home_unknown=False
        )
