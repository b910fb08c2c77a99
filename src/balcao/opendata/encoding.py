"""Check that a file is in ISO-8859-1, as the publisher writes it (`rfb-open-data.md`, section 3).

In another encoding every accented letter would be stored wrong without any other sign.
"""

import re

from balcao.opendata.errors import BadInput

# This many non-ASCII runs suffice to judge a file; the rest of it is not checked.
_RUNS_ENOUGH = 200
_NOT_ASCII = re.compile(rb"[\x80-\xff]+")
# C1 control characters in ISO-8859-1; capital letters with accents in the encodings of DOS and Mac.
_CONTROLS = re.compile(rb"[\x80-\x9f]")
_CONTROLS_MIN = 10
_MEGABYTE = 1_000_000
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")


class EncodingCheck:
    """Checks a file chunk by chunk and refuses it when it is in another encoding.

    Single records that were encoded twice exist in the registry. A file is refused only if most of
    its non-ASCII runs are UTF-8, and at least one in each megabyte.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._bytes = 0
        self._runs = 0
        self._utf8 = 0
        self._controls = 0

    def add(self, chunk: bytes) -> None:
        """Count the runs of a chunk. Raises `BadInput` for UTF-16."""
        if not self._bytes and (
            chunk.startswith(_WIDE_MARKS) or chunk.count(0) * 4 > len(chunk)  # a NUL in each letter
        ):
            raise self._refusal("UTF-16")
        if self._runs >= _RUNS_ENOUGH:
            return
        self._bytes += len(chunk)
        if chunk.isascii():
            return
        for match in _NOT_ASCII.finditer(chunk):
            self._runs += 1
            self._utf8 += _is_utf8(match[0])
            self._controls += _CONTROLS.search(match[0]) is not None
            if self._runs >= _RUNS_ENOUGH:
                return

    def finish(self) -> None:
        """Judge the whole file. Raises `BadInput`."""
        often = max(self._bytes / _MEGABYTE, 1)
        if self._utf8 >= often and self._utf8 * 2 > self._runs:
            raise self._refusal("UTF-8")
        # Real months have one or two of these, in e-mails.
        if self._controls >= max(often, _CONTROLS_MIN) and self._controls * 10 > self._runs:
            raise self._refusal("outra codificação")

    def _refusal(self, encoding: str) -> BadInput:
        return BadInput(
            f"{self._file} está em {encoding}, e não em ISO-8859-1 como a Receita publica; use o"
            " zip original"
        )


def _is_utf8(run: bytes) -> bool:
    try:
        run.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
