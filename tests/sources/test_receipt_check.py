"""Checks of receipts: their type, and forbidden content of PDF files."""

import zlib
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from typing import Any

import pikepdf
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pikepdf import Array, Dictionary, Name, Pdf, String

from balcao.core.errors import SourceFailed
from balcao.core.receipts import RECEIPT_BYTES_MAX
from balcao.storage.receipts.check import (
    INFLATED_BYTES_MAX,
    OBJECTS_MAX,
    STREAMS_OF_OBJECTS_MAX,
    checked_media_type,
)


def a_pdf(
    change: Callable[[Pdf], object] = lambda pdf: None, *, pages: int = 1, **how: Any
) -> bytes:
    pdf = pikepdf.new()
    for _ in range(pages):
        pdf.add_blank_page()
    change(pdf)
    content = BytesIO()
    pdf.save(content, **how)
    return content.getvalue()


def refused(content: bytes) -> str:
    with pytest.raises(SourceFailed) as caught:
        checked_media_type(content)
    assert caught.value.detail.startswith("comprovante: ")
    return caught.value.detail


PACKED: dict[str, Any] = {"object_stream_mode": pikepdf.ObjectStreamMode.generate}
ENCRYPTED: dict[str, Any] = {"encryption": pikepdf.Encryption(owner="o", user="")}


def a_link(**action: Any) -> Dictionary:
    return Dictionary(
        Type=Name.Annot, Subtype=Name.Link, Rect=Array([0, 0, 1, 1]), A=Dictionary(**action)
    )


def annotated(*annotations: Dictionary) -> Callable[[Pdf], object]:
    def change(pdf: Pdf) -> None:
        copies = [pikepdf.Object.parse(each.unparse()) for each in annotations]
        pdf.pages[0].Annots = Array([pdf.make_indirect(each) for each in copies])

    return change


def rooted(**entries: Any) -> Callable[[Pdf], object]:
    def change(pdf: Pdf) -> None:
        for name, value in entries.items():
            pdf.Root[f"/{name}"] = value

    return change


def with_outline(**action: Any) -> Callable[[Pdf], object]:
    def change(pdf: Pdf) -> None:
        item = pdf.make_indirect(Dictionary(Title=String("x"), A=Dictionary(**action)))
        pdf.Root.Outlines = pdf.make_indirect(Dictionary(First=item, Last=item))

    return change


SCRIPT: dict[str, Any] = {"S": Name.JavaScript, "JS": String("app.alert(1)")}

GOOD = [
    lambda pdf: None,
    rooted(OpenAction=Array([0, Name.Fit])),
    rooted(OpenAction=Dictionary(S=Name.GoTo, D=Array([0, Name.Fit]))),
    rooted(AcroForm=Dictionary(Fields=Array([]))),
    rooted(MarkInfo=Dictionary(Marked=True), Lang=String("pt-BR")),
    annotated(a_link(S=Name.URI, URI=String("https://example.com/conferir"))),
    annotated(a_link(S=Name.URI, URI=String("HTTP://example.com"))),
    annotated(a_link(S=Name.URI, URI=String("mailto:contato@example.com"))),
    annotated(a_link(S=Name.URI, URI=String("conferir"))),
    annotated(a_link(S=Name.Named, N=Name.NextPage)),
]

BAD = {
    "script on opening": rooted(OpenAction=Dictionary(**SCRIPT)),
    "script of another name": rooted(OpenAction=Dictionary(S=Name.X, JS=String("x"))),
    "launch on opening": rooted(OpenAction=Dictionary(S=Name.Launch, F=String("cmd.exe"))),
    "script behind a step": rooted(
        OpenAction=Dictionary(S=Name.GoTo, D=Array([]), Next=Array([Dictionary(**SCRIPT)]))
    ),
    "named script": rooted(
        Names=Dictionary(JavaScript=Dictionary(Names=Array([String("x"), Dictionary(**SCRIPT)])))
    ),
    "script of a document": rooted(AA=Dictionary(WC=Dictionary(**SCRIPT))),
    "script of a page": lambda pdf: setattr(pdf.pages[0], "AA", Dictionary(O=Dictionary(**SCRIPT))),
    "script of an annotation": annotated(a_link(**SCRIPT)),
    "script of a field": rooted(
        AcroForm=Dictionary(
            Fields=Array([Dictionary(T=String("a"), AA=Dictionary(K=Dictionary(**SCRIPT)))])
        )
    ),
    "script of an outline": with_outline(**SCRIPT),
    "script nothing leads to": lambda pdf: rooted(
        PieceInfo=pdf.make_indirect(Dictionary(A=Array([Array([Dictionary(**SCRIPT)])])))
    )(pdf),
    "launch": annotated(a_link(S=Name.Launch, F=String("cmd.exe"))),
    "submission": annotated(a_link(S=Name.SubmitForm, F=String("https://evil.test"))),
    "import": annotated(a_link(S=Name.ImportData, F=String("a.fdf"))),
    "another file": annotated(a_link(S=Name.GoToR, F=String("a.pdf"))),
    "a file inside": annotated(a_link(S=Name.GoToE, T=Dictionary(R=Name.C))),
    "a base for its links": rooted(URI=Dictionary(Base=String("https://evil.test/"))),
    "a base for its links, elsewhere": rooted(
        X=Array([Dictionary(URI=Dictionary(Base=String("https://evil.test/")))])
    ),
    "content of another file": lambda pdf: rooted(
        X=pdf.make_stream(b"", F=String("https://evil.test/x"))
    )(pdf),
    "content of a specified file": lambda pdf: rooted(
        X=pdf.make_stream(b"", F=Dictionary(Type=Name.Filespec, UF=String("/etc/passwd")))
    )(pdf),
    "how to read another file": lambda pdf: rooted(
        X=pdf.make_stream(b"", FFilter=Name.FlateDecode)
    )(pdf),
    "address of a script": annotated(a_link(S=Name.URI, URI=String("javascript:alert(1)"))),
    "address of a file": annotated(a_link(S=Name.URI, URI=String("file:///etc/passwd"))),
    "no address": annotated(a_link(S=Name.URI)),
    "form of XML": rooted(AcroForm=Dictionary(Fields=Array([]), XFA=String("<x/>"))),
    "attachment": lambda pdf: pdf.attachments.__setitem__("a.exe", b"MZ"),
    "attachment on a page": annotated(
        Dictionary(Subtype=Name.FileAttachment, Rect=Array([0, 0, 1, 1]))
    ),
    "associated file": lambda pdf: rooted(
        AF=Array([Dictionary(EF=Dictionary(F=pdf.make_stream(b"MZ")))])
    )(pdf),
    "stray attachment": lambda pdf: rooted(X=pdf.make_stream(b"MZ", Type=Name.EmbeddedFile))(pdf),
    "portfolio": rooted(Collection=Dictionary()),
    "rich media": annotated(Dictionary(Subtype=Name.RichMedia, Rect=Array([0, 0, 1, 1]))),
    "rich media contents": annotated(Dictionary(RichMediaContent=Dictionary())),
    "film": annotated(Dictionary(Subtype=Name.Movie)),
    "screen": annotated(Dictionary(Subtype=Name.Screen)),
    "sound": annotated(Dictionary(Subtype=Name.Sound)),
    "space": annotated(Dictionary(Subtype=Name("/3D"))),
    "rendition": annotated(a_link(S=Name.Rendition, OP=0)),
}


@pytest.mark.parametrize("change", GOOD)
@pytest.mark.parametrize("how", [{}, PACKED])
def test_a_receipt(change: Callable[[Pdf], object], how: dict[str, Any]) -> None:
    assert checked_media_type(a_pdf(change, **how)) == "application/pdf"
    assert checked_media_type(a_pdf(change, pages=3, **how)) == "application/pdf"


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("how", [{}, PACKED])
def test_forbidden_content(name: str, how: dict[str, Any]) -> None:
    assert "PDF com " in refused(a_pdf(BAD[name], **how))


def test_escaped_names_are_found() -> None:
    content = a_pdf(BAD["script on opening"])
    escaped = content.replace(b"/JavaScript", b"/J#61v#61Scri#70t").replace(b"/JS", b"/J#53")
    assert escaped != content
    assert "ações" in refused(_with_new_table(escaped))


def _with_new_table(content: bytes) -> bytes:
    """Return the file with a new cross-reference table."""
    objects = content[: content.index(b"xref")]
    places = [objects.index(b"\n%d 0 obj" % number) + 1 for number in range(1, 99)
              if b"\n%d 0 obj" % number in objects]  # fmt: skip
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(places) + 1
    trailer = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    head = b"xref\n0 %d\n0000000000 65535 f \n" % size
    return objects + head + table + trailer % (size, len(objects))


def test_new_table_is_valid() -> None:
    assert checked_media_type(_with_new_table(a_pdf())) == "application/pdf"


def test_encrypted_ones() -> None:
    assert "cifrado" in refused(a_pdf(**ENCRYPTED))
    locked: dict[str, Any] = {"encryption": pikepdf.Encryption(owner="o", user="u")}
    assert "cifrado" in refused(a_pdf(**locked))


def test_no_pages() -> None:
    assert "sem páginas" in refused(a_pdf(pages=0))


@pytest.mark.parametrize(
    "content",
    [
        b"%PDF-1.4",
        b"%PDF-1.7\n%fictitious",
        b"%PDF-<html><script>alert(1)</script>",
        a_pdf()[:-40],
        a_pdf()[: len(a_pdf()) // 2],
        b"%PDF-1.4\n" + b"\x00" * 1000,
        a_pdf().replace(b"/Pages", b"/Pagez"),
    ],
)
def test_only_the_beginning_is_valid(content: bytes) -> None:
    assert "PDF" in refused(content)


def test_too_many_objects() -> None:
    def change(pdf: Pdf) -> None:
        pdf.Root.X = Array([Array([]) for _ in range(OBJECTS_MAX - 100)])
        pdf.Root.Y = Array([Array([]) for _ in range(200)])

    assert "complexo" in refused(a_pdf(change))


def test_bomb_is_rejected() -> None:
    """A stream that is too large to inflate is rejected, not ignored."""
    assert checked_media_type(_with_object_stream(1_000)) == "application/pdf"
    assert "danificado" in refused(_with_object_stream(INFLATED_BYTES_MAX))


def _with_object_stream(size: int) -> bytes:
    body = zlib.compress(b"4 0 << /S /GoTo >>" + b" " * size, 1)
    parts = [
        b"%PDF-1.7\n",
        b"1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n",
        b"2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj\n",
        b"3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Resources << >> >> endobj\n",
        b"5 0 obj << /Type /ObjStm /N 1 /First 4 /Filter /FlateDecode /Length %d >> stream\n%b\n"
        b"endstream endobj\n" % (len(body), body),
    ]
    at = [sum(map(len, parts[:n])) for n in range(6)]
    entries = [(0, 0), (1, at[1]), (1, at[2]), (1, at[3]), (2, 5), (1, at[4]), (1, at[5])]
    table = b"".join(bytes([kind]) + place.to_bytes(4) + b"\0" for kind, place in entries)
    parts.append(
        b"6 0 obj << /Type /XRef /Size 7 /W [1 4 1] /Root 1 0 R /Length %d >> stream\n%b\n"
        b"endstream endobj\nstartxref\n%d\n%%%%EOF\n" % (len(table), table, at[5])
    )
    return b"".join(parts)


def _with_content(content: bytes, *filters: Name, **entries: Any) -> bytes:
    """Return a PDF of one page with a raw content stream."""

    def change(pdf: Pdf) -> None:
        stream = pikepdf.Stream(pdf, content)
        if filters:
            stream["/Filter"] = Array(filters) if len(filters) > 1 else filters[0]
        for name, value in entries.items():
            stream[f"/{name}"] = value
        pdf.pages[0].Contents = pdf.make_indirect(stream)

    none = pikepdf.StreamDecodeLevel.none
    return a_pdf(change, compress_streams=False, stream_decode_level=none)


def test_content_after_the_end() -> None:
    good = a_pdf()
    assert good.endswith(b"%%EOF\n")
    assert (
        checked_media_type(good.rstrip())
        == checked_media_type(good + b"\r\n \n")
        == "application/pdf"
    )
    for more in (b"<script>", b"\x00", b"PK\x03\x04", b" " * 100, b"%"):
        assert "depois do fim" in refused(good + more)


BLANKS = b" " * (INFLATED_BYTES_MAX // 2 - 1_000)


def test_content_that_inflates() -> None:
    """In one stream, in several, in steps, or repeated."""
    packed = zlib.compress(BLANKS)
    assert checked_media_type(_with_content(packed, Name.FlateDecode)) == "application/pdf"
    assert checked_media_type(_with_content(zlib.compress(packed), *[Name.FlateDecode] * 2))
    more = zlib.compress(BLANKS * 2 + b" " * 2_001)
    assert "inflado" in refused(_with_content(more, Name.FlateDecode))
    assert "inflado" in refused(_with_content(zlib.compress(more), *[Name.FlateDecode] * 2))
    runs = b"\x81 " * (INFLATED_BYTES_MAX // 128 + 1) + b"\x80"
    assert (
        checked_media_type(_with_content(runs[-200_000:], Name.RunLengthDecode))
        == "application/pdf"
    )
    assert "inflado" in refused(_with_content(runs, Name.RunLengthDecode))

    def several(pdf: Pdf) -> None:
        pdf.Root.X = Array([pdf.make_stream(BLANKS) for _ in range(3)])

    assert "inflado" in refused(a_pdf(several))


def test_empty_streams_that_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams of a few hundred bytes that take long to inflate, although the result is empty."""
    blocks = INFLATED_BYTES_MAX // 5 - 10
    nothing = b"\x78\x01" + b"\0\0\0\xff\xff" * blocks + b"\1\0\0\xff\xff" + b"\0\0\0\1"
    assert zlib.decompress(nothing) == b""
    packed = zlib.compress(nothing)

    def several(pdf: Pdf) -> None:
        twice = Array([Name.FlateDecode] * 2)
        pdf.Root.X = Array([pikepdf.Stream(pdf, packed, Filter=twice) for _ in range(9)])

    none = pikepdf.StreamDecodeLevel.none
    content = a_pdf(several, compress_streams=False, stream_decode_level=none)
    assert checked_media_type(content) == "application/pdf"
    monkeypatch.setattr("balcao.storage.receipts.check.PROCESSOR_SECONDS_MAX", 0.01)
    assert "complexo" in refused(content)


@pytest.mark.parametrize("named", [b"/First", b"/Fir#73t", b"/#46irst"])
def test_streams_of_objects_are_counted_before_they_are_opened(named: bytes) -> None:
    """Each may inflate to the limit, without a check of the time in between."""
    most = _of_object_streams(STREAMS_OF_OBJECTS_MAX, named)
    assert checked_media_type(most) == "application/pdf"
    assert "complexo" in refused(_of_object_streams(STREAMS_OF_OBJECTS_MAX + 1, named))


def _of_object_streams(count: int, first: bytes) -> bytes:
    """Return a PDF, written by hand, with `count` streams of one object each."""
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Resources << >> >>",
    ]
    entries = {0: b"\0" * 6}
    for number in range(count):
        inside, stream = 4 + number, 4 + count + number
        head = b"%d 0 " % inside
        data = zlib.compress(head + b"<< /A 1 >>")
        parts.append(
            b"<< /Type /ObjStm /N 1 %b %d /Filter /FlateDecode /Length %d >>\nstream\n%b\nendstream"
            % (first, len(head), len(data), data)
        )
        entries[inside] = b"\2" + stream.to_bytes(4, "big") + b"\0"
    content = bytearray(b"%PDF-1.7\n")
    for at, part in enumerate(parts):
        number = at + 1 if at < 3 else at + 1 + count
        entries[number] = b"\1" + len(content).to_bytes(4, "big") + b"\0"
        content += b"%d 0 obj\n%b\nendobj\n" % (number, part)
    last, at = 4 + 2 * count, len(content)
    entries[last] = b"\1" + at.to_bytes(4, "big") + b"\0"
    data = zlib.compress(b"".join(entries[number] for number in range(last + 1)))
    content += (
        b"%d 0 obj\n<< /Type /XRef /Size %d /W [1 4 1] /Root 1 0 R"
        b" /Filter /FlateDecode /Length %d >>\nstream\n%b\nendstream\nendobj\n"
        b"startxref\n%d\n%%%%EOF\n"
    ) % (last, last + 1, len(data), data, at)
    return bytes(content)


def test_filters_that_are_not_read() -> None:
    """The output of LZW and of unknown filters has no bound."""
    for filters in (
        [Name.LZWDecode],
        [Name.ASCII85Decode, Name.LZWDecode],
    ):
        assert "LZW" in refused(_with_content(b"\x80\x0b", *filters))
    hidden = _with_content(b"\x80\x0b", Name.LZWDecode).replace(b"/LZWDecode", b"/L#5aW#44ecode")
    assert "LZW" in refused(hidden)
    assert "desconhecida" in refused(_with_content(b"x", Name.Unheard))
    assert "desconhecida" in refused(_with_content(b"x", Name.FlateDecode, Name.DCTDecode))
    assert "danificado" in refused(_with_content(b"no such thing", Name.FlateDecode))


def test_pictures_are_not_decoded() -> None:
    for kind in (Name.DCTDecode, Name.JPXDecode, Name.CCITTFaxDecode, Name.JBIG2Decode):
        assert checked_media_type(_with_content(b"a picture", kind)) == "application/pdf"
    assert checked_media_type(_with_content(b"00>", Name.ASCIIHexDecode, Name.DCTDecode))


HTML = "<!DOCTYPE html><html><head><title>Certidão</title></head><body>NEGATIVA</body></html>"


@pytest.mark.parametrize(
    "content",
    [
        HTML.encode(),
        HTML.encode("latin-1"),
        b"\xef\xbb\xbf" + HTML.encode(),
        b"\r\n\t " + HTML.encode(),
        b"<html>",
        b"<HTML lang=pt>",
        b"<!doctype HTML PUBLIC '-//W3C//DTD HTML 4.01//EN'>",
        b"<!-- saved --> <!-- again --><html></html>",
        b"<?xml version='1.0' encoding='UTF-8'?>\n<!DOCTYPE html><html/>",
        b"<body onload=x>",
    ],
)
def test_html(content: bytes) -> None:
    assert checked_media_type(content) == "text/html"


@pytest.mark.parametrize(
    "content",
    [
        b"Erro: comprovante expirado",
        b'{"error": "<html>"}',
        b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"<script>alert(1)</script>",
        b"<htmlx>",
        HTML.encode("utf-16"),
        HTML.encode() + b"\x00",
        HTML.encode() + b"\x1b[2J",
        b"\x89PNG\r\n\x1a\n",
        b"PK\x03\x04",
        b"junk %PDF-1.4",
        b" " + a_pdf(),
        b"<!--" * 100_000,
        b"<!-- " + b"-->" * 10_000 + b"<html>",
    ],
)
def test_neither(content: bytes) -> None:
    assert "nem PDF nem HTML" in refused(content)


def test_nothing_and_too_much() -> None:
    assert "vazio" in refused(b"")
    assert "grande" in refused(HTML.encode() + b" " * RECEIPT_BYTES_MAX)


@given(st.binary(max_size=200), st.sampled_from([b"", b"%PDF-1.4\n", b"<html>", a_pdf()[:400]]))
def test_any_bytes_are_something_or_refused(content: bytes, start: bytes) -> None:
    kind = None
    with suppress(SourceFailed):
        kind = checked_media_type(start + content)
    assert kind in (None, "text/html")
