"""What an answer came to: whose it was, and a code of what it said (ADR 0028)."""

import msgspec

from balcao.core.documents import without_cpf

# Of longer answers nothing is remembered: to read them takes long, and everybody would wait.
READ_BYTES_MAX = 64_000
_NAME_CHARACTERS_MAX = 150  # as the registry's own


class Gist(msgspec.Struct, frozen=True, gc=False):
    """As it is remembered with a request about a company; of persons nothing is."""

    name: str | None  # without a CPF
    # A code of the operation's, and behind a colon what its words take: `ATIVA`, `ativas:3`.
    result: str | None


def gist_of(name: str | None, result: str | None) -> Gist:
    """The same, of a name as a source wrote it."""
    return Gist(without_cpf(name or "")[:_NAME_CHARACTERS_MAX] or None, result)
