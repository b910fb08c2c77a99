"""The status for other sites: history as JSON, an Atom feed of incidents, a badge.

Contract 17 defines their content, which never exceeds the page's. Any site may show them.
"""

from collections.abc import Sequence

import msgspec
from markupsafe import Markup
from starlette.responses import Response

from balcao.core.availability import StatusPeriod
from balcao.core.calendar import civil_day, day_starts_ms, from_ms
from balcao.core.errors import StorageFailed
from balcao.core.notices import Tone
from balcao.web.kit.context import PageContext
from balcao.web.kit.standings import SUBJECTS
from balcao.web.pages.status.availability import (
    BAR_CODES,
    HISTORY,
    DescribedIncident,
    StatusHistory,
    Strips,
)
from balcao.web.pages.status.pages import BOARD

FEED_ENTRIES_MAX = 50

_OPEN = {
    "access-control-allow-origin": "*",
    "cross-origin-resource-policy": "cross-origin",
}
# As long as the data they are made from is cached.
_SHORT = {**_OPEN, "cache-control": "public, max-age=60"}

# The badge is its own document, without style sheet. White text has a contrast of 7:1 on these.
_COLOURS: dict[Tone, str] = {
    "good": "#285f2c",
    "warn": "#774600",
    "bad": "#962417",
    "neutral": "#4a4a4a",
    "info": "#4a4a4a",
}
_BADGE = Markup(
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img"'
    ' aria-label="{label}"><title>{label}</title>'
    '<rect width="{width}" height="20" rx="3" fill="#333"/>'
    '<path d="M{left} 0h{right}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{right}z" fill="{colour}"/>'
    '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
    '<text x="6" y="14" textLength="{left_text}" lengthAdjust="spacingAndGlyphs">{name}</text>'
    '<text x="{right_x}" y="14" textLength="{right_text}" lengthAdjust="spacingAndGlyphs">{text}'
    "</text></g></svg>"
)
_LETTER = 7  # approximate width in this size

_FEED = Markup(
    '<?xml version="1.0" encoding="utf-8"?>\n'
    '<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="pt-BR">\n'
    "<id>{page}/incidentes.atom</id>\n<title>{title}</title>\n<updated>{updated}</updated>\n"
    '<link rel="self" type="application/atom+xml" href="{page}/incidentes.atom"/>\n'
    '<link rel="alternate" type="text/html" href="{page}"/>\n'
    "<author><name>Balcão</name></author>\n{entries}</feed>\n"
)
_ENTRY = Markup(
    "<entry>\n<id>{page}#{anchor}</id>\n<title>{title}</title>\n<published>{began}</published>\n"
    "<updated>{updated}</updated>\n"
    '<link rel="alternate" type="text/html" href="{page}#{anchor}"/>\n'
    '<content type="text">{text}</content>\n</entry>\n'
)


async def history_as_json(context: PageContext) -> Response:
    """Return bars and incidents as JSON. Raises `StorageFailed`."""
    history = await _history(context)
    operations = context.tools.parts.operations
    body = {
        "atualizado_em": _stamp(history.at_ms),
        "ambiente": "producao" if history.mode == "live" else "sandbox",
        "assuntos": [
            {
                "operacao": operations[subject].path,
                "nome": SUBJECTS[subject],
                **_strips(each.strips),
                "ufs": {uf: _strips(of_uf) for uf, of_uf in each.ufs.items()},
            }
            for subject, each in history.subjects.items()
        ],
        "incidentes": [_incident(each) for each in history.incidents],
    }
    return Response(msgspec.json.encode(body), media_type="application/json", headers=_OPEN)


async def feed(context: PageContext) -> Response:
    """Return incidents as an Atom feed (RFC 4287). Raises `StorageFailed`."""
    history = await _history(context)
    page = f"{context.settings.address}/status"
    newest = history.incidents[:FEED_ENTRIES_MAX]
    # Without incidents, it changes at most daily.
    updated_ms = max(
        (_changed_ms(one) for one in newest), default=day_starts_ms(civil_day(history.at_ms))
    )
    where = " (sandbox)" if history.mode == "test" else ""
    document = _FEED.format(
        page=page,
        title=f"Balcão: incidentes das fontes{where}",
        updated=_stamp(updated_ms),
        entries=Markup("").join(_entry(one, page) for one in newest),
    )
    return Response(document, media_type="application/atom+xml", headers=_SHORT)


async def badge(context: PageContext) -> Response:
    """Return the status, or that of `?operacao=` (404 if unknown), as an image."""
    board = await BOARD.of(context.tools)
    name, text, tone = "situação", board.verdict, board.tone
    if wanted := context.query("operacao"):
        operations = context.tools.parts.operations
        found = [each for each in board.subjects if operations[each.subject].path == wanted]
        if not found:
            return Response(status_code=404)
        name = found[0].name
        if board.answers:
            text, tone = found[0].word.text, found[0].word.tone
    left_text, right_text = len(name) * _LETTER, len(text) * _LETTER
    left, right = left_text + 12, right_text + 9
    drawn = _BADGE.format(
        width=left + right + 3,
        label=f"{name}: {text}",
        left=left,
        right=right,
        colour=_COLOURS[tone],
        name=name,
        text=text,
        left_text=left_text,
        right_text=right_text,
        right_x=left + 6,
    )
    return Response(drawn, media_type="image/svg+xml", headers=_SHORT)


async def _history(context: PageContext) -> StatusHistory:
    history = await HISTORY.of(context.tools)
    if history is None:
        raise StorageFailed("the database is away")
    return history


def _strips(strips: Strips) -> dict[str, object]:
    return {"horas": _bars(strips.hours, "hora"), "dias": _bars(strips.days, "dia")}


def _bars(stretches: Sequence[StatusPeriod], name: str) -> Sequence[dict[str, str]]:
    return [
        {
            name: (
                _stamp(one.begins_ms) if name == "hora" else civil_day(one.begins_ms).isoformat()
            ),
            "situacao": BAR_CODES[one.standing],
        }
        for one in stretches
    ]


def _incident(shown: DescribedIncident) -> dict[str, object]:
    one = shown.incident
    return {
        "id": shown.anchor,
        "operacao": shown.operation,
        "ufs": [*one.ufs],
        "situacao": BAR_CODES[one.standing],
        "inicio": _stamp(one.began_ms),
        "fim": None if one.ended_ms is None else _stamp(one.ended_ms),
        "recuperado": None if one.ended_ms is None else one.has_recovered,
    }


def _entry(shown: DescribedIncident, page: str) -> Markup:
    return _ENTRY.format(
        page=page,
        anchor=shown.anchor,
        title=f"{shown.title}: {shown.word.text.lower()}",
        began=_stamp(shown.incident.began_ms),
        updated=_stamp(_changed_ms(shown)),
        text=shown.when,
    )


def _changed_ms(shown: DescribedIncident) -> int:
    one = shown.incident
    return one.began_ms if one.ended_ms is None else one.ended_ms


def _stamp(at_ms: int) -> str:
    """Return an instant in RFC 3339, in Brasília time."""
    return from_ms(at_ms).isoformat(timespec="seconds")
