"""Limits on the files of an account, and fairness between accounts (contract 13.8)."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from balcao.batches.desk import BatchDesk, Upload
from balcao.batches.file_admission import IncomingFile
from balcao.batches.results import Results
from balcao.batches.sealing import BatchSeal
from balcao.batches.tables.opening import open_table
from balcao.core.file_limits import MEGABYTE
from balcao.service import batching
from balcao.settings import Limits
from balcao.settings.files import FilesOfPlan
from tests.batches.files import text_cell, written_by_hand
from tests.http.batcher import COMPANIES, Batcher
from tests.service import Reply, Service, open_service
from tests.storage import postgres

LIST = f"cnpj\n{COMPANIES[0]}\n"
OPERATION = "operacao=cnpj-receita-federal"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
SMALL = FilesOfPlan(
    file_mb=1, kept_mb=1, open_batches=4, unread_files=3, cells=100_000, result_files=1
)


class Disk:
    """The data folder's disk, with as much free space as a test sets."""

    def __init__(self) -> None:
        self.free = 10_000 * MEGABYTE
        self.taken_by_look = 0  # removed at each check

    def __call__(self, folder: Path) -> int:
        self.free -= self.taken_by_look
        return self.free


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    here = Disk()
    monkeypatch.setattr(batching, "_free_bytes", here)
    return here


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest) -> dict[str, Any]:
    if request.param == "sqlite":
        return {}
    return {"database": SecretStr(postgres.new_address())}


@contextmanager
def house_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, reading: bool = True, **settings: Any
) -> Iterator[Service]:
    """Open a service; without `reading` it reads no file."""
    monkeypatch.setattr(batching, "POLL_SECONDS", 0.05 if reading else 3_600.0)
    monkeypatch.setattr(batching, "COUNT_SECONDS", 0.05)
    settings.setdefault("limits_gratuito", Limits(per_minute=100_000, per_day=1_000_000))
    with open_service(folder, establishments=1, **settings) as house:
        yield house


def free_account(house: Service, name: str = "bia") -> Batcher:
    return Batcher(house, house.account(name, plan="gratuito", credits=0))


def send(
    batcher: Batcher, file: str | bytes = LIST, key: str = "chave-01", kind: str = "text/csv"
) -> Reply:
    content = file if isinstance(file, bytes) else file.encode()
    named = {"content_type": kind, "idempotency_key": key}
    return batcher.call("POST", f"?{OPERATION}", content, **named)


def rows(size_bytes: int) -> str:
    """Return a list of about this size, with few long rows."""
    return "cnpj;nome\n" + f"{COMPANIES[0]};{'x' * 30_000}\n" * (size_bytes // 30_000)


def test_files_that_wait_to_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: dict[str, Any]
) -> None:
    with house_of(tmp_path, monkeypatch, reading=False, **engine) as house:
        batcher = free_account(house)
        assert [send(batcher, key=f"chave-{at:02}").status for at in range(3)] == [201] * 3
        refused = send(batcher, key="chave-03")
        assert (refused.status, refused.code) == (429, "ARQUIVOS_NA_FILA")
        assert int(refused.headers["retry-after"]) > 0
        assert refused.credits == 0
        again = send(batcher, key="chave-01")
        assert (again.status, again.headers["idempotent-replayed"]) == (201, "true")
        assert send(Batcher(house, house.client)).status == 201  # another account
        page = house.get("/metrics").body.decode()
        assert 'balcao_files_refused_total{limit="unread"} 1.0' in page


def test_open_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: dict[str, Any]
) -> None:
    with house_of(tmp_path, monkeypatch, files_gratuito=SMALL, **engine) as house:
        batcher = free_account(house)
        numbers = []
        for at in range(4):
            numbers.append(send(batcher, key=f"chave-{at:02}").json["id"])
            batcher.until(numbers[-1], "cotado")
        refused = send(batcher, key="chave-09")
        assert (refused.status, refused.code) == (409, "LOTES_ABERTOS_DEMAIS")
        assert batcher.call("DELETE", f"/{numbers[0]}").status == 200
        assert send(batcher, key="chave-09").status == 201


def test_a_file_larger_than_the_plan_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with house_of(tmp_path, monkeypatch, files_gratuito=SMALL) as house:
        refused = send(free_account(house), rows(1_100_000))
        assert (refused.status, refused.code) == (413, "REQUISICAO_GRANDE_DEMAIS")
        assert "1000000 bytes" in refused.json["message"]


def test_the_storage_of_an_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: dict[str, Any]
) -> None:
    with house_of(tmp_path, monkeypatch, reading=False, files_gratuito=SMALL, **engine) as house:
        batcher = free_account(house)
        assert send(batcher, rows(600_000)).status == 201
        refused = send(batcher, rows(600_000), "chave-02")
        assert (refused.status, refused.code) == (409, "ESPACO_DA_CONTA")
        assert "1 MB do plano" in refused.json["message"]
        assert send(batcher, rows(300_000), "chave-03").status == 201
        assert send(Batcher(house, house.client), rows(600_000)).status == 201
        with house.desk.engine.open_reader() as reading:
            pieces = reading.execute("SELECT count(DISTINCT batch_id) FROM batch_piece")
            assert pieces.fetchall() == [(3,)]


def test_concurrent_uploads_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: dict[str, Any]
) -> None:
    """An upload that is still being received was admitted before they were."""
    store, receive = BatchDesk._store, BatchDesk.receive
    held: list[str] = []
    callers: list[Any] = []

    async def some(content: bytes) -> AsyncIterator[bytes]:
        yield content

    async def stored(
        desk: BatchDesk, seal: BatchSeal, batch_id: str, pieces: Any, coming: IncomingFile
    ) -> str:
        if held:
            return await store(desk, seal, batch_id, pieces, coming)
        held.append(batch_id)
        content = b"".join([each async for each in pieces])  # whole, and not counted yet
        for at in range(2):
            other = Upload(
                callers[0], "cnpj-receita-federal", [], "text/csv",
                some(rows(300_000).encode()), f"chave-1{at}",
            )  # fmt: skip
            await desk.receive(other)
        return await store(desk, seal, batch_id, some(content), coming)

    async def noticed(desk: BatchDesk, upload: Upload) -> Any:
        callers.append(upload.caller)
        return await receive(desk, upload)

    with house_of(tmp_path, monkeypatch, reading=False, files_gratuito=SMALL, **engine) as house:
        batcher = free_account(house)
        monkeypatch.setattr(BatchDesk, "_store", stored)
        monkeypatch.setattr(BatchDesk, "receive", noticed)
        refused = send(batcher, rows(600_000), "chave-01")
        assert (refused.status, refused.code) == (409, "ESPACO_DA_CONTA")
        with house.desk.engine.open_reader() as reading:
            pieces = reading.execute("SELECT count(DISTINCT batch_id) FROM batch_piece")
            assert pieces.fetchall() == [(2,)]
        assert send(batcher, rows(300_000), "chave-01").status == 201


def test_a_file_whose_rows_do_not_fit_is_refused_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: dict[str, Any]
) -> None:
    """A row takes more space than its line: 5,000 of them exceed the limit."""
    with house_of(tmp_path, monkeypatch, files_gratuito=SMALL, **engine) as house:
        batcher = free_account(house)
        number = send(batcher, "cnpj\n" + f"{COMPANIES[0]}\n" * 5_000).json["id"]
        body = batcher.until(number, "recusado", "cotado")
        assert (body["estado"], body["codigo"]) == ("recusado", "espaco_da_conta")
        assert body["linhas"]["total"] == 0
        taken = house.desk.batch_files.taken(batcher.client.account_id)
        assert (taken.own_bytes, taken.own_open, taken.own_unread) == (0, 0, 0)
        number = send(batcher, key="chave-02").json["id"]
        assert batcher.until(number, "cotado")["linhas"]["validas"] == 1


def test_cells_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with house_of(
        tmp_path, monkeypatch, files_gratuito=SMALL.model_copy(update={"cells": 10})
    ) as house:
        batcher = free_account(house)
        number = send(batcher, "cnpj;uf\n" + f"{COMPANIES[0]};SP\n" * 6).json["id"]
        body = batcher.until(number, "recusado", "cotado")
        assert (body["estado"], body["codigo"]) == ("recusado", "celulas_demais")


def test_a_full_disk_takes_no_file_and_answers_lookups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disk: Disk, engine: dict[str, Any]
) -> None:
    with house_of(tmp_path, monkeypatch, **engine) as house:
        batcher = Batcher(house, house.client)
        disk.free = 255 * MEGABYTE
        refused = send(batcher)
        assert (refused.status, refused.code) == (503, "SEM_ESPACO")
        assert int(refused.headers["retry-after"]) > 0
        disk.free = 260 * MEGABYTE
        assert send(batcher, rows(6_000_000)).code == "SEM_ESPACO"  # by what it announces
        disk.free, disk.taken_by_look = 270 * MEGABYTE, 2 * MEGABYTE
        assert send(batcher, rows(900_000), "chave-02").status == 201  # and while it comes
        disk.free, disk.taken_by_look = 262 * MEGABYTE, 2 * MEGABYTE
        assert send(batcher, rows(3_000_000), "chave-03").code == "SEM_ESPACO"
        disk.taken_by_look = 0
        path = f"/consultas/v2/cnpj-receita-federal/{COMPANIES[0]}"
        assert house.get(path).status == 200
        disk.free = 10_000 * MEGABYTE
        assert send(batcher, key="chave-04").status == 201


def test_a_full_disk_removes_unread_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disk: Disk, engine: dict[str, Any]
) -> None:
    with house_of(tmp_path, monkeypatch, reading=False, **engine) as house:
        free, paying = free_account(house), Batcher(house, house.client)
        first, second = (
            send(free, rows(2_000_000), "chave-01").json["id"],
            send(paying, rows(3_000_000), "chave-02").json["id"],
        )
        disk.free = 127 * MEGABYTE
        body = free.until(first, "recusado")
        assert body["codigo"] == "sem_espaco"
        assert "espaço" in body["mensagem"]
        disk.free = 10_000 * MEGABYTE
        assert paying.show(second)["estado"] == "recebido"
        with house.desk.engine.open_reader() as reading:
            left = reading.execute("SELECT DISTINCT batch_id FROM batch_piece").fetchall()
        assert left == [(second,)]


def test_a_disk_that_fills_while_rows_are_stored_refuses_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disk: Disk
) -> None:
    with house_of(tmp_path, monkeypatch) as house:
        batcher = Batcher(house, house.client)
        begin = house.desk.batches.begin

        async def begun(batch_id: str) -> bool:
            disk.free = 100 * MEGABYTE
            return await begin(batch_id)

        monkeypatch.setattr(house.desk.batches, "begin", begun)
        number = send(batcher).json["id"]
        assert batcher.until(number, "recusado", "cotado")["codigo"] == "sem_espaco"
        assert send(batcher, key="chave-02").code == "SEM_ESPACO"


def test_files_of_one_account_do_not_delay_those_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: dict[str, Any]
) -> None:
    """Twelve files that are not read to their end before the other one is."""
    go_on, begun = threading.Event(), []

    def slow(path: Path, *rest: Any, **more: Any) -> Any:
        if b"hostil" in path.read_bytes():
            begun.append(path)
            assert go_on.wait(60)
        return open_table(path, *rest, **more)

    monkeypatch.setattr("balcao.batches.validating.open_table", slow)
    with house_of(tmp_path, monkeypatch, **engine) as house:
        hostile, other = Batcher(house, house.account("mau")), Batcher(house, house.client)
        numbers = [
            send(hostile, f"cnpj;nome\n{COMPANIES[0]};hostil\n", f"chave-{at:02}").json["id"]
            for at in range(12)
        ]
        house.run(house.until(lambda: bool(begun)))
        number = send(other).json["id"]
        assert other.until(number, "cotado")["linhas"]["validas"] == 1
        assert len(begun) == 1
        go_on.set()
        for each in numbers:
            hostile.until(each, "cotado")


def test_a_spreadsheet_with_two_cells_far_apart_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "files").mkdir()
    first = f'<row r="1">{text_cell("A1", "CNPJ")}</row>'
    far = f'{first}<row r="1048576">{text_cell("Z1048576", "x")}</row>'
    content = written_by_hand(tmp_path / "files", far).read_bytes()
    with house_of(tmp_path / "home", monkeypatch) as house:
        batcher = free_account(house)
        number = send(batcher, content, kind=XLSX).json["id"]
        assert batcher.until(number, "recusado")["codigo"] == "planilha_pesada_demais"


def test_one_result_of_an_account_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, begun = threading.Event(), threading.Event()
    write = Results._write

    def slow(self: Results, *values: Any) -> Any:
        begun.set()
        assert go_on.wait(60)
        return write(self, *values)

    monkeypatch.setattr(Results, "_write", slow)
    with house_of(tmp_path, monkeypatch) as house:
        batcher = Batcher(house, house.client)
        number = batcher.create(LIST)
        batcher.until(number, "cotado")

        async def scenario() -> tuple[Reply, Reply, Reply]:
            first = asyncio.create_task(batcher.acall("GET", f"/{number}/resultado.xlsx"))
            await asyncio.to_thread(begun.wait, 60)
            second = await batcher.acall("GET", f"/{number}/resultado.csv")
            zipped = await batcher.acall("GET", f"/{number}/recibos.zip")
            go_on.set()
            return await first, second, zipped

        first, *others = house.run(scenario())
        assert first.status == 200
        for other in others:
            assert (other.status, other.code) == (503, "ARQUIVO_EM_PREPARO")
            assert int(other.headers["retry-after"]) > 0
        assert batcher.call("GET", f"/{number}/resultado.csv").status == 200


def test_no_result_is_written_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disk: Disk
) -> None:
    with house_of(tmp_path, monkeypatch) as house:
        batcher = Batcher(house, house.client)
        number = batcher.create(LIST)
        batcher.until(number, "cotado")
        disk.free = 200 * MEGABYTE
        assert batcher.call("GET", f"/{number}/resultado.xlsx").code == "SEM_ESPACO"
        disk.free = 10_000 * MEGABYTE
        assert batcher.call("GET", f"/{number}/resultado.xlsx").status == 200
