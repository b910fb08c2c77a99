"""Certificates of portfolios change in the commit of their charge, on every engine (20.5)."""

import json
from typing import Any

from balcao.core.access import Account
from balcao.core.certificates import CertificateSummary, StoredReceipt, Verdict
from balcao.core.data_subject import DataSubject
from balcao.core.documents import Cpf
from balcao.core.extensions import Extension
from balcao.core.ledger import InsufficientFunds
from balcao.core.observations import Observation, ObservedCertificate
from balcao.core.papers import PaperKind, paper_key
from balcao.core.people import AT_THE_TERMINAL
from balcao.core.receipts import ReceiptNumbers, digest_of
from balcao.core.renewals import Renews
from balcao.core.wallet import ItemRequest, watched_of
from balcao.service.extending import extension_jobs
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.wallet import Entry
from balcao.storage.desk.wallet.manual_papers import ManualPaper
from tests.records import CNPJ, CPF, OTHER_CNPJ
from tests.storage.engines import Engine
from tests.storage.world import NOW, a_charge, a_hold, a_settle, balance
from tests.watching import a_paper, an_item

PERSON = b"p" * 16
BRANCH = CNPJ[:8] + "000283"


def brought(
    account: Account,
    request: str,
    validity: str | None,
    *,
    verdict: Verdict = "CND",
    kind: PaperKind = "certidao_federal",
    uf: str = "",
    cnpj: str | None = CNPJ,
    asked_ms: int = NOW,
    renews: str | None = None,
) -> Observation:
    """Return the observation of a certificate. `cnpj`: None: of a person."""
    person = None if cnpj else PERSON
    summary = CertificateSummary(verdict, validity, None, "r1", "application/pdf", "2026-08-05")
    renewal = None if renews is None else Renews(renews, None, reissues=True)
    answer = ObservedCertificate(
        paper_key(kind, uf, cnpj, person), "fonte", asked_ms, summary, "/r1", 2, None, renewal
    )
    return Observation(
        account.account_id, "live", request, "federal_certificate", cnpj, person, (), NOW, answer
    )


def watch(engine: Engine, account: Account, document: str, **more: Any) -> str:
    return an_item(
        lambda sql, values: engine.sql(sql, *values),
        account.account_id,
        document,
        "certidao_federal",
        **more,
    )


def paper(engine: Engine, account: Account, kind: str, *items: str, **columns: Any) -> str:
    return a_paper(
        lambda sql, values: engine.sql(sql, *values), account.account_id, kind, *items, **columns
    )


def stored(engine: Engine, paper_id: str, *names: str) -> tuple[Any, ...]:
    ((*row,),) = engine.sql(
        f"SELECT {', '.join(names)} FROM wallet_paper WHERE paper_id = '{paper_id}'"
    )
    return tuple(row)


def told(desk: Desk, account: Account) -> list[tuple[str, Any]]:
    events = desk.events.after(account.account_id, 0, 100)
    return [(each.kind, json.loads(each.body)) for each in events]


def test_an_answer_changes_the_papers_of_its_own_account_alone(
    engine: Engine, desk: Desk, ana: Account, bruno: Account
) -> None:
    known: Any = {"subject": CNPJ[:8], "verdict": "CND", "validity": "2026-08-20"}
    mine = paper(
        engine, ana, "certidao_federal", watch(engine, ana, CNPJ, item_id="i1"),
        watch(engine, ana, BRANCH, item_id="i2"), **known,
    )  # fmt: skip
    theirs = paper(engine, bruno, "certidao_federal", watch(engine, bruno, CNPJ), **known)
    before = stored(engine, theirs, "*")
    # By an establishment that is not watched itself.
    answer = brought(ana, "q1", "2027-02-01", cnpj=CNPJ[:8] + "000364")
    assert engine.commit(desk, a_charge(ana, "q1"), answer) is None
    names = ("validity", "last_day", "issued_on", "request_id", "receipt_id", "next_ms")
    assert stored(engine, mine, *names) == (
        "2027-02-01", "2027-02-01", "2026-08-05", "q1", "r1", 0,
    )  # fmt: skip
    assert [(kind, body["item"]["id"], body["creditos"]) for kind, body in told(desk, ana)] == [
        ("certidao.renovada", "i1", 2),
        ("certidao.renovada", "i2", 0),
    ]
    verified = "SELECT verified_ms FROM wallet_item WHERE account_id = ?"
    assert [tuple(row) for row in engine.sql(verified, ana.account_id)] == [(NOW,), (NOW,)]
    body = told(desk, ana)[0][1]
    assert body["papel"] == {"id": mine, "tipo": "certidao_federal", "uf": None, "nome": None}
    assert (body["valida_ate_antes"], body["recibo"]) == ("2026-08-20", "/r1")
    assert (body["sequencia"], body["pessoa"]) == (1, False)
    # An older one, and one by another account.
    engine.commit(desk, brought(ana, "q2", "2027-06-01", asked_ms=NOW - 1))
    engine.commit(desk, brought(bruno, "q3", None, cnpj=OTHER_CNPJ, verdict="CPD"))
    assert len(told(desk, ana)) == 2
    assert stored(engine, theirs, "*") == before
    assert [tuple(row) for row in engine.sql(verified, bruno.account_id)] == [(None,)]
    assert told(desk, bruno) == []


def test_a_refused_charge_changes_no_paper(engine: Engine, desk: Desk, ana: Account) -> None:
    mine = paper(
        engine, ana, "certidao_federal", watch(engine, ana, CNPJ),
        subject=CNPJ[:8], verdict="CND", validity="2026-08-20",
    )  # fmt: skip
    before = stored(engine, mine, "*")
    (refused,) = engine.together(desk, [a_charge(ana, "q1", 11), brought(ana, "q1", "2027-02-01")])
    assert isinstance(refused, InsufficientFunds)
    with engine.wall_off("event"):
        (failed,) = engine.together(desk, [a_charge(ana, "q2"), brought(ana, "q2", "2027-02-01")])
    assert isinstance(failed, Exception)
    assert stored(engine, mine, "*") == before
    engine.commit(desk, a_hold(ana, "q3", 2))
    answer = brought(ana, "q3", "2026-08-20", renews=mine)
    engine.commit(desk, a_settle(ana, "q3", 2), answer)
    assert stored(engine, mine, "purchases", "attempts", "renewing_ms") == (1, 1, None)
    ((kind, body),) = told(desk, ana)
    assert (kind, body["tentativas"], body["valida_ate"]) == ("certidao.mesma", 1, "2026-08-20")
    assert balance(desk, ana) == (8, 0)


def test_each_kind_has_its_subject(engine: Engine, desk: Desk, ana: Account) -> None:
    item = watch(engine, ana, CNPJ)
    person = watch(engine, ana, "***100001**", person=PERSON)
    state = paper(engine, ana, "certidao_estadual", item, subject=CNPJ, uf="SP")
    other = paper(engine, ana, "certidao_estadual", item, subject=CNPJ, uf="RJ", paper_id="rj")
    fgts = paper(engine, ana, "regularidade_fgts", item, subject=CNPJ)
    own = paper(engine, ana, "certidao_trabalhista", person, document_hash=PERSON)
    engine.commit(desk, brought(ana, "q1", "2027-02-01", kind="certidao_estadual", uf="SP"))
    engine.commit(desk, brought(ana, "q2", "2027-02-02", kind="regularidade_fgts"))
    engine.commit(desk, brought(ana, "q3", "2027-02-03", kind="regularidade_fgts", cnpj=BRANCH))
    engine.commit(desk, brought(ana, "q4", "2027-02-04", kind="certidao_trabalhista", cnpj=None))
    last = {each: stored(engine, each, "last_day")[0] for each in (state, other, fgts, own)}
    assert last == {state: "2027-02-01", other: None, fgts: "2027-02-02", own: "2027-02-04"}
    assert told(desk, ana) == []
    engine.commit(
        desk,
        brought(
            ana, "q5", None, verdict="CPD", kind="certidao_trabalhista", cnpj=None, asked_ms=NOW + 1
        ),
    )
    ((kind, body),) = told(desk, ana)
    assert (kind, body["pessoa"], body["cnpj"]) == ("certidao.positiva", True, None)


def test_an_act_counts_when_a_paper_arrives(engine: Engine, desk: Desk, ana: Account) -> None:
    mine = paper(engine, ana, "certidao_federal", watch(engine, ana, CNPJ), subject=CNPJ[:8])
    engine.sql(
        "INSERT INTO certificate_extension (subject, uf, issued_from, issued_to, until_day, days,"
        " act, added_ms) VALUES ('federal_certificate', NULL, '2026-08-01', '2026-08-31', NULL,"
        " 30, 'Portaria 1', 1)"
    )
    engine.commit(desk, brought(ana, "q1", "2027-02-01"))
    names = ("validity", "extended_until", "act", "last_day")
    assert stored(engine, mine, *names) == (
        "2027-02-01", "2027-03-03", "Portaria 1", "2027-03-03",
    )  # fmt: skip


def by_hand(engine: Engine, desk: Desk, account: Account, item_id: str) -> str:
    """Add a certificate with a file to an item and return its number."""
    new, paper_id = ManualPaper("Alvará", "2026-12-31", None), f"hand-{item_id}"
    engine.run(desk.manual_papers.add(account.account_id, item_id, new, paper_id, NOW))
    send_file(engine, desk, account, item_id, "um")
    return paper_id


def send_file(engine: Engine, desk: Desk, account: Account, item_id: str, content: str) -> None:
    stored = StoredReceipt(digest_of(content.encode()), "application/pdf", len(content))
    file = ReceiptNumbers(b"p").uploaded(account.account_id, item_id, stored)
    engine.run(
        desk.manual_papers.set_file(account.account_id, item_id, f"hand-{item_id}", file, NOW)
    )


def deletions(engine: Engine) -> set[str]:
    """Return the digests whose bytes jobs delete."""
    return {about for (about,) in engine.sql("SELECT about FROM job")}


def test_a_paper_goes_with_the_last_of_its_items(engine: Engine, desk: Desk, ana: Account) -> None:
    both = ("certidao_federal", "cadastro")
    numbers = iter("abcdefghij")

    def add(cnpj: str, watched: tuple[str, ...]) -> str:
        entry = Entry(1, watched_of(cnpj), ItemRequest(watched=watched))
        added = engine.run(desk.wallets.add(ana.account_id, entry, 9, lambda: next(numbers), NOW))
        return added.item.item_id

    one, two = add(CNPJ, both), add("90010001000290", both)
    hand = by_hand(engine, desk, ana, one)
    shared = {each.paper_id for each in desk.wallets.papers([two])[two]}
    assert shared < {each.paper_id for each in desk.wallets.papers([one])[one]}
    engine.run(desk.wallets.end(ana.account_id, one, NOW))
    assert {row[0] for row in engine.sql("SELECT paper_id FROM wallet_paper")} == shared
    assert engine.sql("SELECT * FROM receipt") == []
    assert deletions(engine) == {digest_of(b"um")}
    assert hand not in shared
    # Named again, the item keeps it; what it no longer watches goes.
    assert add("90010001000290", both) == two
    assert {each.paper_id for each in desk.wallets.papers([two])[two]} == shared
    add("90010001000290", ("cadastro",))
    assert engine.sql("SELECT * FROM wallet_paper") == []


def test_another_file_takes_the_place_of_the_first(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    item = watch(engine, ana, CNPJ)
    hand = by_hand(engine, desk, ana, item)
    send_file(engine, desk, ana, item, "dois")
    assert deletions(engine) == {digest_of(b"um")}
    ((number, operation),) = engine.sql("SELECT receipt_id, operation FROM receipt")
    assert (operation, stored(engine, hand, "receipt_id")) == ("carteira", (number,))
    # Receipts that are too old are not named any more.
    assert engine.run(desk.purge_receipts(NOW + 1, 10, NOW)) == 1
    assert stored(engine, hand, "receipt_id", "media_type") == (None, None)


def test_a_person_is_erased_with_papers_and_files(engine: Engine, desk: Desk, ana: Account) -> None:
    person = watch(engine, ana, "***100001**", person=PERSON)
    company = watch(engine, ana, CNPJ)
    paper(engine, ana, "certidao_trabalhista", person, document_hash=PERSON)
    by_hand(engine, desk, ana, person)
    kept = by_hand(engine, desk, ana, company)
    subject = DataSubject(Cpf(CPF), PERSON, "e")
    held, _ = engine.run(desk.data_subjects.erase(subject, NOW))
    assert len(held.receipts) == 1
    assert [row[0] for row in engine.sql("SELECT paper_id FROM wallet_paper")] == [kept]
    assert len(engine.sql("SELECT * FROM receipt")) == 1


def test_an_act_extends_papers_once(engine: Engine, desk: Desk, ana: Account) -> None:
    item = watch(engine, ana, CNPJ)
    known: Any = {"verdict": "CND", "validity": "2026-09-01", "issued_on": "2026-03-05"}
    mine = paper(engine, ana, "certidao_federal", item, subject=CNPJ[:8], told=10, **known)
    later = paper(
        engine, ana, "certidao_federal", item, subject="90010009", paper_id="later",
        **known | {"issued_on": "2026-04-05"},
    )  # fmt: skip
    state = paper(engine, ana, "certidao_estadual", item, subject=CNPJ, uf="SP", **known)
    act = Extension("federal_certificate", None, "2026-03-01", "2026-03-31", None, 30, "Portaria 1")
    number = engine.run(desk.extensions.add(act, AT_THE_TERMINAL, NOW))
    assert ("carteira_prorrogar", "federal_certificate/") in engine.sql(
        "SELECT kind, about FROM job"
    )

    async def done(about: str) -> None:
        assert await extension_jobs(desk, lambda: NOW).work(about) is None

    for _ in range(2):
        engine.run(done("federal_certificate/"))
    names = ("extended_until", "act", "last_day", "validity", "told", "next_ms")
    assert stored(engine, mine, *names) == (
        "2026-10-01", "Portaria 1", "2026-10-01", "2026-09-01", None, 0,
    )  # fmt: skip
    assert stored(engine, later, "last_day") == stored(engine, state, "last_day") == ("2026-09-01",)
    ((kind, body),) = told(desk, ana)
    assert (kind, body["valida_ate"], body["ato"], body["request_id"]) == (
        "certidao.prorrogada", "2026-10-01", "Portaria 1", None,
    )  # fmt: skip
    engine.run(desk.extensions.remove(number, AT_THE_TERMINAL, NOW))
    engine.run(done("federal_certificate/"))
    assert stored(engine, mine, *names[:4]) == (None, None, "2026-09-01", "2026-09-01")
    assert len(told(desk, ana)) == 1
