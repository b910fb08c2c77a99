"""ZIP files of a batch's receipts."""

import csv
import io
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from typing import IO, cast

import pytest

from balcao.batches.receipts_zip import INDEX, ReceiptOfRow, receipt_name, write_receipts
from balcao.core.receipts import Receipt, ReceiptSubject
from balcao.storage.batches import StoredRow
from tests.batches.files import FEDERAL, STATE

CNPJ = "12345678000195"


def receipt(about: ReceiptSubject | None) -> Receipt:
    return Receipt("8d2b8d2b-0000-8000-8000-000000000001", 1, "d" * 64, "application/pdf", 9, about)


def of_row(
    line: int, about: ReceiptSubject | None, *content: bytes, ref: str | None = None
) -> ReceiptOfRow:
    document = about.document if about else None
    stored = StoredRow(line, "concluida", ref=ref, document=document, request_id="r")
    return ReceiptOfRow(FEDERAL, stored, receipt(about), content)


BAKERY = ReceiptSubject(CNPJ, None, "CND", "2027-01-15", "Padaria do Zé Ltda.")
PERSON = ReceiptSubject("***456789**", None, "CND", "2027-01-15", None)


@pytest.mark.parametrize(
    ("row", "operation", "name"),
    [
        (of_row(2, BAKERY), FEDERAL, f"{CNPJ}_PADARIA-DO-ZE-LTDA_federal_2027-01-15.pdf"),
        (
            of_row(2, ReceiptSubject(CNPJ, "SP", "CND", "2027-01-15", None)),
            STATE,
            f"{CNPJ}_estadual-SP_2027-01-15.pdf",
        ),
        (
            of_row(2, ReceiptSubject(CNPJ, None, "CPD", None, "../../x")),
            FEDERAL,
            f"{CNPJ}_X_federal.pdf",
        ),
        (of_row(7, PERSON), FEDERAL, "linha-7_federal_2027-01-15.pdf"),
        (of_row(7, PERSON, ref="nf:../7"), FEDERAL, "nf-7_federal_2027-01-15.pdf"),
        (of_row(9, None), FEDERAL, "linha-9_federal.pdf"),
    ],
)
def test_names(row: ReceiptOfRow, operation: type, name: str) -> None:
    assert receipt_name(operation, row.row, row.receipt) == name  # type: ignore[arg-type]


class Pipe(io.RawIOBase):
    """An unseekable file, such as a response in progress."""

    def __init__(self) -> None:
        self.content = b""

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        self.content += bytes(cast(bytes, data))
        return len(cast(bytes, data))


def test_receipts_and_their_index() -> None:
    def rows() -> Iterator[ReceiptOfRow]:
        yield of_row(2, BAKERY, b"%PDF", b" one", ref="A-1")
        branch = of_row(3, BAKERY, b"%PDF two")  # the same company again
        yield branch._replace(row=replace(branch.row, document="12345678000276"))
        yield of_row(4, BAKERY)  # erased meanwhile
        yield of_row(5, PERSON, b"%PDF three")

    pipe = Pipe()
    write_receipts(cast(IO[bytes], pipe), rows())
    with zipfile.ZipFile(io.BytesIO(pipe.content)) as archive:
        assert archive.testzip() is None
        stem = f"{CNPJ}_PADARIA-DO-ZE-LTDA_federal_2027-01-15"
        names = [f"{stem}.pdf", f"{stem}_2.pdf", "linha-5_federal_2027-01-15.pdf", INDEX]
        assert archive.namelist() == names
        assert archive.read(names[0]) == b"%PDF one"
        assert archive.read(names[1]) == b"%PDF two"
        text = archive.read(INDEX).decode("utf-8-sig")
    index = [";".join(row) for row in csv.reader(text.splitlines(), delimiter=";")]
    assert index[0] == (
        "linha;ref;documento;cnpj_da_certidao;nome;certidao;valida_ate;arquivo;requisicao"
    )
    branch, head = "12.345.678/0002-76", "12.345.678/0001-95"
    assert index[1] == f"2;A-1;{head};{head};Padaria do Zé Ltda.;CND;15/01/2027;{names[0]};r"
    assert index[2] == f"3;;{branch};{head};Padaria do Zé Ltda.;CND;15/01/2027;{names[1]};r"
    assert text.startswith('"linha";"ref";')
    assert "não está mais guardado" in index[3]
    assert index[4].startswith("5;;***.456.789-**;;;CND;")
