"""`/app/operador/fontes`: the sources of each subject, and their state within the last hour."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from starlette.responses import Response

from balcao.core.availability import Standing
from balcao.core.questions import Mode, Subject
from balcao.core.writing import reais
from balcao.examination.inventory import ListedSource
from balcao.observability.health import Line, of_subject, standing
from balcao.web.kit import filters, standings
from balcao.web.kit.configured import CONFIGURED, ConfiguredSources
from balcao.web.kit.context import PageContext
from balcao.web.kit.standings import BY_UF, SUBJECTS, WORDS
from balcao.web.kit.words.vocabulary import SOURCES, Word
from balcao.web.pages.status import HISTORY, LEGEND, StatusHistory, Strips

_PATH = "/app/operador/fontes"

# For a subject asked by UF, the overview shows at most this many lines in trouble.
TROUBLED_MAX = 12

OUTCOMES: Mapping[str, str] = {
    "found": "encontrou",
    "absent": "não consta",
    "unavailable": "indisponível",
    "failed": "falhou",
}
CIRCUITS: Mapping[str, str] = {
    "closed": "não",
    "open": "pausada",
    "half-open": "em prova",
}


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A source in a table, as a whole or in one UF. Times in milliseconds; None: unknown."""

    order: int | None
    source: str
    remark: str
    uf: str
    word: Word
    calls: int
    share: float | None = None
    p50_ms: float | None = None
    p95_ms: float | None = None
    circuit: str | None = None
    last_success_ms: int | None = None
    last_failure_ms: int | None = None
    outcome: str | None = None
    cost: str | None = None  # charged by the provider since this process began


@dataclass(frozen=True, slots=True)
class Section:
    """The tables and the map of one subject."""

    subject: Subject
    name: str
    rows: Sequence[SourceRow]
    map: Markup | None
    unserved: str  # UFs that no source takes


async def show(context: PageContext) -> Response:
    """Show all subjects, or all lines of one; to a script that polls, only the tables."""
    tools = context.tools
    mode: Mode = "test" if context.query("ambiente") == "test" else "live"
    chosen = next((each for each in SUBJECTS if each == context.query("assunto")), None)
    configured = await CONFIGURED.of(tools)
    circuits = tools.circuits() if mode == "live" else None
    lines = tools.health.lines(mode, tools.now_ms(), circuits)
    known = of_subject(lines)
    history = await HISTORY.of(tools)
    # A subject without a source, or without a call to the sandbox, would be a table of dashes.
    idle = [
        subject
        for subject in SUBJECTS
        if chosen is None
        and not (
            configured.is_on(subject)
            if mode == "live"
            else any(line.subject == subject for line in lines)
        )
    ]
    sections = [
        _section(
            subject,
            [line for line in lines if line.subject == subject],
            known,
            configured,
            live=mode == "live",
            whole=chosen is not None,
        )
        for subject in ([chosen] if chosen is not None else SUBJECTS)
        if subject not in idle
    ]
    return context.page(
        "operador/_fontes.html" if context.is_fragment else "operador/fontes.html",
        sections=sections,
        idle=[SUBJECTS[subject] for subject in idle],
        # History is kept only of the mode on the public status page.
        history=_by_source(history, chosen) if history and history.mode == mode else (),
        legend=LEGEND,
        mode=mode,
        chosen=chosen,
        by_uf=BY_UF,
        here=_address(mode, chosen),
        all_here=_address(mode),
        live_here=_address("live", chosen),
        test_here=_address("test", chosen),
        opened=context.query("ativar"),
        online=[
            (
                source,
                SOURCES.get(source.name, source.name),
                [SUBJECTS[one] for one in source.subjects],
            )
            for source in configured.online
        ],
        checking=f"{_PATH}/verificar",
        breaker_failures=tools.settings.breaker_failures,
        breaker_seconds=tools.settings.breaker_seconds,
    )


def _by_source(
    history: StatusHistory, chosen: Subject | None
) -> Sequence[tuple[str, Sequence[tuple[str, Strips]]]]:
    """Return for each operation the sources that were asked, with their hours and days."""
    return [
        (SUBJECTS[subject], [(_name(source), each) for source, each in strips.sources.items()])
        for subject, strips in history.subjects.items()
        if strips.sources and chosen in (None, subject)
    ]


def _address(mode: Mode, subject: Subject | None = None) -> str:
    asked = {"ambiente": mode if mode == "test" else "", "assunto": subject or ""}
    return filters.address(_PATH, asked)


def _section(
    subject: Subject,
    lines: Sequence[Line],
    known: Mapping[tuple[str, str], Standing],
    configured: ConfiguredSources,
    *,
    live: bool,
    whole: bool,
) -> Section:
    asked = configured.asked.get(subject, ())
    served = configured.served(subject) if live else asked
    drawn = None
    if subject in BY_UF and (not live or configured.is_on(subject)):
        drawn = standings.map_of(subject, standings.by_uf(known, subject, served))
    if live:
        rows = _configured_rows(configured.sources[subject], lines, subject, whole=whole)
    else:
        names = dict.fromkeys(line.source for line in lines)
        rows = [row for name in names for row in _rows(name, None, "", lines, subject, whole=whole)]
    unserved = [uf for uf in asked if uf not in served]
    return Section(subject, SUBJECTS[subject], rows, drawn, ", ".join(unserved))


def _configured_rows(
    sources: Sequence[ListedSource], lines: Sequence[Line], subject: Subject, *, whole: bool
) -> list[SourceRow]:
    rows: list[SourceRow] = []
    for order, source in enumerate(sources, 1):
        if source.is_on:
            rows += _rows(source.name, order, source.remark, lines, subject, whole=whole)
        else:
            off = Word("Desativada", "neutral")
            rows.append(SourceRow(order, _name(source.name), source.remark, "", off, 0))
    return rows


def _rows(
    name: str,
    order: int | None,
    remark: str,
    lines: Sequence[Line],
    subject: Subject,
    *,
    whole: bool,
) -> list[SourceRow]:
    """Return the rows of a configured source: its only line, or a sum and the notable lines."""
    own = [line for line in lines if line.source == name]
    if not own:
        return [SourceRow(order, _name(name), remark, "", WORDS["quiet"], 0)]
    if subject not in BY_UF or len(own) == 1:
        return [_row(line, order, remark) for line in own]
    shown = own if whole else [line for line in own if standing(line) in ("down", "degraded")]
    return [
        _sum(own, order, remark),
        *(_row(line, None, "") for line in (shown if whole else shown[:TROUBLED_MAX])),
    ]


def _row(line: Line, order: int | None, remark: str) -> SourceRow:
    return SourceRow(
        order,
        _name(line.source),
        remark,
        "todas" if line.uf == "BR" else line.uf,
        WORDS[standing(line)],
        line.calls,
        line.success_share,
        line.p50_ms,
        line.p95_ms,
        CIRCUITS.get(line.circuit),
        line.last_success_ms,
        line.last_failure_ms,
        OUTCOMES.get(line.last_outcome, line.last_outcome),
        _cost([line]),
    )


def _sum(lines: Sequence[Line], order: int | None, remark: str) -> SourceRow:
    """Return the sum of a source's lines. Percentiles cannot be added up."""
    calls = sum(line.calls for line in lines)
    open_ = sum(line.circuit == "open" for line in lines)
    return SourceRow(
        order,
        _name(lines[0].source),
        remark,
        f"{len(lines)} UFs",
        _word_for_all([standing(line) for line in lines]),
        calls,
        sum(line.successes for line in lines) / calls if calls else None,
        circuit=f"{open_} pausadas" if open_ > 1 else "1 pausada" if open_ else "não",
        last_success_ms=max(line.last_success_ms or 0 for line in lines) or None,
        last_failure_ms=max(line.last_failure_ms or 0 for line in lines) or None,
        cost=_cost(lines),
    )


def _cost(lines: Sequence[Line]) -> str | None:
    costs = [line.cost_micros for line in lines if line.cost_micros is not None]
    return reais(sum(costs)) if costs else None


def _word_for_all(found: Sequence[Standing]) -> Word:
    for bad in ("down", "degraded"):
        some = sum(each == bad for each in found)
        if some:
            word = WORDS["down" if bad == "down" else "degraded"]
            tone = word.tone if some == len(found) else "warn"
            return Word(f"{word.text}: {some} de {len(found)}", tone)
    return WORDS["ok" if "ok" in found else "quiet"]


def _name(source: str) -> str:
    return SOURCES.get(source, source)
