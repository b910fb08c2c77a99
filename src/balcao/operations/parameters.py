"""Reading the parameters of a request (decisions 2). Every complaint names the parameter."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from urllib.parse import parse_qsl

from balcao.core.questions import Strategy
from balcao.errors import InvalidParameter, InvalidStrategy, InvalidUf, RepeatedParameter

# More fields than this is no request of ours; parse_qsl refuses to go on.
_FIELDS_MAX = 100
# Clients send the same few combinations for ever; longer ones may hold a person's data.
_REMEMBERED_BYTES_MAX = 80


def _split(query: bytes) -> Sequence[tuple[str, str]]:
    return _split_short(query) if len(query) <= _REMEMBERED_BYTES_MAX else _split_now(query)


def _split_now(query: bytes) -> Sequence[tuple[str, str]]:
    text = query.decode("latin-1")
    try:
        return parse_qsl(text, keep_blank_values=True, max_num_fields=_FIELDS_MAX)
    except ValueError:
        raise InvalidParameter("A consulta tem parâmetros demais.") from None


_split_short = lru_cache(maxsize=1024)(_split_now)


def _upper(text: str) -> str:
    """Upper case; but what is not ASCII stays as it is, since `upper` makes an S of a long s."""
    return text.upper() if text.isascii() else text


_BOOLEANS: Mapping[str, bool] = {"true": True, "1": True, "false": False, "0": False}

_DAYS = re.compile(r"[0-9]{1,4}", re.ASCII)


class Parameters:
    """The query string and the headers of one request. Unknown parameters are ignored."""

    __slots__ = ("_headers", "_query")

    def __init__(self, query: bytes, headers: Mapping[bytes, bytes], names: Sequence[str]) -> None:
        self._headers = headers
        self._query: dict[str, str] = {}
        if not query:
            return
        for name, value in _split(query):
            if name in names:
                if name in self._query:
                    raise RepeatedParameter(f"O parâmetro {name} foi informado mais de uma vez.")
                self._query[name] = value.strip()

    def text(self, name: str) -> str | None:
        """The value in the query string, or None."""
        return self._query.get(name)

    def header(self, name: bytes) -> str | None:
        """The value of a header (lower-case name), or None."""
        value = self._headers.get(name)
        # HTTP's white space only: a no-break space is a character, and no visible one.
        return None if value is None else value.decode("latin-1").strip(" \t")

    def days(self, name: str, *, default: int, largest: int) -> tuple[int, bool]:
        """A number of days, and whether it came as a header. The query wins (decisions 2.4)."""
        text, from_header = self.text(name), False
        if text is None:
            text = self.header(name.encode())
            from_header = text is not None
        if text is None:
            return default, False
        if not _DAYS.fullmatch(text) or int(text) > largest:
            raise InvalidParameter(
                f"O parâmetro {name} deve ser um número inteiro de dias, de 0 a {largest}."
            )
        return int(text), from_header

    def boolean(self, name: str, *, default: bool = False) -> bool:
        """`true`, `false`, `1`, `0` in any case (decisions 2.6)."""
        text = self.text(name)
        if text is None:
            return default
        value = _BOOLEANS.get(text.lower())
        if value is None:
            raise InvalidParameter(f"O parâmetro {name} deve ser true ou false.")
        return value

    def uf(self, allowed: Sequence[str]) -> str | None:
        """`uf`: trimmed, any case; empty counts as omitted (decisions 2.3). Raises `InvalidUf`."""
        text = self.text("uf")
        if not text:
            return None
        uf = _upper(text)
        if uf not in allowed:
            raise InvalidUf(f"O parâmetro uf deve ser um destes: {', '.join(allowed)}.")
        return uf

    def strategy(self, allowed: Sequence[Strategy], default: Strategy) -> Strategy:
        """`cache_strategy`: exact names, any case (decisions 2.5)."""
        text = self.text("cache_strategy")
        if text is None:
            return default
        for strategy in allowed:
            if strategy == _upper(text):
                return strategy
        names = ", ".join(allowed)
        raise InvalidStrategy(f"cache_strategy deve ser uma destas: {names}.")
