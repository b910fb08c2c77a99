"""Results as JSONL: the whole envelope of each row, with `linha`, `ref` and `balcao` before it."""

from collections.abc import Iterable
from typing import IO

import msgspec

from balcao.batches.writing.contract import ResultColumns, ResultRow

_encode = msgspec.json.Encoder().encode


def write_jsonl(file: IO[bytes], columns: ResultColumns, rows: Iterable[ResultRow]) -> None:
    """Write all rows as they come. Blocking.

    A row without an answer has our three members only.
    """
    for row in rows:
        file.write(_line(columns, row))


def _line(columns: ResultColumns, row: ResultRow) -> bytes:
    facts = row.facts
    ours = {
        "linha": facts.line,
        "ref": facts.ref,
        "balcao": {
            "cliente": facts.client,
            "documento": facts.document,
            "estado": facts.state,
            "codigo": facts.code,
            "mensagem": facts.message,
            "creditos": facts.credits,
            "request_id": facts.request_id,
            "repetida_de": facts.repeated_of,
            "confere": {
                each.fact: {"resultado": each.result, "oficial": each.official}
                for each in columns.compared(row)
            },
        },
    }
    line = _encode(ours)
    if row.answer:
        line = line[:-1] + b"," + row.answer.lstrip()[1:]  # both are objects
    return line + b"\n"
