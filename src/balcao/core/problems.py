"""The answer to an error, as callers of the API get it (contract 3)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from balcao.core.errors import UNAVAILABLE_RETRY_SECONDS_MAX, BalcaoError, is_public

# Each code has its page below this path (contract 1.12). Nothing is added in front of it: a proxy
# before the service serves it under the same path (`public_url` is an origin).
PAGES = "/docs/erros/"


@dataclass(frozen=True, slots=True)
class Problem:
    """Status, stable internal code, message, and further parts of the answer."""

    status: int
    code: str
    message: str
    # Further top-level fields.
    fields: Mapping[str, int | str | None] = field(default_factory=dict)
    retry_after_seconds: int | None = None


def problem_of(error: Exception) -> Problem:
    """Return the answer to an error. It reveals nothing about a bug or an error for operators."""
    if not isinstance(error, BalcaoError) or not is_public(type(error)):
        return Problem(BalcaoError.status, BalcaoError.code, BalcaoError.message)
    seconds = error.retry_in_seconds
    if error.status == 503 and seconds is not None:
        seconds = min(seconds, UNAVAILABLE_RETRY_SECONDS_MAX)
    return Problem(error.status, error.code, error.message, error.extra, seconds)
