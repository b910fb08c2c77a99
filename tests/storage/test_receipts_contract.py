"""Receipts on every engine: recorded with the charge, never changed, purged."""

import msgspec
import pytest

from balcao.core.access import Account
from balcao.core.errors import StorageFailed
from balcao.core.ledger import Change, HoldGone, InsufficientFunds
from balcao.core.receipts import Receipt, digest_of
from balcao.storage.desk.desk import Desk
from tests.storage.engines import Engine
from tests.storage.world import (
    DAY_MS,
    NOW,
    OPERATION,
    Balance,
    a_charge,
    a_finish,
    a_hold,
    a_keep,
    a_settle,
    balance,
    charged,
)

BYTES = "um recibo"
OTHER_BYTES = "outro recibo"


def recorded(desk: Desk, *numbers: str) -> list[str]:
    """Return the numbers that are recorded."""
    return [number for number in numbers if desk.receipt(number) is not None]


def purge(engine: Engine, desk: Desk, before_ms: int, limit: int = 100) -> list[str]:
    """Return the digests to delete that no other record names."""
    engine.run(desk.purge_receipts(before_ms, limit, NOW))
    left = sorted(about for (about,) in engine.sql("DELETE FROM job RETURNING about"))
    return list(desk.unnamed(left))


def test_a_receipt_is_read_as_recorded(engine: Engine, desk: Desk, ana: Account) -> None:
    assert desk.receipt("ana's") is None
    assert engine.commit(desk, a_keep(ana, "ana's", BYTES), a_keep(None, "public", "é")) is None

    digest = digest_of(BYTES.encode())
    mine = Receipt("ana's", ana.account_id, digest, "application/pdf", 9, operation=OPERATION)
    assert desk.receipt("ana's") == mine
    digest = digest_of("é".encode())
    public = Receipt("public", None, digest, "application/pdf", 2, operation=OPERATION)
    assert desk.receipt("public") == public
    assert desk.receipt("another") is None
    assert engine.open().receipt("ana's") == mine


def test_a_receipt_may_be_html(engine: Engine, desk: Desk, ana: Account) -> None:
    page = msgspec.structs.replace(a_keep(ana, "page"), media_type="text/html")
    engine.commit(desk, page)
    found = desk.receipt("page")
    assert found is not None
    assert found.media_type == "text/html"


def test_a_receipt_comes_with_its_charge(engine: Engine, desk: Desk, ana: Account) -> None:
    changes: list[Change] = [
        a_charge(ana, "r1", 2),
        a_keep(ana, "first"),
        a_finish(ana, "key", "r1"),
    ]
    assert engine.commit(desk, *changes) is None
    engine.commit(desk, a_hold(ana, "r2", 3))
    assert engine.commit(desk, a_settle(ana, "r2", 3), a_keep(ana, "second")) is None

    assert charged(desk, ana) == {"r1": 2, "r2": 3}
    assert recorded(desk, "first", "second") == ["first", "second"]


def test_a_refused_list_leaves_no_receipt(engine: Engine, desk: Desk, ana: Account) -> None:
    assert engine.commit(desk, a_keep(ana, "a"), a_charge(ana, "r1", 11)) == InsufficientFunds(
        11, 10
    )
    assert engine.commit(desk, a_settle(ana, "gone", 1), a_keep(ana, "b")) == HoldGone()
    engine.commit(desk, a_charge(ana, "r2"))
    with pytest.raises(StorageFailed):
        engine.commit(desk, a_charge(ana, "r2"), a_keep(ana, "c"))
    assert recorded(desk, "a", "b", "c") == []

    # It is not taken for recorded later.
    for number in "abc":
        assert engine.commit(desk, a_keep(ana, number)) is None
    assert recorded(desk, "a", "b", "c") == ["a", "b", "c"]


def test_the_same_receipt_is_recorded_once(engine: Engine, desk: Desk, ana: Account) -> None:
    for turn in range(3):
        receipt = a_keep(ana, "number", at_ms=NOW + turn)
        assert engine.commit(desk, a_charge(ana, f"r{turn}"), receipt) is None
    assert engine.commit(desk, a_keep(ana, "number", at_ms=NOW + 3)) is None
    elsewhere = engine.open()
    assert engine.commit(elsewhere, a_charge(ana, "r3"), a_keep(ana, "number")) is None

    assert engine.sql("SELECT receipt_id, created_ms FROM receipt") == [("number", NOW)]
    assert charged(desk, ana) == {"r0": 1, "r1": 1, "r2": 1, "r3": 1}


def test_the_same_receipt_is_recorded_once_within_one_shared_commit(
    engine: Engine, desk: Desk, ana: Account, bruno: Account
) -> None:
    outcomes = engine.together(
        desk,
        [a_charge(ana, "r1"), a_keep(None, "public")],
        [a_charge(bruno, "r2"), a_keep(None, "public")],
        [a_charge(bruno, "r3", 9), a_keep(None, "unpaid")],
        [a_charge(bruno, "r4"), a_keep(bruno, "bruno's")],
    )
    assert outcomes == [None, None, InsufficientFunds(9, 4), None]
    assert recorded(desk, "public", "unpaid", "bruno's") == ["public", "bruno's"]
    assert desk.check().complaints == []


def test_an_invalid_receipt_fails_alone(
    engine: Engine, desk: Desk, ana: Account, bruno: Account
) -> None:
    empty = msgspec.structs.replace(a_keep(ana, "empty"), size_bytes=0)
    nobodys = msgspec.structs.replace(a_keep(ana, "nobody's"), account_id=4711)
    outcomes = engine.together(
        desk,
        [a_charge(ana, "r1"), empty],
        [a_charge(ana, "r2"), nobodys],
        [a_charge(bruno, "r3"), a_keep(bruno, "bruno's")],
    )
    assert [type(outcome) for outcome in outcomes] == [StorageFailed, StorageFailed, type(None)]
    assert recorded(desk, "empty", "nobody's", "bruno's") == ["bruno's"]
    assert balance(desk, ana) == Balance(10, 0)


def test_a_full_disk_keeps_neither_charge_nor_receipt(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    engine.commit(desk, a_keep(ana, "before"))
    changes: list[Change] = [a_charge(ana, "r1"), a_keep(ana, "number")]
    with engine.cannot_write(desk):
        with pytest.raises(StorageFailed):
            engine.commit(desk, *changes)
        with pytest.raises(StorageFailed):
            purge(engine, desk, NOW + 1)
    assert recorded(desk, "before", "number") == ["before"]

    assert engine.commit(desk, *changes) is None
    assert recorded(engine.open(), "before", "number") == ["before", "number"]


# Purging.


def test_a_purge_removes_old_records_and_enqueues_their_bytes(
    engine: Engine, desk: Desk, ana: Account, bruno: Account
) -> None:
    engine.commit(desk, a_keep(ana, "old", BYTES, at_ms=NOW), a_keep(ana, "alone", OTHER_BYTES))
    engine.commit(desk, a_keep(bruno, "young", BYTES, at_ms=NOW + 1))
    assert purge(engine, desk, NOW) == []
    assert recorded(desk, "old", "alone", "young") == ["old", "alone", "young"]

    assert purge(engine, desk, NOW + 1) == [digest_of(OTHER_BYTES.encode())]
    assert recorded(desk, "old", "alone", "young") == ["young"]
    assert purge(engine, desk, NOW + 2) == [digest_of(BYTES.encode())], "the last one to name it"
    assert purge(engine, desk, NOW + DAY_MS) == []


def test_bytes_of_several_purged_records_are_enqueued_once(
    engine: Engine, desk: Desk, ana: Account, bruno: Account
) -> None:
    engine.commit(desk, a_keep(ana, "a"), a_keep(bruno, "b"), a_keep(None, "c"))
    assert purge(engine, desk, NOW + 1) == [digest_of(BYTES.encode())]


def test_a_purge_takes_the_oldest_first_and_not_too_many(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    names = [f"n{turn}" for turn in range(5)]
    for turn in (3, 0, 4, 1, 2):
        engine.commit(desk, a_keep(ana, names[turn], str(turn), at_ms=NOW + turn))

    assert sorted(purge(engine, desk, NOW + 4, limit=2)) == sorted(map(digest_of, (b"0", b"1")))
    assert recorded(desk, *names) == names[2:]
    assert len(purge(engine, desk, NOW + 4, limit=10)) == 2
    assert recorded(desk, *names) == names[4:]


def test_a_purged_receipt_can_be_recorded_again(engine: Engine, desk: Desk, ana: Account) -> None:
    """A receipt has the same number at every delivery."""
    engine.commit(desk, a_charge(ana, "r1"), a_keep(ana, "number"))
    purge(engine, desk, NOW + 1)
    assert charged(desk, ana) == {"r1": 1}, "the ledger is not purged"

    engine.commit(desk, a_charge(ana, "r2"), a_keep(ana, "number", at_ms=NOW + 2))
    assert recorded(desk, "number") == ["number"]
    assert purge(engine, desk, NOW + 2) == []


def test_bytes_without_a_record_are_found(engine: Engine, desk: Desk, ana: Account) -> None:
    engine.commit(desk, a_keep(ana, "a", BYTES), a_keep(None, "b", BYTES))
    named, other = digest_of(BYTES.encode()), digest_of(OTHER_BYTES.encode())
    assert desk.unnamed([named, other, "half written"]) == [other, "half written"]
    assert desk.unnamed([]) == []
    assert len(desk.unnamed([digest_of(bytes([n])) for n in range(200)] * 10)) == 2_000
