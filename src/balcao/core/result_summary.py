"""The summary of a result that is stored with its request (ADR 0028)."""

import msgspec

from balcao.core.documents import without_cpf

# Longer answers are not summarized: parsing them would block the event loop.
READ_BYTES_MAX = 64_000
_NAME_CHARACTERS_MAX = 150  # as the registry's own


class ResultSummary(msgspec.Struct, frozen=True, gc=False):
    """The summary of a result about a company; results about persons have none."""

    name: str | None  # without a CPF
    # A code of the operation, with a colon and a value for its label: `ATIVA`, `ativas:3`.
    result: str | None


def summary_of(name: str | None, result: str | None) -> ResultSummary:
    """Return a summary with a name from a source, shortened and without a CPF."""
    return ResultSummary(without_cpf(name or "")[:_NAME_CHARACTERS_MAX] or None, result)
