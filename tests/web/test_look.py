"""The look, as far as it can be tested without a browser: contrasts, drawings, texts, sizes."""

import gzip
import re
import xml.etree.ElementTree as ET
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from markupsafe import Markup

from balcao.core import writing
from balcao.core.federation import UFS
from balcao.operations.views import Tile
from balcao.web.kit import drawing
from balcao.web.kit.drawing import Bar, Share
from balcao.web.kit.templates import environment
from tests.web.gallery import STATIC, render

CSS = (STATIC / "balcao.css").read_text("utf-8")
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '"><script>alert(1)</script>&'


# ---- Colours ----


COLOURS = re.findall(r"--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);", CSS)
LIGHT = {name: light for name, light, _ in COLOURS}
DARK = {name: dark for name, _, dark in COLOURS}


def luminance(colour: str) -> float:
    """Return the relative luminance as WCAG 2.2 defines it."""
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


GROUNDS = ("paper", "sheet", "well", "field")
TEXT_PAIRS = [
    *((text, ground) for text in ("ink", "quiet", "accent", "bad") for ground in GROUNDS),
    *((tone, ground) for tone in ("good", "warn", "info") for ground in ("paper", "sheet")),
    *((tone, f"{tone}-soft") for tone in ("good", "warn", "bad", "info")),
    *(("ink", f"{soft}-soft") for soft in ("good", "warn", "bad", "info", "accent")),
    ("accent-strong", "paper"),
    ("accent-strong", "sheet"),
    ("on-accent", "accent"),
    ("on-accent", "accent-strong"),
]
SHAPE_PAIRS = [  # borders of controls, the focus ring, bars
    *(("edge", ground) for ground in ("paper", "sheet", "field")),
    ("accent", "well"),
    ("series", "sheet"),
    ("series", "paper"),
]


def test_contrast_is_computed_as_in_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("pairs", "least"), [(TEXT_PAIRS, 4.5), (SHAPE_PAIRS, 3)], ids=["texts", "shapes"]
)
def test_contrasts_suffice(
    colours: dict[str, str], pairs: list[tuple[str, str]], least: float
) -> None:
    contrasts = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs}
    assert not {pair: round(each, 2) for pair, each in contrasts.items() if each < least}


def test_each_colour_is_declared_once_for_both_themes() -> None:
    assert len(COLOURS) == len(LIGHT) > 15
    themes = CSS[: CSS.index("/* ---- Ground ---- */")]
    assert len(re.findall(r"#[0-9a-fA-F]{3,8}\b", themes)) == 2 * len(COLOURS)


def test_colours_are_only_written_in_the_themes() -> None:
    below = CSS[CSS.index("/* ---- Ground ---- */") : CSS.index("@media print")]
    # A QR code is dark on white in every theme, so that phones can scan it.
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b", below) == ["#fff"]


def test_every_custom_property_is_declared_and_used() -> None:
    assert set(re.findall(r"var\(--([a-z-]+)\)", CSS)) == set(re.findall(r"--([a-z-]+):", CSS))


def test_files_are_small_and_local() -> None:
    assert len(gzip.compress((STATIC / "balcao.js").read_bytes(), 9)) < 4 * 1024
    assert "@import" not in CSS
    assert "url(" not in CSS


# ---- Pages ----


def test_pages_obey_the_security_policy() -> None:
    page = render(Path("mostruario.html"), None)
    assert not re.search(r"\sstyle=|<style|\son[a-z]+=|javascript:", page)
    assert page.count("<h1") == 1
    names = re.findall(r'\sid="([^"]+)"', page)
    assert len(names) == len(set(names))
    described = {
        name for ids in re.findall(r'aria-describedby="([^"]+)"', page) for name in ids.split()
    }
    assert described <= set(names)


def rendered(template: str, **values: object) -> str:
    whole = '{% import "macros.html" as ui %}' + template
    return environment().from_string(whole).render(values)


@pytest.mark.parametrize(
    "template",
    [
        "{{ ui.field(x, x, x, hint=x, error=x, data_mask=x) }}",
        "{{ ui.select('a', x, [x, (x, x)], x) }}",
        "{{ ui.radios('a', x, [(x, x, x)], x) }}",
        "{{ ui.button(x, name=x, value=x) }}",
        "{{ ui.link_button(x, x) }}",
        "{{ ui.badge(x) }}",
        "{{ ui.table(x, [x], [[x]], foot=[x]) }}",
        "{{ ui.definition([(x, x)]) }}",
        "{{ ui.copy(x, x) }}",
        "{{ ui.crumbs([(x, x), (x, None)]) }}",
        "{{ ui.timeline([{'at': x, 'text': x, 'note': x}]) }}",
        "{% call ui.panel(x, note=x) %}{{ x }}{% endcall %}",
        "{{ ui.leaders([(x, x)], (x, x)) }}",
    ],
)
def test_macros_escape_their_arguments(template: str) -> None:
    page = rendered(template, x=HOSTILE)
    assert "<script" not in page
    assert '"">' not in page
    assert "&lt;script" in page


def test_further_attributes() -> None:
    page = rendered(
        "{{ ui.button('Ir', hx_post='/preco', autofocus=True, form=None, class_='x') }}"
    )
    assert ' hx-post="/preco"' in page
    assert " autofocus" in page
    assert " form=" not in page


def test_a_form_carries_its_token_only_when_it_posts() -> None:
    assert 'name="csrf" value="t"' in rendered("{{ ui.form_open('/a', 't') }}")
    assert "csrf" not in rendered("{{ ui.form_open('/a', 't', method='get') }}")


# ---- Drawings ----


def drawn(markup: Markup) -> ET.Element:
    """Parse a drawing as XML, and check it against the security policy.

    Of a chart with its axis beside it, return the chart.
    """
    assert isinstance(markup, Markup)
    assert "style" not in markup
    namespaced = str(markup).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ')
    root = ET.fromstring(namespaced)
    return root if root.tag == f"{SVG}svg" else root[-1]


def days(count: int) -> list[Bar]:
    first = date(2026, 1, 15)
    return [Bar(str(first + timedelta(at)), at % 5, (at * 7) % 11) for at in range(count)]


def texts_below(svg: ET.Element) -> list[tuple[float, str]]:
    return [
        (float(text.attrib["x"]), text.text or "")
        for text in svg.iter(f"{SVG}text")
        if text.get("text-anchor") == "middle"
    ]


@pytest.mark.parametrize("count", [1, 2, 7, 30, 31, 62, 92, 93, 180, 365, 366])
def test_days_are_named_without_overlapping(count: int) -> None:
    places = texts_below(drawn(drawing.bars_by_day(days(count))))
    assert places
    for (before, text), (after, _) in pairwise(places):
        assert after - before >= 7 * len(text), (before, after, text)
    assert len(places) <= 16


def test_bars_add_up() -> None:
    svg = drawn(drawing.bars_by_day([Bar("2026-11-12", 3, 5), Bar("2026-11-13", 0, 4)]))
    groups = list(svg.iter(f"{SVG}g"))
    assert [group.findtext(f"{SVG}title") for group in groups] == [
        "12/11/2026: 8 créditos (3 de resultados guardados, 5 da fonte)",
        "13/11/2026: 4 créditos (0 de resultados guardados, 4 da fonte)",
    ]
    heights = [[float(r.attrib["height"]) for r in group.iter(f"{SVG}rect")] for group in groups]
    assert sum(heights[0]) == pytest.approx(2 * sum(heights[1]), abs=0.1)
    assert heights[0][0] / heights[0][1] == pytest.approx(3 / 5, abs=0.01)
    cache, online = groups[0].iter(f"{SVG}rect")
    assert float(online.attrib["y"]) + float(online.attrib["height"]) == pytest.approx(
        float(cache.attrib["y"]), abs=0.02
    )
    assert svg.get("aria-label") == (
        "Créditos por dia, de 12/11/2026 a 13/11/2026: 12 créditos, 3 de resultados guardados e 9"
        " da fonte."
    )


@pytest.mark.parametrize(
    ("greatest", "expected"),
    [
        (0, [0, 1, 2]),
        (1, [0, 1, 2]),
        (4, [0, 1, 2, 3, 4]),
        (5, [0, 2, 4, 6]),
        (9, [0, 5, 10]),
        (17, [0, 5, 10, 15, 20]),
        (1234, [0, 500, 1000, 1500]),
    ],
)
def test_ticks(greatest: int, expected: list[int]) -> None:
    assert drawing.ticks(greatest) == expected


def test_the_axis_is_in_portuguese() -> None:
    assert ">1.500<" in drawing.bars_by_day([Bar("2026-11-12", 1000, 234)])


@pytest.mark.parametrize("bars", [[], [Bar("2026-11-12", 0, 0)]], ids=["no days", "no credits"])
def test_an_empty_chart_is_low(bars: list[Bar]) -> None:
    for wide in (False, True):
        svg = drawn(drawing.bars_by_day(bars, wide=wide))
        assert "Nenhum crédito no período." in [text.text for text in svg.iter(f"{SVG}text")]
        assert svg.get("viewBox") == "0 0 360 90"
        assert not list(svg.iter(f"{SVG}rect"))


def test_every_uf_has_its_own_tile() -> None:
    assert sorted(drawing.TILES) == sorted(UFS)
    assert len(set(drawing.TILES.values())) == 27
    svg = drawn(drawing.tile_map({}))
    shown = [text.text for text in svg.iter(f"{SVG}text") if text.get("class") == "uf"]
    assert sorted(text or "" for text in shown) == sorted(UFS)
    assert svg.get("role") == "img"


def test_neighbours_stay_neighbours() -> None:
    at = drawing.TILES
    assert at["RS"][1] > at["SC"][1] > at["PR"][1]
    assert at["AC"][0] < at["RO"][0] < at["PB"][0]
    assert at["RR"][1] == min(row for _, row in at.values())


def test_tiles_show_their_tone_without_colour() -> None:
    tiles = {"SP": Tile("good", "2", "duas fontes"), "RJ": Tile("bad", "0", "nenhuma fonte")}
    groups = list(drawn(drawing.tile_map(tiles)).iter(f"{SVG}g"))
    assert "SP: duas fontes" in [group.findtext(f"{SVG}title") for group in groups]
    symbols = {
        group.get("class"): path.get("d") for group in groups for path in group.iter(f"{SVG}path")
    }
    assert len(set(symbols.values())) == 3  # good, bad, and UFs without information


def test_symbols_are_those_of_the_macros() -> None:
    for tone, shape in drawing.SYMBOLS.items():
        assert f'd="{shape}"' in rendered("{{ ui.icon(tone) }}", tone=tone)


@pytest.mark.parametrize(
    "markup",
    [
        drawing.bars_by_day([Bar(HOSTILE, 1, 1)], title=HOSTILE),
        drawing.shares([Share(HOSTILE, 1)]),
        drawing.tile_map({"SP": Tile(HOSTILE, HOSTILE, HOSTILE)}, title=HOSTILE),
        drawing.meter(0.5, HOSTILE),
    ],
    ids=["bars", "shares", "tiles", "meter"],
)
def test_drawings_escape(markup: Markup) -> None:
    svg = drawn(markup)
    assert not list(svg.iter(f"{SVG}script"))
    assert "script" in (svg.get("aria-label") or "")


def test_shares_are_drawn_to_one_scale() -> None:
    svg = drawn(drawing.shares([Share("CNPJ", 300), Share("CND", 100)]))
    widths = [
        float(r.attrib["width"]) for r in svg.iter(f"{SVG}rect") if r.get("class") == "online"
    ]
    assert widths[0] == pytest.approx(3 * widths[1], abs=0.1)
    assert "300 créditos" in svg.attrib["aria-label"]
    assert "CND: 100 créditos (25%)" in svg.attrib["aria-label"]
    drawn(drawing.shares([]))


@pytest.mark.parametrize(("share", "width"), [(0, "0"), (0.5, "60"), (1, "120"), (1.7, "120")])
def test_meter(share: float, width: str) -> None:
    _, filled = drawn(drawing.meter(share, "Do teto")).iter(f"{SVG}rect")
    assert filled.get("width") == width


# ---- Words ----

NOW = 1_794_502_980_000  # 2026-11-12T17:03:00Z, 14:03 in Brasília


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (writing.credits(0), "0 créditos"),
        (writing.credits(1), "1 crédito"),
        (writing.credits(-1), "−1 crédito"),
        (writing.credits(2), "2 créditos"),
        (writing.credits(1234), "1.234 créditos"),
        (writing.credits_between(1, 1), "1 crédito"),
        (writing.credits_between(0, 1), "0 a 1 crédito"),
        (writing.whole(1234567), "1.234.567"),
        (writing.whole(-1234), "−1.234"),
        (writing.decimal(1234.56), "1.234,6"),
        (writing.day("2026-11-12"), "12/11/2026"),
        (writing.left("2027-02-15", "2026-11-22"), "faltam 85 dias"),
        (writing.left("2026-11-24T00:00:00", "2026-11-22"), "faltam 2 dias"),
        (writing.left("2026-11-23", "2026-11-22"), "vence amanhã"),
        (writing.left("2026-11-22", "2026-11-22"), "vence hoje"),
        (writing.left("2026-11-21", "2026-11-22"), "venceu"),
        (writing.left("nunca", "2026-11-22"), ""),
        (writing.moment(1_763_000_000_000), "12/11/2025 às 23:13:20"),
        (writing.document("90010001000100"), "90.010.001/0001-00"),
        (writing.document("***100001**"), "***.100.001-**"),
        (writing.document(None), "—"),
        (writing.day("2026-11-12T10:00:00-03:00"), "12/11/2026"),
        (writing.day(date(2026, 1, 2)), "02/01/2026"),
        (writing.day("ontem"), "ontem"),
        (writing.instant(NOW), "12/11/2026 às 14:03"),
        (writing.time_of_day(NOW), "14:03:00"),
        (writing.counted(1, "dia", "dias"), "1 dia"),
        (writing.counted(1000, "dia", "dias"), "1.000 dias"),
        (writing.counted(None, "dia", "dias"), "—"),
        (writing.seconds(45), "45 ms"),
        (writing.seconds(99.6), "0,1 s"),
        (writing.seconds(1234), "1,2 s"),
        (writing.seconds(9_949), "9,9 s"),
        (writing.seconds(9_960), "10 s"),
        (writing.seconds(59_600), "1 min"),
        (writing.seconds(125_000), "2 min 5 s"),
        (writing.percent(0), "0%"),
        (writing.percent(0.43), "43%"),
        (writing.percent(0.435), "43,5%"),
        (writing.percent(0.99999), "99,9%"),
        (writing.percent(0.00001), "0,1%"),
        (writing.percent(1), "100%"),
        (writing.percent(1.25), "125%"),
        (writing.percent(-0.052), "−5,2%"),
        (writing.cnpj("12345678000195"), "12.345.678/0001-95"),
        (writing.cnpj("12ABC34501DE35"), "12.ABC.345/01DE-35"),
        (writing.cnpj("12.345.678/0001-95"), "12.345.678/0001-95"),
        (writing.cnpj("123"), "123"),
        (writing.cpf("12345678909"), "123.456.789-09"),
        (writing.cpf("***456789**"), "***.456.789-**"),
        (writing.cep("01310100"), "01310-100"),
        (writing.phone("11987654321"), "(11) 98765-4321"),
        (writing.phone("6733241234"), "(67) 3324-1234"),
        (writing.ago(NOW - 400, NOW), "agora"),
        (writing.ago(NOW - 59_999, NOW), "há 59 segundos"),
        (writing.ago(NOW - 60_000, NOW), "há 1 minuto"),
        (writing.ago(NOW - 3 * 60_000, NOW), "há 3 minutos"),
        (writing.ago(NOW - 25 * 3_600_000, NOW), "há 1 dia"),
        (writing.ago(NOW - 90 * 86_400_000, NOW), "há 3 meses"),
        (writing.ago(NOW - 366 * 86_400_000, NOW), "há 1 ano"),
        (writing.ago(NOW + 7_200_000, NOW), "em 2 horas"),
    ],
)
def test_words(shown: str, expected: str) -> None:
    assert shown == expected


@pytest.mark.parametrize(
    "shown",
    [
        writing.credits(None),
        writing.whole(None),
        writing.decimal(None),
        writing.day(None),
        writing.instant(None),
        writing.time_of_day(None),
        writing.seconds(None),
        writing.percent(None),
        writing.cnpj(None),
        writing.cpf(None),
        writing.cep(None),
        writing.phone(None),
        writing.ago(None, NOW),
    ],
)
def test_nothing_is_a_dash(shown: str) -> None:
    assert shown == "—"


@pytest.mark.parametrize(
    ("credits", "expected"),
    [(None, "—"), (0, "sem custo"), (1, "1 crédito"), (1234, "1.234 créditos")],
)
def test_price(credits: int | None, expected: str) -> None:
    assert re.sub(r"<[^>]+>", "", rendered("{{ ui.price(x) }}", x=credits)) == expected
