"""Fronts that are killed, and the house of fronts that is (decision 0046): real processes."""

import asyncio
import os
import re
import signal
import time
from contextlib import suppress
from pathlib import Path
from subprocess import Popen

from bench.crash import server
from bench.load import family
from bench.serving import PREFIX, companies_elsewhere, free_port, open_account, settings

from balcao.home import Home
from balcao.storage.sqlite.desk import SqliteDesk

FRONTS = 2
CLIENTS = 8
ANSWERS = 300  # in all, before and after somebody is killed
SECONDS_MAX = 60
# Asked of a simulated source once, and then kept.
PATHS = [f"{PREFIX}{each}?cache_strategy=CACHE_SE_EXISTIR" for each in companies_elsewhere(4)]


class House:
    """A server with two fronts, and an account."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.home = folder / "home"
        own = settings(self.home, self.port, fronts=str(1 + FRONTS), log_level="warning")
        self.env = dict(os.environ) | own
        with server(self.env, self.port, folder) as process:  # it makes the data folder
            fronts = fronts_of(process)
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS_MAX) == 0
            wait_until_gone(fronts)
        assert len(fronts) == FRONTS
        self.key = open_account(self.home)

    def charged(self) -> list[str]:
        """The numbers of all requests that were charged. The server must be gone."""
        desk = SqliteDesk(Home(self.home).desk)
        rows = desk.engine.here.execute(
            "SELECT request_id FROM visit UNION ALL"
            " SELECT request_id FROM ledger_entry WHERE kind IN ('charge', 'post')"
        ).fetchall()
        assert not desk.check().complaints
        desk.close()
        return [str(number) for (number,) in rows]


class Client:
    """Asks for companies, one after the other, over a connection that is opened anew if it ends."""

    def __init__(self, house: House, number: int) -> None:
        self.house, self.number = house, number
        self.answered: list[str] = []
        self.cut = 0
        self.asking = True

    async def ask(self) -> None:
        """Until told to end, or nobody is there."""
        while self.asking:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.house.port)
            except OSError:
                return
            with suppress(OSError, asyncio.IncompleteReadError):
                while self.asking:
                    await self._once(reader, writer)
            self.cut += self.asking
            writer.close()

    async def _once(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = PATHS[(self.number + len(self.answered)) % len(PATHS)]
        head = f"GET {path} HTTP/1.1\r\nHost: a\r\nx-api-key: {self.house.key}\r\n\r\n"
        writer.write(head.encode())
        text = await reader.readuntil(b"\r\n\r\n")
        assert text.startswith(b"HTTP/1.1 200 "), text
        length = re.search(rb"content-length: (\d+)", text)
        number = re.search(rb"x-request-id: (\S+)", text)
        assert length
        assert number
        await reader.readexactly(int(length[1]))
        self.answered.append(number[1].decode())


def fronts_of(process: Popen[bytes]) -> list[int]:
    return [pid for pid in family(process.pid) if pid != process.pid]


async def until(clients: list[Client], answers: int) -> None:
    async with asyncio.timeout(SECONDS_MAX):
        while sum(len(each.answered) for each in clients) < answers:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def wait_until_gone(pids: list[int]) -> None:
    end = time.monotonic() + SECONDS_MAX
    while not all(map(gone, pids)):
        assert time.monotonic() < end, "a front lives on"
        time.sleep(0.01)


def test_who_is_killed_costs_its_connections_and_nothing_else(tmp_path: Path) -> None:
    """A front, then the house alone: every answer that was told is charged, and once."""
    house = House(tmp_path)
    clients = [Client(house, number) for number in range(CLIENTS)]

    async def story(process: Popen[bytes]) -> list[int]:
        asking = asyncio.gather(*(each.ask() for each in clients))
        await until(clients, ANSWERS)
        killed, other = fronts_of(process)
        os.kill(killed, signal.SIGKILL)
        await until(clients, 2 * ANSWERS)
        async with asyncio.timeout(SECONDS_MAX):
            while len(fronts_of(process)) < FRONTS:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        fronts = fronts_of(process)
        assert other in fronts
        assert killed not in fronts
        assert 0 < sum(each.cut for each in clients) <= CLIENTS
        await until(clients, 3 * ANSWERS)
        process.kill()  # it alone
        await asyncio.wait_for(asking, SECONDS_MAX)
        return fronts

    with server(house.env, house.port, tmp_path) as process:
        fronts = asyncio.run(story(process))
        wait_until_gone(fronts)
    charged = house.charged()
    answered = [number for each in clients for number in each.answered]
    assert len(set(answered)) == len(answered)
    assert len(set(charged)) == len(charged)
    assert set(answered) <= set(charged), "an answer was told and not charged"
    assert len(charged) <= len(answered) + sum(each.cut for each in clients)
