"""Arguments that are one of a few words."""

from collections.abc import Callable, Sequence

from balcao.operations import OPERATIONS
from balcao.operations.contract import Operation


def one_of(known: Sequence[str]) -> Callable[[str], str]:
    """What reads one of these words; the parser of commands takes no list of literals.

    It raises `ValueError` with a sentence for the operator.
    """

    def read(text: str) -> str:
        found = next((word for word in known if word.casefold() == text.casefold()), None)
        if found is None:
            raise ValueError(f"'{text}' não é um destes: {', '.join(known)}.")
        return found

    return read


def operation_called(text: object) -> Operation | None:
    """The operation of this path, or as the application's addresses call it."""
    return next((each for each in OPERATIONS.values() if text in (each.path, each.form.slug)), None)
