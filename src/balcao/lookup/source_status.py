"""Current status of the sources that a lookup may need, as quotes show it.

A line is one source for one subject and UF (contract 10.1, 13.3).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Literal, NamedTuple, TypeAlias

import msgspec

from balcao.core.availability import Standing
from balcao.core.described import described, doc
from balcao.core.federation import ALL
from balcao.core.questions import Mode, Question, Subject
from balcao.sources.router import SourceRouter

SourceLine: TypeAlias = tuple[str, Subject, str]

StatusWord: TypeAlias = Literal["respondendo", "instavel", "parada", "desconhecida"]
_WORDS: Mapping[Standing, StatusWord] = {
    "ok": "respondendo",
    "degraded": "instavel",
    "down": "parada",
    "quiet": "desconhecida",
}


class SourceStatus(NamedTuple):
    """Current status of a line. `usual_ms`: median of the last hour's answers; None: none."""

    standing: Standing
    usual_ms: float | None = None


StatusReader: TypeAlias = Callable[
    [Mode, Collection[SourceLine]], Mapping[SourceLine, SourceStatus]
]


@described("FonteCotada", "Uma fonte que pode ser consultada e a situação dela.")
class QuotedSource(msgspec.Struct, frozen=True):
    """A source that may be asked, and its status."""

    nome: Annotated[str, doc("Nome da fonte.")]
    estado: Annotated[StatusWord, doc("Situação na última hora. `desconhecida`: sem consultas.")]


def source_lines(sources: Sequence[str], subject: Subject, uf: str | None) -> Sequence[SourceLine]:
    """Return the lines under which the status of these sources for a UF is kept."""
    ufs = ("",) if not uf else (uf, ALL)  # some sources answer for all UFs at once
    return [(name, subject, each) for name in sources for each in ufs]


def question_source_lines(sources: SourceRouter, question: Question) -> Sequence[SourceLine]:
    """Return the lines of all sources that may be asked, in order."""
    return [
        line
        for inquiry in question.inquiries
        for line in source_lines(sources.source_names(inquiry), question.subject, inquiry.uf)
    ]


def quoted_sources(
    lines: Collection[SourceLine], now: Mapping[SourceLine, SourceStatus]
) -> Sequence[QuotedSource]:
    """Return each source once, in order, with one status for all its UFs."""
    known: dict[str, set[Standing]] = {}
    for line in lines:
        known.setdefault(line[0], set()).add(now[line].standing)
    return [QuotedSource(name, _WORDS[_combined(each)]) for name, each in known.items()]


def _combined(known: Collection[Standing]) -> Standing:
    measured = set(known) - {"quiet"}
    if len(measured) > 1:
        return "degraded"
    return measured.pop() if measured else "quiet"
