"""Several fronts answer as one process does (decision 0046)."""

import asyncio
import dataclasses
import random
import re
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import SecretStr

from balcao.errors import StorageFailed
from balcao.http.front import Front
from balcao.http.fronts.channel import Channel
from balcao.http.fronts.front import FrontLane, FrontProcess, HouseAbove
from balcao.http.fronts.house import Fronts
from balcao.http.fronts.words import Take
from balcao.http.lane import Lane
from balcao.http.routes import Routes, lookups
from balcao.http.wire.door import Door
from balcao.http.wire.limits import ConnectionLimits
from balcao.lookup.context import Environment
from balcao.observability.metrics import Metrics
from balcao.observability.requests import RequestLog
from balcao.operations.company.operation import CompanyLookup
from balcao.operations.contract import Operation
from balcao.operations.state_certificate.operation import StateCertificateLookup
from balcao.service.parts import OpenFront
from balcao.service.server import fronts_of
from tests.http import house
from tests.http.test_lane import BUDGETED, FINISHED, RICH, Side, drawn, get, opened, said
from tests.world import OTHER_CNPJ, company, suframa

QUIET_TURNS = 6


class Processes:
    """A house and its fronts, each with a loop's turn of its own, without processes."""

    def __init__(self, front: Front, count: int, limits: ConnectionLimits) -> None:
        lane = Lane(front)
        self.fronts = Fronts(front, lane, lambda: 0)
        self.door = self.fronts.door = Door(
            front, front.refuse, limits, lane=lane, fronts=self.fronts
        )
        self.all = [self._front(front, limits) for _ in range(count)]
        self.client: socket.socket | None = None
        self.side: Side
        self.taken: Counter[bool] = Counter()

    def _front(self, of: Front, limits: ConnectionLimits) -> tuple[FrontProcess, HouseAbove]:
        ours, theirs = socket.socketpair()
        self.fronts.begin(ours)
        above = HouseAbove(theirs, lambda offset_ms: None)
        environments = {
            mode: Environment(cast(Any, None), each.sources)
            for mode, each in of.parts.environments.items()
        }
        parts = dataclasses.replace(
            of.parts, desk=cast(Any, above), environments=environments, noting=set()
        )
        lookups_alone = Routes(lookups(parts.operations.values()))
        log = RequestLog(as_json=True, now=of.request_log._now)
        part = OpenFront(parts, lookups_alone, of.new_id, Metrics(), log)
        process = FrontProcess(part, above, limits)
        lane = process.door.lane
        assert isinstance(lane, FrontLane)
        take = lane.take

        def counted(*request: Any) -> bool:
            taken = take(*request)
            self.taken[taken] += 1
            return taken

        lane.take = counted  # type: ignore[method-assign, assignment]
        process.ready()
        return process, above

    def is_busy(self) -> bool:
        """Whether anything is under way, anywhere."""
        doors = [self.door, *(process.door for process, _ in self.all)]
        connections = [each for door in doors for each in door.connections]
        channels = [above.channel for _, above in self.all]
        channels += [cast(Any, below.channel) for below in self.fronts.begun]
        return (
            any(
                each._exchange or each._in_lane or each.shaking or each.moved
                for each in connections
            )
            or any(above._waiting or above._asking for _, above in self.all)
            or any(channel._waiting or channel._unsent for channel in channels)
            or any(below._tasks for below in self.fronts.begun)
        )

    async def quiet(self) -> None:
        """Until nothing has been under way for some turns of the loop."""
        async with asyncio.timeout(20):
            turns = 0
            while turns < QUIET_TURNS:
                await asyncio.sleep(0)
                turns = 0 if self.is_busy() else turns + 1

    def connect(self) -> socket.socket:
        """A client that has not said anything yet."""
        theirs, client = socket.socketpair()
        client.setblocking(False)
        self.door.let_in(theirs, ("127.0.0.1", 1))
        return client

    async def say(self, text: bytes, *, end: bool = False) -> bytes:
        """Say something, and hear all that is answered."""
        if self.client is None:
            self.client = self.connect()
        client = self.client
        client.sendall(text)
        if end:
            client.shutdown(socket.SHUT_WR)
        await self.quiet()
        heard = b""
        try:
            while piece := client.recv(1 << 20):
                heard += piece
                await self.quiet()
            client.close()
            self.client = None
        except BlockingIOError:
            if end:
                client.close()
                self.client = None
        except ConnectionResetError:
            client.close()
            self.client = None
        await self.quiet()
        return heard

    async def settled(self) -> None:
        """All that was counted and logged is where it belongs."""
        for process, above in self.all:
            process._parts.request_log.flush()
            process._counting.cancel()
            process._tell_counts()
            above.channel.flush()
        await self.quiet()


@contextmanager
def several(folder: Path, count: int = 2, **limits: Any) -> Iterator[Processes]:
    """A world behind a house with fronts."""
    with opened(folder, lane=False) as side:

        async def begun() -> Processes:
            processes = Processes(side.world.front, count, ConnectionLimits(**limits))
            processes.side = side
            await processes.quiet()
            assert len(processes.fronts.below) == count
            return processes

        processes = side.world.run(begun())
        yield processes

        async def ended() -> None:
            if processes.client is not None:
                processes.client.close()
            await processes.fronts.end(5)
            await processes.door.close(5)

        side.world.run(ended())


def keyed(side: Side, text: bytes) -> bytes:
    for number, client in enumerate(side.clients):
        text = text.replace(b"KEY%d." % number, client.key.encode())
    return text


@pytest.mark.parametrize("seed", range(2))
def test_with_two_fronts_and_in_one_process(tmp_path: Path, seed: int) -> None:
    """The lane's own test, over sockets: answers, books, limits, measurements and events."""
    with ExitStack() as stack:
        two = stack.enter_context(several(tmp_path / "two"))
        one = stack.enter_context(opened(tmp_path / "one", lane=True))
        dice = random.Random(seed)
        for number in range(200):
            request = b"".join(drawn(dice) for _ in range(dice.choice((1, 1, 1, 1, 1, 2, 3))))
            heard = said(two.side.world.run(two.say(keyed(two.side, request))))
            assert heard == said(one.say(request)), (number, request)
            seconds = dice.choice((*(0,) * 60, 0.1, 0.3, 0.6, 20))
            for side in (two.side, one):
                side.world.clock.advance(seconds=seconds)
            if two.client is not None and dice.randrange(2):  # a new one begins at a front
                two.client.close()
                two.client = None
        two.side.world.run(two.settled())
        ours, theirs = two.side.books(), one.books()
        for name, kept in ours.items():
            if name != "calls":  # each process reads our own copy for itself, and remembers it
                assert kept == theirs[name], name
        assert two.taken[True] > 40, two.taken


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Processes]:
    with several(tmp_path, per_address=3, head_seconds=10.0) as processes:
        yield processes


def ask(two: Processes, key: int = RICH) -> bytes:
    """A request that takes the lane, once the key is known."""
    return two.side.world.run(two.say(keyed(two.side, get(company(FINISHED), key))))


def begin(two: Processes, text: bytes = b"") -> socket.socket:
    """Another client, that has said this."""

    async def begun() -> socket.socket:
        client = two.connect()
        if text:
            client.sendall(keyed(two.side, text))
        await two.quiet()
        return client

    return two.side.world.run(begun())


def test_a_connection_goes_where_its_requests_are_answered(two: Processes) -> None:
    """From a front to the house and back, in the middle of a pipeline too."""
    lookup, page = get(company(FINISHED)), get("/nada", None)
    heard = two.side.world.run(two.say(keyed(two.side, lookup + page + lookup + page)))
    assert re.findall(rb"HTTP/1.1 (\d+)", heard) == [b"200", b"404", b"200", b"404"]
    assert two.taken[True] == 1
    assert len(two.door.connections) == 1, "who asks for this and that stays in the house"
    heard = two.side.world.run(two.say(keyed(two.side, 3 * lookup)))
    assert heard.count(b"HTTP/1.1 200 OK") == 3
    assert len(two.side.world.charges(two.side.clients[RICH])) == 5
    assert two.taken[True] == 3, "the second in a row goes to a front"
    assert not two.door.connections, "a front has it"
    assert two.fronts.clients == 1


def test_a_front_says_a_ceiling_as_the_house_does(two: Processes) -> None:
    """The key has nine credits a day: what it may not spend is refused at a front."""
    ask(two, BUDGETED)
    heard = [ask(two, BUDGETED) for _ in range(12)]
    assert heard[0].startswith(b"HTTP/1.1 200 ")
    assert heard[-1].startswith(b"HTTP/1.1 402 ")
    assert b'"TETO_DA_CHAVE"' in heard[-1]
    assert len(two.side.world.charges(two.side.clients[BUDGETED])) <= 9
    assert two.taken[True] > 9, two.taken


def test_where_the_company_is_wanted_besides_it_is_charged_once(
    two: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a second step, of which the limits know nothing any more."""
    monkeypatch.setattr(CompanyLookup, "wants_company", lambda *_: True)
    answers = [ask(two) for _ in range(3)]
    assert all(each.startswith(b"HTTP/1.1 200 ") for each in answers)
    left = [int(re.findall(rb";r=(\d+)", each)[0]) for each in answers]
    assert left == [left[0], left[0] - 1, left[0] - 2]
    assert two.taken == {True: 3}
    assert len(two.side.world.charges(two.side.clients[RICH])) == 3


def test_clients_are_spread_and_an_address_has_so_many_in_all(two: Processes) -> None:
    clients = [begin(two), begin(two, get("/nada", None)), begin(two)]
    assert [each.count for each in two.fronts.below] == [1, 1]
    assert len(two.door.connections) == 1, "one asked for what is not the lane's"
    refused = begin(two)
    assert refused.recv(1) == b""
    clients[0].close()
    two.side.world.run(two.quiet())
    heard = begin(two, get(company(FINISHED)))
    assert heard.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
    for client in (*clients, refused, heard):
        client.close()


def test_beside_one_front_the_house_has_clients_too_and_keeps_them(tmp_path: Path) -> None:
    """Seven, of whom three are its own: they are answered by its lane, and stay."""
    with several(tmp_path, count=1) as one:
        clients = [begin(one) for _ in range(7)]
        assert (one.fronts.clients, len(one.door.connections)) == (4, 3)
        for _ in range(3):
            for client in clients:
                client.sendall(keyed(one.side, get(company(FINISHED))))
            one.side.world.run(one.quiet())
            heard = [client.recv(1 << 16) for client in clients]
            assert all(each.startswith(b"HTTP/1.1 200 ") for each in heard)
        assert (one.fronts.clients, len(one.door.connections)) == (4, 3)
        assert len(one.side.world.charges(one.side.clients[RICH])) == 21
        for client in clients:
            client.close()


def test_beside_two_fronts_the_house_has_none(tmp_path: Path) -> None:
    with several(tmp_path) as processes:
        clients = [begin(processes) for _ in range(7)]
        assert sorted(each.count for each in processes.fronts.below) == [3, 4]
        assert not processes.door.connections
        for client in clients:
            client.close()


def test_when_clients_of_the_front_leave_others_take_their_places(tmp_path: Path) -> None:
    """The house's own, when they ask again, for as long as it has more than the front."""
    with several(tmp_path, count=1) as one:
        clients = [begin(one) for _ in range(8)]
        assert (one.fronts.clients, len(one.door.connections)) == (4, 4)
        for client in clients[:6:2]:  # the first is the front's, the second the house's, in turn
            client.close()
        one.side.world.run(one.quiet())
        assert (one.fronts.clients, len(one.door.connections)) == (1, 4)
        left = [client for client in clients if client.fileno() >= 0]
        for _ in range(3):
            for client in left:
                client.sendall(keyed(one.side, get(company(FINISHED))))
                one.side.world.run(one.quiet())
                assert client.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        assert (one.fronts.clients, len(one.door.connections)) == (3, 2)
        for client in left:
            client.close()


def test_a_front_that_ends_takes_its_clients_along_and_no_other(two: Processes) -> None:
    first, second = begin(two), begin(two)
    process, above = two.all.pop(0)

    async def end() -> None:
        above.channel.close()
        for connection in list(process.door.connections):
            connection.cut("")
        await two.quiet()

    two.side.world.run(end())
    assert first.recv(1) == b""
    assert two.fronts.clients == 1
    assert sum(two.door._by_address.values()) == 1
    second.sendall(keyed(two.side, get(company(FINISHED))))
    two.side.world.run(two.quiet())
    assert second.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
    first.close()
    second.close()


def test_when_somebody_is_erased_fronts_forget_as_well(
    two: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they made of answers may be about somebody who is erased: by another process."""
    forgot: list[Operation] = []

    def forget(operation: Operation) -> None:
        forgot.append(operation)

    operations = two.side.world.front.parts.operations
    monkeypatch.setattr(StateCertificateLookup, "forget", forget)
    two.fronts.forget()
    two.side.world.run(two.quiet())
    assert forgot == 3 * [operations["state_certificate"]], "the house, and both fronts"


def test_an_erasure_is_told_to_the_fronts_that_an_operator_wants(tmp_path: Path) -> None:
    with house.opened(tmp_path, fronts=2) as open_house:
        application = open_house.house
        fronts = fronts_of(application, Lane(application.front))
        assert fronts is not None
        assert application.retention.forget == fronts.forget


def test_without_any_front_the_house_answers(two: Processes) -> None:
    async def end() -> None:
        for below in [*two.fronts.begun]:
            below.end()
        await two.quiet()

    two.side.world.run(end())
    two.all.clear()
    with begin(two, get(company(FINISHED))) as client:
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        assert len(two.door.connections) == 1


def test_a_revoked_key_is_refused_at_once_here_and_in_half_a_second_elsewhere(
    two: Processes,
) -> None:
    rich = two.side.clients[RICH]
    assert b" 200 OK" in ask(two)
    assert two.side.world.desk.revoke_key(rich.key_id, two.side.world.clock())
    assert b" 401 " in ask(two)


def test_a_head_that_does_not_come_is_told_so_by_the_house(two: Processes) -> None:
    client = begin(two, get(company(FINISHED))[:-4])

    async def later() -> None:
        for process, _ in two.all:
            process.door.sweep(process.door.room.now + 12)
        await two.quiet()

    two.side.world.run(later())
    heard = client.recv(1 << 16)
    assert heard.startswith(b"HTTP/1.1 408 ")
    assert b"application/json" in heard
    client.close()


def test_who_has_no_more_to_say_is_answered(two: Processes) -> None:
    ask(two)
    heard = two.side.world.run(two.say(keyed(two.side, get(company(FINISHED))), end=True))
    assert heard.count(b"HTTP/1.1 200 OK") == 1
    assert b"connection: close\r\n" in heard


def test_what_the_disk_does_not_take_is_503_and_charges_nothing(
    two: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(two)
    before = len(two.side.world.charges(two.side.clients[RICH]))

    for failed, charged in (
        (StorageFailed("disk full"), b"Nada foi cobrado"),
        (
            StorageFailed("outcome unknown", perhaps_kept=True),
            b"sabe ainda se esta consulta foi cobrada",
        ),
    ):

        def fails(changes: Any, told: Any, failed: StorageFailed = failed) -> None:
            told(failed)

        monkeypatch.setattr(two.side.world.desk.engine, "tell", fails)
        answer = ask(two)
        assert b"HTTP/1.1 503 " in answer
        assert charged in answer
    assert len(two.side.world.charges(two.side.clients[RICH])) == before


def test_an_end_waits_for_the_answer_and_says_that_it_is_the_last(two: Processes) -> None:
    ask(two)
    assert two.client is not None
    client, two.client = two.client, None

    async def story() -> None:
        client.sendall(keyed(two.side, get(company(FINISHED))))
        while not any(above._waiting for _, above in two.all):  # noqa: ASYNC110
            await asyncio.sleep(0)
        await two.fronts.end(5)
        assert not two.fronts.begun

    two.side.world.run(story())
    heard = client.recv(1 << 16)
    assert heard.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close\r\n" in heard
    client.close()


def test_on_postgresql(tmp_path: Path, address: str) -> None:
    """Limits and callers come over the network there, and what the cache does not remember."""
    with house.opened(tmp_path, database=SecretStr(address)) as here:

        async def begun() -> Processes:
            two = Processes(here.house.front, 2, ConnectionLimits())
            await two.quiet()
            return two

        two = here.run(begun())
        request = get(suframa(OTHER_CNPJ, "cache=7")).replace(b"KEY0.", here.client.key.encode())

        async def asked(times: int) -> None:
            client = two.connect()
            for _ in range(times):
                client.sendall(request)
                heard = b""
                async with asyncio.timeout(20):
                    while b"}" not in heard:
                        heard += await asyncio.get_running_loop().sock_recv(client, 1 << 16)
                assert heard.startswith(b"HTTP/1.1 200 "), heard
            client.close()
            await two.fronts.end(5)
            await two.door.close(5)

        here.run(asked(30))
        assert two.taken[True] > 10, two.taken
        assert len(here.charges()) == 30
        here.assert_books_agree()


def test_words_and_sockets_arrive_in_their_order_however_much_it_is() -> None:
    """More than the kernel takes at once, either way."""

    async def story() -> list[int]:
        one, other = socket.socketpair()
        heard: list[Take] = []
        peers: list[int] = []
        done = asyncio.Event()

        def hear(words: list[Take]) -> None:
            for word in words:
                heard.append(word)
                with there.taken() as client:
                    peers.append(client.recv(1)[0])
            if len(heard) == 400:
                done.set()

        here: Channel[Take] = Channel(one, Take, hear, done.set)
        there: Channel[Take] = Channel(other, Take, hear, done.set)
        for number in range(400):
            theirs, ours = socket.socketpair()
            with theirs, ours:
                ours.send(bytes([number % 256]))
                here.give(Take("a", "b", number, b"x" * 20_000), theirs.fileno())
            if number % 301 == 0:  # more than one message may bring along
                await asyncio.sleep(0)
        async with asyncio.timeout(20):
            await done.wait()
        assert [word.port for word in heard] == [*range(400)]
        here.close()
        async with asyncio.timeout(20):
            done.clear()
            await done.wait()  # the other side hears of the end
        return peers

    assert asyncio.run(story()) == [number % 256 for number in range(400)]


def test_what_was_heard_of_a_side_that_ends_is_heard_to_its_end() -> None:
    """Who hears may say something, and find out by it that nobody hears any more."""

    async def story() -> tuple[list[int], bytes]:
        one, other = socket.socketpair()
        heard: list[int] = []
        brought = b""
        ended = asyncio.Event()

        def hear(words: list[Take]) -> None:
            nonlocal brought
            for word in words:
                heard.append(word.port)
                for _ in range(40):  # more than wait for each other
                    there.say(word)
            assert not ended.is_set()
            with there.taken() as client:
                brought = client.recv(1)

        there: Channel[Take] = Channel(other, Take, hear, ended.set)
        here: Channel[Take] = Channel(one, Take, lambda words: None, lambda: None)
        theirs, ours = socket.socketpair()
        with theirs, ours:
            ours.send(b"x")
            for number in range(3):
                here.say(Take("a", "b", number, b""))
            here.give(Take("a", "b", 3, b""), theirs.fileno())
            here.flush()
            here.close()
            async with asyncio.timeout(20):
                await ended.wait()
        return heard, brought

    assert asyncio.run(story()) == ([0, 1, 2, 3], b"x")
