"""Changes of the month in use and comparisons of portfolios, on every engine (contract 20.3)."""

import asyncio
import json
import shutil
import signal
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from balcao.core.access import Account
from balcao.core.company_record import record_bytes, registry_record
from balcao.core.documents import Cnpj
from balcao.core.errors import StorageFailed
from balcao.core.item_events import ItemHead, numbered
from balcao.core.month_comparison import Comparison, MonthsRead, WatchedSubject, base_ms
from balcao.core.month_switch import MonthInUse
from balcao.core.questions import Mode
from balcao.examination.database import comparison
from balcao.fiction.sandbox import EXISTING_COMPANIES
from balcao.opendata.comparing import last_two, open_pair
from balcao.opendata.errors import OpenDataError
from balcao.opendata.generator import EARLIER_EXTRACTION_DATE, EXTRACTION_DATE, generate
from balcao.opendata.importer import build, rollback
from balcao.opendata.snapshot import Snapshot, current_path
from balcao.service.month_comparison import (
    FILES_AWAITED_MS,
    FILES_POLL_SECONDS,
    Comparer,
    ComparisonMeasured,
    MonthComparison,
    MonthWatch,
)
from balcao.service.new_items import NewItems
from balcao.storage.connection import SqlConnection
from balcao.storage.contract import NewAccount
from balcao.storage.desk import months
from balcao.storage.desk.desk import Desk
from tests.opendata.months import Month, cnpj, row
from tests.storage.engines import Engine
from tests.storage.world import NOW, open_account

# `sandbox.md`, "The month before".
EVENTS = {
    "90030001000171": ["empresa.situacao"],
    "90030002000116": ["empresa.nome", "empresa.nome_fantasia"],
    "90030003000160": ["empresa.endereco"],
    "90030004000105": ["empresa.socios"],
    "90030005000150": ["empresa.simples"],
    "90030006": ["empresa.filial"],
    "90030007000149": [],
    "90030008000193": ["empresa.apareceu"],
    "90030009000138": ["empresa.sumiu"],
    "90030010000162": ["empresa.atividade", "empresa.capital", "empresa.contato"],
    "90030011000107": ["empresa.nome", "empresa.endereco"],
    "90010001000100": [],
}
ABSENT = "90010001999999"  # in no month
TOPICS = ["cadastro", "socios", "simples", "filiais"]
THERE = MonthInUse(EXTRACTION_DATE, 40)
BACK = MonthInUse(EARLIER_EXTRACTION_DATE, 40)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two months of the sandbox, of the promised companies alone."""
    folder = tmp_path_factory.mktemp("months")
    for earlier, day in ((True, EARLIER_EXTRACTION_DATE), (False, EXTRACTION_DATE)):
        month = generate(
            folder / day.isoformat(),
            len(EXISTING_COMPANIES),
            1,
            clean=True,
            include=EXISTING_COMPANIES,
            extraction_date=day,
            earlier=earlier,
        )
        build(month.files, folder / "store", today=date(2026, 8, 20), workers=1)
    return folder / "store"


@pytest.fixture(scope="module")
def comparer() -> Iterator[Comparer]:
    with closing(Comparer()) as comparer:
        yield comparer


class InThisProcess(Comparer):
    """Compares without another process."""

    async def compare(
        self, before: Path, after: Path, subjects: Sequence[WatchedSubject]
    ) -> Sequence[Comparison]:
        with open_pair(before, after) as pair:
            return pair.compare(subjects)


@pytest.fixture
def live(engine: Engine, desk: Desk) -> Account:
    account = open_account(engine, desk, "carla")
    engine.sql("UPDATE account SET mode = 'live' WHERE account_id = ?", account.account_id)
    return account


def add(engine: Engine, account: Account, *documents: str, created_ms: int = NOW) -> None:
    for document in documents:
        engine.sql(
            "INSERT INTO wallet_item (item_id, account_id, document, root, client, tags, watched,"
            " registrations, created_ms) VALUES (?, ?, ?, ?, '', '[]', ?, '[]', ?)",
            f"i{document}",
            account.account_id,
            document,
            document[:8],
            json.dumps(TOPICS),
            created_ms,
        )


def switched(engine: Engine, desk: Desk, seen: str, now: MonthInUse) -> int:
    number = engine.run(desk.months.record(seen, now, NOW + 1))
    assert number is not None
    return number


def compare(engine: Engine, desk: Desk, store: Path, comparer: Comparer, switch_id: int) -> None:
    job = MonthComparison({"live": store, "test": store}, desk.months, comparer, lambda: NOW + 9)
    while engine.run(job.work(str(switch_id))) is not None:
        pass


class _Damaged(Comparer):
    """Months that cannot be read."""

    async def compare(
        self, before: Path, after: Path, subjects: Sequence[WatchedSubject]
    ) -> Sequence[Comparison]:
        raise OpenDataError("damaged")


def test_months_that_cannot_be_read_block_no_later_comparison(
    engine: Engine, desk: Desk, live: Account, store: Path
) -> None:
    add(engine, live, *EVENTS)
    switch_id = switched(engine, desk, "2026-07", THERE)
    now = NOW + 9
    job = MonthComparison({"live": store, "test": store}, desk.months, _Damaged(), lambda: now)
    assert engine.run(job.work(str(switch_id))) == FILES_POLL_SECONDS
    now += FILES_AWAITED_MS
    while engine.run(job.work(str(switch_id))) is not None:
        pass
    found, (_, last), _ = bodies(desk, live)
    assert not found
    assert last["nao_verificados"] == last["itens"] == len(EVENTS)
    assert not engine.run(desk.months.waits(switch_id + 1))


def bodies(desk: Desk, account: Account, after: int = 0) -> tuple[Any, list[Any], int]:
    """Return the events of each document, the others, and the last number."""
    of_documents: dict[str, list[Any]] = defaultdict(list)
    others = []
    events = desk.events.after(account.account_id, after, 1_000)
    for event in events:
        body = json.loads(event.body) | {"tipo": event.kind, "id": event.event_id}
        if event.item_id is None:
            others.append(body)
        else:
            of_documents[event.item_id.removeprefix("i")].append(body)
    return of_documents, others, events[-1].number if events else after


def kinds(several: Sequence[Any]) -> list[str]:
    return [each["tipo"] for each in several]


def test_the_sandbox_s_months_cause_the_promised_events(
    engine: Engine, desk: Desk, live: Account, store: Path, comparer: Comparer
) -> None:
    """Then nothing when compared again, corrections after a return, and the events once more."""
    add(engine, live, *EVENTS, ABSENT)
    switch_id = switched(engine, desk, "2026-07", THERE)
    add(engine, live, "90010002000154", created_ms=NOW + 2)  # its baseline is the new month
    compare(engine, desk, store, comparer, switch_id)
    found, others, last = bodies(desk, live)
    assert {each: kinds(found[each]) for each in EVENTS} == EVENTS
    assert found.keys() <= EVENTS.keys()
    for several in found.values():
        assert [each["sequencia"] for each in several] == list(range(1, len(several) + 1))
    (situation,), (producer, _) = found["90030001000171"], found["90030011000107"]
    assert (situation["para"], situation["grave"], situation["fonte"]) == (
        "INAPTA",
        True,
        "snapshot",
    )
    assert (situation["competencia"], situation["dados_de"]) == ("2026-08", "2026-08-08")
    assert (producer["pessoa"], producer["de"], producer["para"]) == (True, None, None)
    assert found["90030006"][0]["cnpj"] == "90030006000102"
    assert found["90030006"][0]["abertas"] == ["90030006000366"]
    assert found["90030010000162"][1]["para"] == 250000.0
    assert kinds(others) == ["base.trocada", "carteira.comparada"]
    assert others[1] | {"id": ""} == {
        "id": "", "tipo": "carteira.comparada", "competencia": "2026-08", "itens": 13,
        "comparados": 12, "com_mudanca": 10, "nao_verificados": 1, "duracao_ms": 0,
    }  # fmt: skip
    ((registry,),) = engine.sql("SELECT registry FROM wallet_item WHERE document LIKE '90030001%'")
    assert json.loads(registry)["situacao"] == "INAPTA"

    comparer = InThisProcess()
    compare(engine, desk, store, comparer, switch_id)
    engine.sql("UPDATE month_switch SET ended_ms = NULL")
    compare(engine, desk, store, comparer, switch_id)
    assert bodies(desk, live, last)[0] == {}

    compare(engine, desk, store, comparer, switched(engine, desk, "2026-08", BACK))
    back, others, last = bodies(desk, live, last)
    assert kinds(others) == ["base.trocada", "carteira.comparada"]
    assert others[0]["volta"] is True
    assert others[1]["com_mudanca"] == 10
    assert kinds(back["90030008000193"]) == ["empresa.sumiu"]
    for document, several in found.items():
        assert [each["corrige"] for each in back[document]] == [each["id"] for each in several]
    assert (back["90030001000171"][0]["de"], back["90030001000171"][0]["sequencia"]) == (
        "INAPTA",
        2,
    )

    compare(engine, desk, store, comparer, switched(engine, desk, "2026-07", THERE))
    again, _, _ = bodies(desk, live, last)
    for document, several in found.items():
        assert kinds(again[document]) == kinds(several)
        assert not any("corrige" in each for each in again[document])


def test_interrupted_and_concurrent_comparisons_write_each_event_once(
    engine: Engine, desk: Desk, live: Account, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two nodes compare the same portions, and every third commit is cut off at its end."""
    add(engine, live, *EVENTS)
    other = engine.open()
    switch_id = switched(engine, desk, "2026-07", THERE)
    switch = engine.run(desk.months.find(switch_id))
    assert switch is not None
    commits = 0

    def advance(connection: SqlConnection, *values: Any) -> Any:
        nonlocal commits
        commits += 1
        done = original(connection, *values)
        if commits % 3:
            raise StorageFailed("cut off")
        return done

    original = months.advance
    monkeypatch.setattr(months, "advance", advance)
    files = last_two(store)
    assert files is not None
    with open_pair(*files) as pair:
        while (portion := engine.run(desk.months.portion(switch, 2))) is not None:
            same = engine.run(other.months.portion(switch, 2))
            assert same is not None
            written = 0
            for each, its in ((desk, portion), (other, same)):
                try:
                    outcomes = pair.compare(its.subjects)
                    written += engine.run(each.months.complete(its, outcomes, NOW + 9))
                except StorageFailed:
                    pass
            assert written <= 1
    found, others, _ = bodies(desk, live)
    assert {each: kinds(found[each]) for each in EVENTS} == EVENTS
    assert (others[1]["itens"], others[1]["com_mudanca"]) == (12, 10)
    assert commits >= 18


def test_an_own_lookup_that_is_newer_stands(
    engine: Engine, desk: Desk, live: Account, store: Path
) -> None:
    comparer = InThisProcess()

    def keep(document: str, at_ms: int, **fields: Any) -> None:
        with closing(Snapshot.open(current_path(store))) as snapshot:
            company = snapshot.find(Cnpj(document))
        assert company is not None
        record = registry_record(msgspec.structs.replace(company, **fields))
        engine.sql(
            "UPDATE wallet_item SET record = ?, record_ms = ? WHERE document = ?",
            record_bytes(record),
            at_ms,
            document,
        )

    between, later = base_ms(BACK.day) + 1, base_ms(THERE.day) + 1
    documents = ("90030001000171", "90030002000116", "90030005000150", "90030010000162")
    add(engine, live, *documents)
    keep(documents[0], later, situacao_cadastral="ATIVA")  # contradicts the month, and is newer
    keep(documents[1], between)  # it reported what the month will repeat
    keep(documents[2], between, porte="DEMAIS")
    keep(documents[3], base_ms(BACK.day) - 1, porte="DEMAIS")  # older than both months
    compare(engine, desk, store, comparer, switched(engine, desk, "2026-07", THERE))
    found, others, last = bodies(desk, live)
    assert {document: kinds(found[document]) for document in documents} == {
        documents[0]: [],
        documents[1]: [],
        documents[2]: ["empresa.porte"],
        documents[3]: EVENTS[documents[3]],
    }
    assert (others[1]["comparados"], others[1]["com_mudanca"]) == (4, 2)
    compare(engine, desk, store, comparer, switched(engine, desk, "2026-08", BACK))
    back, _, _ = bodies(desk, live, last)
    assert {document: kinds(back[document]) for document in documents} == {
        document: kinds(found[document]) for document in documents
    }


def test_a_node_records_a_change_once(
    engine: Engine, desk: Desk, live: Account, store: Path, tmp_path: Path
) -> None:
    """Nodes have stores of their own; a return is recorded as well, also after a stop."""
    add(engine, live, ABSENT)
    other = engine.open()
    nodes = []
    for name, recorder in (("one", desk.months), ("two", other.months)):
        shutil.copytree(store, tmp_path / name)
        rollback(tmp_path / name)
        nodes.append(MonthWatch(tmp_path / name, recorder, lambda: NOW))
    newer = current_path(store).name

    def poll() -> list[tuple[str, str]]:
        for node in nodes:
            engine.run(node.poll())
        rows = engine.sql("SELECT from_month, to_month FROM month_switch ORDER BY switch_id")
        return [(str(row[0]), str(row[1])) for row in rows]

    assert poll() == []  # the first month is the baseline
    (nodes[0].store / "current").write_text(newer)
    there, back = ("2026-07", "2026-08"), ("2026-08", "2026-07")
    assert poll() == [there]
    (nodes[1].store / "current").write_text(newer)
    assert poll() == poll() == [there]
    rollback(nodes[1].store)
    assert poll() == [there, back]
    rollback(nodes[0].store)
    assert poll() == [there, back]
    (nodes[0].store / "current").write_text(newer)
    assert poll() == [there, back, there]
    assert engine.sql("SELECT count(*) FROM event WHERE kind = 'base.trocada'") == [(3,)]
    assert engine.sql("SELECT count(*) FROM job WHERE kind = 'month_comparison'") == [(3,)]


def test_new_items_get_the_differences_of_the_last_two_months(store: Path, tmp_path: Path) -> None:
    async def read(mode: Mode, *, retroactive: bool) -> MonthsRead | None:
        items = NewItems({"test": store, "live": tmp_path})
        return await items.read(mode, subjects, retroactive=retroactive)

    subjects = [WatchedSubject(document, frozenset(TOPICS)) for document in [*EVENTS, ABSENT]]
    there = asyncio.run(read("test", retroactive=True))
    assert there is not None
    events = [there.retroactive_events("i", at, NOW) for at in range(len(subjects))]
    assert [[each.kind for each in several] for several in events] == [*EVENTS.values(), []]
    assert all(each.silent and each.data["retroativo"] for several in events for each in several)
    alone = asyncio.run(read("test", retroactive=False))
    assert alone is not None
    assert not any(outcome.changes for outcome in alone.outcomes)
    assert [one.registry for one in alone.outcomes] == [one.registry for one in there.outcomes]
    assert asyncio.run(read("live", retroactive=True)) is None


def test_events_of_a_root_name_its_head_office(tmp_path: Path) -> None:
    """The head office has the flag, which is not always that of order 0001."""
    root, store = "33683111", tmp_path / "store"
    branch = row("Estabelecimentos", cnpj_ordem="0001")
    for name, day in (("ANTES", date(2026, 7, 11)), ("DEPOIS", date(2026, 8, 8))):
        head = row("Estabelecimentos", identificador_matriz_filial="1", nome_fantasia=name)
        Month(tmp_path / name, day, {"Estabelecimentos0": branch + head}).build(store)
    files = last_two(store)
    assert files is not None
    with open_pair(*files) as pair:
        (outcome,) = pair.compare([WatchedSubject(root, frozenset(TOPICS))])
    read = MonthsRead("2026-08", "2026-08-08", [outcome])
    (event,) = read.retroactive_events("i", 0, NOW)
    head_of_root = ItemHead("i", 1, root, False, None, None, (), 0)
    body = json.loads(numbered(head_of_root, event, 1).body)
    assert (event.kind, body["cnpj"]) == ("empresa.nome_fantasia", cnpj(root, "0002").text)


def test_doctor_reports_the_last_comparison(engine: Engine, desk: Desk) -> None:
    def reported() -> list[tuple[str, str]]:
        look = SimpleNamespace(connection=desk.engine.connection)
        return [(each.status, each.text) for each in comparison(look)]

    assert reported() == []
    switched(engine, desk, "2026-07", THERE)
    ((level, text),) = reported()
    assert (level, text[:24]) == ("warn", "mês 2026-08 em andamento")
    engine.sql("UPDATE month_switch SET ended_ms = 0")
    assert reported() == [
        (
            "ok",
            "mês 2026-08 terminada em 31/12/1969 21:00: 0 itens comparados, 0 com mudança,"
            " 0 não verificados",
        )
    ]


def test_old_changes_are_removed_but_the_last_one(
    engine: Engine, desk: Desk, live: Account, store: Path
) -> None:
    add(engine, live, *EVENTS)
    measured = ComparisonMeasured(desk.months, lambda: NOW + 5_001)
    for left, now in (("2026-07", THERE), ("2026-08", BACK)):
        compare(engine, desk, store, InThisProcess(), switched(engine, desk, left, now))
    engine.run(measured.poll())
    last = measured()
    assert last is not None
    assert (last[0].compared, last[0].changed, last[0].unverified, last[1]) == (12, 10, 0, 0.008)
    assert engine.run(desk.months.purge(NOW + 1)) == 0
    assert engine.run(desk.months.purge(NOW + 2)) == 2
    assert engine.run(desk.months.purge(NOW + 2)) == 0
    assert engine.run(desk.months.last_comparison()) == last[0]


def test_a_node_without_the_months_leaves_them_to_the_others(
    engine: Engine, desk: Desk, live: Account, store: Path, tmp_path: Path
) -> None:
    add(engine, live, *EVENTS)
    number = switched(engine, desk, "2026-07", THERE)
    now = NOW + FILES_AWAITED_MS
    lacking, having = (
        MonthComparison({"live": folder}, desk.months, InThisProcess(), lambda: now)
        for folder in (tmp_path, store)
    )
    for job in (lacking, having):
        engine.run(job.report())
    now += FILES_AWAITED_MS - 1
    assert engine.run(lacking.work(str(number))) == FILES_POLL_SECONDS
    now += 1
    engine.run(having.report())
    assert engine.run(lacking.work(str(number))) == FILES_POLL_SECONDS
    while engine.run(having.work(str(number))) is not None:
        pass
    _, (_, last), _ = bodies(desk, live)
    assert last["comparados"] == len(EVENTS)


def test_the_sandbox_s_rollback_is_compared_for_test_accounts(
    engine: Engine, desk: Desk, live: Account, store: Path
) -> None:
    """Not for those whose clock passes months of its own."""
    ana, clara = (
        desk.create_account(NewAccount(name, "pre_pago", "test"), NOW) for name in ("aina", "clara")
    )
    for account, document in ((live, "90030001000171"), (ana, "90030002000116")):
        add(engine, account, document)
    add(engine, clara, "90030003000160")
    engine.sql(
        "INSERT INTO wallet (account_id, created_ms, clock_ms) VALUES (?, 0, 1) RETURNING 1",
        clara.account_id,
    )
    number = engine.run(desk.months.record("2026-08", BACK, NOW + 1, "test"))
    job = MonthComparison({"test": store}, desk.months, InThisProcess(), lambda: NOW + 9)
    while engine.run(job.work(str(number))) is not None:
        pass
    found, others, _ = bodies(desk, ana)
    assert kinds(found["90030002000116"]) == EVENTS["90030002000116"]
    assert kinds(others) == ["base.trocada", "carteira.comparada"]
    for account in (live, clara):
        assert desk.events.after(account.account_id, 0, 10) == []
    assert engine.run(desk.months.last_comparison()) is None  # of the live month


def test_an_own_lookup_during_the_comparison_is_not_overwritten(
    engine: Engine, desk: Desk, live: Account, store: Path
) -> None:
    add(engine, live, "90010001000100")
    switch = engine.run(desk.months.find(switched(engine, desk, "2026-07", THERE)))
    assert switch is not None
    portion = engine.run(desk.months.portion(switch))
    assert portion is not None
    files = last_two(store)
    assert files is not None
    with open_pair(*files) as pair:
        outcomes = pair.compare(portion.subjects)
    assert outcomes[0].registry is not None
    engine.sql("UPDATE wallet_item SET registry = '{}', record_ms = 5")
    assert engine.run(desk.months.complete(portion, outcomes, NOW + 9))
    assert engine.sql("SELECT registry FROM wallet_item") == [("{}",)]


def test_a_comparer_ends_in_the_middle_of_a_comparison(store: Path) -> None:
    comparer = Comparer()
    files = last_two(store)
    assert files is not None

    async def story() -> None:
        assert await comparer.compare(*files, []) == []
        assert comparer._process is not None
        comparer._process.send_signal(signal.SIGSTOP)
        waiting = asyncio.create_task(comparer.compare(*files, []))
        await asyncio.sleep(0)
        comparer.close()
        with pytest.raises((EOFError, OSError, asyncio.CancelledError)):
            await waiting

    asyncio.run(story())
