"""The status of subjects in words and tiles, for operators and for the public."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from markupsafe import Markup

from balcao.core.availability import ALL_UFS, Standing
from balcao.core.federation import UFS
from balcao.core.notices import Tone
from balcao.core.questions import Subject
from balcao.examination.inventory import SNAPSHOT
from balcao.observability.health import Line
from balcao.operations import ALL_OPERATIONS, OPERATIONS
from balcao.operations.views import Tile
from balcao.web.kit.drawing import tile_map
from balcao.web.kit.words.vocabulary import Word

# The word for each standing: that of a subject's best source; None: it has no source.
WORDS: Mapping[Standing | None, Word] = {
    "ok": Word("Operacional", "good"),
    "degraded": Word("Degradado", "warn"),
    "down": Word("Fora do ar", "bad"),
    "quiet": Word("Sem consultas recentes", "neutral"),
    None: Word("Não atendido", "neutral"),
}
# Short words: a tile has room for seven characters.
_ON_TILES: Mapping[Standing | None, str] = {
    "ok": "ok",
    "degraded": "falhas",
    "down": "fora",
    "quiet": "sem uso",
    None: "—",
}
SUBJECTS: Mapping[Subject, str] = {
    subject: operation.form.title for subject, operation in OPERATIONS.items()
}
BY_UF: frozenset[Subject] = frozenset(each.subject for each in ALL_OPERATIONS if each.by_uf)

Standings: TypeAlias = Mapping[tuple[str, str], Standing]


_NEGLIGIBLE_MS = 500.0  # shorter times are not shown


def median_ms(lines: Sequence[Line], subject: Subject) -> float | None:
    """Return the median duration of a subject's busiest source; None: unknown."""
    known = [line for line in lines if line.subject == subject and line.source != SNAPSHOT]
    busiest = max(known, key=lambda line: line.calls, default=None)
    return None if busiest is None else busiest.p50_ms


def usual_ms(lines: Sequence[Line], subject: Subject) -> float | None:
    """Return the median duration for a form; None: unknown or very short."""
    usual = median_ms(lines, subject)
    return usual if usual is not None and usual >= _NEGLIGIBLE_MS else None


def in_uf(standings: Standings, subject: Subject, uf: str) -> Standing:
    """Return the status of a UF: its own, or that of calls about all UFs at once."""
    known = standings.get((subject, uf))
    return known or standings.get((subject, ALL_UFS)) or "quiet"


def by_uf(
    standings: Standings, subject: Subject, served: Sequence[str]
) -> Mapping[str, Standing | None]:
    """Return the standing of each UF; None where no source serves it."""
    return {uf: in_uf(standings, subject, uf) if uf in served else None for uf in UFS}


def map_of(subject: Subject, known: Mapping[str, Standing | None]) -> Markup:
    """Return the map of the UFs."""
    tiles = {
        uf: Tile(WORDS[standing].tone, _ON_TILES[standing], WORDS[standing].text)
        for uf, standing in known.items()
    }
    return tile_map(tiles, f"{SUBJECTS[subject]}: situação por UF")


def worst(standings: Sequence[Standing | None]) -> Tone:
    """Return the overall tone: bad only if everything that is served is known to be down."""
    served = [standing for standing in standings if standing is not None]
    if served and all(standing == "down" for standing in served):
        return "bad"
    if "down" in served or "degraded" in served:
        return "warn"
    return "good" if "ok" in served else "neutral"
