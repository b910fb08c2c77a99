"""The root of the tree, its branches, and the list of all errors."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from balcao.core.notices import Notice, Tone

# Client libraries sleep for as long as a 503 asks them to, and most outages end sooner than
# anybody can foresee. Whatever takes longer is answered with another 503 (contract 9.4).
UNAVAILABLE_RETRY_SECONDS_MAX = 300


class BalcaoError(Exception):
    """The root of the tree. Its own card describes a bug, and any error without a `message`.

    `detail` is for the operator and the log, or for the caller where `detail_is_message`. It never
    holds personal data.
    """

    # What callers of the API get. The words *saldo*, *crédito* and *limite* occur in messages of
    # 402 and 429 only: a client in the wild takes any message with them for an exhausted balance
    # (contract 1.4). A class without a `message` of its own is not for callers.
    status: int = 500
    code: str = "ERRO_INTERNO"
    message: str = "Falha interna. Nada foi cobrado; tente novamente."
    extra: Mapping[str, int | str | None] = {}  # further top-level fields of the answer
    retry_in_seconds: int | None = None  # `Retry-After`
    detail_is_message: bool = False

    # What pages show. A refusal is the caller's to mend (warn), a failure is not (bad).
    short: str = "Falhou"
    tone: Tone = "bad"
    notice: Notice | None = None  # in place of a result
    field: str | None = None  # the field of a form that the error is about
    hint: str = ""  # what is shown at that field

    # What operators read in the terminal, with `{detail}` and `{program}`.
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
        """Return the text for the operator. `program`: how `balcao` is called there."""
        return self.operator_hint.format(detail=self.detail, program=program)


class CallerError(BalcaoError):
    """This request cannot succeed as it was sent; nothing is charged."""

    status = 400
    tone: Tone = "warn"


class InvalidInput(CallerError):
    """Something in the request does not fit the contract."""


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
    """Return whether callers of the API can get this error: it has a message of its own."""
    return "message" in vars(kind)


def public_errors() -> Sequence[type[BalcaoError]]:
    """Return all errors that callers of the API can get."""
    return list(filter(is_public, all_errors()))


def errors_by_code() -> Mapping[str, type[BalcaoError]]:
    """Return the error that stands for each code: the first of those that share it."""
    return {kind.code: kind for kind in reversed(public_errors())}
