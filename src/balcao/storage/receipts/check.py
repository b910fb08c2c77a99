"""Check of a receipt's content: its media type, and whether it is safe to store and serve.

A PDF must open, and must not contain anything that runs, connects to other places or embeds files.
HTML is not rewritten: it is served in a sandbox (contract 7.3).
"""

import re
import time
from collections.abc import Iterator
from io import BytesIO
from itertools import chain

import pikepdf
from pikepdf.settings import set_qpdf_limits

from balcao.core.certificates import MediaType
from balcao.core.errors import SourceFailed
from balcao.core.receipts import RECEIPT_BYTES_MAX

# A receipt has a page or two, a few hundred objects, and inflates to less than a megabyte.
OBJECTS_MAX = 20_000
INFLATED_BYTES_MAX = 20_000_000

# Processor time of the checking thread. Inflating blocks all other threads, and the output of
# intermediate filters of a stream is not counted: the last one may have none.
PROCESSOR_SECONDS_MAX = 3.0

# Limits of the whole process, which opens PDFs nowhere else: they stop the inflating of a stream
# before it takes the memory.
set_qpdf_limits(
    flate_max_memory=INFLATED_BYTES_MAX,
    run_length_max_memory=INFLATED_BYTES_MAX,
    png_max_memory=INFLATED_BYTES_MAX,
    tiff_max_memory=INFLATED_BYTES_MAX,
    parser_max_container_size=OBJECTS_MAX,
    parser_max_nesting=100,
    max_stream_filters=5,
)

# Actions by their `/S`. Others are harmless: they lead within the document or to a web page.
_ACTIONS_REFUSED = frozenset(
    {
        "/JavaScript", "/Launch", "/SubmitForm", "/ImportData", "/GoToR", "/GoToE", "/Rendition",
        "/Movie", "/Sound", "/RichMediaExecute", "/GoTo3DView",
    }
)  # fmt: skip
_EXTERNAL = frozenset({"/F", "/FFilter", "/FDecodeParms"})  # of streams with data in another file
_SUBTYPES_REFUSED = frozenset(
    {"/FileAttachment", "/RichMedia", "/Movie", "/Sound", "/Screen", "/3D"}
)
_TYPES_REFUSED = frozenset({"/EmbeddedFile", "/Rendition"})
_KEYS_REFUSED = frozenset(
    {
        "/JS", "/JavaScript", "/XFA", "/EmbeddedFiles", "/EF", "/Collection", "/RichMediaContent",
        "/RichMediaSettings",
    }
)  # fmt: skip

# Permitted filters of streams. Pictures are not decoded. LZW is refused: its output has no limit
# (27 GB from ten megabytes).
_FILTERS_SHRINKING = frozenset({"/ASCII85Decode", "/ASCIIHexDecode"})
_FILTERS_READ = _FILTERS_SHRINKING | {"/FlateDecode", "/RunLengthDecode"}
_FILTERS_OF_PICTURES = frozenset({"/DCTDecode", "/JPXDecode", "/CCITTFaxDecode", "/JBIG2Decode"})


def _spelled(word: str) -> bytes:
    """Return a pattern of a PDF name, whose letters may be written as hexadecimal escapes."""
    return b"/" + b"".join(
        b"(?:%c|#(?i:%02x))" % (letter, letter) for letter in word.encode("ascii")
    )


_LZW = re.compile(_spelled("LZWD"))

# An object stream has a `/First`, a cross-reference stream but the last a `/Prev`, uncompressed.
# They are inflated when the file is opened, about a tenth of a second each, before we can count or
# time it. Receipts have one or two, and no bookmarks, which have such keys too.
_STREAMS_OF_OBJECTS = re.compile(_spelled("First") + b"|" + _spelled("Prev"))
STREAMS_OF_OBJECTS_MAX = 32

_END = re.compile(rb"%%EOF[\r\n\t ]*\Z")

_LINK = re.compile(rb"\s*(?:https?:|mailto:|[^:]*$)", re.IGNORECASE)

_HTML_START = re.compile(
    r"\s*(?:<\?xml[^>]{0,200}>\s*)?(?:<!--(?:(?!-->).){0,1000}-->\s*){0,5}"
    r"<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0e-\x1f]")
_HTML_START_CHARACTERS_MAX = 8_192


def checked_media_type(content: bytes) -> MediaType:
    """Return the media type of a receipt. Raises `SourceFailed` if it may not be stored. Slow."""
    if not content:
        raise SourceFailed("comprovante: vazio")
    if len(content) > RECEIPT_BYTES_MAX:
        raise SourceFailed("comprovante: grande demais")
    if content.startswith(b"%PDF-"):
        if _END.search(content[-64:]) is None:
            raise SourceFailed("comprovante: PDF com algo depois do fim")
        if _LZW.search(content) is not None:
            raise SourceFailed("comprovante: PDF com compressão LZW")
        if len(_STREAMS_OF_OBJECTS.findall(content)) > STREAMS_OF_OBJECTS_MAX:
            raise SourceFailed("comprovante: PDF complexo demais")
        _must_be_harmless(content)
        return "application/pdf"
    if _is_html(content):
        return "text/html"
    raise SourceFailed("comprovante: nem PDF nem HTML")


def _must_be_harmless(content: bytes) -> None:
    try:
        # Without repair of damage: what we check must be what a reader shows.
        with pikepdf.open(BytesIO(content), attempt_recovery=False) as pdf:
            if pdf.is_encrypted:
                raise SourceFailed("comprovante: PDF cifrado")
            if not pdf.pages:
                raise SourceFailed("comprovante: PDF sem páginas")
            inflated_bytes = 0
            for each in _containers(pdf):
                if (why := _objection(each)) is not None:
                    raise SourceFailed(f"comprovante: PDF com {why}")
                if isinstance(each, pikepdf.Stream):
                    inflated_bytes += _inflated_bytes(each)
                    if inflated_bytes > INFLATED_BYTES_MAX:
                        raise SourceFailed("comprovante: PDF grande demais depois de inflado")
            if pdf.get_warnings():
                # Objects that could not be read, or exceeded limits, were skipped above.
                raise SourceFailed("comprovante: PDF danificado")
    except SourceFailed:
        raise
    except pikepdf.PasswordError:
        raise SourceFailed("comprovante: PDF cifrado") from None
    except Exception as error:  # any error of the library about a damaged file
        detail = f"comprovante: PDF que não abre ({type(error).__name__})"
        raise SourceFailed(detail) from None


def _containers(pdf: pikepdf.Pdf) -> Iterator[pikepdf.Object]:
    """Yield every dictionary and stream, including unreachable ones."""
    until = time.thread_time() + PROCESSOR_SECONDS_MAX
    seen = 0
    for indirect in chain((pdf.trailer,), pdf.objects):
        pending: list[pikepdf.Object] = [indirect] if _is_container(indirect) else []
        while pending:
            it = pending.pop()
            seen += 1
            if seen > OBJECTS_MAX or time.thread_time() > until:
                raise SourceFailed("comprovante: PDF complexo demais")
            if isinstance(it, pikepdf.Dictionary | pikepdf.Stream):
                yield it
                inside = [value for _, value in it.items()]
            else:
                inside = list(it)
            # Indirect objects are in `pdf.objects`.
            pending += [each for each in inside if _is_container(each) and not each.is_indirect]


def _is_container(it: object) -> bool:
    return isinstance(it, pikepdf.Dictionary | pikepdf.Stream | pikepdf.Array)


def _objection(it: pikepdf.Object) -> str | None:
    """Return why an object is refused, in Portuguese; None if it is safe."""
    action = _name(it, "/S")
    if action in _ACTIONS_REFUSED:
        return "ações"
    if _name(it, "/Subtype") in _SUBTYPES_REFUSED or _name(it, "/Type") in _TYPES_REFUSED:
        return "anexos ou mídia"
    if not _KEYS_REFUSED.isdisjoint(it.keys()):
        return "scripts, anexos, mídia ou XFA"
    if isinstance(it, pikepdf.Stream) and not _EXTERNAL.isdisjoint(it.keys()):
        return "conteúdo em outro arquivo"
    if isinstance(base := it.get("/URI"), pikepdf.Dictionary) and "/Base" in base:
        return "endereço base para suas ligações"
    if action == "/URI":
        address = it.get("/URI")
        if not isinstance(address, pikepdf.String) or not _LINK.match(bytes(address)):
            return "ligações a outro lugar que a web"
    return None


def _inflated_bytes(stream: pikepdf.Stream) -> int:
    """Return the decoded size of a stream; of a picture, the encoded one.

    Raises `SourceFailed` for other filters, and for a stream that is too large by itself.
    """
    filter_names = stream.get("/Filter")
    chain = [filter_names] if isinstance(filter_names, pikepdf.Name) else list(filter_names or ())
    filters = [str(each) for each in chain]
    if (
        filters
        and filters[-1] in _FILTERS_OF_PICTURES
        and _FILTERS_SHRINKING.issuperset(filters[:-1])
    ):
        return len(stream.get_raw_stream_buffer())
    if not _FILTERS_READ.issuperset(filters):
        raise SourceFailed("comprovante: PDF com compressão desconhecida")
    try:
        return len(stream.get_stream_buffer(pikepdf.StreamDecodeLevel.specialized))
    except pikepdf.DataDecodingError:
        raise SourceFailed(
            "comprovante: PDF grande demais depois de inflado, ou danificado"
        ) from None


def _name(it: pikepdf.Object, key: str) -> str | None:
    value = it.get(key)
    return str(value) if isinstance(value, pikepdf.Name) else None


def _is_html(content: bytes) -> bool:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    start = text[:_HTML_START_CHARACTERS_MAX]
    return _HTML_START.match(start) is not None and _NOT_TEXT.search(text) is None
