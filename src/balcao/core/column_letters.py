"""Letters of spreadsheets' columns: A, Z, AA."""

import re

_LETTERS = re.compile("[A-Za-z]{1,3}", re.ASCII)


def column_letter(index: int) -> str:
    """Return the letter of a column index in spreadsheets: 0 is `A`, 26 is `AA`."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def column_index(letter: str) -> int | None:
    """Return the index of a column letter in either case, None for other texts."""
    if _LETTERS.fullmatch(letter) is None:
        return None
    index = 0
    for each in letter.upper():
        index = index * 26 + ord(each) - ord("A") + 1
    return index - 1
