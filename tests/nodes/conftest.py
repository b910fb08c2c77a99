"""Nodes shared by the tests that restore their state."""

from collections.abc import Iterator

import pytest

from tests.nodes.harness import Cluster, Database
from tests.nodes.upstream import Upstream


@pytest.fixture(scope="package")
def three_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    upstream, database = Upstream(), Database()
    cluster = Cluster(tmp_path_factory.mktemp("nodes"), database, upstream)
    try:
        for _ in range(3):
            cluster.add()
        cluster.start()
        yield cluster
    finally:
        cluster.close()
        database.remove()
        upstream.close()


@pytest.fixture
def cluster(three_nodes: Cluster) -> Iterator[Cluster]:
    """The shared nodes, checked after each test."""
    three_nodes.upstream.delay_seconds = 0.0
    three_nodes.upstream.release()
    three_nodes.revive()  # a test that failed may have left a node dead
    yield three_nodes
    three_nodes.wait_until_ready()
    three_nodes.assert_books_agree()
