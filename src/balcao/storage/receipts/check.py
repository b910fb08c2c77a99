"""What a receipt is, by its content; and whether its bytes may be kept and handed on.

A PDF is only that if it opens, and a certificate has no use for what can run, reach out or carry
something else. HTML is not rewritten: it is served in a sandbox (contract 7.3).
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

# Of the thread that looks at the objects. Inflating shuts out all other threads, and what a stream
# inflates to on the way, where it takes several steps, is counted nowhere: it may end as nothing.
PROCESSOR_SECONDS_MAX = 3.0

# Of the whole process, which opens PDFs nowhere else: this is where the inflating of one stream
# ends, whoever wants it inflated, before it has taken the memory.
set_qpdf_limits(
    flate_max_memory=INFLATED_BYTES_MAX,
    run_length_max_memory=INFLATED_BYTES_MAX,
    png_max_memory=INFLATED_BYTES_MAX,
    tiff_max_memory=INFLATED_BYTES_MAX,
    parser_max_container_size=OBJECTS_MAX,
    parser_max_nesting=100,
    max_stream_filters=5,
)

# Actions by their `/S`. Harmless ones lead about in the document or to a web page.
_ACTIONS_REFUSED = frozenset(
    {
        "/JavaScript", "/Launch", "/SubmitForm", "/ImportData", "/GoToR", "/GoToE", "/Rendition",
        "/Movie", "/Sound", "/RichMediaExecute", "/GoTo3DView",
    }
)  # fmt: skip
_EXTERNAL = frozenset({"/F", "/FFilter", "/FDecodeParms"})  # of streams: their data are elsewhere
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

# What a stream may go through. Pictures are left as they are: to be shown is what they are for.
# LZW is refused, since nothing limits what it makes of ten megabytes (27 GB).
_FILTERS_SHRINKING = frozenset({"/ASCII85Decode", "/ASCIIHexDecode"})
_FILTERS_READ = _FILTERS_SHRINKING | {"/FlateDecode", "/RunLengthDecode"}
_FILTERS_OF_PICTURES = frozenset({"/DCTDecode", "/JPXDecode", "/CCITTFaxDecode", "/JBIG2Decode"})


def _spelled(word: str) -> bytes:
    """A pattern of a PDF name, each letter of which may be written as its number."""
    return b"/" + b"".join(
        b"(?:%c|#(?i:%02x))" % (letter, letter) for letter in word.encode("ascii")
    )


_LZW = re.compile(_spelled("LZWD"))

# A stream of objects has a `/First`, a stream of references that is not the last a `/Prev`, in the
# clear. They are inflated when the file is opened, before anything can be counted or be timed, some
# tenth of a second each. Receipts have one or two; bookmarks, which have such keys too, none.
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


def inspected(content: bytes) -> MediaType:
    """What it is. Raises `SourceFailed` for what may not be kept. It may take a moment."""
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
        # Not mended where it is damaged: what we check must be what a reader shows.
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
                # What could not be read, or not within the limits, was not seen above.
                raise SourceFailed("comprovante: PDF danificado")
    except SourceFailed:
        raise
    except pikepdf.PasswordError:
        raise SourceFailed("comprovante: PDF cifrado") from None
    except Exception as error:  # whatever a library makes of a damaged file
        detail = f"comprovante: PDF que não abre ({type(error).__name__})"
        raise SourceFailed(detail) from None


def _containers(pdf: pikepdf.Pdf) -> Iterator[pikepdf.Object]:
    """Every dictionary and stream, wherever it hangs, or even where nothing leads to it."""
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
            # Indirect objects come by themselves.
            pending += [each for each in inside if _is_container(each) and not each.is_indirect]


def _is_container(it: object) -> bool:
    return isinstance(it, pikepdf.Dictionary | pikepdf.Stream | pikepdf.Array)


def _objection(it: pikepdf.Object) -> str | None:
    """Why a receipt may not have such an object."""
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
    """What a reader makes of its content; of a picture, what it is made of.

    Raises `SourceFailed` for filters of other kinds, and where one stream alone is too large.
    """
    said = stream.get("/Filter")
    chain = [said] if isinstance(said, pikepdf.Name) else list(said or ())
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
    said = it.get(key)
    return str(said) if isinstance(said, pikepdf.Name) else None


def _is_html(content: bytes) -> bool:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    start = text[:_HTML_START_CHARACTERS_MAX]
    return _HTML_START.match(start) is not None and _NOT_TEXT.search(text) is None
