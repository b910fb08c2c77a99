"""Whom a lookup may have to ask, and how they are doing: part of what is told before its price.

A line is one source for one subject and UF (contract 10.1, 13.3).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Literal, NamedTuple, TypeAlias

import msgspec

from balcao.core.availability import Standing
from balcao.core.described import described, said
from balcao.core.federation import ALL
from balcao.core.questions import Mode, Question, Subject
from balcao.sources.asking import Sources

SourceLine: TypeAlias = tuple[str, Subject, str]

Word: TypeAlias = Literal["respondendo", "instavel", "parada", "desconhecida"]
_WORDS: Mapping[Standing, Word] = {
    "ok": "respondendo",
    "degraded": "instavel",
    "down": "parada",
    "quiet": "desconhecida",
}


class SourceNow(NamedTuple):
    """How a line is at this moment. `usual_ms`: of its answers of the last hour; None: none."""

    standing: Standing
    usual_ms: float | None = None


# Of this mode, each of these lines.
SourcesNow: TypeAlias = Callable[[Mode, Collection[SourceLine]], Mapping[SourceLine, SourceNow]]


@described("FonteCotada", "Quem pode ser consultado sobre isto, e como está.")
class QuotedSource(msgspec.Struct, frozen=True):
    """One of those who may be asked."""

    nome: Annotated[str, said("Nome da fonte.")]
    estado: Annotated[
        Word, said("Como respondeu na última hora; `desconhecida`: ninguém a consultou.")
    ]


def lines_of(sources: Sequence[str], subject: Subject, uf: str | None) -> Sequence[SourceLine]:
    """What is known of these sources for a UF is known by these lines."""
    ufs = ("",) if not uf else (uf, ALL)  # some are asked about all of them at once
    return [(name, subject, each) for name in sources for each in ufs]


def lines_of_question(sources: Sources, question: Question) -> Sequence[SourceLine]:
    """Of all that may be asked about it, in order."""
    return [
        line
        for inquiry in question.inquiries
        for line in lines_of(sources.who_is_asked(inquiry), question.subject, inquiry.uf)
    ]


def in_words(
    lines: Collection[SourceLine], now: Mapping[SourceLine, SourceNow]
) -> Sequence[QuotedSource]:
    """Each source once, in order, however many UFs it may be asked about."""
    known: dict[str, set[Standing]] = {}
    for line in lines:
        known.setdefault(line[0], set()).add(now[line].standing)
    return [QuotedSource(name, _WORDS[_in_one(all_of)]) for name, all_of in known.items()]


def _in_one(known: Collection[Standing]) -> Standing:
    spoken = set(known) - {"quiet"}
    if len(spoken) > 1:
        return "degraded"
    return spoken.pop() if spoken else "quiet"
