"""A database fail-over with the Python client: each lookup is charged once.

The client's decisions (`exchange`) run against the real service; only the database's replies to
commits are lost.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from balcao.core.errors import CommitUncertain, StorageFailed
from balcao.core.ledger import Change, Finish, Refusal
from balcao_client.runtime import Call, NoResponse, Request, Response, exchange
from tests.service import Service, open_service

QUESTIONS = ("90010001000100", "90010008000121", "90010009000176", "90010010000109")


class FailOver:
    """A service's database with faults. `steps`: one per request; afterwards none fails.

    `uncertain`: the last commit is stored, its reply lost. `nothing`: it is not stored either.
    `away`: the database is unreachable. `cut`: the client's connection breaks after the commit.
    """

    def __init__(self, house: Service) -> None:
        self.steps: Iterator[str] = iter(())
        self.step = "well"
        desk = house.desk
        self._commit, self._find_attempt = desk.commit, desk.find_attempt
        desk.commit = self.commit  # type: ignore[method-assign]
        desk.find_attempt = self.find_attempt  # type: ignore[assignment]

    async def commit(self, changes: Sequence[Change]) -> Refusal | None:
        if self.step == "away":
            raise StorageFailed("database away")
        ending = any(isinstance(change, Finish) for change in changes)
        if ending and self.step == "nothing":
            self.step = "well"
            raise CommitUncertain("outcome unknown")
        refusal = await self._commit(changes)
        if ending and self.step == "uncertain":
            self.step = "well"
            raise CommitUncertain("outcome unknown")
        return refusal

    async def find_attempt(self, *asked: Any) -> Any:
        if self.step == "away":
            raise StorageFailed("database away")
        return await self._find_attempt(*asked)


def ask(house: Service, database: FailOver, cnpj: str, keys: "itertools.count[int]") -> Any:
    """Run one lookup with the client's logic, without waiting between attempts."""
    call = Call("GET", "/consultas/v2/sintegra/{}", (cnpj,), {"uf": "SP"}, idempotent=True)
    steps = exchange(call, house.client.key, lambda: f"tentativa-{next(keys)}")
    step = next(steps)
    while True:
        response: Response | NoResponse | None = None
        if isinstance(step, Request):
            database.step = next(database.steps, "well")
            cut = database.step == "cut"
            headers = {name.replace("-", "_"): text for name, text in step.headers.items()}
            reply = house.get(step.target, None, **headers)
            response = (
                NoResponse("cut") if cut else Response(reply.status, reply.headers, reply.body)
            )
        else:
            house.run(house.until(lambda: not house.front.parts.releasing))
        try:
            step = steps.send(response)
        except StopIteration as end:
            return end.value


SCRIPTS = (
    ["uncertain"],
    ["nothing"],
    ["uncertain", "away"],
    ["nothing", "away", "away"],
    ["cut", "away"],
    ["away", "uncertain", "away"],
    ["uncertain", "cut", "away"],
)


def test_four_questions_cost_four_charges(tmp_path: Path) -> None:
    keys = itertools.count(1)
    with open_service(tmp_path) as house:
        front = house.front
        front.parts = dataclasses.replace(front.parts, release_retry_seconds=0.001)
        database = FailOver(house)
        for script in SCRIPTS:
            database.steps, before = iter(script), len(house.charges())
            for cnpj in QUESTIONS:
                assert ask(house, database, cnpj, keys).status == 200, script
            assert next(database.steps, None) is None
            assert len(house.charges()) == before + len(QUESTIONS), script
        house.assert_books_agree()
