"""Files of an account: one at a time, off the event loop, in bounded memory."""

import asyncio
import threading
import tracemalloc
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import IO

import pytest
from starlette.responses import Response

from balcao.batches.file_scheduling import FileSlots
from balcao.core.csv_table import write_csv
from balcao.core.errors import FileRunning
from balcao.storage.spreadsheet import Sheet, write_xlsx
from balcao.web.kit.exports import CSV, Exports, paced

ROWS = 20_000


def turns() -> FileSlots:
    return FileSlots(lambda account_id: 2, 10)


async def content(response: Response) -> int:
    """Return how many bytes the response sends, piece by piece."""
    sent = 0

    async def send(message: dict[str, object]) -> None:
        nonlocal sent
        sent += len(message.get("body", b""))  # type: ignore[arg-type]

    async def receive() -> dict[str, object]:
        await asyncio.Event().wait()
        raise AssertionError

    await response({"type": "http"}, receive, send)  # type: ignore[arg-type]
    return sent


def test_one_export_of_an_account_at_a_time() -> None:
    async def story() -> None:
        exports, begun, go_on = Exports(turns()), threading.Event(), threading.Event()

        def slow(file: IO[bytes]) -> None:
            begun.set()
            assert go_on.wait(60)
            file.write(b"1")

        def quick(file: IO[bytes]) -> None:
            file.write(b"22")

        first = asyncio.create_task(exports.answer(1, slow, CSV, "a"))
        await asyncio.to_thread(begun.wait, 60)
        with pytest.raises(FileRunning):
            await exports.answer(1, quick, CSV, "b")
        other = asyncio.create_task(exports.answer(2, quick, CSV, "c"))
        go_on.set()
        answers = [await first, await other, await exports.answer(1, quick, CSV, "d")]
        assert [each.headers["content-length"] for each in answers] == ["1", "2", "2"]
        assert [await content(each) for each in answers] == [1, 2, 2]

    asyncio.run(story())


def test_a_failed_export_frees_its_turn() -> None:
    async def story() -> None:
        exports = Exports(turns())

        def fail(file: IO[bytes]) -> None:
            raise OSError("disk full")

        for _ in range(2):
            with pytest.raises(OSError, match="disk full"):
                await exports.answer(1, fail, CSV, "a")

    asyncio.run(story())


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_rows_are_streamed(tmp_path: Path, kind: str) -> None:
    def rows() -> Iterator[tuple[int, str, str]]:
        return ((number, f"linha {number}", "x" * 60) for number in range(ROWS))

    def write(file: IO[bytes]) -> None:
        columns = ("numero", "nome", "texto")
        if kind == "csv":
            write_csv(file, columns, paced(rows()))
        else:
            sheet = Sheet("Linhas", (8, 20, 60), paced(rows()), columns, (ROWS, None, None))
            write_xlsx(file, [sheet])

    async def story() -> int:
        return await content(await Exports(turns()).answer(1, write, CSV, "a"))

    import_module("xlsxwriter")  # not counted with the rows
    tracemalloc.start()
    try:
        size = asyncio.run(story())
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert size > 100_000
    assert most < 6_000_000


def test_reading_rows_in_a_thread_lets_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("balcao.web.kit.exports.time.sleep", pauses.append)
    assert list(paced(range(100))) == list(range(100))
    assert len(pauses) == 5
