"""Short messages of pages, with the tone that determines their colour."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Tone: TypeAlias = Literal["good", "warn", "bad", "info", "neutral"]


@dataclass(frozen=True, slots=True)
class Notice:
    """A message shown in place of a result. Portuguese."""

    tone: Tone
    title: str
    text: str  # what happened
    advice: str  # what to do
    code: str | None = None  # of the error, which has a page of its own (contract 1.12)
