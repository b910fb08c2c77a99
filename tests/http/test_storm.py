"""Many Idempotency-Keys, many duplicates of each, concurrently: one purchase, one charge per key.

Over the real service of a live account. The `Wire` counts requests to the provider, the ledger
charges (specification, "States and transitions"; contract 5.5, 6).
"""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from pydantic import SecretStr

from balcao.core.documents import Cnpj
from balcao.core.questions import Inquiry
from balcao.fiction.digits import cnpj as cnpj_of
from balcao.providers.infosimples.settings import InfosimplesSettings
from tests.providers import PROVIDERS, Wire
from tests.records import federal_of
from tests.service import CREDITS, PATIENCE_SECONDS, Reply, Service, open_service

KEYS = 200
DUPLICATES = 25

# Without places for receipts: every request to the provider is a consultation.
INFOSIMPLES = InfosimplesSettings(url=f"{PROVIDERS}/infosimples", token=SecretStr("chave"))

# More places than waiting requests: shedding load is another matter.
PLACES = 32_768

# Companies whose federal certificate is a CND in any case.
DOCUMENTS = [cnpj_of(f"9004{number:04d}", "0001") for number in range(1, KEYS + 1)]


def key_of(document: str) -> str:
    return f"pedido-{document}"


async def ask(house: Service, document: str) -> tuple[str, Reply]:
    answer = await house.aget(federal_of(document), idempotency_key=key_of(document))
    return document, answer


async def storm(house: Service, documents: Sequence[str]) -> list[tuple[str, Reply]]:
    """Send all of these requests concurrently, in a shuffled order."""
    return list(await asyncio.gather(*(ask(house, document) for document in documents)))


def in_disorder() -> list[str]:
    everything = DOCUMENTS * DUPLICATES
    random.Random(1).shuffle(everything)
    return everything


def assert_still_running(answer: Reply) -> None:
    """Check for a 409 at once, free, with a wait."""
    assert (answer.status, answer.code) == (409, "OPERACAO_EM_ANDAMENTO"), answer.body
    assert answer.credits == 0
    assert int(answer.headers["retry-after"]) >= 1
    assert "idempotent-replayed" not in answer.headers


def assert_replayed(answer: Reply, first: Reply) -> None:
    """Check for the recorded answer byte for byte, free."""
    assert (answer.status, answer.body) == (first.status, first.body)
    assert answer.headers["idempotent-replayed"] == "true"
    assert answer.headers["x-request-id"] == first.headers["x-request-id"]
    assert answer.credits == 0


def assert_bought_and_charged_once_each(
    house: Service, wire: Wire, firsts: dict[str, Reply]
) -> None:
    """Check that there are as many requests to the source and charges as keys."""
    assert set(firsts) == set(DOCUMENTS)
    assert {(each.status, each.credits) for each in firsts.values()} == {(200, 2)}
    assert wire.count("infosimples") == len(wire.sent) == KEYS
    charged = Counter(entry.request_id for entry in house.charges())
    assert charged == Counter(each.json["request_id"] for each in firsts.values())
    assert set(charged.values()) == {1}
    assert {entry.credits for entry in house.charges()} == {-2}
    assert house.money() == (CREDITS - 2 * KEYS, 0)
    house.assert_books_agree()


def test_a_storm_while_the_source_is_slow(tmp_path: Path) -> None:
    """Nothing is answered yet: of 25 each, one waits and 24 get a 409; later all are replays."""
    wire = Wire()
    with open_service(
        tmp_path,
        mode="live",
        transport=wire,
        infosimples=INFOSIMPLES,
        requests_max=PLACES,
        deadline=PATIENCE_SECONDS,
    ) as house:

        async def scenario() -> tuple[dict[str, Reply], list[tuple[str, Reply]]]:
            wire.hold()
            tasks = [asyncio.create_task(ask(house, each)) for each in in_disorder()]
            over: list[object] = []
            for task in tasks:
                task.add_done_callback(over.append)
            await house.until(lambda: len(over) == len(tasks) - KEYS)
            await house.until(lambda: len(wire.sent) == KEYS)
            body = [task.result() for task in tasks if task.done()]
            waiting = [task for task in tasks if not task.done()]
            assert house.money() == (CREDITS, 2 * KEYS)
            wire.release()
            return dict([await task for task in waiting]), body

        firsts, body = house.run(scenario())
        assert Counter(document for document, _ in body) == dict.fromkeys(DOCUMENTS, DUPLICATES - 1)
        for _, answer in body:
            assert_still_running(answer)
        assert_bought_and_charged_once_each(house, wire, firsts)

        for document, answer in house.run(storm(house, DOCUMENTS * 5)):
            assert_replayed(answer, firsts[document])
        assert_bought_and_charged_once_each(house, wire, firsts)


def test_a_storm_while_the_source_answers(tmp_path: Path) -> None:
    """Duplicates arrive before, during and after: 409 or a replay, and one purchase per key."""
    wire = Wire()
    with open_service(
        tmp_path, mode="live", transport=wire, infosimples=INFOSIMPLES, requests_max=PLACES
    ) as house:
        answers = house.run(storm(house, in_disorder()))
        by_document: dict[str, list[Reply]] = defaultdict(list)
        for document, answer in answers:
            by_document[document].append(answer)
        firsts = {}
        for document, those in by_document.items():
            assert len(those) == DUPLICATES
            (first,) = (
                each
                for each in those
                if each.status != 409 and "idempotent-replayed" not in each.headers
            )
            firsts[document] = first
            for each in those:
                if each.status == 409:
                    assert_still_running(each)
                elif each is not first:
                    assert_replayed(each, first)
        assert_bought_and_charged_once_each(house, wire, firsts)


def kept(house: Service, document: str) -> bool:
    inquiry = Inquiry("federal_certificate", Cnpj.parse(document))
    return house.kept(inquiry, "live") is not None


def test_a_client_that_disconnects(tmp_path: Path) -> None:
    """The operation continues: it is charged, cached, and recorded under its key."""
    wire, document = Wire(), DOCUMENTS[0]
    with open_service(tmp_path, mode="live", transport=wire, infosimples=INFOSIMPLES) as house:

        async def scenario() -> tuple[Reply, Reply]:
            wire.hold()
            task = asyncio.create_task(ask(house, document))
            await house.until(lambda: len(wire.sent) == 1)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert task.cancelled()
            assert house.money() == (CREDITS, 2)
            _, meanwhile = await ask(house, document)
            wire.release()
            await house.until(lambda: house.balance().held_credits == 0)
            _, again = await ask(house, document)
            return meanwhile, again

        meanwhile, again = house.run(scenario())
        assert_still_running(meanwhile)
        assert (again.status, again.credits) == (200, 0)
        assert again.headers["idempotent-replayed"] == "true"
        assert again.json["certificate_type"] == "CND"
        assert again.json["billing"] == {"credits": 2, "source": "online"}
        (entry,) = house.charges()
        assert (entry.request_id, entry.credits) == (again.json["request_id"], -2)
        assert kept(house, document)
        only = house.get(federal_of(document, "cache_strategy=SO_CACHE"))
        assert (only.status, only.credits) == (200, 1)
        assert wire.count("infosimples") == 1
        house.assert_books_agree()


def test_a_client_that_disconnects_from_a_failure(tmp_path: Path) -> None:
    """The source fails after the disconnect: the hold is released, and the failure is recorded."""
    wire, document = Wire(), "90020003000180"
    with open_service(tmp_path, mode="live", transport=wire, infosimples=INFOSIMPLES) as house:

        async def scenario() -> Reply:
            wire.hold()
            task = asyncio.create_task(ask(house, document))
            await house.until(lambda: len(wire.sent) == 1)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            wire.release()
            await house.until(lambda: house.balance().held_credits == 0)
            _, again = await ask(house, document)
            return again

        again = house.run(scenario())
        assert (again.status, again.code, again.credits) == (400, "FALHA_TECNICA", 0)
        assert again.headers["idempotent-replayed"] == "true"
        assert house.money() == (CREDITS, 0)
        assert not kept(house, document)
        assert wire.count("infosimples") == 1
        house.assert_books_agree()


def test_a_storm_of_clients_that_disconnect(tmp_path: Path) -> None:
    """All disconnect while the source is slow: every operation is completed."""
    wire = Wire()
    with open_service(tmp_path, mode="live", transport=wire, infosimples=INFOSIMPLES) as house:

        async def scenario() -> list[tuple[str, Reply]]:
            wire.hold()
            tasks = [asyncio.create_task(ask(house, each)) for each in DOCUMENTS]
            await house.until(lambda: len(wire.sent) == KEYS)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            wire.release()
            await house.until(lambda: house.balance().held_credits == 0)
            return await storm(house, DOCUMENTS)

        answers = house.run(scenario())
        for _, answer in answers:
            assert (answer.status, answer.credits) == (200, 0)
            assert answer.headers["idempotent-replayed"] == "true"
        charged = Counter(entry.request_id for entry in house.charges())
        assert charged == Counter(answer.json["request_id"] for _, answer in answers)
        assert wire.count("infosimples") == KEYS
        assert house.money() == (CREDITS - 2 * KEYS, 0)
        assert all(kept(house, document) for document in DOCUMENTS)
        house.assert_books_agree()
