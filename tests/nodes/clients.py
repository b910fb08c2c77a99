"""Clients of all nodes; every answer is compared with the ledger."""

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

import httpx2

from balcao.fiction.certificates import head_office_of
from balcao.service.clock import system_now_ms
from tests.nodes.harness import Account, Cluster, Node

PATH = "/consultas/v2/certidao-negativa-de-debitos-federal"
CACHED, ONLINE = 1, 2  # credits

# Companies with a CND as federal certificate; each number is used once. The nodes have no month, so
# they request the certificate of order 0001, which the source refuses of any but a head office.
_head_offices = (head_office_of(f"9004{number:04d}") for number in count(1))
_documents = (each for each in _head_offices if each[8:12] == "0001")


def new_documents(many: int) -> list[str]:
    return [next(_documents) for _ in range(many)]


@dataclass(frozen=True)
class Answer:
    """A node's response, or a broken connection (status 0)."""

    status: int
    headers: httpx2.Headers
    body: bytes
    sent_ms: int  # of the clock
    seconds: float

    @property
    def request_id(self) -> str:
        return self.headers["x-request-id"]

    @property
    def credits(self) -> int:
        return int(self.headers["x-creditos-cobrados"])

    @property
    def replayed(self) -> bool:
        return self.headers.get("idempotent-replayed") == "true"

    @property
    def code(self) -> str | None:
        """Error code of a refusal."""
        error = json.loads(self.body)["error_message"]
        return error.get("code") if error else None


class Clients:
    """A client for each node, with many connections."""

    def __init__(self, clients: Sequence[httpx2.AsyncClient]) -> None:
        self._clients = clients

    async def get(
        self, node: int, account: Account, path: str, key: str | None = None, **query: str
    ) -> Answer:
        headers = {"x-api-key": account.key}
        if key is not None:
            headers["idempotency-key"] = key
        sent_ms, started = system_now_ms(), time.monotonic()
        try:
            reply = await self._clients[node].get(path, params=query, headers=headers)
        except httpx2.TransportError:
            seconds = time.monotonic() - started
            return Answer(0, httpx2.Headers(), b"", sent_ms, seconds)
        seconds = time.monotonic() - started
        return Answer(reply.status_code, reply.headers, reply.content, sent_ms, seconds)

    async def ask(
        self, node: int, account: Account, document: str, key: str | None = None, **query: str
    ) -> Answer:
        """Send a lookup of the certificate."""
        return await self.get(node, account, PATH, key, cnpj=document, **query)


@asynccontextmanager
async def clients_of(nodes: Sequence[Node], connections: int = 100) -> AsyncIterator[Clients]:
    clients = [
        httpx2.AsyncClient(
            base_url=node.base,
            limits=httpx2.Limits(max_connections=connections),
            timeout=60,
            trust_env=False,
        )
        for node in nodes
    ]
    try:
        yield Clients(clients)
    finally:
        for client in clients:
            await client.aclose()


@dataclass
class RequestLog:
    """Record of one account's requests, each with an Idempotency-Key, and their answers."""

    cluster: Cluster
    account: Account
    documents: dict[str, str] = field(default_factory=dict)  # by key
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    died: set[str] = field(default_factory=set)  # keys
    unacknowledged: int = 0  # charges of requests that got a 503
    _open: set[str] = field(default_factory=set)  # keys of unanswered requests
    _dice: random.Random = field(default_factory=random.Random)
    _keys: Iterator[int] = field(default_factory=lambda: count(1))

    def new_key(self, document: str) -> str:
        key = f"pedido-{next(self._keys):06d}"
        self.documents[key] = document
        return key

    async def ask(self, clients: Clients, node: int, key: str) -> Answer:
        self._open.add(key)
        answer = await clients.ask(node, self.account, self.documents[key], key)
        self._open.discard(key)
        self.answers.setdefault(key, []).append(answer)
        if answer.status == 503:
            assert answer.code in ("SERVICO_INDISPONIVEL", "COBRANCA_INCERTA")
            assert 1 <= int(answer.headers["retry-after"]) <= 300
        return answer

    async def work(
        self,
        clients: Clients,
        documents: Sequence[str],
        stop: asyncio.Event,
        nodes: Sequence[int] = (0, 1, 2),
    ) -> None:
        """Send lookups one after another until `stop` is set."""
        while not stop.is_set():
            key = self.new_key(self._dice.choice(documents))
            answer = await self.ask(clients, self._dice.choice(nodes), key)
            # Slowed down: every key is sent again at the end.
            await asyncio.sleep(0.02 if answer.status == 200 else 0.1)

    def statuses(self) -> Counter[int]:
        return Counter(answer.status for each in self.answers.values() for answer in each)

    def watch(self) -> Callable[[], bool]:
        """Return a check whether the currently open requests are answered."""
        watched = frozenset(self._open)
        return lambda: not watched & self._open

    async def settle_up(self, clients: Clients, nodes: int = 3) -> None:
        """Send every key again, without faults, and compare with the ledger.

        Then every charge belongs to one key with an answer, and every earlier answer equals the
        replayed one.
        """
        gate = asyncio.Semaphore(50)

        async def again(key: str) -> Answer:
            async with gate:
                return await self.ask(clients, self._dice.randrange(nodes), key)

        last = dict(
            zip(self.documents, await asyncio.gather(*map(again, self.documents)), strict=True)
        )
        charged = self.cluster.charges(self.account)
        known: set[str] = set()
        for key, final in last.items():
            promised = [each for each in self.answers[key] if each.status == 200]
            ids = {each.request_id for each in promised}
            assert len(ids) <= 1, f"{key} was executed more than once"
            assert len({each.body for each in promised}) <= 1, f"{key} was answered differently"
            if final.status == 200:
                known |= ids
                assert final.replayed or len(promised) == 1, f"{key} was not recognised"
                for each in promised:
                    assert each.credits == (0 if each.replayed else charged[each.request_id])
                assert charged.get(final.request_id, 0) > 0, f"{key} was answered for nothing"
                self.unacknowledged += all(each.replayed for each in promised)
            else:
                assert not promised, f"{key} was answered, and now it is {final.status}"
                # Nothing was charged, and the key's record states it.
                assert final.status in (409, 503), final
                if final.status == 409:
                    assert final.code == "RESULTADO_INDISPONIVEL"
                    self.died.add(key)
                else:
                    assert final.replayed
        assert set(charged) == known, [known - set(charged), set(charged) - known]
