"""What is taken away through one process is refused by all nodes within a second (contract 7.2).

From the commit, as the database dates it, to the last request that was let in: its number says
when it came. How long anything took on a busy machine does not matter.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import pytest

from tests.nodes.clients import Answer, Clients, clients_of, new_documents
from tests.nodes.harness import PER_MINUTE, Account, Cluster

NODES = (0, 1, 2)

# What a node remembers of a key it asks for anew from time to time. If it were remembered for too
# long, one of nine such rhythms, each begun this much later, would be caught in the middle.
APART_SECONDS = 0.17


@dataclass(frozen=True)
class Case:
    """What was done to an account, and what each node answered before and well after it."""

    account: Account
    answers: list[tuple[int, Answer]]


@pytest.fixture(scope="module")
def cases(three_nodes: Cluster) -> Mapping[str, Case]:
    """All of it at once: most of the time a command starts, or nothing happens."""
    accounts = [three_nodes.account() for _ in range(3)]
    revoked, suspended, changed = accounts
    commands = (
        ("key", "revoke", str(revoked.key_id)),
        ("account", "suspend", suspended.name),
        ("account", "change", changed.name, "--plan", "pos_pago", "--certificates"),
    )

    async def story() -> list[Case]:
        async with clients_of(three_nodes.nodes) as clients:
            cases = zip(accounts, commands, range(0, 9, 3), strict=True)
            return await asyncio.gather(
                *(while_asking(three_nodes, clients, *case) for case in cases)
            )

    return dict(zip(("revoked", "suspended", "changed"), asyncio.run(story()), strict=True))


async def while_asking(
    cluster: Cluster, clients: Clients, account: Account, command: Sequence[str], rhythm: int
) -> Case:
    (document,) = new_documents(1)
    stop, answers = asyncio.Event(), list[tuple[int, Answer]]()
    served = [asyncio.Event() for _ in NODES]

    async def ask_all_the_time(node: int) -> None:
        await asyncio.sleep((rhythm + node) * APART_SECONDS)
        last = False
        while not last:
            last = stop.is_set()  # and is sent well after the command, however long one takes
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


def test_a_revoked_key(cluster: Cluster, cases: Mapping[str, Case]) -> None:
    case = cases["revoked"]
    revoked_ms = committed_ms(cluster, case.account)
    assert last_let_in_ms(cluster, case.account) <= revoked_ms + 1_000
    assert_refused_everywhere(case.answers, revoked_ms)


def test_a_suspended_account(cluster: Cluster, cases: Mapping[str, Case]) -> None:
    case = cases["suspended"]
    suspended_ms = committed_ms(cluster, case.account)
    assert last_let_in_ms(cluster, case.account) <= suspended_ms + 1_000
    assert_refused_everywhere(case.answers, suspended_ms)


def test_another_plan(cluster: Cluster, cases: Mapping[str, Case]) -> None:
    """Its limits are in every answer."""
    case = cases["changed"]
    changed_ms = committed_ms(cluster, case.account)
    for node in NODES:
        of_node = [each for who, each in case.answers if who == node]
        policies = [each.headers["ratelimit-policy"] for each in of_node]
        assert f";q={PER_MINUTE};" not in policies[0]
        for each, policy in zip(of_node, policies, strict=True):
            assert each.sent_ms <= changed_ms + 1_000 or f";q={PER_MINUTE};" in policy
        assert f";q={PER_MINUTE};" in policies[-1]
