"""A fail-over as the Python client lives through it: what it asks for is paid for once.

The client's decisions (`conversation`) against the real service; only the database's answers to
commits are lost.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from balcao.core.errors import CommitUncertain, StorageFailed
from balcao.core.ledger import Change, Finish, Refusal
from balcao_client.runtime import Call, Came, Lost, Sent, conversation
from tests.service import Service, open_service

QUESTIONS = ("90010001000100", "90010008000121", "90010009000176", "90010010000109")


class FailOver:
    """The database of a house. `steps`: one per request; without a step all is well.

    `uncertain`: the last commit is kept, and its answer is lost. `nothing`: neither is it kept.
    `away`: it cannot be reached. `cut`: the caller's connection breaks after the commit.
    """

    def __init__(self, house: Service) -> None:
        self.steps: Iterator[str] = iter(())
        self.step = "well"
        desk = house.desk
        self._commit, self._earlier = desk.commit, desk.earlier
        desk.commit = self.commit  # type: ignore[method-assign]
        desk.earlier = self.earlier  # type: ignore[assignment]

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

    async def earlier(self, *asked: Any) -> Any:
        if self.step == "away":
            raise StorageFailed("database away")
        return await self._earlier(*asked)


def ask(house: Service, database: FailOver, cnpj: str, keys: "itertools.count[int]") -> Any:
    """Ask one question as the client does; what it would wait for is over at once."""
    call = Call("GET", "/consultas/v2/sintegra/{}", (cnpj,), {"uf": "SP"}, once=True)
    story = conversation(call, house.client.key, lambda: f"tentativa-{next(keys)}")
    step = next(story)
    while True:
        came: Came | Lost | None = None
        if isinstance(step, Sent):
            database.step = next(database.steps, "well")
            cut = database.step == "cut"
            headers = {name.replace("-", "_"): text for name, text in step.headers.items()}
            reply = house.get(step.target, None, **headers)
            came = Lost("cut") if cut else Came(reply.status, reply.headers, reply.body)
        else:
            house.run(house.until(lambda: not house.front.parts.releasing))
        try:
            step = story.send(came)
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
