"""The root of the tree, its branches, and the list of all errors."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from balcao.core.notices import Notice, Tone

# Client libraries wait as long as a 503 asks, and most outages end sooner than predicted. A
# longer outage is answered with another 503 (contract 9.4).
UNAVAILABLE_RETRY_SECONDS_MAX = 300


class BalcaoError(Exception):
    """The root of the tree. Its own texts are for bugs, and for errors without a `message`.

    `detail` is for the operator and the log, or for the caller if `detail_is_message`. It never
    contains personal data.
    """

    # For callers of the API. The words *saldo*, *crédito* and *limite* are in messages of 402 and
    # 429 only: an existing client takes any message with them for an exhausted balance (contract
    # 1.4). A class without a `message` of its own is not for callers.
    status: int = 500
    code: str = "ERRO_INTERNO"
    message: str = "Falha interna. Nada foi cobrado; tente novamente."
    extra: Mapping[str, int | str | None] = {}  # further top-level fields of the answer
    retry_in_seconds: int | None = None  # `Retry-After`
    detail_is_message: bool = False

    # For pages. The caller can correct a refusal (warn), but not a failure (bad).
    short: str = "Falhou"
    tone: Tone = "bad"
    notice: Notice | None = None  # shown instead of a result
    field: str | None = None  # the field of a form that the error is about
    hint: str = ""  # shown at that field

    # For operators in the terminal, with `{detail}` and `{program}`.
    operator_hint: str = ""

    # Arguments of instances that together show every answer this error can give.
    sample_arguments: Sequence[Mapping[str, Any]] = ({},)

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        if detail and self.detail_is_message:
            self.message = detail

    @classmethod
    def samples(cls) -> Sequence[Self]:
        """Return instances that together show every answer this error can give."""
        return [cls(**arguments) for arguments in cls.sample_arguments]

    def operator_text(self, program: str) -> str:
        """Return the text for the operator. `program`: the command that runs `balcao`."""
        return self.operator_hint.format(detail=self.detail, program=program)


class CallerError(BalcaoError):
    """The request cannot succeed as it was sent; nothing is charged."""

    status = 400
    tone: Tone = "warn"


class InvalidInput(CallerError):
    """Something in the request violates the contract."""


class NotFound(CallerError):
    """There is nothing at this address."""

    status = 404
    tone: Tone = "info"


def all_errors(root: type[BalcaoError] = BalcaoError) -> Iterator[type[BalcaoError]]:
    """Yield the tree below `root`, parents before their children."""
    for kind in root.__subclasses__():
        yield kind
        yield from all_errors(kind)


def is_public(kind: type[BalcaoError]) -> bool:
    """Return whether callers of the API can get this error: the class defines a `message`."""
    return "message" in vars(kind)


def public_errors() -> Sequence[type[BalcaoError]]:
    """Return all errors that callers of the API can get."""
    return list(filter(is_public, all_errors()))


def errors_by_code() -> Mapping[str, type[BalcaoError]]:
    """Return the representative error of each code: the first of those that share it."""
    return {kind.code: kind for kind in reversed(public_errors())}
