"""The API's answer to an error (contract 3)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from balcao.core.errors import UNAVAILABLE_RETRY_SECONDS_MAX, BalcaoError, is_public

# Each code has a page below this path (contract 1.12). No prefix is needed: a proxy in front serves
# the service under the same path (`public_url` is an origin).
PAGES = "/docs/erros/"


@dataclass(frozen=True, slots=True)
class Problem:
    """An error answer: status, stable code, message and further fields."""

    status: int
    code: str
    message: str
    # Further top-level fields.
    fields: Mapping[str, int | str | None] = field(default_factory=dict)
    retry_after_seconds: int | None = None


def problem_of(error: Exception) -> Problem:
    """Return the answer to an error; bugs and errors for operators get a general one."""
    if not isinstance(error, BalcaoError) or not is_public(type(error)):
        return Problem(BalcaoError.status, BalcaoError.code, BalcaoError.message)
    seconds = error.retry_in_seconds
    if error.status == 503 and seconds is not None:
        seconds = min(seconds, UNAVAILABLE_RETRY_SECONDS_MAX)
    return Problem(error.status, error.code, error.message, error.extra, seconds)
