"""Drawings as SVG: pure functions from figures to markup.

The style sheet's classes decide every look: the pages' security policy forbids inline styles, and
colours follow the theme. All texts are escaped here.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from markupsafe import Markup

from balcao.core.notices import Tone
from balcao.core.writing import MONTHS, credits, day, percent, whole
from balcao.operations.views import Tile
from balcao.storage.totals import Total

# Place of each UF, as (column, row): the north at the top, the coast at the right.
TILES: Mapping[str, tuple[int, int]] = {
    uf: (column, row)
    for row, line in enumerate(
        (
            ".. RR AP .. .. ..",
            ".. AM PA MA CE RN",
            "AC RO TO PI PE PB",
            ".. MT GO BA SE AL",
            ".. MS DF MG ES ..",
            ".. PR SP RJ .. ..",
            ".. SC .. .. .. ..",
            ".. RS .. .. .. ..",
        )
    )
    for column, uf in enumerate(line.split())
    if uf != ".."
}

# Path of each tone's symbol, in a square of 16; the macro `icon` draws them too.
SYMBOLS: Mapping[str, str] = {
    "good": "m2.5 8.5 3.7 4 7.3-9",
    "warn": "M8 2.5v7M8 12.5v1",
    "bad": "m3.5 3.5 9 9m0-9-9 9",
    "info": "M8 6.5v7M8 2.5v1",
    "neutral": "M3 8h10",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """One day's credits, by origin."""

    label: str  # YYYY-MM-DD
    cache: int
    online: int


@dataclass(frozen=True, slots=True)
class Share:
    """One line of `shares`."""

    label: str
    value: int  # credits


_SVG = Markup(
    '<svg class="drawing {classes}" viewBox="0 0 {width} {height}" role="img"'
    ' aria-label="{label}"><title>{label}</title>{inside}</svg>'
)
_TEXT = Markup('<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>')
_RECT = Markup('<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}"/>')
_LINE = Markup('<line class="{kind}" x1="{x1}" x2="{x2}" y1="{y}" y2="{y}"/>')
_TRAIL = Markup('<polyline class="before" points="{points}"/>')
_AXIS = Markup(
    '<div class="days-frame"><svg class="drawing day-axis" viewBox="0 0 {width} {height}"'
    ' aria-hidden="true" focusable="false">{figures}</svg>{chart}</div>'
)
_GROUP = Markup("<g><title>{title}</title>{inside}</g>")


def _svg(size: tuple[int, int], classes: str, label: str, inside: Iterable[Markup]) -> Markup:
    return _SVG.format(
        classes=classes,
        width=size[0],
        height=size[1],
        label=label,
        inside=_joined(inside),
    )


def _joined(pieces: Iterable[Markup]) -> Markup:
    return Markup("").join(pieces)


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> Markup:
    return _TEXT.format(x=_number(x), y=_number(y), text=text, kind=kind, anchor=anchor)


def _rect(kind: str, x: float, y: float, size: tuple[float, float]) -> Markup:
    width, height = size
    return _RECT.format(
        kind=kind, x=_number(x), y=_number(y), width=_number(width), height=_number(height)
    )


def _number(value: float) -> str:
    """Format a coordinate; two decimal places are finer than any screen."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


# ---- Credits by day ----

_WIDTH, _HEIGHT = 760, 250
_WIDE = 1130
_NOTHING_SPENT = "Nenhum crédito no período."
_TOP, _BOTTOM = 34, 26  # legend above, days below
_LABEL_EVERY = 46  # least distance of labels on the x axis, in units of the drawing


def ticks(greatest: int) -> Sequence[int]:
    """Return three to five round axis figures, from 0 to at least `greatest`."""
    power = 1
    while True:
        for step in (power, 2 * power, 5 * power):
            steps = max(2, math.ceil(greatest / step))
            if steps <= 4:
                return [step * count for count in range(steps + 1)]
        power *= 10


def bars_by_day(
    days: Sequence[Bar],
    title: str = "Créditos por dia",
    *,
    wide: bool = False,
    before: Sequence[int] = (),
) -> Markup:
    """Draw stacked bars: credits from the cache below, asked online above.

    The axis is drawn a second time, for phones, where it stays while the chart scrolls.

    `wide`: for the page's whole width. `before`: credits of the same days of the previous period,
    drawn as a line.
    """
    if not any(bar.cache + bar.online for bar in days):
        return _no_bars(days, title)
    whole_width = _WIDE if wide else _WIDTH
    before = before[: len(days)]
    axis = ticks(max(*(bar.cache + bar.online for bar in days), *before, 1))
    left = 14 + 7 * len(whole(axis[-1]))
    floor = _HEIGHT - _BOTTOM
    per_credit = (floor - _TOP) / axis[-1]
    figures: list[Markup] = []
    pieces = [
        # The legend is at the right: a chart wider than its frame is first seen there.
        _rect("online", whole_width - 222, 6, (11, 11)),
        _text(whole_width - 205, 16, "da fonte"),
        _rect("cache", whole_width - 142, 6, (11, 11)),
        _text(whole_width - 125, 16, "guardado"),
    ]
    for tick in axis:
        y = floor - tick * per_credit
        kind = "axis" if tick else "base"
        pieces.append(_LINE.format(kind=kind, x1=left, x2=whole_width, y=_number(y)))
        figures.append(_text(left - 8, y + 4, whole(tick), "quiet-text", "end"))
    pieces += figures
    slot = (whole_width - left) / len(days)
    # Among hundreds of bars, gaps thinner than a pixel only shimmer.
    width = min(slot * 0.72, 44.0) if len(days) <= 92 else slot
    for position, bar in enumerate(days):
        x = left + slot * position + (slot - width) / 2
        pieces.append(_bar(bar, (x, floor), width, per_credit))
    if before:
        points = " ".join(
            f"{_number(left + slot * (position + 0.5))},{_number(floor - spent * per_credit)}"
            for position, spent in enumerate(before)
        )
        pieces.append(_TRAIL.format(points=points))
        pieces.append(_LINE.format(kind="before", x1=whole_width - 372, x2=whole_width - 354, y=12))
        pieces.append(_text(whole_width - 349, 16, "período anterior"))
    for position, text in _day_labels([bar.label for bar in days], slot):
        x = left + slot * (position + 0.5)
        pieces.append(_text(x, floor + 18, text, "quiet-text", "middle"))
    label = _described(days, title)
    if before:
        label += f" No período anterior, {credits(sum(before))}."
    chart = _svg((whole_width, _HEIGHT), "days wide" if wide else "days", label, pieces)
    return _AXIS.format(width=left, height=_HEIGHT, figures=_joined(figures), chart=chart)


def _no_bars(days: Sequence[Bar], title: str) -> Markup:
    """Draw an empty chart, lower than one with bars."""
    width, height = 360, 90
    text = _text(width / 2, height / 2, _NOTHING_SPENT, "quiet-text", "middle")
    return _svg((width, height), "no-days", _described(days, title), [text])


def _described(days: Sequence[Bar], title: str) -> str:
    if not days:
        return f"{title}: {_NOTHING_SPENT[:1].lower()}{_NOTHING_SPENT[1:]}"
    cache, online = sum(bar.cache for bar in days), sum(bar.online for bar in days)
    return (
        f"{title}, de {day(days[0].label)} a {day(days[-1].label)}: {credits(cache + online)},"
        f" {whole(cache)} de resultados guardados e {whole(online)} da fonte."
    )


def _bar(bar: Bar, foot: tuple[float, float], width: float, per_credit: float) -> Markup:
    title = (
        f"{day(bar.label)}: {credits(bar.cache + bar.online)} ({whole(bar.cache)} de resultados"
        f" guardados, {whole(bar.online)} da fonte)"
    )
    pieces = []
    x, y = foot
    for kind, value in (("cache", bar.cache), ("online", bar.online)):
        if value > 0:
            height = value * per_credit
            y -= height
            pieces.append(_rect(kind, x, y, (width, height)))
    return _GROUP.format(title=title, inside=_joined(pieces))


def _day_labels(labels: Sequence[str], slot: float) -> Iterator[tuple[int, str]]:
    """Yield the labels below the axis: days at equal steps, or months."""
    by_month = len(labels) > 92
    step = next((few for few in (1, 2, 3, 5, 7, 14, 28) if few * slot >= _LABEL_EVERY), 28)
    free_from, month_before = 0.0, None
    for position, label in enumerate(labels):
        month = label[:7]
        due = month != month_before and position > 0 if by_month else position % step == 0
        month_before = month
        if due and position * slot >= free_from:
            free_from = position * slot + _LABEL_EVERY
            yield position, _short(label, by_month)


def _short(label: str, by_month: bool) -> str:
    try:
        at = date.fromisoformat(label)
    except ValueError:
        return label[:6]
    if by_month:
        name = MONTHS[at.month - 1][:3]
        return f"{name}/{at.year % 100:02}" if at.month == 1 else name
    return f"{at.day:02}/{at.month:02}"


# ---- Shares, meter ----


def shares(items: Sequence[Share]) -> Markup:
    """Draw one horizontal bar per item, with its label above and its value at the right."""
    width, line = 340, 38
    greatest = max((item.value for item in items), default=0) or 1
    total = sum(item.value for item in items) or 1
    pieces, descriptions = [], []
    for position, item in enumerate(items):
        y = position * line
        text = credits(item.value)
        description = f"{item.label}: {text} ({percent(item.value / total)})"
        descriptions.append(description)
        drawn = (
            _text(0, y + 13, item.label),
            _text(width, y + 13, text, anchor="end"),
            _rect("track", 0, y + 19, (width, 9)),
            _rect("online", 0, y + 19, (max(item.value, 0) / greatest * width, 9)),
        )
        pieces.append(_GROUP.format(title=description, inside=_joined(drawn)))
    label = f"Por operação. {'; '.join(descriptions) or 'Nenhuma consulta'}."
    return _svg((width, max(len(items), 1) * line - 8), "shares", label, pieces)


_BAR = Markup(
    '<svg class="drawing share" viewBox="0 0 120 8" aria-hidden="true" focusable="false">'
    "{inside}</svg>"
)


def share_bar(share: float) -> Markup:
    """Return a bar filled to `share` (0 to 1); its number is shown next to it."""
    bars = (_rect("track", 0, 0, (120, 8)), _rect("online", 0, 0, (share * 120, 8)))
    return _BAR.format(inside=_joined(bars))


def validity_bar(share: float, tone: Tone) -> Markup:
    """Return a bar filled to the `share` of a validity that is left; its days are next to it."""
    bars = (_rect("track", 0, 0, (120, 8)), _rect(f"left {tone}", 0, 0, (share * 120, 8)))
    return _BAR.format(inside=_joined(bars))


def meter(share: float, title: str) -> Markup:
    """Return a bar filled to `share` (0 to 1); more is drawn full, with the true percentage."""
    filled = min(max(share, 0.0), 1.0) * 120
    bars = (_rect("track", 0, 0, (120, 10)), _rect("online", 0, 0, (filled, 10)))
    return _svg((120, 10), "meter", f"{title}: {percent(share)}", bars)


# ---- Status by hour and day ----

_STRIP = Markup(
    '<svg class="drawing strip" viewBox="0 0 {width} 24" preserveAspectRatio="none" role="img"'
    ' aria-label="{label}"><title>{label}</title>{inside}</svg>'
)
_SHAPE = Markup('<path class="{tone}" d="{shape}"/>')
# Distinct without colour, too: full, half as high, broken in two, a mark at the bottom.
STRIP_SHAPES: Mapping[Tone, str] = {
    "good": "v24h6v-24z",
    "warn": "m0 12v12h6v-12z",
    "bad": "v7h6v-7zm0 17v7h6v-7z",
    "neutral": "m0 22v2h6v-2z",
}


def strip(tones: Sequence[Tone], title: str, text: str) -> Markup:
    """Return a row of bars, one per tone, the latest at the right, labelled with `text`."""
    pieces = []
    for tone, shape in STRIP_SHAPES.items():
        places = [place for place, each in enumerate(tones) if each == tone]
        if places:
            drawn = "".join(f"M{place * 8 + 1} 0{shape}" for place in places)
            pieces.append(_SHAPE.format(tone=tone, shape=drawn))
    return _STRIP.format(width=len(tones) * 8, label=f"{title}: {text}", inside=_joined(pieces))


# ---- Brazil in tiles ----

_TILE, _GAP = 52, 5
_SHORT = 6  # characters that fit in a tile in full size, in wide fonts too

_SYMBOL = Markup(
    '<svg x="{x}" y="{y}" width="11" height="11" viewBox="0 0 16 16">'
    '<path class="symbol" d="{shape}"/></svg>'
)
_SQUARE = Markup('<rect class="tile" x="{x}" y="{y}" width="{side}" height="{side}" rx="3"/>')
_NAMED = Markup('<g class="{tone}"><title>{title}</title>{inside}</g>')


def tile_map(tiles: Mapping[str, Tile], title: str = "As 27 unidades da federação") -> Markup:
    """Draw every UF as a tile of the same size. UFs missing in `tiles` are neutral."""
    columns = 1 + max(column for column, _ in TILES.values())
    rows = 1 + max(row for _, row in TILES.values())
    unknown = Tile("neutral", "", "sem informação")
    pieces = [
        _tile(uf, place, tiles.get(uf, unknown))
        for uf, place in sorted(TILES.items(), key=lambda item: item[1][::-1])  # reading order
    ]
    size = (columns * (_TILE + _GAP) - _GAP + 2, rows * (_TILE + _GAP) - _GAP + 2)
    return _svg(size, "tiles", title, pieces)


def _tile(uf: str, place: tuple[int, int], tile: Tile) -> Markup:
    x, y = (1 + at * (_TILE + _GAP) for at in place)
    tone = tile.tone if tile.tone in SYMBOLS else "neutral"
    inside = (
        _SQUARE.format(x=x, y=y, side=_TILE),
        _text(x + 6, y + 20, uf, "uf"),
        _text(x + 6, y + 41, tile.text, "long" if len(tile.text) > _SHORT else ""),
        _SYMBOL.format(x=x + _TILE - 18, y=y + 9, shape=SYMBOLS[tone]),
    )
    return _NAMED.format(tone=tone, title=f"{uf}: {tile.title}", inside=_joined(inside))


def bars_of(totals: Iterable[Total], first: date, days: int, each: int = 1) -> Sequence[Bar]:
    """Return the bars of `days` days from `first` on, `each` days to a bar."""
    begins = [(first + timedelta(passed - passed % each)).isoformat() for passed in range(days)]
    bar_of = {(first + timedelta(passed)).isoformat(): day for passed, day in enumerate(begins)}
    sums = {day: [0, 0] for day in begins}
    for total in totals:
        if total.day in bar_of:
            sums[bar_of[total.day]][total.origin == "online"] += total.credits
    return [Bar(day, cache, online) for day, (cache, online) in sums.items()]
