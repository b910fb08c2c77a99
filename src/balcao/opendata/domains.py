"""Reader of the tables of codes: small files, so the slow, tolerant reader of `repair` is used."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from balcao.opendata.archive import Part, read_chunks
from balcao.opendata.encoding import EncodingCheck
from balcao.opendata.errors import BadInput
from balcao.opendata.layout import DOMAINS
from balcao.opendata.repair import RAW_BYTES_KEPT_MAX, Reject, read_record

_BYTES_MAX = 16 * 1024 * 1024  # the largest has 100 kB; this is a wrong file
_COLUMNS = 2


@dataclass(frozen=True, slots=True)
class DomainTable:
    """Codes and texts of one table, and the date they are as of."""

    name: str
    as_of: date
    texts: dict[str, str]
    rejects: tuple[Reject, ...] = ()
    duplicates: int = 0


def read_domain(part: Part, as_of: date) -> DomainTable:
    """Read one zip of codes. Raises `BadInput` when it is damaged or something else."""
    if part.bytes > _BYTES_MAX:
        raise BadInput(f"{part.file} tem {part.bytes} bytes: não é uma tabela de códigos")
    content = b"".join(chunk for chunk, _ in read_chunks(part))
    encoding = EncodingCheck(part.file)
    encoding.add(content)
    encoding.finish()
    lines = content.split(b"\n")
    width = DOMAINS[part.table].code_width
    texts: dict[str, str] = {}
    rejects: list[Reject] = []
    read = 0
    at = 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        read += 1
        record = read_record(lines[at : at + 2], (width,), _COLUMNS)
        if record is None:
            raw = lines[at][:RAW_BYTES_KEPT_MAX].decode("latin-1")
            rejects.append(Reject(part.file, read, raw))
            at += 1
            continue
        (code, text), used = record
        at += used
        described = " ".join(text.decode("latin-1").split())
        key = code.decode("latin-1")
        texts[key] = texts.get(key) or described  # of repeated codes, the first row with a text
    duplicates = read - len(rejects) - len(texts)
    return DomainTable(part.table, as_of, texts, tuple(rejects), duplicates)


def with_earlier(
    fresh: Iterable[DomainTable], earlier: Iterable[DomainTable]
) -> tuple[list[DomainTable], list[str]]:
    """Fill in missing tables from an earlier month, and return a warning for each.

    Raises `BadInput` when an earlier month has none either: codes would have no descriptions.
    """
    tables = {table.name: table for table in fresh if table.texts}
    kept = {table.name: table for table in earlier if table.name not in tables and table.texts}
    missing = [name for name in DOMAINS if name not in tables and name not in kept]
    if missing:
        raise BadInput(
            f"falta {', '.join(f'{name}.zip' for name in missing)}, ou está vazio, também em"
            " importações anteriores: os códigos ficariam sem descrição"
        )
    warnings = [
        f"{table.name} falta neste mês: mantida a tabela de {table.as_of:%d/%m/%Y}"
        for table in kept.values()
    ]
    return [*tables.values(), *kept.values()], warnings
