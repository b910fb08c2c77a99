"""What is taken away through one process is refused by all nodes within a second (decisions 7.2).

Judged by the nodes' own clock, in the ledger: how long an answer was on its way says nothing.
"""

import asyncio
from collections.abc import Sequence

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


def last_charge_ms(cluster: Cluster, account: Account) -> int:
    rows = cluster.sql(
        "SELECT max(at_ms) FROM ledger_entry WHERE account_id = ? AND kind IN ('charge', 'hold')",
        account.account_id,
    )
    return int(rows[0][0])


def assert_refused_everywhere(answers: Sequence[tuple[int, Answer]], since_ms: int) -> None:
    """Served before, refused by every node from a second afterwards."""
    for node in NODES:
        assert any(who == node and each.status == 200 for who, each in answers)
        late = [each for who, each in answers if who == node and each.sent_ms > since_ms + 1_000]
        assert {(each.status, each.code) for each in late} == {(401, "API_KEY_INVALIDA")}


def test_a_revoked_key(cluster: Cluster) -> None:
    account = cluster.account()
    answers = while_asking(cluster, account, "key", "revoke", str(account.key_id))
    ((revoked_ms,),) = cluster.sql(
        "SELECT revoked_ms FROM api_key WHERE key_id = ?", account.key_id
    )
    assert last_charge_ms(cluster, account) <= revoked_ms + 1_000
    assert_refused_everywhere(answers, revoked_ms)


def test_a_suspended_account(cluster: Cluster) -> None:
    account = cluster.account()
    answers = while_asking(cluster, account, "account", "suspend", account.name)
    ((suspended_ms,),) = cluster.sql(
        "SELECT suspended_ms FROM account WHERE account_id = ?", account.account_id
    )
    assert last_charge_ms(cluster, account) <= suspended_ms + 1_000
    assert_refused_everywhere(answers, suspended_ms)


def test_another_plan(cluster: Cluster) -> None:
    """Its limits are in every answer."""
    account = cluster.account()
    command = ("account", "change", account.name, "--plan", "pos_pago", "--certificates")
    answers = while_asking(cluster, account, *command)
    ((changed_ms,),) = cluster.sql(
        "SELECT max(at_ms) FROM audit_entry WHERE account_id = ?", account.account_id
    )
    for node in NODES:
        of_node = [each for who, each in answers if who == node]
        policies = [each.headers["ratelimit-policy"] for each in of_node]
        assert f";q={PER_MINUTE};" not in policies[0]
        for each, policy in zip(of_node, policies, strict=True):
            assert each.sent_ms <= changed_ms + 1_000 or f";q={PER_MINUTE};" in policy
        assert f";q={PER_MINUTE};" in policies[-1]
