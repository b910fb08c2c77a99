"""Lookups from finished answers equal those from rows; the service has them made."""

import asyncio
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from balcao.core.documents import Cnpj
from balcao.home import Home
from balcao.opendata.answers import finish, has_answers
from balcao.opendata.snapshot import Snapshot, current_path
from balcao.providers.opendata.adapter import finished_company
from balcao.service import derived_data
from balcao.service.derived_data import DerivedDataBuilder
from tests.records import company
from tests.service import open_service


def documents(store: Path) -> list[Cnpj]:
    with closing(Snapshot.open(current_path(store))) as snapshot:
        rows = b"".join(snapshot.establishments()).splitlines()
    return [Cnpj((row[1:9] + row[10:14] + row[15:17]).decode()) for row in rows]


def test_the_same_from_both(tmp_path: Path) -> None:
    body: list[list[bytes]] = []
    for name, finished in (("ana", False), ("bia", True)):
        with open_service(tmp_path, establishments=300, name=name) as house:
            store = Home(tmp_path).opendata("test")
            known = documents(store)
            current = house.application.snapshots["test"]
            assert all((current.answer(each) is not None) is finished for each in known)
            replies = [house.get(company(each.text)) for each in known]
            assert {reply.status for reply in replies} == {200}
            # A source like others, and no cache (contract 1.8); only a quote tells which.
            assert {reply.headers["cache-status"] for reply in replies} == {"Balcao; fwd=miss"}
            quote = house.get(f"/cotacoes/v2/cnpj-receita-federal/{known[0].text}")
            assert quote.json["caminho"] == "proprio"
            body.append([reply.body.split(b",", 1)[1] for reply in replies])
            assert house.get(company("99999999000191")).status == 404
            house.assert_books_agree()
        finish(store, finished_company)
    assert body[0] == body[1]


def test_the_service_finishes_unfinished_months(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_service(tmp_path, establishments=50):
        pass
    store = Home(tmp_path).opendata("test")
    monkeypatch.setenv("BALCAO_HOME", str(tmp_path))
    work = DerivedDataBuilder(Home(tmp_path)).periodic().work
    assert not has_answers(store)
    asyncio.run(work())  # type: ignore[arg-type]
    assert has_answers(store)

    async def never(*_: object) -> None:
        raise AssertionError("asked for again")

    monkeypatch.setattr(derived_data, "_finish", never)
    asyncio.run(work())  # type: ignore[arg-type]


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its own process, since it lowers its priority permanently."""
    with open_service(tmp_path, establishments=50):
        pass
    monkeypatch.setenv("BALCAO_HOME", str(tmp_path))
    line = [sys.executable, "-m", "balcao", "opendata", "answers"]
    for _ in range(2):
        done = subprocess.run([*line, "--sandbox"], capture_output=True, text=True, check=True)
        assert "prontas" in done.stdout
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "nada foi importado" in done.stderr
