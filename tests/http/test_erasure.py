"""A person is looked up in every way and erased; afterwards no data about them is left.

The service keeps running. The eraser opens the same files or database separately, as
`balcao subject erase` does in another process.
"""

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pydantic import SecretStr

from balcao.batches.sealing import seal_of
from balcao.core.data_subject import data_subject
from balcao.core.documents import Cpf
from balcao.core.errors import StorageFailed
from balcao.core.people import AT_THE_TERMINAL
from balcao.core.questions import Inquiry, Mode
from balcao.core.secrets import single
from balcao.home import Home
from balcao.operations.federal_certificate import operation as federal_operation
from balcao.operations.registrations import lookup
from balcao.operations.state_certificate import operation as state_operation
from balcao.service import erasure
from balcao.service.clock import system_now_ms
from balcao.service.erasure import Erased, Findings, PersonSearch
from balcao.storage.batches import NewBatch
from balcao.storage.blobs import open_blobs
from balcao.storage.contract import Blobs
from balcao.storage.desk.batches import Batches
from balcao.storage.places import place_at
from tests.http.batcher import COMPANIES, Batcher
from tests.http.test_account_pages import USAGE
from tests.records import federal_of, state_of
from tests.service import Service, open_service

CPF = "90010000100"
OTHER = "90010000291"
BIRTH = "19800101"
RURAL = "/consultas/v2/produtor-rural"
KEYS = {"rural": "rural-0001", "federal": "federal-0001"}

# How the person may be written anywhere. The name is the sandbox's.
NEEDLES = [
    CPF,
    "900.100.001-00",
    "***100001**",
    BIRTH,
    "1980-01-01",
    "01/01/1980",
    "PRODUTORA DA FICCAO PAULISTA",
]


@dataclass
class Place:
    """A service, and the places of its data."""

    house: Service
    folder: Path
    database: str

    def erase(self) -> tuple[Findings, Erased]:
        """Erase the person as another process does, while the service runs."""
        home = Home(self.folder)
        modes: tuple[Mode, ...] = ("live", "test")

        async def work() -> tuple[Findings, Erased]:
            with ExitStack() as stack:
                pepper = home.pepper()
                place = place_at(self.database, home)
                desk = place.open_desk(pepper=pepper)
                stack.enter_context(closing(desk))
                caches = {mode: place.open_cache(mode, pepper=pepper) for mode in modes}
                for cache in caches.values():
                    stack.enter_context(closing(cache))
                person = data_subject(pepper, Cpf.parse(CPF))
                batches = PersonSearch(desk, single(pepper), home.batches)
                found = await erasure.find(person, desk, caches, batches)
                erased = await erasure.erase(
                    person,
                    desk,
                    caches,
                    open_blobs(home.receipts),
                    batches,
                    signed=AT_THE_TERMINAL,
                    now_ms=system_now_ms,
                )
                assert (await erasure.find(person, desk, caches, batches)).nothing
                return found, erased

        return self.house.run(work())

    def found_in_data(self) -> set[str]:
        """Return which texts are found in any column of any table and in any file."""
        content = b"".join(path.read_bytes() for path in self.folder.rglob("*") if path.is_file())
        if self.database:
            content += "\n".join(self._rows()).encode()
        hidden = {needle: needle.encode().hex().encode() for needle in NEEDLES}  # as PostgreSQL's
        return {
            needle for needle in NEEDLES if needle.encode() in content or hidden[needle] in content
        }

    def _rows(self) -> Iterator[str]:
        with psycopg.connect(self.database) as connection:
            tables = connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
            ).fetchall()
            for (table,) in tables:
                yield from (row for (row,) in connection.execute(f"SELECT t::text FROM {table} t"))

    def ledger(self) -> list[tuple[object, ...]]:
        """Return every entry that moved credits."""
        desk, of = self.house.desk, self.house.client.account_id
        return [(e.at_ms, e.kind, e.credits, e.request_id) for e in desk.entries(of, 0, 1 << 60)]


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "sqlite":
        with open_service(tmp_path) as house:
            yield Place(house, tmp_path, "")
        return
    address = request.getfixturevalue("address")
    with open_service(tmp_path, database=SecretStr(address)) as house:
        yield Place(house, tmp_path, address)


def ask_about(place: Place, cpf: str) -> None:
    """Ask both operations by CPF, from the source and the cache, with and without keys."""
    house = place.house
    for address, key in ((f"{RURAL}/{cpf}?uf=SP", "rural"), (federal_of(cpf), "federal")):
        named = f"{KEYS[key]}-{cpf[-3:]}"
        assert house.get(address, idempotency_key=named).status == 200
        assert house.get(address).status == 200
        assert house.get(address, idempotency_key=f"{named}-cache").status == 200
        house.run(cache_of(house).sweep(0, 0))  # in the thread that writes: after what was kept
    assert house.get(f"{RURAL}/{cpf}?uf=XX").status == 400


def in_cache(house: Service, cpf: str) -> bool:
    key = Inquiry("rural_producer", Cpf.parse(cpf), "SP").cache_key
    return bool(house.run(cache_of(house).read([key])))


def cache_of(house: Service) -> Any:
    return house.front.parts.environments["test"].cache


def replayed(place: Place, cpf: str, key: str = "federal") -> tuple[int, str]:
    address = federal_of(cpf) if key == "federal" else f"{RURAL}/{cpf}?uf=SP"
    reply = place.house.get(address, idempotency_key=f"{KEYS[key]}-{cpf[-3:]}")
    body = json.loads(reply.body)
    return reply.status, body.get("error_code") or body.get("code") or ""


def test_no_data_about_the_person_is_left_and_the_ledger_is_whole(place: Place) -> None:
    house = place.house
    ask_about(place, CPF)
    ask_about(place, OTHER)
    receipt = json.loads(house.get(federal_of(CPF)).body)["print"]
    assert house.get(receipt).status == 200
    assert {"PRODUTORA DA FICCAO PAULISTA", CPF} <= place.found_in_data(), "else nothing is proven"
    ledger, money = place.ledger(), house.money()
    consumed = house.get(USAGE).json["linhas"]

    found, erased = place.erase()

    assert {one.subject for one in found.cached["test"]} == {
        "rural_producer",
        "federal_certificate",
    }
    assert erased.cache_entries == 2
    assert erased.receipts == erased.files == 1
    assert erased.answers == 4
    assert erased.requests >= 7

    assert place.found_in_data() == set()
    assert place.ledger() == ledger
    assert house.money() == money
    assert house.get(USAGE).json["linhas"] == consumed
    house.assert_books_agree()
    assert house.get(receipt).status == 404


class Slow:
    """A receipt store that is slow to delete, or cannot."""

    def __init__(self, blobs: Blobs, *, works: bool) -> None:
        self._blobs = blobs
        self._works = works
        self.deleted: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._blobs, name)

    async def delete(self, digest: str) -> None:
        await asyncio.sleep(0.1)
        if not self._works:
            raise StorageFailed("of a test")
        await self._blobs.delete(digest)
        self.deleted.append(digest)


@pytest.mark.parametrize("works", [True, False])
def test_success_is_reported_only_after_the_bytes_are_deleted(
    place: Place, monkeypatch: pytest.MonkeyPatch, works: bool
) -> None:
    """The eraser deletes them itself instead of leaving it to the service."""
    ask_about(place, CPF)
    slow = Slow(open_blobs(Home(place.folder).receipts), works=works)
    monkeypatch.setattr(f"{__name__}.open_blobs", lambda folder: slow)
    if works:
        _, erased = place.erase()
        assert len(slow.deleted) == erased.files == 1
        assert not any(path.is_file() for path in Home(place.folder).receipts.rglob("*"))
    else:
        with pytest.raises(StorageFailed):
            place.erase()


def test_the_running_service_serves_nothing_of_it_and_keeps_others(place: Place) -> None:
    house = place.house
    ask_about(place, CPF)
    ask_about(place, OTHER)
    place.erase()

    charged = house.money()
    for key in KEYS:
        reply = replayed(place, CPF, key)
        assert reply[0] == 409, reply
    so_cache = house.get(federal_of(CPF, "cache_strategy=SO_CACHE"))
    assert so_cache.status == 400
    assert house.money() == charged, "nobody pays for what was erased"
    assert not in_cache(house, CPF)

    assert replayed(place, OTHER)[0] == 200
    assert house.get(federal_of(OTHER, "cache_strategy=SO_CACHE")).status == 200
    assert in_cache(house, OTHER)


def test_no_memory_derived_from_their_answers_is_left(place: Place) -> None:
    """All memories are cleared, since any answer may name the person."""
    house = place.house
    memos = (
        federal_operation._concluded,
        federal_operation._decode,
        state_operation._concluded,
        state_operation._decode,
        lookup._remembered,
    )
    heed = house.application.retention.apply_erasures
    house.run(heed())
    ask_about(place, CPF)
    house.get(f"/consultas/v2/sintegra/{COMPANIES[0]}?uf=SP")
    house.get(state_of("90010001000100"))
    assert all(memo.cache_info().currsize for memo in memos), "else nothing is proven"

    place.erase()
    house.run(heed())
    assert not any(memo.cache_info().currsize for memo in memos)


def test_a_later_lookup_is_answered_again_with_its_receipt(place: Place) -> None:
    """Equal bytes have the same number, which must be recorded again."""
    house = place.house
    ask_about(place, CPF)
    place.erase()
    house.run(asyncio.sleep(1.2))  # its end was logged as well

    answer = json.loads(house.get(federal_of(CPF)).body)
    assert answer["source"] == "online"
    assert house.get(answer["print"]).status == 200


def test_the_audit_log_has_the_erasure_and_not_the_person(place: Place) -> None:
    ask_about(place, CPF)
    place.erase()
    people = place.house.desk.people
    ended, begun = people.audit(10, action="subject.erase")
    assert (begun.detail, begun.channel) == ("começou", "cli")
    assert ended.detail.startswith("terminou: cache 2,")
    assert begun.target == ended.target
    assert len(ended.target) == 32


PARTNERS = "cnpj;sócio;CPF do sócio\n{0};Fulana;900.100.001-00\n{1};Beltrana;90010000291\n"


def test_files_that_name_a_person_no_longer_do(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows about companies with their partners: quoted, run, and not read yet."""
    house, batcher = place.house, Batcher(place.house, place.house.client)
    file = PARTNERS.format(*COMPANIES)
    with monkeypatch.context() as patch:
        patch.setattr("balcao.batches.desk.check_name", lambda *_: None)  # as older ones may be
        ended = batcher.create(file, "operacao=cnpj-receita-federal&nome=de%2090010000100")
    batcher.confirm(ended)
    batcher.until(ended, "concluido")
    quoted = batcher.create(file)
    batcher.until(quoted, "cotado")
    titled = batcher.create(f"cnpj;o que disse quem tem o CPF 900.100.001-00\n{COMPANIES[0]};x\n")
    batcher.until(titled, "cotado")
    with monkeypatch.context() as patch:
        patch.setattr(Batches, "begin", _not_now)  # not read
        unread = batcher.create(file)
        others = batcher.create(file.replace("900.100.001-00", ""))
        while house.run(house.desk.jobs.counts()):
            house.run(asyncio.sleep(0.01))
    # Another process reads the first one's rows.
    stored, key = house.desk.batches, place.house.client
    repeat = NewBatch(
        "repeat", key.account_id, key.key_id, None, "", None, "x", "", "{}", "text/csv", ended,
        None, "", 0,
    )  # fmt: skip
    house.run(stored.receive(repeat, ()))
    assert house.run(stored.begin("repeat"))
    money, ledger = house.money(), place.ledger()
    assert b"900.100.001-00" in batcher.call("GET", f"/{ended}/resultado.csv").body

    found, erased = place.erase()

    assert {(one.batch_id, one.line) for one in found.rows} == {(ended, 2), (quoted, 2)}
    assert [one.batch_id for one in found.named.files] == [unread]
    assert (erased.rows, erased.batches) == (2, 2)
    repeated = house.run(stored.batch("repeat"))
    assert repeated is not None
    assert (repeated.state, "Repita o lote" in (repeated.message or "")) == (
        "recusado",
        True,
    )
    house.run(stored.store_layout("repeat", b"read before", "read before"))
    assert house.run(stored.batch("repeat")) == repeated
    assert batcher.show(ended)["nome"] == ""
    assert (
        b'"cnpj";"o que disse quem tem o CPF apagado";'
        in batcher.call("GET", f"/{titled}/resultado.csv").body
    )
    for number, states in ((ended, ["concluida"] * 2), (quoted, ["cancelada", "pendente"])):
        rows = batcher.rows(number)
        assert [row["estado"] for row in rows] == states
        assert [row["documento"] for row in rows] == ["apagado", COMPANIES[1]]
        result = batcher.call("GET", f"/{number}/resultado.csv").body.decode()
        assert "Fulana" not in result
        assert "Beltrana" in result
    refused = batcher.show(unread)
    assert (refused["estado"], refused["codigo"]) == ("recusado", "titular_apagado")
    assert [*house.desk.batches.pieces(unread)] == []
    assert [*house.desk.batches.pieces(others)] != []
    assert (house.money(), place.ledger()) == (money, ledger)
    house.assert_books_agree()


def test_only_answers_that_name_the_person_are_erased(place: Place) -> None:
    """Answers with a company's partners are erased; the row about the company stays.

    No company of the sandbox has such a partner, so one is written into it."""
    house, batcher = place.house, Batcher(place.house, place.house.client)
    number = batcher.create(f"cnpj\n{COMPANIES[0]}\n{COMPANIES[1]}\n")
    batcher.confirm(number)
    batcher.until(number, "concluido")
    seal = seal_of(Home(place.folder).pepper(), number)
    sealed = seal.answer(2, b'{"socios":[{"cpf":"900.100.001-00"}]}')
    with house.desk.engine.write_in_place() as here:
        sql = "UPDATE batch_row SET answer = ? WHERE batch_id = ? AND line = 2"
        here.execute(sql, (sealed, number))

    found, erased = place.erase()

    assert [one.line for one in found.named.answers] == [2]
    assert erased.rows == 1
    rows = batcher.rows(number)
    assert [(row["documento"], row["estado"]) for row in rows] == [
        (document, "concluida") for document in COMPANIES[:2]
    ]
    lines = batcher.call("GET", f"/{number}/resultado.jsonl").body.splitlines()
    assert b"900.100" not in lines[0]
    assert b"faixa_etaria" in lines[1]


async def _not_now(self: Batches, batch_id: str) -> bool:
    return False
