"""`/status`: the public status page, without names of sources, counts or commercial facts.

As JSON for other programs and sites: `/status/estado.json`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
from markupsafe import Markup
from starlette.responses import Response

from balcao.core.availability import Standing
from balcao.core.calendar import civil_day, from_ms
from balcao.core.errors import StorageFailed
from balcao.core.notices import Tone
from balcao.core.questions import Mode, Subject
from balcao.observability.health import of_subject
from balcao.web.kit import standings
from balcao.web.kit.cached import Cached
from balcao.web.kit.configured import CONFIGURED
from balcao.web.kit.context import PageContext
from balcao.web.kit.month_age import MonthAge, in_use
from balcao.web.kit.standings import BY_UF, SUBJECTS, WORDS, Standings
from balcao.web.kit.tools import Tools
from balcao.web.kit.words.vocabulary import Word
from balcao.web.pages.status.availability import HISTORY, LEGEND, StatusHistory

# Cached, so that frequent requests cost nothing.
CACHED_MS = 3_000

INCIDENTS_SHOWN = 30

# Codes in JSON; they do not change.
CODES: Mapping[Standing | None, str] = {
    "ok": "operacional",
    "degraded": "degradado",
    "down": "fora_do_ar",
    "quiet": "sem_consultas_recentes",
    None: "nao_atendido",
}

_VERDICTS: Mapping[Tone, str] = {
    "good": "Tudo operacional",
    "warn": "Com falhas em parte",
    "bad": "Fora do ar",
    "neutral": "Sem consultas recentes",
    "info": "",
}
_WELL_WHERE_ASKED = "Sem falhas nas operações consultadas"


@dataclass(frozen=True, slots=True)
class SubjectStatus:
    """One subject. `ufs` is empty if it has no UFs; standing None: no source serves it."""

    subject: Subject
    name: str
    standing: Standing | None
    ufs: Mapping[str, Standing | None]
    map: Markup | None  # drawn once, not for each visitor

    @property
    def word(self) -> Word:
        """The standing in words; of several UFs, the sum of them."""
        tone = standings.worst([*self.ufs.values()] if self.ufs else [self.standing])
        if not self.ufs or tone == "neutral":
            return WORDS[self.standing]
        return Word(_IN_SUM[tone], tone)

    @property
    def troubled(self) -> Sequence[tuple[Word, str]]:
        """The UFs in trouble, in words: the map shows them only by colour and symbol."""
        return [
            (WORDS[bad], ", ".join(uf for uf, standing in self.ufs.items() if standing == bad))
            for bad in ("down", "degraded")
            if bad in self.ufs.values()
        ]


_IN_SUM: Mapping[Tone, str] = {
    "good": "Operacional",
    "warn": "Falhas em algumas UFs",
    "bad": "Fora do ar",
}


@dataclass(frozen=True, slots=True)
class Board:
    """The content of the status page."""

    at_ms: int
    answers: bool  # whether the service itself can write; else every lookup is answered 503
    mode: Mode
    subjects: Sequence[SubjectStatus]
    month: MonthAge | None

    @property
    def tone(self) -> Tone:
        """The overall tone of the service."""
        return standings.worst(self._every) if self.answers else "bad"

    @property
    def verdict(self) -> str:
        """The overall status in a few words. "Operational" requires lookups of every subject."""
        if self.tone == "good" and "quiet" in self._every:
            return _WELL_WHERE_ASKED
        return _VERDICTS[self.tone]

    @property
    def _every(self) -> Sequence[Standing | None]:
        every: list[Standing | None] = []
        for status in self.subjects:
            every += status.ufs.values() if status.ufs else [status.standing]
        return every


async def _board(tools: Tools) -> Board:
    configured = await CONFIGURED.of(tools)
    mode: Mode = "test" if configured.is_offline else "live"
    live, now = mode == "live", tools.now_ms()
    known = _with_recent(
        await HISTORY.of(tools),
        of_subject(tools.health.lines(mode, now, tools.circuits() if live else None)),
    )
    subjects = []
    for subject, name in SUBJECTS.items():
        ufs: Mapping[str, Standing | None] = {}
        drawn = None
        is_on = configured.is_on(subject) if live else True
        standing: Standing | None = known.get((subject, ""), "quiet") if is_on else None
        if subject in BY_UF:
            asked = configured.asked.get(subject, ())
            served = configured.served(subject) if live else asked
            ufs = standings.by_uf(known, subject, served)
            drawn = standings.map_of(subject, ufs)
        subjects.append(SubjectStatus(subject, name, standing, ufs, drawn))
    return Board(
        now, await _answers(tools), mode, subjects, in_use(tools.store(mode), civil_day(now))
    )


def _with_recent(history: StatusHistory | None, here: Standings) -> Standings:
    """Add the last hour's stored statuses for places that this process did not ask.

    They come from other processes, or from before this one started.
    """
    kept = {} if history is None else history.recent
    return {**kept, **{place: found for place, found in here.items() if found != "quiet"}}


async def _answers(tools: Tools) -> bool:
    """Return whether the service can write, by writing, as `/readyz` does."""
    try:
        await tools.desk.heartbeat(tools.now_ms())
    except StorageFailed:
        return False
    return True


# For the sign-in page, which reports an outage.
ANSWERS: Cached[bool] = Cached(_answers, CACHED_MS)
BOARD: Cached[Board] = Cached(_board, CACHED_MS)


async def show(context: PageContext) -> Response:
    """Show the page; to a script that polls, only the part that changes."""
    board = await BOARD.of(context.tools)
    if context.is_fragment:
        return context.page("_status.html", board=board)
    return context.page(
        "status.html",
        board=board,
        history=await HISTORY.of(context.tools),
        incidents_max=INCIDENTS_SHOWN,
        legend=LEGEND,
        codes=[*CODES.values()],
    )


async def as_json(context: PageContext) -> Response:
    """Return the status as JSON; pages of any site may read it."""
    board = await BOARD.of(context.tools)
    operations, month = context.tools.parts.operations, board.month
    body = {
        "atualizado_em": from_ms(board.at_ms).isoformat(timespec="seconds"),
        "ambiente": "producao" if board.mode == "live" else "sandbox",
        "servico": CODES["ok" if board.answers else "down"],
        "assuntos": [
            {"operacao": operations[status.subject].path, "nome": status.name}
            | (
                {"ufs": {uf: CODES[standing] for uf, standing in status.ufs.items()}}
                if status.ufs
                else {"situacao": CODES[status.standing]}
            )
            for status in board.subjects
        ],
        "dados_abertos": (
            None
            if month is None
            else {"extraido_em": month.extraction.isoformat(), "idade_dias": month.days}
        ),
    }
    return Response(
        msgspec.json.encode(body),
        media_type="application/json",
        headers={
            "access-control-allow-origin": "*",
            "cross-origin-resource-policy": "cross-origin",
        },
    )
