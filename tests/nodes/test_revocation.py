"""What is taken away through one process is refused by all nodes within a second (decisions 7.2).

From the commit, as the database dates it, to the last request that was let in: its number says
when it came. How long anything took on a busy machine does not matter.
"""

import asyncio
from collections.abc import Sequence
from uuid import UUID

import pytest

from tests.nodes.clients import Answer, clients_of, new_documents
from tests.nodes.harness import PER_MINUTE, Account, Cluster

pytestmark = pytest.mark.xdist_group("nodes")

NODES = (0, 1, 2)


def while_asking(cluster: Cluster, account: Account, *command: str) -> list[tuple[int, Answer]]:
    """What each node answered from before a command until well after it."""
    (document,) = new_documents(1)

    async def story() -> list[tuple[int, Answer]]:
        stop, answers = asyncio.Event(), list[tuple[int, Answer]]()
        async with clients_of(cluster.nodes) as clients:
            await clients.ask(0, account, document)

            async def ask_all_the_time(node: int) -> None:
                while not stop.is_set():
                    answers.append((node, await clients.ask(node, account, document)))
                    await asyncio.sleep(0.02)

            asking = [asyncio.create_task(ask_all_the_time(node)) for node in NODES * 2]
            await asyncio.sleep(0.3)
            await asyncio.to_thread(cluster.balcao, *command)
            await asyncio.sleep(1.5)
            stop.set()
            await asyncio.gather(*asking)
        return answers

    return asyncio.run(story())


def committed_ms(cluster: Cluster, account: Account) -> int:
    """When the last deed that was done to an account was committed."""
    rows = cluster.sql(
        "SELECT extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000 FROM audit_entry"
        " WHERE account_id = ? ORDER BY entry_id DESC LIMIT 1",
        account.account_id,
    )
    return int(rows[0][0])


def last_let_in_ms(cluster: Cluster, account: Account) -> int:
    """When the last of the requests that were charged came in (UUID version 7)."""
    return max(UUID(number).int >> 80 for number in cluster.charges(account))


def assert_refused_everywhere(answers: Sequence[tuple[int, Answer]], since_ms: int) -> None:
    """Served before, refused by every node from a second afterwards."""
    for node in NODES:
        assert any(who == node and each.status == 200 for who, each in answers)
        late = [each for who, each in answers if who == node and each.sent_ms > since_ms + 1_000]
        assert {(each.status, each.code) for each in late} == {(401, "API_KEY_INVALIDA")}


def test_a_revoked_key(cluster: Cluster) -> None:
    account = cluster.account()
    answers = while_asking(cluster, account, "key", "revoke", str(account.key_id))
    revoked_ms = committed_ms(cluster, account)
    assert last_let_in_ms(cluster, account) <= revoked_ms + 1_000
    assert_refused_everywhere(answers, revoked_ms)


def test_a_suspended_account(cluster: Cluster) -> None:
    account = cluster.account()
    answers = while_asking(cluster, account, "account", "suspend", account.name)
    suspended_ms = committed_ms(cluster, account)
    assert last_let_in_ms(cluster, account) <= suspended_ms + 1_000
    assert_refused_everywhere(answers, suspended_ms)


def test_another_plan(cluster: Cluster) -> None:
    """Its limits are in every answer."""
    account = cluster.account()
    command = ("account", "change", account.name, "--plan", "pos_pago", "--certificates")
    answers = while_asking(cluster, account, *command)
    changed_ms = committed_ms(cluster, account)
    for node in NODES:
        of_node = [each for who, each in answers if who == node]
        policies = [each.headers["ratelimit-policy"] for each in of_node]
        assert f";q={PER_MINUTE};" not in policies[0]
        for each, policy in zip(of_node, policies, strict=True):
            assert each.sent_ms <= changed_ms + 1_000 or f";q={PER_MINUTE};" in policy
        assert f";q={PER_MINUTE};" in policies[-1]
