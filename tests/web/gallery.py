"""Every macro and drawing on one page: `python -m tests.web.gallery OUT.html [dark]`.

The page refers to the local style sheet, so it works only on the machine where it was made.
"""

import os
import sys
from datetime import date, timedelta
from pathlib import Path

from markupsafe import Markup

from balcao import __version__, web
from balcao.operations.views import Tile
from balcao.web.kit import drawing
from balcao.web.kit.templates import environment

STATIC = Path(web.__file__).parent / "static"

PAGE = Path(__file__).with_suffix(".html")


class Thing:
    """A stand-in with any attributes that templates read."""

    def __init__(self, **values: object) -> None:
        self.__dict__.update(values)


def bars(count: int) -> list[drawing.Bar]:
    """Return days with rising and falling figures."""
    first = date(2025, 11, 20)
    return [
        drawing.Bar(str(first + timedelta(at)), (at * 37) % 90, (at * 53) % 210 * (at % 7 < 5))
        for at in range(count)
    ]


def tiles() -> dict[str, Tile]:
    """Return tiles of each tone."""
    tones = ["good", "good", "good", "warn", "good", "bad", "info", "neutral"]
    return {
        uf: Tile(tones[at % 8], str(at % 4 or "—"), f"{at % 4} fontes")
        for at, uf in enumerate(drawing.TILES)
    }


def render(out: Path, theme: str | None) -> str:
    """Write the whole page."""
    made = environment.__wrapped__()  # not the shared one, since `asset` differs here
    made.globals.update(
        asset=lambda name: os.path.relpath(STATIC / name, out.resolve().parent), Markup=Markup
    )
    account = Thing(name="Contábil Horizonte", mode="test")
    steps = [
        Thing(at="14:03:12", text="Recebida", note=None, tone="neutral"),
        Thing(
            at="14:03:12", text="Cache: nada recente", note="a última é de 02/10/2026", tone="info"
        ),
        Thing(at="14:03:19", text="Primeira fonte não respondeu", note="6,0 s", tone="warn"),
        Thing(at="14:03:21", text="Segunda fonte respondeu", note="1,8 s", tone="good"),
    ]
    places = ("Consultar", "Lotes", "Histórico", "Extrato", "Chaves", "Usuários")
    page = made.from_string(PAGE.read_text("utf-8")).render(
        nav=[Thing(text=text, href="#", current=text == "Consultar") for text in places],
        visitor=Thing(
            user=Thing(name="Mariana de Souza Albuquerque"),
            account=account,
            lacks_second_factor=False,
        ),
        csrf="x",
        message="A chave “ERP” foi revogada.",
        alert=None,
        version=__version__,
        steps=steps,
        bars=drawing.bars_by_day(bars(30)),
        year=drawing.bars_by_day(bars(366)),
        shares=drawing.shares(
            [
                drawing.Share("CND federal", 1840),
                drawing.Share("Inscrição estadual", 1210),
                drawing.Share("CNPJ", 400),
                drawing.Share("Suframa", 12),
            ]
        ),
        meter=drawing.meter(0.62, "Cota do mês"),
        map=drawing.tile_map(tiles()),
    )
    return page.replace("<html ", f'<html data-theme="{theme}" ') if theme else page


def main() -> None:
    """Write the page to the path in the command line."""
    out = Path(sys.argv[1])
    out.write_text(render(out, sys.argv[2] if len(sys.argv) > 2 else None), "utf-8")


if __name__ == "__main__":
    main()
