"""Stored forms of the cache's keys: without CPF and birth date of natural persons.

A key of a company is stored unchanged. One of a person begins with a mark of the CPF, so that all
entries about a person are adjacent and are found by the CPF alone, whatever the birth date:

    rural_producer:<CPF>:SP                  →  cpf:<mark>:rural_producer:SP
    federal_certificate:<CPF>:1980-01-01     →  cpf:<mark>:federal_certificate:<mark>
"""

from dataclasses import dataclass

from balcao.core.company import PERSON_PATTERNS
from balcao.core.data_subject import cache_hash
from balcao.core.documents import CPF_CHARACTERS

# Ranges of keys, [first, end): entries about natural persons,
PEOPLE = ("cpf:", "cpf;")
# about companies with partners' documents unmasked,
PARTNERS = ("company+socios:", "company+socios;")
# and about companies, with partners' documents or without them.
COMPANIES = ("company+", "company;")

_UF_CHARACTERS = 2


@dataclass(frozen=True, slots=True)
class Keys:
    """Stored keys of one installation, which depend on its pepper."""

    pepper: bytes

    def stored(self, key: str) -> str:
        """Return the stored form of a key of `core.questions.Inquiry.cache_key`."""
        parts = key.split(":")
        if len(parts) != 3 or len(parts[1]) != CPF_CHARACTERS:
            return key
        subject, cpf, detail = parts
        if len(detail) > _UF_CHARACTERS:  # a birth date: a mark of it alone is easily guessed
            detail = cache_hash(self.pepper, f"{cpf} {detail}")
        return f"{self._place(cpf)}:{subject}:{detail}"

    def about(self, cpf: str) -> tuple[str, str]:
        """Return the range [first, end) of the keys about a person."""
        place = self._place(cpf)
        return f"{place}:", f"{place};"

    def _place(self, cpf: str) -> str:
        return f"cpf:{cache_hash(self.pepper, cpf)}"


def age_limits(before_ms: int, people_before_ms: int) -> tuple[str | int | bytes, ...]:
    """Return the parameters by which an engine's statement finds expired entries.

    A company that is a natural person is kept as long as a person. Only its content shows that:
    the key has just the CNPJ (ADR 0049).
    """
    return (*PEOPLE, people_before_ms, before_ms, people_before_ms, *COMPANIES, *PERSON_PATTERNS)


def subject_and_uf(stored: str) -> tuple[str, str]:
    """Return the subject and the UF (or "") of a stored key."""
    parts = stored.split(":")
    subject, detail = parts[-2 if stored.startswith(PEOPLE[0]) else 0], parts[-1]
    return subject, detail if len(detail) == _UF_CHARACTERS else ""
