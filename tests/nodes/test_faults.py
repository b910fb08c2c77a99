"""A node killed, the database restarted, crashed or away, all of it under load.

Whatever happens: no acknowledged charge is lost, none is made twice, a 503 in the contract's form
meanwhile and within a bounded time, no hold is left, and nobody has to lend a hand.
"""

import asyncio
import signal
import time
from collections.abc import Callable

import pytest

from tests.nodes.clients import Clients, Diary, clients_of, new_documents
from tests.nodes.harness import Cluster, until

CALLERS = 24

# A lookup may be told 503 in several steps, each of which waits for the database: see
# `ANSWER_SECONDS_MAX` (6), `OUTCOME_SECONDS_MAX` (8) and `CONNECT_SECONDS_MAX` (2).
PATIENCE_SECONDS = 20.0

# Longer than anybody waits for it, at the end for what became of a commit: 6 and 8 s of the above.
AWAY_SECONDS = 16.0

# From the moment the database is there again.
RECOVERY_SECONDS = 60.0

# A dead node is looked for every 10 s, and must have been away for 8.
GIVEN_BACK_SECONDS = 120.0


async def under_load(
    cluster: Cluster, clients: Clients, fault: Callable[[], None], seconds: float = 1.0
) -> Diary:
    """Callers who ask for what is in the cache and what is not, before, during and after."""
    diary, stop = Diary(cluster, cluster.account()), asyncio.Event()
    known, unknown = new_documents(5), new_documents(400)
    for document in known:
        await diary.ask(clients, 0, diary.new_key(document))
    cluster.upstream.delay_seconds = 0.3
    work = [
        asyncio.create_task(diary.work(clients, known if n % 2 else unknown, stop))
        for n in range(CALLERS)
    ]
    await asyncio.sleep(seconds)
    await asyncio.to_thread(fault)
    await asyncio.sleep(seconds)
    stop.set()
    await asyncio.gather(*work)
    return diary


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["restarted", "crashed"])
def test_the_database_is_started_again(cluster: Cluster, how: signal.Signals) -> None:
    def fault() -> None:
        with cluster.database.down(how):
            time.sleep(1)
        cluster.wait_until_ready(RECOVERY_SECONDS)

    survives(cluster, fault)


def test_the_database_is_away(cluster: Cluster) -> None:
    """It does not end: it stands still, which nobody is told of."""

    def fault() -> None:
        with cluster.database.frozen():
            until_unready = until(
                lambda: not any(node.ready() for node in cluster.nodes),
                AWAY_SECONDS,
                "no node is ready",
            )
            time.sleep(max(0.0, AWAY_SECONDS - until_unready))
        cluster.wait_until_ready(RECOVERY_SECONDS)

    survives(cluster, fault)


def survives(cluster: Cluster, fault: Callable[[], None]) -> None:
    async def story() -> None:
        async with clients_of(cluster.nodes) as clients:
            diary = await under_load(cluster, clients, fault)
            statuses, slowest = diary.statuses(), diary.slowest_seconds()
            await asyncio.to_thread(
                until, lambda: cluster.held() == 0, RECOVERY_SECONDS, "all holds are settled"
            )
            await diary.settle_up(clients)
        assert statuses[200] > 50
        assert statuses[503] > 0
        assert set(statuses) <= {200, 409, 503}
        assert slowest <= PATIENCE_SECONDS

    asyncio.run(story())


def test_a_node_is_killed(cluster: Cluster) -> None:
    """Its holds are given back by the others, and its keys say what became of them."""
    cluster.upstream.delay_seconds = 4.0
    victim = cluster.nodes[2]
    diary = Diary(cluster, cluster.account())

    async def story() -> None:
        async with clients_of(cluster.nodes) as clients:
            keys = [diary.new_key(each) for each in new_documents(40)]
            asking = [
                asyncio.create_task(diary.ask(clients, n % 3, key)) for n, key in enumerate(keys)
            ]
            await asyncio.to_thread(until, lambda: cluster.held() == len(keys), 4, "all hold")
            victim.kill()
            answers = await asyncio.gather(*asking)
            assert [each.status for each in answers[2::3]] == [0] * len(answers[2::3])
            assert {each.status for n, each in enumerate(answers) if n % 3 != 2} == {200}
            assert cluster.held() == len(keys[2::3])
            running = await diary.ask(clients, 0, keys[2])
            assert (running.status, running.code) == (409, "OPERACAO_EM_ANDAMENTO")
            await asyncio.to_thread(
                until, lambda: cluster.held() == 0, GIVEN_BACK_SECONDS, "the others give back"
            )
            victim.start()  # takes its time
            await diary.settle_up(clients, nodes=2)
            assert diary.died == set(keys[2::3])
            await asyncio.to_thread(cluster.wait_until_ready)
            for key in keys:
                again = await diary.ask(clients, 2, key)
                assert again.status == (409 if key in diary.died else 200)
            new = diary.new_key(diary.documents[keys[2]])
            assert (await diary.ask(clients, 2, new)).status == 200

    asyncio.run(story())
