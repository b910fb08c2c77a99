"""Writing of the simulators' receipts as PDF, also of those that must be rejected."""

import io
from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import Any

import pikepdf
from pikepdf import Dictionary, Name, Operator, String

_A4 = (595, 842)  # points
_MARGIN = 56
_LINE_HEIGHT = 1.4

# Fonts that every reader has; each character is 0.6 of the font's size wide.
_FONTS = {"plain": "Courier", "bold": "Courier-Bold"}
_CHARACTER_WIDTH = 0.6


def written(
    mark: str, issuer: str, title: str, text: str, facts: Sequence[tuple[str, str]]
) -> bytes:
    """Return a PDF of one page with these texts. Equal texts have equal bytes."""
    top = [
        *_paragraph(mark, "bold", 13),
        *_paragraph(issuer, "plain", 9, before=20),
        *_paragraph(title, "bold", 13, before=12),
        *_paragraph(text, "plain", 10, before=18),
        *_paragraph("", "plain", 10),
        *(line for name, value in facts for line in _paragraph(f"{name}: {value}", "plain", 10)),
    ]
    document = pikepdf.new()
    page = document.add_blank_page(page_size=_A4)
    page.Resources = Dictionary(
        Font={f"/{name}": _font(document, base) for name, base in _FONTS.items()}
    )
    page.Contents = document.make_stream(
        pikepdf.unparse_content_stream(
            [*_text(top, _A4[1] - _MARGIN), *_text(_paragraph(mark, "bold", 13), _MARGIN)]
        )
    )
    document.Root.Lang = String("pt-BR")
    document.docinfo.Title = String(title)
    document.docinfo.Author = String("Simulador do Balcão")
    document.docinfo.Subject = String(mark)
    return _saved(document)


_Line = tuple[str, str, int, float]  # text, font, size, distance from the line above


def _paragraph(text: str, font: str, size: int, *, before: float = 0) -> Iterator[_Line]:
    """Yield the lines of a text, wrapped to the width of the page."""
    width = int((_A4[0] - 2 * _MARGIN) / (_CHARACTER_WIDTH * size))
    for number, line in enumerate(wrap(text, width) or [""]):
        yield line, font, size, _LINE_HEIGHT * size + (0 if number else before)


def _text(lines: Iterable[_Line], height: float) -> Iterator[tuple[Any, Operator]]:
    """Yield the operators that write lines from a height down."""
    yield (), Operator("BT")
    yield (_MARGIN, height), Operator("Td")
    for text, font, size, down in lines:
        yield (Name(f"/{font}"), size), Operator("Tf")
        yield (0, -round(down, 1)), Operator("Td")
        yield (String(text.encode("cp1252", "replace")),), Operator("Tj")
    yield (), Operator("ET")


def _font(document: pikepdf.Pdf, base: str) -> pikepdf.Object:
    return document.make_indirect(
        Dictionary(
            Type=Name.Font,
            Subtype=Name.Type1,
            BaseFont=Name(f"/{base}"),
            Encoding=Name.WinAnsiEncoding,
        )
    )


def corrupted(good: bytes, *, with_script: bool) -> bytes:
    """Return the PDF with a script, or else with an attachment."""
    with pikepdf.open(io.BytesIO(good)) as document:
        if with_script:
            document.Root.OpenAction = Dictionary(
                S=Name.JavaScript, JS=String("app.alert('fictício')")
            )
        else:
            document.attachments["ficticio.txt"] = pikepdf.AttachedFileSpec(
                document,
                b"ficticio",
                description="Anexo fictício",
                filename="ficticio.txt",
                mime_type="text/plain",
                creation_date="",
                mod_date="",
            )
        return _saved(document)


def _saved(document: pikepdf.Pdf) -> bytes:
    into = io.BytesIO()
    document.save(into, deterministic_id=True)
    return into.getvalue()
