"""What an examination finds, and how it is said."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from balcao.home import Home
    from balcao.settings import Settings

Status: TypeAlias = Literal["ok", "warn", "fail"]

WORDS: Mapping[Status, str] = {"ok": "ok", "warn": "aviso", "fail": "FALHA"}


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check says. `text` names the remedy where something is wrong."""

    status: Status
    text: str
    name: str = ""  # else that of the check


Check: TypeAlias = Callable[["Settings", "Home"], Iterator[Finding]]
