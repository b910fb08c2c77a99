"""Details of requests on every engine: queries and retention."""

import asyncio
from typing import Any

import msgspec
import pytest

from balcao.core.access import Account
from balcao.core.calendar import civil_day
from balcao.core.certificates import CertificateSummary
from balcao.core.data_subject import ERASED, AnswerAbout, data_subject
from balcao.core.documents import Cpf
from balcao.core.ledger import Charge, Hold, InsufficientFunds, KeepReceipt, Settle, Trace
from balcao.core.receipts import ReceiptSubject
from balcao.core.result_summary import ResultSummary
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.people import People
from balcao.storage.people import TraceFilter
from tests.storage.engines import Engine
from tests.storage.people import ALWAYS, BY, HOUR_MS, a_token, a_trace, a_user
from tests.storage.world import (
    DAY_MS,
    NOW,
    OPERATION,
    Balance,
    a_charge,
    a_finish,
    a_keep,
    balance,
    charged,
    consumption,
    entries,
)

CPF_HASH = b"h" * 16


@pytest.fixture
def people(desk: Desk) -> People:
    return desk.people


def numbers(people: People, account: Account, wanted: TraceFilter = ALWAYS) -> list[str]:
    return [trace.request_id for trace in people.traces(account.account_id, wanted, 100)]


def test_a_trace_is_read_as_it_was_written(
    engine: Engine, desk: Desk, people: People, ana: Account, bruno: Account
) -> None:
    plain = a_trace(ana, "r1")
    full = a_trace(
        ana,
        "r2",
        key_id=None,
        user_id=7,
        document="***.456.789-**",
        document_hash=CPF_HASH,
        uf="SP",
        refresh=True,
        key_digest="d",
        status=404,
        code="NAO_ENCONTRADO",
        origin="online",
    )
    assert engine.commit(desk, a_charge(ana, "r1"), plain) is None
    assert engine.commit(desk, full) is None
    for trace in (plain, full):
        assert people.trace(ana.account_id, trace.request_id) == trace
        assert people.trace(bruno.account_id, trace.request_id) is None, "another account's"
    assert people.traces(ana.account_id, ALWAYS, 10) == [full, plain]
    assert people.trace(ana.account_id, "r3") is None


def test_answers_about_people_that_an_account_has_received(
    engine: Engine, desk: Desk, ana: Account, bruno: Account
) -> None:
    """An answer counts per account, operation, UF and person; a failure does not count."""
    other, failed = b"o" * 16, b"f" * 16
    nothing = CertificateSummary("none", None, None, None, None)
    person = {"document": "***.456.789-**", "document_hash": CPF_HASH}
    engine.commit(
        desk,
        a_trace(ana, "r1", **person, uf="SP"),
        a_trace(ana, "r2", **{**person, "document_hash": failed}, uf="SP", code="ERRO_INTERNO"),
        a_trace(ana, "r3", **person, operation="certidao", certificate=nothing),
        a_trace(bruno, "r4", **person, operation="certidao", certificate=BROUGHT),
    )

    def received(account: Account, *about: Any) -> bool:
        return engine.run(desk.has_received(AnswerAbout(account.account_id, *about)))

    assert received(ana, OPERATION, "SP", CPF_HASH, False)
    for operation, uf, document_hash in (
        (OPERATION, "MG", CPF_HASH),
        (OPERATION, "", CPF_HASH),
        (OPERATION, "SP", other),
        (OPERATION, "SP", failed),
        ("outra", "SP", CPF_HASH),
    ):
        assert not received(ana, operation, uf, document_hash, False)
    assert not received(bruno, OPERATION, "SP", CPF_HASH, False)
    # Where a birth date belongs to it, only a certificate counts.
    assert received(ana, "certidao", "", CPF_HASH, False)
    assert not received(ana, "certidao", "", CPF_HASH, True)
    assert received(bruno, "certidao", "", CPF_HASH, True)
    assert not received(ana, OPERATION, "SP", CPF_HASH, True)


# Certificates: kept as long as their receipts, in the same lists.

BROUGHT = CertificateSummary(
    "CND", "2027-02-15", "EMPRESA ATIVA LTDA", "n1", "application/pdf", "2026-08-19"
)


def a_receipt(account: Account, number: str, **other: Any) -> KeepReceipt:
    return msgspec.structs.replace(a_keep(account, number), **other)


def a_certificate(account: Account, request: str, **other: object) -> Trace:
    return a_trace(account, request, **{"certificate": BROUGHT, **other})


def test_a_certificate_is_recorded_with_its_receipt(
    engine: Engine, desk: Desk, people: People, ana: Account, bruno: Account
) -> None:
    without = CertificateSummary("none", None, None, None, None)
    first, last = a_certificate(ana, "r1"), a_certificate(ana, "r4", certificate=without)
    engine.commit(desk, a_charge(ana, "r1", 2), a_receipt(ana, "n1"), first)
    engine.commit(desk, a_trace(ana, "r2"), a_trace(ana, "r3"), last, a_certificate(bruno, "r3"))
    assert people.trace(ana.account_id, "r1") == first
    assert people.trace(ana.account_id, "r4") == last
    assert people.trace(bruno.account_id, "r1") is None
    assert numbers(people, ana) == ["r4", "r3", "r2", "r1"], "one list, newest first"
    pages = [people.traces(ana.account_id, ALWAYS, 2, before) for before in (None, "r3", "r1")]
    assert [[trace.request_id for trace in page] for page in pages] == [
        ["r4", "r3"],
        ["r2", "r1"],
        [],
    ]
    # Recorded ones are skipped, as with the others.
    again = a_certificate(ana, "r1", status=500)
    assert engine.together(desk, [again], [again, a_certificate(ana, "r5")]) == [None, None]
    assert people.trace(ana.account_id, "r1") == first


def test_a_branch_s_receipt_is_about_the_certified_head_office(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    kept = msgspec.structs.replace(a_receipt(ana, "n1"), cnpj="90010007000187")
    engine.commit(desk, kept, a_certificate(ana, "r1", document="90010007000268"))
    receipt = desk.receipt("n1")
    assert receipt is not None
    assert receipt.about is not None
    assert receipt.about.document == "90010007000187"


def test_a_receipt_has_its_description(engine: Engine, desk: Desk, ana: Account) -> None:
    engine.commit(desk, a_receipt(ana, "n1"))
    assert desk.receipt("n1").about is None, "nobody remembers"  # type: ignore[union-attr]
    engine.commit(desk, a_certificate(ana, "r1", uf="SP"))
    about = ReceiptSubject("90010001000100", "SP", "CND", "2027-02-15", "EMPRESA ATIVA LTDA")
    assert desk.receipt("n1").about == about  # type: ignore[union-attr]
    assert desk.receipt("n2") is None


def test_certificates_are_kept_longer_and_lose_a_purged_receipt(
    engine: Engine, desk: Desk, people: People, ana: Account
) -> None:
    engine.commit(desk, a_receipt(ana, "n1"), a_certificate(ana, "r1"), a_trace(ana, "r2"))
    assert purge(engine, people, NOW + 1, oldest_certificate_ms=NOW) == 1
    assert numbers(people, ana) == ["r1"]
    engine.run(desk.purge_receipts(NOW + 1, 10, NOW))
    (left,) = people.traces(ana.account_id, ALWAYS, 10)
    assert left.certificate == CertificateSummary(
        "CND", "2027-02-15", "EMPRESA ATIVA LTDA", None, None, "2026-08-19"
    )
    assert purge(engine, people, NOW + 1, oldest_certificate_ms=NOW + 1) == 1
    assert numbers(people, ana) == []


def test_an_erased_person_leaves_no_way_to_the_receipt(
    engine: Engine, desk: Desk, people: People, ana: Account
) -> None:
    person = data_subject(b"s" * 32, Cpf.parse("900.100.001-00"))
    brought = CertificateSummary("CND", "2027-02-15", None, "n1", "application/pdf")
    mine: dict[str, Any] = {"document": "***100001**", "document_hash": person.document_hash}
    engine.commit(desk, a_receipt(ana, "n1", document_hash=person.document_hash))
    engine.commit(desk, a_certificate(ana, "r1", certificate=brought, key_digest="d", **mine))
    engine.commit(desk, a_trace(ana, "r2", **mine), a_finish(ana, "d", "r1"))
    held, digests = engine.run(desk.data_subjects.erase(person, NOW))
    assert [one.request_id for one in held.requests] == ["r1", "r2"]
    assert ([one.request_id for one in held.answers], len(digests)) == (["r1"], 1)
    for request in ("r1", "r2"):
        trace = people.trace(ana.account_id, request)
        assert trace is not None
        assert (trace.document, trace.document_hash) == (ERASED, None)
    # Bought again, it has its old number; the erased request does not lead to it.
    engine.commit(desk, a_receipt(ana, "n1"))
    erased = people.trace(ana.account_id, "r1")
    assert erased is not None
    assert erased.certificate == CertificateSummary("CND", "2027-02-15", None, None, None)


@pytest.mark.parametrize(
    "written",
    ["001.234.567-97", "00123456797", "001234567-97", "001 234\u00a0567/97", "123456797"],
)
def test_an_answer_is_erased_however_the_person_is_written_in_it(
    engine: Engine, desk: Desk, ana: Account, bruno: Account, written: str
) -> None:
    """With other records of the same request; another number is not the person's."""
    named = f'{{"filters": {{"q": "fulano {written}", "uf": "SP"}}}}'.encode()
    other = b'{"filters": {"q": "2001234567970 234 567"}}'
    engine.commit(desk, a_finish(ana, "found", "r1"), a_finish(ana, "sought", "r1", body=named))
    engine.commit(desk, a_finish(ana, "other", "r2", body=other))
    engine.commit(desk, a_finish(bruno, "d", "r3", body=named))
    person = data_subject(b"s" * 32, Cpf.parse("001.234.567-97"))
    held, _ = engine.run(desk.data_subjects.erase(person, NOW))
    gone = [(one.request_id, one.key_digest) for one in held.answers]
    assert sorted(gone) == [("r1", "found"), ("r1", "sought"), ("r3", "d")]
    assert engine.sql("SELECT key_digest FROM idempotency WHERE length(body) > 0") == [("other",)]
    assert not desk.data_subjects.held(person).answers


def test_a_recorded_trace_is_skipped(
    engine: Engine, desk: Desk, people: People, ana: Account, bruno: Account
) -> None:
    engine.commit(desk, a_charge(ana, "r1"), a_trace(ana, "r1"))
    again = a_trace(ana, "r1", status=500)
    assert engine.commit(desk, a_charge(ana, "r2"), again) is None
    assert engine.together(
        desk, [again, a_trace(ana, "r3")], [a_trace(ana, "r3", status=500)], [a_trace(bruno, "r1")]
    ) == [None, None, None]
    assert charged(desk, ana) == {"r1": 1, "r2": 1}
    assert [(t.request_id, t.status) for t in people.traces(ana.account_id, ALWAYS, 10)] == [
        ("r3", 200),
        ("r1", 200),
    ]
    assert numbers(people, bruno) == ["r1"]


def test_a_refused_list_leaves_no_trace(
    engine: Engine, desk: Desk, people: People, ana: Account
) -> None:
    assert engine.commit(desk, a_charge(ana, "r1", 11), a_trace(ana, "r1")) == InsufficientFunds(
        11, 10
    )
    assert numbers(people, ana) == []


def test_many_traces_share_a_commit(
    engine: Engine, desk: Desk, people: People, ana: Account, bruno: Account
) -> None:
    lists = [[a_trace(account, f"r{n:03}")] for n in range(150) for account in (ana, bruno)]
    assert engine.together(desk, *lists) == [None] * 300
    for account in (ana, bruno):
        assert len(people.traces(account.account_id, ALWAYS, 1000)) == 150


def test_traces_are_read_in_pages_newest_first(
    engine: Engine, desk: Desk, people: People, ana: Account, bruno: Account
) -> None:
    for number in range(5):
        engine.commit(desk, a_trace(ana, f"r{number}"), a_trace(bruno, f"r{number}x"))
    first = people.traces(ana.account_id, ALWAYS, 2)
    assert [trace.request_id for trace in first] == ["r4", "r3"]
    second = people.traces(ana.account_id, ALWAYS, 2, before_id="r3")
    assert [trace.request_id for trace in second] == ["r2", "r1"]
    assert [t.request_id for t in people.traces(ana.account_id, ALWAYS, 2, "r1")] == ["r0"]
    assert people.traces(ana.account_id, ALWAYS, 2, "r0") == []


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, "abcdef"),
        ({"from_ms": NOW + 1}, "b"),
        ({"to_ms": NOW}, ""),
        ({"from_ms": NOW, "to_ms": NOW + 1}, "acdef"),
        ({"operation": "suframa"}, "c"),
        ({"key_id": 77}, "d"),
        ({"key_id": 0}, "e"),
        ({"user_id": 7}, "e"),
        ({"origin": "online"}, "c"),
        ({"document": "11222333000181"}, "d"),
        ({"document_hash": CPF_HASH}, "e"),
        ({"errors_only": True}, "f"),
        ({"errors_only": True, "key_id": 77}, ""),
        ({"key_id": 0, "user_id": 8}, ""),
    ],
)
def test_traces_are_filtered(
    engine: Engine, desk: Desk, ana: Account, wanted: dict[str, object], found: str
) -> None:
    engine.commit(
        desk,
        a_trace(ana, "a", status=404),
        a_trace(ana, "b", opened_ms=NOW + 1),
        a_trace(ana, "c", operation="suframa", origin="online"),
        a_trace(ana, "d", key_id=77, document="11222333000181"),
        a_trace(ana, "e", key_id=None, user_id=7, document="***", document_hash=CPF_HASH),
        a_trace(ana, "f", status=400, code="FALHA_TECNICA"),
    )
    given: dict[str, object] = {"from_ms": 0, "to_ms": NOW * 2, **wanted}
    matching = TraceFilter(**given)  # type: ignore[arg-type]
    assert "".join(numbers(desk.people, ana, matching)) == found[::-1]


@pytest.fixture
def accounts(ana: Account, bruno: Account) -> tuple[Account, Account]:
    return ana, bruno


SHOP, FARM = "90010002000154", "90010003000107"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"words": ["PADARIA"]}, "abe"),
        ({"words": ["ZE", "PADARIA"]}, "abe"),
        ({"words": ["PADARIA", "MANAUS"]}, ""),
        ({"words": ["ATIVA"]}, "c"),
        ({"words": ["FAZENDA"]}, ""),  # another account's
        ({"words": ["PA_ARIA"]}, ""),
        ({"results": ["ATIVA"]}, "a"),
        ({"results": ["ativas", "nenhuma"]}, "d"),
        ({"results": ["CND", "ATIVA"]}, "ac"),
        ({"results": ["ativ"]}, ""),
        ({"uf": "SP"}, "d"),
        ({"own_copy": True}, "bcde"),
        ({"own_copy": False, "origin": "online"}, "a"),
        ({"words": ["PADARIA"], "results": ["ATIVA"], "key_id": 77}, ""),
    ],
)
def test_requests_are_found_by_their_result(
    engine: Engine, accounts: tuple[Account, Account], wanted: dict[str, object], found: str
) -> None:
    """Also requests without a stored name, by the name in other requests of the account."""
    desk, (ana, bruno), shop = engine.open(), accounts, {"document": SHOP}
    engine.commit(
        desk,
        a_trace(
            ana,
            "a",
            result_summary=ResultSummary("Padaria do Ze", "ATIVA"),
            origin="online",
            source="x",
            **shop,
        ),
        a_trace(ana, "b", **shop),
        a_certificate(ana, "c"),
        a_trace(ana, "d", result_summary=ResultSummary(None, "ativas:3"), uf="SP", document=FARM),
        a_trace(bruno, "x", result_summary=ResultSummary("Fazenda", "ATIVA"), document=FARM),
    )
    engine.commit(desk, a_charge(ana, "e"), a_trace(ana, "e", **shop))
    given: dict[str, object] = {"from_ms": 0, "to_ms": NOW * 2, **wanted}
    matching = TraceFilter(**given)  # type: ignore[arg-type]
    assert "".join(numbers(desk.people, ana, matching)) == found[::-1]


def test_a_result_is_read_as_it_was_written(
    engine: Engine, desk: Desk, people: People, ana: Account
) -> None:
    told = [
        a_trace(ana, "r1", result_summary=ResultSummary("ACME", "ATIVA")),
        a_trace(ana, "r2", result_summary=ResultSummary("A", None)),
    ]
    engine.commit(desk, *told)
    # Not as a charged lookup, which does not store the result.
    engine.commit(
        desk,
        a_charge(ana, "r3"),
        kept := a_trace(ana, "r3", result_summary=ResultSummary(None, "nenhuma")),
    )
    assert people.traces(ana.account_id, ALWAYS, 10) == [kept, *reversed(told)]
    assert people.trace(ana.account_id, "r3") == kept


def test_the_owner_of_a_request(
    engine: Engine, desk: Desk, people: People, ana: Account, bruno: Account
) -> None:
    engine.commit(desk, a_charge(ana, "charged"))  # its trace was purged
    engine.commit(desk, a_trace(bruno, "free"))
    assert people.owner_of("charged") == ana.account_id
    assert people.owner_of("free") == bruno.account_id
    assert people.owner_of("unknown") is None


def test_traces_and_sums_can_be_read_in_a_thread(
    engine: Engine, desk: Desk, people: People, ana: Account
) -> None:
    engine.commit(desk, a_trace(ana, "r1"))

    async def elsewhere() -> tuple[int, int]:
        found = await asyncio.to_thread(people.traces, ana.account_id, ALWAYS, 10)
        day = civil_day(NOW)
        books = await asyncio.to_thread(desk.totals.books, ana.account_id, day, day)
        return len(found), books.balance_credits

    assert engine.run(elsewhere()) == (1, 10)


# Charges without a key, of the web application.


def test_requests_of_the_web_application_have_no_key(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    number = ana.account_id
    engine.commit(desk, Charge(number, None, "r1", OPERATION, 1, "consulta", "cache", NOW))
    engine.commit(desk, Hold(number, None, "r2", OPERATION, 3, NOW))
    engine.commit(desk, Settle(number, "r2", 2, "consulta", "online", NOW))
    engine.commit(desk, a_charge(ana, "r3"))
    assert balance(desk, ana) == Balance(6, 0)
    assert [entry.key_id for entry in entries(desk, ana)[1:]] == [None, None, number]
    for request, key_id in (("r1", None), ("r2", None), ("r3", number)):
        found = desk.operation(number, request)
        assert found is not None
        assert found.key_id == key_id
    rows = [(r.key_id, r.origin, r.credits) for r in consumption(desk, number)]
    assert rows == [(None, "cache", 1), (None, "online", 2), (number, "cache", 1)]


def test_a_hold_of_the_web_application_is_released_like_any_other(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    engine.commit(desk, Hold(ana.account_id, None, "r1", OPERATION, 3, NOW))
    assert desk.recover(NOW) == 1
    assert balance(desk, ana) == Balance(10, 0)


def purge(
    engine: Engine,
    people: People,
    oldest_trace_ms: int,
    oldest_session_ms: int = 0,
    oldest_certificate_ms: int = 0,
) -> int:
    return engine.run(
        people.purge_people(NOW, oldest_trace_ms, oldest_session_ms, oldest_certificate_ms)
    )


def test_old_traces_are_purged_whatever_their_numbers(
    engine: Engine, desk: Desk, people: People, ana: Account, bruno: Account
) -> None:
    engine.commit(
        desk,
        a_trace(ana, "c", opened_ms=NOW),
        a_trace(ana, "a", opened_ms=NOW - 2),
        a_trace(ana, "b", opened_ms=NOW - 1),
        a_trace(bruno, "z", opened_ms=NOW + 1),
        a_trace(bruno, "b", opened_ms=NOW - 3),
    )
    assert purge(engine, people, NOW) == 3
    assert purge(engine, people, NOW) == 0
    assert (numbers(people, ana), numbers(people, bruno)) == (["c"], ["z"])


def test_a_backlog_is_purged_in_steps_oldest_first(
    engine: Engine, desk: Desk, people: People, ana: Account
) -> None:
    engine.commit(desk, *(a_trace(ana, f"r{n:04}", opened_ms=NOW + n) for n in range(2_500)))
    assert purge(engine, people, NOW + 2_400) == 1_000
    assert numbers_left(engine) == 1_500
    assert people.trace(ana.account_id, "r0999") is None
    assert people.trace(ana.account_id, "r1000") is not None
    assert [purge(engine, people, NOW + 2_400) for _ in range(3)] == [1_000, 400, 0]
    assert numbers_left(engine) == 100


def numbers_left(engine: Engine) -> int:
    ((left,),) = engine.sql("SELECT count(*) FROM trace")
    return int(left)


def test_expired_sessions_and_links_are_purged(
    engine: Engine, desk: Desk, people: People, ana: Account
) -> None:
    lia, rui = a_user(engine, desk, ana, "Lia"), a_user(engine, desk, ana, "Rui")
    engine.run(people.open_session(lia.user_id, a_token("old"), BY, NOW - DAY_MS))
    engine.run(people.open_session(lia.user_id, a_token("new"), BY, NOW - HOUR_MS))
    for user, expires_ms in ((lia, NOW), (rui, NOW + 1)):
        link = people.make_link(
            a_token(user.name),
            "set_password",
            user.user_id,
            signed=BY,
            now_ms=NOW - DAY_MS,
            expires_ms=expires_ms,
        )
        engine.run(link)
    assert purge(engine, people, 0, NOW - HOUR_MS) == 2
    assert purge(engine, people, 0, NOW - HOUR_MS) == 0
    assert people.session(a_token("new"), NOW, DAY_MS, DAY_MS) is not None
    assert engine.sql("SELECT count(*) FROM web_session") == [(1,)]
    assert people.link(a_token("Rui"), NOW) is not None
    assert engine.sql("SELECT count(*) FROM one_time_link") == [(1,)]
