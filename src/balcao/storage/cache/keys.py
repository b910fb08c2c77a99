"""The cache's keys as they are stored: of a natural person they tell neither CPF nor birth date.

A key of a company is stored as it is. One of a person begins with a mark of the CPF, so that all
that is kept about somebody lies together and is found by the CPF alone, whatever birth date came
with it:

    rural_producer:<CPF>:SP                  →  cpf:<mark>:rural_producer:SP
    federal_certificate:<CPF>:1980-01-01     →  cpf:<mark>:federal_certificate:<mark>
"""

from dataclasses import dataclass

from balcao.core.company import PERSON_MARKS
from balcao.core.data_subject import cache_mark
from balcao.core.documents import CPF_CHARACTERS

# Where the entries about natural persons begin and end in the order of keys.
PEOPLE = ("cpf:", "cpf;")
# And those about companies that show partners' documents unmasked.
PARTNERS = ("company+socios:", "company+socios;")
# And those about companies, with partners' documents or without them.
COMPANIES = ("company+", "company;")

_UF_CHARACTERS = 2


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys of one installation, drawn from its pepper."""

    pepper: bytes

    def stored(self, key: str) -> str:
        """The key under which an entry is stored. See `core.questions.Inquiry.cache_key`."""
        parts = key.split(":")
        if len(parts) != 3 or len(parts[1]) != CPF_CHARACTERS:
            return key
        subject, cpf, detail = parts
        if len(detail) > _UF_CHARACTERS:  # a birth date; it alone would be guessed in no time
            detail = cache_mark(self.pepper, f"{cpf} {detail}")
        return f"{self._place(cpf)}:{subject}:{detail}"

    def about(self, cpf: str) -> tuple[str, str]:
        """Where the entries about this person begin and end in the order of keys."""
        place = self._place(cpf)
        return f"{place}:", f"{place};"

    def _place(self, cpf: str) -> str:
        return f"cpf:{cache_mark(self.pepper, cpf)}"


def old(before_ms: int, people_before_ms: int) -> tuple[str | int | bytes, ...]:
    """What an engine is told to find entries that are too old, in the order of its statement.

    A company that is a natural person is kept no longer than a person is. Only its entry says so:
    no key does, since who asks knows the CNPJ alone (ADR 0049).
    """
    return (*PEOPLE, people_before_ms, before_ms, people_before_ms, *COMPANIES, *PERSON_MARKS)


def described(stored: str) -> tuple[str, str]:
    """What is asked about, and the UF (or nothing), of a stored key."""
    parts = stored.split(":")
    subject, detail = parts[-2 if stored.startswith(PEOPLE[0]) else 0], parts[-1]
    return subject, detail if len(detail) == _UF_CHARACTERS else ""
