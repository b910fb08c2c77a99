"""Reader of spreadsheets, which are parsed in a separate process (`workbook_reader.py`)."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import msgspec

from balcao.batches.tables import workbook_reader as reader
from balcao.batches.tables.contract import RowSource, TableBounds, TableRow, too_many_rows
from balcao.core.errors import FileUnreadable

_FRAME_BYTES_MAX = 64_000_000
# What Python needs to find this package, without the service's secrets.
_ENVIRONMENT = ("PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LANG")

_decode = msgspec.msgpack.Decoder(list[TableRow] | str).decode

_SLOW = "slow"  # it used up its processor time

_ERRORS: Mapping[str, tuple[str, str]] = {
    reader.BOMB: (
        "planilha_bomba",
        "A planilha, descompactada, seria grande demais. Copie só as linhas para uma planilha nova"
        " ou salve como CSV.",
    ),
    reader.HEAVY: (
        "planilha_pesada_demais",
        "A planilha ocupa memória demais para ser lida. Talvez haja células esquecidas longe das"
        " outras (Ctrl+End leva até elas): copie só as linhas para uma planilha nova, ou salve"
        " como CSV.",
    ),
    _SLOW: (
        "planilha_demorada",
        "A planilha leva tempo demais para ser lida pelo tamanho que tem. Copie só as linhas para"
        " uma planilha nova, ou salve como CSV.",
    ),
    reader.LOCKED: (
        "planilha_com_senha",
        "A planilha tem senha. Salve uma cópia sem senha e envie.",
    ),
    reader.DAMAGED: (
        "planilha_danificada",
        "O arquivo não pôde ser lido como planilha .xlsx. Abra, salve de novo como .xlsx ou CSV e"
        " envie.",
    ),
    reader.COLUMNS: (
        "colunas_demais",
        "A planilha tem colunas demais. Deixe só as que o lote usa.",
    ),
    reader.CELL: (
        "linha_longa_demais",
        "Uma linha da planilha tem texto demais. Deixe só as colunas que o lote usa.",
    ),
}


def workbook_rows(path: Path, bounds: TableBounds) -> RowSource:
    """Yield the rows of the first sheet that are not blank. Raises `FileUnreadable`.

    Formulas are not evaluated: their cells have the last computed value, or are empty. The process
    ends with this iterator.
    """
    process = subprocess.Popen(  # noqa: S603 - our own module, and a path as one word
        [
            sys.executable,
            "-P",
            "-m",
            reader.__name__,
            str(path),
            msgspec.json.encode(bounds).decode(),
        ],
        env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        stdin=subprocess.PIPE,  # kept open, so that the child ends with this process
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        while not isinstance(frame := _frame(process.stdout), str):
            yield from frame
    finally:
        process.stdout.close()
        process.kill()
        process.wait()
        process.stdin.close()
    if frame == reader.HEAVY and process.returncode == -signal.SIGXCPU:
        frame = _SLOW
    if frame == reader.ROWS:
        raise too_many_rows(bounds)
    if frame != reader.DONE:
        raise FileUnreadable(*_ERRORS[frame])


def _frame(pipe: IO[bytes]) -> list[TableRow] | str:
    """Return the next rows, or how the process ended: `HEAVY` if it could not send that."""
    head = pipe.read(4)
    size = int.from_bytes(head, "big")
    body = pipe.read(size) if size <= _FRAME_BYTES_MAX else b""
    if len(head) < 4 or len(body) < size:
        return reader.HEAVY
    frame: list[TableRow] | str = _decode(body)
    return frame
