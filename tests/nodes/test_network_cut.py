"""One node loses its network to the database for a while; the others keep theirs."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.nodes.clients import RequestLog, clients_of, new_documents
from tests.nodes.harness import Cluster, Database, until
from tests.nodes.netns import DATABASE, Namespaces, Proxy, namespaces
from tests.nodes.upstream import Upstream

CUT_OFF = 2  # which node

# For slow machines; successful tests never wait so long.
PATIENCE_SECONDS = 180.0


@pytest.fixture
def link() -> Iterator[Namespaces]:
    made = namespaces()
    yield made
    made.remove()


@pytest.fixture
def cluster(tmp_path: Path, link: Namespaces) -> Iterator[Cluster]:
    """Two nodes use the database's Unix socket, the third the link."""
    with ExitStack() as stack:
        upstream = stack.enter_context(closing(Upstream()))
        listening = link.socket()
        listening.bind(("127.0.0.1", upstream.port))
        upstream.listen(listening)
        database = Database(DATABASE, link.with_database)
        stack.callback(database.remove)
        cluster = stack.enter_context(closing(Cluster(tmp_path, database, upstream)))
        cluster.add(by_tcp=False)
        cluster.add(by_tcp=False)
        far = cluster.add(within=link.with_node)
        proxy = stack.enter_context(closing(Proxy(link, far.port)))
        far.base = proxy.base
        cluster.start()
        yield cluster


def test_the_network_of_one_node_is_cut(cluster: Cluster, link: Namespaces) -> None:
    near, far = RequestLog(cluster, cluster.account()), RequestLog(cluster, cluster.account())
    shared = RequestLog(cluster, cluster.account())
    slow = RequestLog(cluster, cluster.account())
    known, unknown = new_documents(5), new_documents(500)

    def fault() -> None:
        with link.cut():
            answered = [log.watch() for log in (near, far, shared, slow)]
            until(lambda: not cluster.nodes[CUT_OFF].ready(), PATIENCE_SECONDS, "it is not ready")
            assert all(node.ready() for node in cluster.nodes[:CUT_OFF])
            # Every request ends, although the link stays cut.
            until(lambda: all(each() for each in answered), PATIENCE_SECONDS, "all are answered")
            assert not cluster.nodes[CUT_OFF].ready()
        cluster.wait_until_ready()

    async def scenario() -> None:
        stop = asyncio.Event()
        async with clients_of(cluster.nodes) as clients:
            for document in known:
                await shared.ask(clients, CUT_OFF, shared.new_key(document))
            # Lookups in progress at the cut cannot be settled.
            cluster.upstream.delay_seconds = 4.0
            asked = [
                asyncio.create_task(slow.ask(clients, CUT_OFF, slow.new_key(each)))
                for each in new_documents(20)
            ]
            source = cluster.upstream.asked
            await asyncio.to_thread(
                until, lambda: source.total() == len(known) + len(asked), 60, "all asked"
            )
            cluster.upstream.delay_seconds = 0.3
            work = [
                asyncio.create_task(log.work(clients, documents, stop, nodes))
                for log, documents, nodes in (
                    (near, unknown, (0, 1)),
                    (far, known, (CUT_OFF,)),
                    (shared, known, (0, 1, CUT_OFF)),
                )
                for _ in range(6)
            ]
            await asyncio.sleep(0.5)
            await asyncio.to_thread(fault)
            await asyncio.sleep(1.5)  # failed connections are not retried for a second
            stop.set()
            await asyncio.gather(*work, *asked)
            await asyncio.to_thread(
                until, lambda: cluster.held() == 0, PATIENCE_SECONDS, "all holds are settled"
            )
            assert set(near.statuses()) == {200}, "others have nothing to do with it"
            assert set(slow.statuses()) == {503}
            for log in (far, shared):
                assert log.statuses()[503] > 0
                assert set(log.statuses()) <= {200, 409, 503}
            for log in (near, far, shared, slow):
                await log.settle_up(clients)
        cluster.assert_books_agree()

    asyncio.run(scenario())
