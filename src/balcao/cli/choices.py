"""Options that take one of a few words, several times."""

from collections.abc import Callable, Sequence


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
