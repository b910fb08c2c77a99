"""Faults under load: a killed node; a restarted, crashed or unreachable database.

In each case no acknowledged charge is lost or made twice, requests get a 503 as in the contract
within a bounded time, no hold remains, and recovery is automatic.
"""

import asyncio
import signal
import time
from collections.abc import Callable

import pytest

from tests.nodes.clients import Clients, RequestLog, clients_of, new_documents
from tests.nodes.harness import Cluster, until

CALLERS = 24

# For slow machines; successful tests never wait so long.
PATIENCE_SECONDS = 180.0


async def under_load(
    cluster: Cluster, clients: Clients, fault: Callable[[RequestLog], None], seconds: float = 1.0
) -> RequestLog:
    """Run cached and uncached lookups before, during and after the fault."""
    log, stop = RequestLog(cluster, cluster.account()), asyncio.Event()
    known, unknown = new_documents(5), new_documents(400)
    for document in known:
        await log.ask(clients, 0, log.new_key(document))
    cluster.upstream.delay_seconds = 0.3
    work = [
        asyncio.create_task(log.work(clients, known if n % 2 else unknown, stop))
        for n in range(CALLERS)
    ]
    await asyncio.sleep(seconds)
    await asyncio.to_thread(fault, log)
    await asyncio.sleep(seconds)
    stop.set()
    await asyncio.gather(*work)
    return log


@pytest.mark.parametrize(
    "how",
    [pytest.param(signal.SIGINT, marks=pytest.mark.nightly), signal.SIGQUIT],
    ids=["restarted", "crashed"],
)
def test_the_database_is_started_again(cluster: Cluster, how: signal.Signals) -> None:
    def fault(_: RequestLog) -> None:
        with cluster.database.down(how):
            time.sleep(1)
        cluster.wait_until_ready()

    assert_survives(cluster, fault)


def test_the_database_is_away(cluster: Cluster) -> None:
    """Its processes are stopped by a signal; its connections stay open."""

    def fault(log: RequestLog) -> None:
        with cluster.database.frozen():
            answered = log.watch()
            until(
                lambda: not any(node.ready() for node in cluster.nodes),
                PATIENCE_SECONDS,
                "no node is ready",
            )
            # Every request ends, although the database does not reply.
            until(answered, PATIENCE_SECONDS, "the requests under way are answered")
            until(log.watch(), PATIENCE_SECONDS, "later requests are answered")
        cluster.wait_until_ready()

    assert_survives(cluster, fault)


def assert_survives(cluster: Cluster, fault: Callable[[RequestLog], None]) -> None:
    async def scenario() -> None:
        async with clients_of(cluster.nodes) as clients:
            log = await under_load(cluster, clients, fault)
            statuses = log.statuses()
            await asyncio.to_thread(
                until, lambda: cluster.held() == 0, PATIENCE_SECONDS, "all holds are settled"
            )
            await log.settle_up(clients)
        assert statuses[200] > 50
        assert statuses[503] > 0
        assert set(statuses) <= {200, 409, 503}

    asyncio.run(scenario())


def test_a_node_is_killed(cluster: Cluster) -> None:
    """The other nodes release its holds, and its keys have their outcome."""
    cluster.upstream.hold()
    victim = cluster.nodes[2]
    log = RequestLog(cluster, cluster.account())

    async def scenario() -> None:
        async with clients_of(cluster.nodes) as clients:
            keys = [log.new_key(each) for each in new_documents(40)]
            asking = [
                asyncio.create_task(log.ask(clients, n % 3, key)) for n, key in enumerate(keys)
            ]
            await asyncio.to_thread(
                until, lambda: cluster.held() == len(keys), PATIENCE_SECONDS, "all hold"
            )
            victim.kill()
            cluster.upstream.release()
            answers = await asyncio.gather(*asking)
            assert [each.status for each in answers[2::3]] == [0] * len(answers[2::3])
            assert {each.status for n, each in enumerate(answers) if n % 3 != 2} == {200}
            running = await log.ask(clients, 0, keys[2])
            assert running.status == 409
            if cluster.held():  # a slow machine may take longer than the timeout of nodes
                assert running.code == "OPERACAO_EM_ANDAMENTO"
            await asyncio.to_thread(
                until, lambda: cluster.held() == 0, PATIENCE_SECONDS, "the others give back"
            )
            victim.start()  # slow
            await log.settle_up(clients, nodes=2)
            assert log.died == set(keys[2::3])
            await asyncio.to_thread(cluster.wait_until_ready)
            for key in keys:
                again = await log.ask(clients, 2, key)
                assert again.status == (409 if key in log.died else 200)
            new = log.new_key(log.documents[keys[2]])
            assert (await log.ask(clients, 2, new)).status == 200

    asyncio.run(scenario())
