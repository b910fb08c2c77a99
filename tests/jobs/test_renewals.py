"""Certificates that portfolios renew by themselves, and notices of their ends (contract 20.6)."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import pytest

from balcao.core.budgets import iso_instant
from balcao.core.data_subject import document_hash
from balcao.core.errors import NewIssueRefused, StorageFailed
from balcao.core.questions import Inquiry
from balcao.core.wallet import Renewal
from balcao.sources.contract import Answer, Found
from tests.buying import Buyer, open_buyer
from tests.records import CNPJ, CPF, OTHER_CNPJ, a_federal, a_labour, a_state, an_fgts
from tests.service import PEPPER

BRANCH = CNPJ[:8] + "000281"
NOTICES = ("certidao.a_vencer", "certidao.vencida")


@pytest.fixture
def buyer(tmp_path: Path) -> Iterator[Buyer]:
    with open_buyer(tmp_path) as found:
        yield found


def federal(buyer: Buyer, days: int | None = 15, **more: Any) -> str:
    item = buyer.item(CNPJ, "certidao_federal", client="loja")
    return buyer.paper("certidao_federal", item, subject=CNPJ[:8], days=days, **more)


def issues(buyer: Buyer, days: int = 180, **fields: Any) -> None:
    """Let the source issue certificates that are valid for so many days from the day of issue."""

    def say(inquiry: Inquiry) -> Answer:
        buyer.world.source.finds()
        end = buyer.today + timedelta(days=days)
        dated = {"issued_on": buyer.today.isoformat(), "validity": end.isoformat(), **fields}
        record = a_federal(inquiry.document.text, **dated)
        buyer.world.source.says(say)
        return Found(record, "fonte", buyer.world.source.now())

    buyer.world.source.says(say)


def test_nothing_is_bought_without_a_ceiling_but_all_notices_are_written(buyer: Buyer) -> None:
    buyer.settings(0)
    paper = federal(buyer)
    assert buyer.live(30) == []
    assert buyer.kinds() == ["certidao.a_vencer"] * 3 + ["certidao.vencida"]
    expiring = [body for kind, body in buyer.events() if kind == "certidao.a_vencer"]
    assert [(body["dias"], body["aviso"], body["renova_sozinha"]) for body in expiring] == [
        (10, 10, False), (5, 5, False), (1, 1, False),
    ]  # fmt: skip
    assert [body["sequencia"] for _, body in buyer.events()] == [1, 2, 3, 4]
    assert expiring[0]["papel"] == {
        "id": paper, "tipo": "certidao_federal", "uf": None, "nome": None,
    }  # fmt: skip
    assert buyer.stored(paper, "told", "next_ms", "attempts") == (0, None, 0)


def test_a_certificate_is_renewed_once_for_all_items_of_its_root(buyer: Buyer) -> None:
    buyer.settings(100)
    first = buyer.item(CNPJ, "certidao_federal", client="loja", item_id="0")
    others = [buyer.item(BRANCH, "certidao_federal", client=f"{each}") for each in range(40)]
    paper = buyer.paper("certidao_federal", *others, first, subject=CNPJ[:8], days=15)
    issues(buyer)
    (hour,) = buyer.live(20)
    assert 5 * 24 - 12 <= hour <= 5 * 24 + 12  # the clock stands at noon
    (inquiry,) = buyer.world.source.inquiries
    assert inquiry.reissue
    assert buyer.charges() == [("loja", "r1", 2)]
    assert buyer.kinds() == ["certidao.a_vencer"] * 41 + ["certidao.renovada"] * 41
    renewed = [body for kind, body in buyer.events() if kind == "certidao.renovada"]
    assert [(body["item"]["id"], body["creditos"]) for body in renewed if body["creditos"]] == [
        ("0", 2)
    ]
    assert all(body["renova_sozinha"] for kind, body in buyer.events() if kind in NOTICES)
    assert buyer.stored(paper, "purchases", "attempts", "failures", "renewing_ms") == (
        0, 0, 0, None,
    )  # fmt: skip
    assert buyer.outcomes == ["respondida"]
    buyer.world.assert_books_agree()


def test_the_same_certificate_is_bought_once_more_on_its_last_day(buyer: Buyer) -> None:
    buyer.settings(100)
    paper = federal(buyer)
    end, issued = buyer.stored(paper, "validity", "issued_on")
    buyer.world.source.finds(a_federal(CNPJ, validity=end, issued_on=issued))
    first, second = buyer.live(40)
    assert first // 24 in {4, 5}
    assert second // 24 in {14, 15}
    assert buyer.stored(paper, "purchases", "attempts", "next_ms") == (2, 2, None)
    assert buyer.kinds(*NOTICES) == ["certidao.mesma"] * 2
    (_, once), (_, twice) = buyer.events(*NOTICES)
    assert (once["tentativas"], twice["tentativas"]) == (1, 2)
    assert once["proxima_em"][:10] == end
    assert twice["proxima_em"] is None
    assert len(buyer.charges()) == 2
    assert buyer.kinds()[-1] == "certidao.vencida"


def test_failures_cost_nothing_and_are_reported_twice(buyer: Buyer) -> None:
    buyer.settings(100)
    paper = federal(buyer)
    buyer.world.source.fails()
    hours = buyer.live(21)
    gaps = [round(after - before, 1) for before, after in pairwise(hours)]
    assert gaps[:3] == [0.3, 1.0, 3.0]
    assert set(gaps[3:]) == {24.0}
    assert buyer.charges() == []
    assert buyer.kinds("certidao.a_vencer") == ["certidao.nao_renovada"] * 2 + ["certidao.vencida"]
    (_, once), (_, again), _ = buyer.events("certidao.a_vencer")
    assert (once["tentativas"], once["motivo"]) == (1, buyer.stored(paper, "reason"))
    assert once["proxima_em"] is not None
    assert again["tentativas"] > 4
    issues(buyer)
    assert len(buyer.live(1)) == 1
    assert buyer.kinds()[-1] == "certidao.renovada"
    assert buyer.stored(paper, "attempts", "failures", "reason") == (0, 0, None)


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"kind": "CPD", "code": None, "validity": None, "issued": False}, "certidao.positiva"),
        ({"kind": None, "title": "", "validity": None, "issued": False}, "certidao.nao_renovada"),
    ],
)
def test_a_positive_or_missing_certificate_is_not_bought_again(
    buyer: Buyer, fields: Any, kind: str
) -> None:
    buyer.settings(100)
    federal(buyer)
    buyer.world.source.finds(a_federal(CNPJ, **fields))
    assert len(buyer.live(40)) == 1
    assert buyer.kinds(*NOTICES) == [kind]
    buyer.settings(200)  # plans all anew
    assert buyer.live(2) == []


def test_sources_that_issue_nothing_new_are_asked_after_the_end(buyer: Buyer) -> None:
    buyer.world.source.reissues = False
    buyer.settings(100, Renewal(dias_uteis=False))
    paper = federal(buyer)
    buyer.work()
    assert buyer.stored(paper, "reason") == "so_depois_do_vencimento"
    issues(buyer)
    (hour,) = buyer.live(20)
    assert 15.5 * 24 < hour < 16.5 * 24
    assert not buyer.world.source.inquiries[0].reissue
    assert buyer.kinds() == [*["certidao.a_vencer"] * 3, "certidao.vencida", "certidao.renovada"]


def test_a_refused_new_issue_is_free_and_waits_for_the_end(buyer: Buyer) -> None:
    buyer.settings(100, Renewal(dias_uteis=False))
    paper = federal(buyer, verdict="CPEND")
    buyer.world.source.says(_refuses)
    assert len(buyer.live(14)) == 1
    assert buyer.stored(paper, "attempts", "failures", "reason") == (1, 1, NewIssueRefused.code)
    assert buyer.charges() == []
    issues(buyer)
    assert len(buyer.live(4)) == 1
    assert [each.reissue for each in buyer.world.source.inquiries] == [True, False]
    assert buyer.kinds(*NOTICES) == [*["certidao.nao_renovada"] * 2, "certidao.renovada"]


def test_an_unknown_certificate_is_bought_at_once_from_cache_or_source(buyer: Buyer) -> None:
    buyer.settings(100)
    other = buyer.world.account("outra", credits=10)
    path = f"/consultas/v2/certidao-negativa-de-debitos-federal?cnpj={CNPJ}"
    assert buyer.world.get(path, other).status == 200
    federal(buyer, None)
    item = buyer.item(OTHER_CNPJ, "certidao_trabalhista")
    buyer.paper("certidao_trabalhista", item, subject=OTHER_CNPJ[:8])
    assert buyer.work() == 1
    assert buyer.spent == 3
    assert buyer.kinds() == []
    # An own lookup counts as well: what it brought is not bought again.
    assert buyer.live(3) == []


@pytest.mark.parametrize(
    ("kind", "record"),
    [
        ("certidao_estadual", a_state()),
        ("certidao_trabalhista", a_labour()),
        ("regularidade_fgts", an_fgts()),
    ],
)
def test_other_kinds_ask_the_source_although_an_answer_is_kept(
    buyer: Buyer, kind: str, record: Any
) -> None:
    buyer.settings(100)
    uf = "SP" if kind == "certidao_estadual" else ""
    item = buyer.item(CNPJ, f"{kind}:SP" if uf else kind)
    subject = CNPJ[:8] if kind == "certidao_trabalhista" else CNPJ
    buyer.paper(kind, item, subject=subject, uf=uf, days=10)
    buyer.world.source.finds(record)
    paths = {
        "certidao_estadual": f"certidao-negativa-de-debitos-estadual/{CNPJ}?uf=SP",
        "certidao_trabalhista": f"certidao-negativa-de-debitos-trabalhistas?cnpj={CNPJ}",
        "regularidade_fgts": f"regularidade-fgts/{CNPJ}",
    }
    other = buyer.world.account("outra", credits=10)
    assert buyer.world.get(f"/consultas/v2/{paths[kind]}", other).status == 200
    assert len(buyer.live(2)) == 1
    assert len(buyer.charges()) == 2
    assert buyer.kinds("certidao.a_vencer") == ["certidao.renovada"]


def test_a_persons_certificate_needs_the_birth_date(buyer: Buyer) -> None:
    buyer.settings(100)
    person = document_hash(PEPPER, CPF)
    item = buyer.item(CPF, "certidao_federal", person=person)
    buyer.sql("UPDATE wallet_item SET document = '***000001**', sealed = ?", b"sealed")
    buyer.paper("certidao_federal", item, document_hash=person, days=9)
    issues(buyer)
    assert len(buyer.live(2)) == 1
    (inquiry,) = buyer.world.source.inquiries
    assert (inquiry.document.text, inquiry.birth, inquiry.reissue) == (CPF, "1980-01-01", True)
    ((kind, body),) = buyer.events("certidao.a_vencer")
    assert (kind, body["pessoa"], body["cnpj"]) == ("certidao.renovada", True, None)
    assert CPF.encode() not in buyer.world.logged


def test_purchases_stop_and_resume_by_themselves(buyer: Buyer) -> None:
    """The clock stands on the fifth of August."""
    buyer.settings(2)
    for number, document in enumerate((CNPJ, OTHER_CNPJ)):
        item = buyer.item(document, "certidao_federal", client=f"loja{number}")
        buyer.paper("certidao_federal", item, subject=document[:8], days=11)
    issues(buyer)
    assert len(buyer.live(10)) == 1
    stopped = [(kind, body) for kind, body in buyer.events() if kind.startswith("carteira")]
    ((kind, body),) = stopped
    assert (kind, body["motivo"], body["atingidos"]) == ("carteira.parada", "teto", 1)
    assert buyer.next_purchase() == body["volta_em"] == "2026-09-01T00:00:00.000-03:00"
    left = [body for kind, body in buyer.events() if kind == "certidao.a_vencer"][-1]
    assert left["renova_sozinha"] is False
    hours = buyer.live(20)
    assert len(hours) == 1
    assert buyer.today.isoformat() > "2026-09-01"
    assert [kind for kind in buyer.kinds() if kind.startswith("carteira")] == [
        "carteira.parada", "carteira.retomada",
    ]  # fmt: skip
    assert "certidao.vencida" in buyer.kinds()


def test_a_source_that_is_down_is_not_asked(buyer: Buyer) -> None:
    buyer.settings(100)
    paper = federal(buyer, 9)
    buyer.world.standing = "down"
    issues(buyer)
    assert buyer.live(1) == []
    assert buyer.stored(paper, "attempts", "failures") == (1, 1)
    assert buyer.kinds("certidao.a_vencer") == ["certidao.nao_renovada"]
    buyer.world.standing = "quiet"
    assert len(buyer.live(0.05)) == 1
    assert buyer.kinds()[-1] == "certidao.renovada"


def test_the_first_answer_after_an_outage_wakes_what_has_failed(buyer: Buyer) -> None:
    buyer.settings(100)
    for document in (CNPJ, OTHER_CNPJ):
        item = buyer.item(document, "certidao_federal")
        buyer.paper("certidao_federal", item, subject=document[:8], days=9)
    buyer.world.source.fails()
    buyer.live(1.5)
    buyer.world.standing = "down"
    assert buyer.live(1) == []
    issues(buyer)
    buyer.sql("UPDATE wallet_paper SET next_ms = ? WHERE paper_id LIKE ?", 2**50, f"%{CNPJ[:8]}")
    buyer.world.standing = "quiet"
    assert len(buyer.live(0.1)) == 2
    assert buyer.kinds()[-2:] == ["certidao.renovada"] * 2


def test_one_certificate_is_tried_while_its_source_is_down(buyer: Buyer) -> None:
    buyer.settings(100)
    for document in (CNPJ, OTHER_CNPJ):
        item = buyer.item(document, "certidao_federal")
        buyer.paper("certidao_federal", item, subject=document[:8], days=9)
    buyer.world.source.fails()
    # The circuit is open after each attempt, and lets one through before the next.
    is_open = cycle((False, True))
    buyer.renewing.unavailable = lambda caller, question: next(is_open)
    hours = buyer.live(1)
    assert 20 < len(hours) < 60
    attempts = sorted(each for (each,) in buyer.sql("SELECT attempts FROM wallet_paper"))
    assert attempts[0] < 6 < attempts[1]


@pytest.mark.parametrize("fails", [False, True])
def test_a_process_that_dies_after_the_charge_charges_no_more(
    buyer: Buyer, monkeypatch: pytest.MonkeyPatch, *, fails: bool
) -> None:
    buyer.settings(100)
    paper = federal(buyer)
    if fails:
        buyer.world.source.fails()
    else:
        issues(buyer)

    async def dies(*_: Any) -> None:
        raise StorageFailed("dead")

    assert buyer.next_purchase() is None
    assert buyer.work() == 0
    buyer.world.clock.at_ms = buyer.stored(paper, "next_ms")
    assert buyer.next_purchase() == iso_instant(buyer.now_ms)
    with monkeypatch.context() as patched:
        patched.setattr(buyer.world.desk.renewals, "finish", dies)
        with pytest.raises(StorageFailed):
            buyer.work()
    assert buyer.world.source.asked == 1
    assert buyer.work() == 0
    assert len(buyer.charges()) == (0 if fails else 1)
    assert buyer.stored(paper, "attempts", "renewing_ms") == (1 if fails else 0, None)
    buyer.world.assert_books_agree()


def test_terms_of_items_decide(buyer: Buyer) -> None:
    buyer.settings(100)
    never = buyer.item(CNPJ, "certidao_federal", client="a", item_id="a", renew=False)
    soon = buyer.item(CNPJ, "certidao_federal", client="b", item_id="b", renew={"dias_antes": 30})
    shared = buyer.paper("certidao_federal", never, soon, subject=CNPJ[:8], days=25)
    other = buyer.item(OTHER_CNPJ, "certidao_federal", item_id="c", renew=False)
    kept = buyer.paper("certidao_federal", other, subject=OTHER_CNPJ[:8], days=1)
    issues(buyer)
    assert len(buyer.live(1)) == 1
    assert buyer.charges() == [("b", "r1", 2)]
    assert buyer.stored(shared, "last_day") > buyer.stored(kept, "last_day")
    assert buyer.stored(kept, "next_ms") is None
    buyer.sql("UPDATE wallet_item SET renew = NULL WHERE item_id = 'c'")
    buyer.sql("UPDATE wallet_paper SET next_ms = 0 WHERE paper_id = ?", kept)
    assert len(buyer.live(1)) == 1


def _refuses(inquiry: Inquiry) -> Answer:
    raise NewIssueRefused("")
