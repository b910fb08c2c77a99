"""ZIP files of receipts, of a batch or a company, with readable file names and an index."""

import io
import re
import zipfile
from collections.abc import Iterable, Sequence
from typing import IO, NamedTuple

from balcao.core import writing
from balcao.core.csv_table import CsvTable
from balcao.core.receipts import Receipt, ReceiptSubject, extension_of, short_name
from balcao.operations.contract import Operation
from balcao.storage.batches import StoredRow

INDEX = "indice.csv"
_COLUMNS = (
    "linha",
    "ref",
    "documento",
    "cnpj_da_certidao",
    "nome",
    "certidao",
    "valida_ate",
    "arquivo",
    "requisicao",
)
_NOT_KEPT = "não está mais guardado"
_UNSAFE = re.compile("[^0-9A-Za-z]+")


class ReceiptOfRow(NamedTuple):
    """A receipt of a row or a request. `title`: of a file without an operation.

    `content` is read when the receipt is written; empty: its bytes are no longer stored, which the
    index states.
    """

    operation: Operation | None
    row: StoredRow
    receipt: Receipt
    content: Iterable[bytes]
    title: str = ""


def write_receipts(file: IO[bytes], receipts: Iterable[ReceiptOfRow]) -> None:
    """Write all receipts in order, then `indice.csv`. Blocking; the file need not be seekable.

    File names contain no unmasked CPF and no person's name.
    """
    index = io.BytesIO()
    table = CsvTable(index)
    table.write(_COLUMNS)
    names: set[str] = {INDEX}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:  # PDFs are compressed
        for each in receipts:
            name = _free(receipt_name(each.operation, each.row, each.receipt, each.title), names)
            written = _copied(archive, name, each.content)
            if written:
                names.add(name)
            table.write(_indexed(each, name if written else _NOT_KEPT))
        table.flush()
        archive.writestr(INDEX, index.getvalue(), zipfile.ZIP_DEFLATED)


def receipt_name(
    operation: Operation | None, row: StoredRow, receipt: Receipt, title: str = ""
) -> str:
    """Return an ASCII name such as `12345678000195_PADARIA-DO-ZE_federal_2027-01-15.pdf`.

    A person's has the row's `ref`, or its line, instead of CPF and name.
    """
    about = receipt.about
    document = (about.document if about else None) or row.document or ""
    if document.isalnum() and len(document) == 14:
        who = [document, short_name(about.name or "") if about else ""]
    else:
        who = [_UNSAFE.sub("-", row.ref or "").strip("-") or f"linha-{row.line}"]
    if operation is None:
        kind = short_name(title) or "certidao"
    else:
        kind = f"estadual-{about.uf}" if about and about.uf else operation.form.slug.split("-")[-1]
    day = about.validity[:10] if about and about.validity else ""
    return "_".join(part for part in (*who, kind, day) if part) + f".{extension_of(receipt)}"


def _free(name: str, taken: set[str]) -> str:
    stem, dot, extension = name.rpartition(".")
    number = 1
    while name in taken:
        number += 1
        name = f"{stem}_{number}{dot}{extension}"
    return name


def _copied(archive: zipfile.ZipFile, name: str, content: Iterable[bytes]) -> bool:
    """Copy a receipt into the archive unless it is empty, and return whether it was copied."""
    pieces = iter(content)
    first = next(pieces, b"")
    if not first:
        return False
    with archive.open(name, "w") as part:
        part.write(first)
        for piece in pieces:
            part.write(piece)
    return True


def _verdict(operation: Operation | None, about: ReceiptSubject | None) -> str:
    """Return the verdict's display name, empty if no certificate was issued."""
    if operation is None or about is None or about.verdict == "none":
        return ""
    return operation.verdicts[about.verdict][0]


def _indexed(each: ReceiptOfRow, name: str) -> Sequence[str]:
    row, about = each.row, each.receipt.about
    certified = about.document if about else ""
    document = row.document or certified
    return (
        str(row.line),
        row.ref or "",
        writing.cpf(document) if "*" in document else writing.cnpj(document),
        "" if "*" in certified else writing.cnpj(certified),
        (about.name or "") if about else "",
        _verdict(each.operation, about),
        writing.day(about.validity) if about and about.validity else "",
        name,
        row.request_id or "",
    )
