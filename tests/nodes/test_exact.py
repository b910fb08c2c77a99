"""Limits, keys, credits and single flight are exact over three nodes."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence

import pytest

from tests.nodes.clients import (
    CACHED,
    ONLINE,
    Answer,
    Clients,
    RequestLog,
    clients_of,
    new_documents,
)
from tests.nodes.harness import PER_MINUTE, Cluster


async def warm(cluster: Cluster, clients: Clients, documents: Sequence[str]) -> None:
    """Let every node look up the documents, so that all have them in the cache."""
    account = cluster.account()
    for node in range(len(cluster.nodes)):
        asked = [clients.ask(node, account, each) for each in documents]
        assert {each.status for each in await asyncio.gather(*asked)} == {200}


def test_a_limit_at_ten_times_the_load(cluster: Cluster) -> None:
    """A bucket holds the whole quota and fills by one per second (ADR 0006)."""
    account = cluster.account(plan="pos_pago")
    (document,) = new_documents(1)

    async def scenario() -> tuple[list[Answer], float]:
        async with clients_of(cluster.nodes) as clients:
            started = time.monotonic()
            first = await clients.ask(0, account, document)
            rest = [clients.ask(n % 3, account, document) for n in range(10 * PER_MINUTE - 2)]
            answers = [first, *await asyncio.gather(*rest)]
            answers.append(await clients.ask(2, account, document))
            return answers, time.monotonic() - started

    answers, seconds = asyncio.run(scenario())
    admitted = [each for each in answers if each.status == 200]
    refused = [each for each in answers if each.status == 429]
    assert len(admitted) + len(refused) == 10 * PER_MINUTE
    # The number admitted meanwhile depends on the load of the machine.
    assert len(admitted) >= PER_MINUTE
    assert len(admitted) <= PER_MINUTE + int(seconds * PER_MINUTE / 60) + 1
    for each in refused:
        assert each.code == "LIMITE_EXCEDIDO"
        assert int(each.headers["retry-after"]) >= 1
        assert f'"minuto";q={PER_MINUTE};w=60' in each.headers["ratelimit-policy"]
        assert '"minuto";r=0' in each.headers["ratelimit"]
    assert len(cluster.charges(account)) == len(admitted)


@pytest.mark.parametrize("cached", [True, False])
def test_one_key_on_all_nodes_at_once(cluster: Cluster, cached: bool) -> None:
    """Thirty keys, each sent twelve times concurrently, then again."""
    account, documents = cluster.account(), new_documents(30)
    log = RequestLog(cluster, account)

    async def scenario() -> None:
        async with clients_of(cluster.nodes) as clients:
            if cached:
                await warm(cluster, clients, documents)
            cluster.upstream.delay_seconds = 0.5
            cluster.upstream.asked.clear()
            keys = [log.new_key(each) for each in documents]
            answers = await asyncio.gather(
                *(log.ask(clients, node % 3, key) for node in range(12) for key in keys)
            )
            for each in answers:
                if each.status != 200:
                    assert (each.status, each.code) == (409, "OPERACAO_EM_ANDAMENTO")
            other = await clients.ask(1, account, documents[0], keys[1])
            assert (other.status, other.code) == (400, "IDEMPOTENCY_KEY_REUTILIZADA")
            await log.settle_up(clients)

    asyncio.run(scenario())
    price = CACHED if cached else ONLINE
    assert Counter(cluster.charges(account).values()) == {price: len(documents)}
    assert cluster.upstream.asked == ({} if cached else Counter(documents))
    assert log.unacknowledged == len(log.died) == 0


@pytest.mark.parametrize("cached", [True, False])
def test_thirty_duplicates_and_credits_for_one(cluster: Cluster, cached: bool) -> None:
    """On all nodes at once: one is charged, none is refused for lack of credits."""
    price = CACHED if cached else ONLINE
    documents = new_documents(8)
    accounts = [cluster.account(credits=price) for _ in documents]

    async def scenario() -> list[list[Answer]]:
        async with clients_of(cluster.nodes) as clients:
            if cached:
                await warm(cluster, clients, documents)
            asking = [
                clients.ask(n % 3, account, document, "pedido-0001")
                for n in range(30)
                for account, document in zip(accounts, documents, strict=True)
            ]
            answers = await asyncio.gather(*asking)
            return [list(answers[n :: len(accounts)]) for n in range(len(accounts))]

    for account, answers in zip(accounts, asyncio.run(scenario()), strict=True):
        (paid,) = (each for each in answers if each.status == 200 and not each.replayed)
        assert cluster.charges(account) == {paid.request_id: price}
        for each in answers:
            if each.status == 200:
                assert each.body == paid.body
            else:
                assert (each.status, each.code) == (409, "OPERACAO_EM_ANDAMENTO")


def test_a_hot_account_with_few_credits(cluster: Cluster) -> None:
    """Concurrent cached lookups of one credit and online ones that hold two."""
    account = cluster.account(credits=100)
    documents, (known,) = new_documents(60), new_documents(1)
    cluster.upstream.delay_seconds = 0.2

    async def scenario() -> list[Answer]:
        async with clients_of(cluster.nodes) as clients:
            await warm(cluster, clients, [known])
            online = [clients.ask(n % 3, account, each) for n, each in enumerate(documents)]
            cached = [clients.ask(n % 3, account, known) for n in range(240)]
            return list(await asyncio.gather(*online, *cached))

    answers = asyncio.run(scenario())
    paid = {each.request_id: each.credits for each in answers if each.status == 200}
    refused = [each for each in answers if each.status == 402]
    assert len(paid) + len(refused) == len(answers)
    assert {each.code for each in refused} == {"SALDO_INSUFICIENTE"}
    assert cluster.charges(account) == paid
    assert sum(paid.values()) == 100, "there were enough who would have paid the last credit"
    left = cluster.desk.account(account.account_id)
    assert (left.balance_credits, left.held_credits) == (0, 0)


def test_a_source_is_called_once_per_node(cluster: Cluster) -> None:
    account, (document,) = cluster.account(), new_documents(1)
    cluster.upstream.delay_seconds = 1.0

    async def scenario() -> list[Answer]:
        async with clients_of(cluster.nodes) as clients:
            asking = (clients.ask(n % 3, account, document) for n in range(60))
            return list(await asyncio.gather(*asking))

    answers = asyncio.run(scenario())
    assert {each.status for each in answers} == {200}
    assert 1 <= cluster.upstream.asked[document] <= 3
    assert cluster.charges(account) == {each.request_id: each.credits for each in answers}
