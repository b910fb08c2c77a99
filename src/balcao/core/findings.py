"""What an examination finds, and how it is said."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Status: TypeAlias = Literal["ok", "warn", "fail"]

WORDS: Mapping[Status, str] = {"ok": "ok", "warn": "aviso", "fail": "FALHA"}


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check says. `text` names the remedy where something is wrong."""

    status: Status
    text: str
    name: str = ""  # else that of the check
