"""Providers that hang, fail and recover, over the real adapters of a live account.

The network is a `Wire`: simulated providers, in which requests about a UF can hang. It counts
outgoing requests. Instants are the event loop's own.
"""

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from balcao.core.documents import Cnpj
from balcao.core.errors import CommitUncertain, StorageFailed
from balcao.core.ledger import Change, Finish, Hold, KeyBound, Refusal, Settle
from balcao.core.questions import Inquiry
from balcao.providers.cnpja.settings import CnpjaSettings
from balcao.providers.infosimples.settings import InfosimplesSettings
from balcao.providers.sefaz.settings import SefazSettings
from tests.providers import MARANHAO, PROVIDERS, Sent, Wire
from tests.records import ALL_UFS, producer, sintegra, suframa
from tests.service import CREDITS, Reply, Service, assert_refused, open_service

# Active in SP, MG, RJ, PR and BA, inactive in RS (sandbox.md).
CNPJ = "90010007000268"
REGISTERED = {"SP", "MG", "RJ", "PR", "BA", "RS"}
OTHERS = ("90010001000100", "90010008000121", "90010009000176", "90010010000109", "90010011000145")

DEADLINE = 1.0
GENEROUS = 5.0  # what a deadline of one second may take on a machine with other things to do

SEFAZ = SefazSettings(url=f"{PROVIDERS}/sefaz", endpoints=dict(MARANHAO))
CNPJA = CnpjaSettings(url=f"{PROVIDERS}/cnpja", key=SecretStr("chave"))
INFOSIMPLES = InfosimplesSettings(url=f"{PROVIDERS}/infosimples", token=SecretStr("chave"))


def live_service(folder: Path, wire: Wire, **settings: Any) -> AbstractContextManager[Service]:
    """Open a service with live accounts, answered only by the sources of the settings."""
    return open_service(folder, mode="live", transport=wire, **settings)


def origins(answer: Reply) -> Mapping[str, str]:
    """Return where each UF's part of a BR answer came from."""
    return {each["uf"]: each["origem"] for each in answer.json["ufs"]}


def all_but(uf: str) -> Mapping[str, str]:
    return {each: "indisponivel" if each == uf else "online" for each in ALL_UFS}


async def timed(house: Service, path: str) -> tuple[Reply, float]:
    now = asyncio.get_running_loop().time
    started = now()
    answer = await house.aget(path)
    return answer, now() - started


# One UF in 27 swallows questions


def test_one_hanging_uf_of_27(tmp_path: Path) -> None:
    """The other 26 are answered and charged, within the deadline, with one request for each."""
    wire = Wire(black_holes={"RJ"})
    with live_service(tmp_path, wire, sefaz=SEFAZ, deadline=DEADLINE) as house:
        answer, seconds = house.run(timed(house, sintegra(CNPJ, "uf=BR")))

        assert (answer.status, answer.credits) == (200, 26)
        assert origins(answer) == all_but("RJ")
        assert answer.json["is_cache"] is False
        body = {each["uf"] for each in answer.json["inscricoes_estaduais"]}
        assert body == REGISTERED - {"RJ"}
        assert seconds < GENEROUS
        # It was the silent one that was waited for, and the others were over before it.
        assert wire.ended[-1] == Sent("sefaz", "RJ")
        assert len(wire.ended) == 27
        assert tuple(sorted(sent.uf for sent in wire.sent)) == ALL_UFS
        assert house.money() == (CREDITS - 26, 0)
        assert house.kept(Inquiry("state_registration", Cnpj.parse(CNPJ), "RJ"), "live") is None
        house.assert_books_agree()


def test_a_hanging_uf_opens_its_circuit_and_recovers(tmp_path: Path) -> None:
    """Five failures open its circuit, and no other; then it is asked again, and closes."""
    wire = Wire(black_holes={"RJ"})
    line = ("sefaz", "state_registration", "RJ")
    with live_service(tmp_path, wire, sefaz=SEFAZ, deadline=DEADLINE, breaker_seconds=2.0) as house:

        async def five_failures() -> list[Reply]:
            paths = [sintegra(CNPJ, "uf=BR"), *(sintegra(cnpj, "uf=RJ") for cnpj in OTHERS[:4])]
            return list(await asyncio.gather(*(house.aget(path) for path in paths)))

        everywhere, *alone = house.run(five_failures())
        # Read before anything is asserted: the circuit is open for two seconds only.
        wire.forget()
        again, seconds = house.run(timed(house, sintegra(CNPJ, "uf=BR")))
        refused = house.get(sintegra(CNPJ, "uf=RJ"))
        circuits = house.circuits()
        sent_meanwhile = list(wire.sent)

        assert everywhere.status == 200
        for cnpj, answer in zip(OTHERS, alone, strict=False):
            assert_refused(answer, 500, "ERRO_INTERNO", cnpj)

        # Open: unavailable at once, without a request.
        assert (again.status, again.credits) == (200, 26)
        assert origins(again) == all_but("RJ")
        assert seconds < DEADLINE
        assert sorted(sent.uf for sent in sent_meanwhile) == [uf for uf in ALL_UFS if uf != "RJ"]
        assert_refused(refused, 503, "SERVICO_INDISPONIVEL", CNPJ)
        assert circuits[line] == "open"
        assert {state for where, state in circuits.items() if where != line} == {"closed"}
        assert len(circuits) == 27

        # It recovers; after the Retry-After it is asked again, once per lookup.
        wire.black_holes = ()
        house.run(asyncio.sleep(int(refused.headers["retry-after"])))
        wire.forget()
        recovered = house.get(sintegra(CNPJ, "uf=BR"))
        assert (recovered.status, recovered.credits) == (200, 27)
        assert origins(recovered) == dict.fromkeys(ALL_UFS, "online")
        assert wire.count("sefaz", "RJ") == 1
        assert len(wire.sent) == 27
        assert set(house.circuits().values()) == {"closed"}
        house.assert_books_agree()


def test_four_failures_leave_a_circuit_closed(tmp_path: Path) -> None:
    """After four failures and a success, a UF's failures are counted from zero."""
    wire = Wire(black_holes={"RJ"})
    with live_service(tmp_path, wire, sefaz=SEFAZ, deadline=0.3) as house:

        async def together(paths: Sequence[str]) -> list[int]:
            answers = await asyncio.gather(*(house.aget(path) for path in paths))
            return [answer.status for answer in answers]

        four = [sintegra(cnpj, "uf=RJ") for cnpj in OTHERS[:4]]
        for _ in range(2):
            wire.black_holes = {"RJ"}
            assert house.run(together(four)) == [500] * 4
            wire.black_holes = ()
            assert house.get(sintegra(CNPJ, "uf=RJ")).status == 200
        assert house.circuits()["sefaz", "state_registration", "RJ"] == "closed"
        assert wire.count("sefaz", "RJ") == 10


def test_a_hanging_uf_is_answered_from_the_cache(tmp_path: Path) -> None:
    """It is charged, and served if the strategy allows it."""
    wire = Wire()
    with live_service(tmp_path, wire, sefaz=SEFAZ, deadline=DEADLINE) as house:
        assert house.get(sintegra(CNPJ, "uf=RJ")).status == 200
        wire.black_holes = {"RJ"}
        queries = ("uf=BR", "uf=BR&cache_strategy=SO_ONLINE", "uf=BR&cache=0&error_fallback=true")

        async def scenario() -> list[Reply]:
            return list(await asyncio.gather(*(house.aget(sintegra(CNPJ, q)) for q in queries)))

        usual, online, any_age = house.run(scenario())

        with_cache = {uf: "cache" if uf == "RJ" else "online" for uf in ALL_UFS}
        for answer in (usual, any_age):
            assert (answer.status, answer.credits) == (200, 27)
            assert origins(answer) == with_cache
            assert answer.json["is_cache"] is False
            assert {each["uf"] for each in answer.json["inscricoes_estaduais"]} == REGISTERED
        assert (online.status, online.credits) == (200, 26)
        assert origins(online) == all_but("RJ")


def test_all_ufs_hang(tmp_path: Path) -> None:
    """An error within the deadline, nothing charged, nothing held."""
    wire = Wire(black_holes=ALL_UFS)
    with live_service(tmp_path, wire, sefaz=SEFAZ, deadline=0.3) as house:
        answer, seconds = house.run(timed(house, sintegra(CNPJ, "uf=BR")))
        assert_refused(answer, 500, "ERRO_INTERNO", CNPJ)
        assert "ufs" not in answer.json
        assert seconds < GENEROUS
        assert len(wire.sent) == 27
        assert house.money() == (CREDITS, 0)
        house.assert_books_agree()


def test_a_uf_without_a_source_is_unavailable(tmp_path: Path) -> None:
    """MA has no treasury service: alone it is a 503, in BR it is `indisponivel` and free."""
    wire = Wire()
    with live_service(tmp_path, wire, sefaz=SefazSettings(url=f"{PROVIDERS}/sefaz")) as house:
        alone = house.get(sintegra(CNPJ, "uf=MA"))
        everywhere = house.get(sintegra(CNPJ, "uf=BR"))
        assert_refused(alone, 503, "SERVICO_INDISPONIVEL", CNPJ)
        assert (everywhere.status, everywhere.credits) == (200, 26)
        assert origins(everywhere) == all_but("MA")
        assert wire.count("sefaz", "MA") == 0


def test_a_hanging_uf_and_a_second_source(tmp_path: Path) -> None:
    """The next source answers for the hanging UF within the same deadline: 28 requests for 27."""
    wire = Wire(black_holes={"RJ"})
    with live_service(
        tmp_path, wire, sefaz=SEFAZ, infosimples=INFOSIMPLES, deadline=10.0, timeout=0.3
    ) as house:
        answer = house.get(sintegra(CNPJ, "uf=BR"))
        assert (answer.status, answer.credits) == (200, 27)
        assert origins(answer) == dict.fromkeys(ALL_UFS, "online")
        assert {each["uf"] for each in answer.json["inscricoes_estaduais"]} == REGISTERED
        assert (wire.count("sefaz"), wire.count("infosimples")) == (27, 1)


def test_a_provider_of_all_ufs_hangs(tmp_path: Path) -> None:
    """A BR request that hangs at CNPJá is one failure of its circuit; the treasuries answer."""
    wire = Wire(black_holes={"cnpja"})
    line = ("cnpja", "state_registration", "BR")
    with live_service(
        tmp_path, wire, cnpja=CNPJA, sefaz=SEFAZ, deadline=10.0, timeout=0.2, breaker_seconds=30.0
    ) as house:
        states = []
        for cnpj in OTHERS:
            answer = house.get(sintegra(cnpj, "uf=BR"))
            assert (answer.status, answer.credits) == (200, 27)
            assert origins(answer) == dict.fromkeys(ALL_UFS, "online")
            states.append(house.circuits()[line])
        assert states == ["closed"] * 4 + ["open"]
        assert (wire.count("cnpja"), wire.count("sefaz")) == (5, 5 * 27)
        assert house.get(sintegra(CNPJ, "uf=BR")).credits == 27
        assert (wire.count("cnpja"), wire.count("sefaz")) == (5, 6 * 27)


# One provider that answers all UFs in one call


def test_all_ufs_in_one_call(tmp_path: Path) -> None:
    """CNPJá is asked once for BR, and each UF in its answer is in the cache afterwards."""
    wire = Wire()
    with live_service(tmp_path, wire, cnpja=CNPJA) as house:
        answer = house.get(sintegra(CNPJ, "uf=BR"))
        assert (answer.status, answer.credits) == (200, 27)
        assert origins(answer) == dict.fromkeys(ALL_UFS, "online")
        assert wire.sent == [Sent("cnpja", ",".join(ALL_UFS))]
        one = house.get(sintegra(CNPJ, "uf=TO&cache_strategy=CACHE_SE_EXISTIR"))
        everywhere = house.get(sintegra(CNPJ, "uf=BR&cache_strategy=CACHE_SE_EXISTIR"))
        assert (one.json["is_cache"], everywhere.json["is_cache"]) == (True, True)
        assert (one.credits, everywhere.credits) == (1, 27)
        assert len(wire.sent) == 1


@pytest.mark.parametrize("strategy", ["CACHE_PREFERENCIAL", "CACHE_SE_EXISTIR"])
def test_only_the_missing_ufs_in_one_call(tmp_path: Path, strategy: str) -> None:
    """A partly cached BR asks CNPJá once, for a list of the UFs that are missing."""
    cached = ("BA", "RS", "SP", "TO")
    wire = Wire()
    with live_service(tmp_path, wire, cnpja=CNPJA) as house:
        for uf in cached:
            house.get(sintegra(CNPJ, f"uf={uf}"))
        wire.forget()
        answer = house.get(sintegra(CNPJ, f"uf=BR&cache_strategy={strategy}"))

        assert (answer.status, answer.credits) == (200, 27)
        assert origins(answer) == {uf: "cache" if uf in cached else "online" for uf in ALL_UFS}
        assert answer.json["is_cache"] is False
        assert {each["uf"] for each in answer.json["inscricoes_estaduais"]} == REGISTERED
        (sent,) = wire.sent
        assert sorted(sent.uf.split(",")) == [uf for uf in ALL_UFS if uf not in cached]


def test_one_missing_uf_is_one_call_for_it(tmp_path: Path) -> None:
    """The last missing UF is asked for by its abbreviation."""
    wire = Wire()
    with live_service(tmp_path, wire, cnpja=CNPJA) as house:
        house.get(sintegra(OTHERS[0], "uf=SP"))
        for uf in ALL_UFS[:-1]:
            house.get(sintegra(CNPJ, f"uf={uf}"))
        wire.forget()
        house.get(sintegra(CNPJ, "uf=BR&cache_strategy=CACHE_SE_EXISTIR"))
        assert wire.sent == [Sent("cnpja", "TO")]


# Two sources, one answer


def test_type_from_one_source_and_address_from_another(tmp_path: Path) -> None:
    """The type is CNPJá's, the address the treasury's; the event names both."""
    wire = Wire()
    with live_service(tmp_path, wire, cnpja=CNPJA, sefaz=SEFAZ) as house:
        cnpj = OTHERS[0]
        answer = house.get(sintegra(cnpj, "uf=SP&endereco=true"))
        assert (answer.status, answer.credits) == (200, 2)
        (found,) = answer.json["inscricoes_estaduais"]
        assert (found["tipo_ie"], found["situacao_pj"]) == ("IE Normal", "Sem restrição")
        assert (found["endereco"]["uf"], len(found["endereco"]["cep"])) == ("SP", 8)
        assert wire.sent == [Sent("cnpja", "SP"), Sent("sefaz", "SP")]
        event = house.event(answer.json["request_id"])
        assert event["source"] == "cnpja+sefaz(addresses)"

        again = house.get(sintegra(cnpj, "uf=SP&endereco=true&cache_strategy=CACHE_SE_EXISTIR"))
        assert again.json["inscricoes_estaduais"] == [found]
        assert (again.json["is_cache"], again.credits) == (True, 2)
        assert house.event(again.json["request_id"])["source"] == "cnpja+sefaz(addresses)"
        assert len(wire.sent) == 2


def test_addresses_are_asked_for_where_there_are_registrations(tmp_path: Path) -> None:
    """BR with addresses: one call for all types, one call for each UF that has something."""
    wire = Wire()
    with live_service(tmp_path, wire, cnpja=CNPJA, sefaz=SEFAZ) as house:
        answer = house.get(sintegra(CNPJ, "uf=BR&endereco=true"))
        assert (answer.status, answer.credits) == (200, 28)
        those = answer.json["inscricoes_estaduais"]
        assert {each["uf"] for each in those} == REGISTERED
        assert all("endereco" in each and "tipo_ie" in each for each in those)
        assert wire.count("cnpja", ",".join(ALL_UFS)) == wire.count("cnpja") == 1
        assert sorted(s.uf for s in wire.sent if s.provider == "sefaz") == sorted(REGISTERED)


def test_an_address_that_cannot_be_read_leaves_the_rest(tmp_path: Path) -> None:
    """The treasury hangs: the registration comes without an address, and is no error."""
    wire = Wire(black_holes={"SP"})
    with live_service(tmp_path, wire, cnpja=CNPJA, sefaz=SEFAZ, deadline=0.5) as house:
        answer = house.get(sintegra(OTHERS[0], "uf=SP&endereco=true"))
        assert answer.status == 200
        (found,) = answer.json["inscricoes_estaduais"]
        assert found["tipo_ie"] == "IE Normal"
        assert "endereco" not in found
        house.assert_books_agree()


def test_addresses_without_a_source_are_not_charged(tmp_path: Path) -> None:
    """If the only source has no addresses, `endereco=true` costs nothing (ADR 0011)."""
    with live_service(tmp_path, Wire(), cnpja=CNPJA) as house:
        answer = house.get(sintegra(OTHERS[0], "uf=SP&endereco=true"))
        assert (answer.status, answer.credits) == (200, 1)


# A full disk


def test_the_hold_of_an_unsettled_br_is_released(tmp_path: Path) -> None:
    """The caller gets a 503 and pays nothing; the 27 held go as soon as the disk has room."""
    wire = Wire()
    with live_service(tmp_path, wire, cnpja=CNPJA) as house:
        front, desk = house.front, house.desk
        front.parts = dataclasses.replace(front.parts, release_retry_seconds=0.001)
        commit = desk.commit
        full = True

        async def fails_to_settle(changes: Sequence[Change]) -> Refusal | None:
            if full and any(isinstance(change, Settle) for change in changes):
                raise StorageFailed("disk full")
            return await commit(changes)

        desk.commit = fails_to_settle  # type: ignore[method-assign]

        async def scenario() -> Reply:
            nonlocal full
            path = sintegra(CNPJ, "uf=BR")
            answer = await house.aget(path, idempotency_key="pedido-0001")
            assert house.money() == (CREDITS, 27)
            full = False
            await house.until(lambda: house.balance().held_credits == 0)
            return answer

        answer = house.run(scenario())

        assert_refused(answer, 503, "SERVICO_INDISPONIVEL", CNPJ)
        assert answer.json["inscricoes_estaduais"] == []
        assert house.money() == (CREDITS, 0)
        assert not house.charges()
        repeated = house.get(sintegra(CNPJ, "uf=BR"), idempotency_key="pedido-0001")
        assert (repeated.status, repeated.headers["idempotent-replayed"]) == (503, "true")
        assert house.get(sintegra(CNPJ, "uf=BR")).credits == 27
        house.assert_books_agree()


def test_a_hold_is_released_even_if_another_request_bound_its_key(tmp_path: Path) -> None:
    """The disk was full for so long that the key had expired."""
    wire = Wire()
    with live_service(tmp_path, wire, cnpja=CNPJA) as house:
        front, desk = house.front, house.desk
        front.parts = dataclasses.replace(front.parts, release_retry_seconds=0.001)
        commit = desk.commit
        failures = iter([StorageFailed("disk full")])

        async def fails_to_settle(changes: Sequence[Change]) -> Refusal | None:
            if any(isinstance(change, Settle) for change in changes):
                for failure in failures:
                    raise failure
                if any(isinstance(change, Finish) for change in changes):
                    return KeyBound()
            return await commit(changes)

        desk.commit = fails_to_settle  # type: ignore[method-assign]

        async def scenario() -> Reply:
            answer = await house.aget(sintegra(CNPJ, "uf=BR"), idempotency_key="pedido-0001")
            await house.until(lambda: house.balance().held_credits == 0)
            return answer

        assert_refused(house.run(scenario()), 503, "SERVICO_INDISPONIVEL", CNPJ)
        assert house.money() == (CREDITS, 0)
        house.assert_books_agree()


def test_a_hold_of_uncertain_commit_is_released(tmp_path: Path) -> None:
    """The connection broke in the commit of a hold, which was durable. The key is free again."""
    wire = Wire()
    with live_service(tmp_path, wire, cnpja=CNPJA) as house:
        front, desk = house.front, house.desk
        front.parts = dataclasses.replace(front.parts, release_retry_seconds=0.001)
        commit = desk.commit
        away = True

        async def loses_the_answer(changes: Sequence[Change]) -> Refusal | None:
            if away and any(isinstance(change, Settle) for change in changes):
                raise StorageFailed("database away")
            refusal = await commit(changes)
            if away and any(isinstance(change, Hold) for change in changes):
                raise CommitUncertain("outcome unknown")
            return refusal

        desk.commit = loses_the_answer  # type: ignore[method-assign]

        async def scenario() -> Reply:
            nonlocal away
            path = sintegra(CNPJ, "uf=BR")
            answer = await house.aget(path, idempotency_key="pedido-0001")
            assert house.money() == (CREDITS, 27)
            away = False
            await house.until(lambda: house.balance().held_credits == 0)
            return answer

        answer = house.run(scenario())

        assert (answer.status, answer.code) == (503, "COBRANCA_INCERTA")
        assert answer.headers["retry-after"] == "5"
        assert "x-creditos-cobrados" not in answer.headers
        assert "Nada foi cobrado" not in answer.json["message"]
        assert wire.sent == []
        again = house.get(sintegra(CNPJ, "uf=BR"), idempotency_key="pedido-0001")
        assert (again.status, again.credits) == (200, 27)
        assert house.money() == (CREDITS - 27, 0)
        house.assert_books_agree()


# A hundred at once


@pytest.mark.parametrize(
    ("path", "price", "provider", "calls"),
    [
        (sintegra(CNPJ, "uf=SP"), 1, "cnpja", 1),
        (sintegra(CNPJ, "uf=SP"), 1, "sefaz", 1),
        (sintegra(CNPJ, "uf=BR"), 27, "cnpja", 1),
        (sintegra(CNPJ, "uf=BR"), 27, "sefaz", 27),
        (sintegra(CNPJ, "uf=SP&endereco=true"), 2, "sefaz", 1),
        (producer(query="uf=SP"), 1, "sefaz", 1),
        (producer(query="uf=BR"), 26, "cnpja", 26),
        (suframa("90010002000154"), 1, "cnpja", 1),
    ],
)
def test_a_hundred_concurrent_lookups_ask_once_and_pay_each(
    tmp_path: Path, path: str, price: int, provider: str, calls: int
) -> None:
    """Identical concurrent requests share the upstream calls, and each is charged its price."""
    wire = Wire()
    source: dict[str, Any] = {"cnpja": CNPJA} if provider == "cnpja" else {"sefaz": SEFAZ}
    with live_service(tmp_path, wire, **source) as house:

        async def scenario() -> list[Reply]:
            wire.hold()
            tasks = [asyncio.create_task(house.aget(path)) for _ in range(100)]
            await house.until(lambda: house.balance().held_credits == 100 * price)
            await house.until(lambda: len(wire.sent) == calls)
            wire.release()
            return [await task for task in tasks]

        answers = house.run(scenario())

        assert {(answer.status, answer.credits) for answer in answers} == {(200, price)}
        bodies = [answer.json for answer in answers]
        assert len({body.pop("request_id") for body in bodies}) == 100
        assert all(body == bodies[0] for body in bodies)
        assert wire.count(provider) == len(wire.sent) == calls
        assert [charge.credits for charge in house.charges()] == [-price] * 100
        assert house.money() == (CREDITS - 100 * price, 0)
        house.assert_books_agree()
