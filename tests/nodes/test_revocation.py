"""All nodes refuse a revoked key within a second of the revocation (contract 7.2).

Measured from the commit, by the database's clock, to the last admitted request, by the time in its
ID; the load of the machine does not matter.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import pytest

from tests.nodes.clients import Answer, Clients, clients_of, new_documents
from tests.nodes.harness import PER_MINUTE, Account, Cluster

NODES = (0, 1, 2)

# Nodes refresh cached keys at intervals. Nine rhythms, each started this much later, would catch a
# key that is cached too long.
APART_SECONDS = 0.17


@dataclass(frozen=True)
class Case:
    """An account that was changed, and the nodes' answers before and after."""

    account: Account
    answers: list[tuple[int, Answer]]


@pytest.fixture(scope="module")
def cases(three_nodes: Cluster) -> Mapping[str, Case]:
    """Run all cases concurrently: they mostly wait."""
    accounts = [three_nodes.account() for _ in range(3)]
    revoked, suspended, changed = accounts
    commands = (
        ("key", "revoke", str(revoked.key_id)),
        ("account", "suspend", suspended.name),
        ("account", "change", changed.name, "--plan", "pos_pago", "--certificates"),
    )

    async def scenario() -> list[Case]:
        async with clients_of(three_nodes.nodes) as clients:
            cases = zip(accounts, commands, range(0, 9, 3), strict=True)
            return await asyncio.gather(
                *(run_while_asking(three_nodes, clients, *case) for case in cases)
            )

    return dict(zip(("revoked", "suspended", "changed"), asyncio.run(scenario()), strict=True))


async def run_while_asking(
    cluster: Cluster, clients: Clients, account: Account, command: Sequence[str], rhythm: int
) -> Case:
    (document,) = new_documents(1)
    stop, answers = asyncio.Event(), list[tuple[int, Answer]]()
    served = [asyncio.Event() for _ in NODES]

    async def ask_all_the_time(node: int) -> None:
        await asyncio.sleep((rhythm + node) * APART_SECONDS)
        last = False
        while not last:
            last = stop.is_set()  # one more request after the command
            answers.append((node, await clients.ask(node, account, document)))
            served[node].set()
            await asyncio.sleep(0.03)

    asking = [asyncio.create_task(ask_all_the_time(node)) for node in NODES]
    await asyncio.sleep(9 * APART_SECONDS + 0.3)
    await asyncio.gather(*(each.wait() for each in served))
    await asyncio.to_thread(cluster.balcao, *command)
    await asyncio.sleep(1.5)
    stop.set()
    await asyncio.gather(*asking)
    return Case(account, answers)


def committed_ms(cluster: Cluster, account: Account) -> int:
    """Return the commit time of the last action on an account."""
    rows = cluster.sql(
        "SELECT extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000 FROM audit_entry"
        " WHERE account_id = ? ORDER BY entry_id DESC LIMIT 1",
        account.account_id,
    )
    return int(rows[0][0])


def last_admitted_ms(cluster: Cluster, account: Account) -> int:
    """Return the arrival time of the last charged request (UUID version 7)."""
    return max(UUID(number).int >> 80 for number in cluster.charges(account))


def assert_refused_everywhere(answers: Sequence[tuple[int, Answer]], since_ms: int) -> None:
    """Assert that every node served requests before, and refused them a second later."""
    for node in NODES:
        assert any(who == node and each.status == 200 for who, each in answers)
        late = [each for who, each in answers if who == node and each.sent_ms > since_ms + 1_000]
        assert {(each.status, each.code) for each in late} == {(401, "API_KEY_INVALIDA")}


def test_a_revoked_key(cluster: Cluster, cases: Mapping[str, Case]) -> None:
    case = cases["revoked"]
    revoked_ms = committed_ms(cluster, case.account)
    assert last_admitted_ms(cluster, case.account) <= revoked_ms + 1_000
    assert_refused_everywhere(case.answers, revoked_ms)


def test_a_suspended_account(cluster: Cluster, cases: Mapping[str, Case]) -> None:
    case = cases["suspended"]
    suspended_ms = committed_ms(cluster, case.account)
    assert last_admitted_ms(cluster, case.account) <= suspended_ms + 1_000
    assert_refused_everywhere(case.answers, suspended_ms)


def test_another_plan(cluster: Cluster, cases: Mapping[str, Case]) -> None:
    """The new plan's limits are in the answers."""
    case = cases["changed"]
    changed_ms = committed_ms(cluster, case.account)
    for node in NODES:
        of_node = [each for who, each in case.answers if who == node]
        policies = [each.headers["ratelimit-policy"] for each in of_node]
        assert f";q={PER_MINUTE};" not in policies[0]
        for each, policy in zip(of_node, policies, strict=True):
            assert each.sent_ms <= changed_ms + 1_000 or f";q={PER_MINUTE};" in policy
        assert f";q={PER_MINUTE};" in policies[-1]
