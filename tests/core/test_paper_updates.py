"""A portfolio's certificate after answers of the account's own lookups (contract 20.5)."""

from typing import Any

import msgspec
import pytest

from balcao.core.certificates import CertificateSummary
from balcao.core.extensions import Extension
from balcao.core.item_events import ItemHead
from balcao.core.observations import Observation, ObservedCertificate
from balcao.core.paper_updates import PaperEvent, item_events, paper_update
from balcao.core.papers import Paper, paper_key
from balcao.core.questions import Subject
from balcao.core.renewals import Renews
from balcao.core.wallet import Renewal

ASKED = 1_000
HEAD = ItemHead("i1", 7, "90010007000187", False, None, None, (), 0)


def a_paper(**fields: Any) -> Paper:
    """Return a federal certificate, unknown unless its fields are given."""
    known: dict[str, Any] = dict.fromkeys(Paper.__struct_fields__)
    known |= {
        "paper_id": "p1", "account_id": 7, "kind": "certidao_federal", "uf": "",
        "subject": "90010007", "purchases": 0, "attempts": 0, "failures": 0, "created_ms": 0,
    }  # fmt: skip
    known |= fields
    if known["last_day"] is None:
        known["last_day"] = known["validity"]
    return Paper(**known)


def in_force(**fields: Any) -> Paper:
    """Return a CND until 10 March, whose renewal was tried and that was announced."""
    known: dict[str, Any] = {
        "verdict": "CND", "validity": "2027-03-10", "issued_on": "2026-09-11",
        "answered_ms": ASKED - 1, "request_id": "q0", "purchases": 1, "attempts": 3, "failures": 2,
        "reason": "FONTE_INDISPONIVEL", "renewing_ms": 5, "next_ms": 6, "told": 10,
    }  # fmt: skip
    return a_paper(**known | fields)


def seen(
    verdict: Any,
    validity: str | None = None,
    *,
    issued_on: str | None = "2027-03-01",
    asked_ms: int = ASKED,
    renews: str | None = None,
    cnpj: str = "90010007000187",
    client: str | None = None,
) -> Observation:
    summary = CertificateSummary(verdict, validity, None, "r1", "application/pdf", issued_on)
    key = paper_key("certidao_federal", "", cnpj, None)
    renewal = None if renews is None else Renews(renews, Renewal(), reissues=True)
    answer = ObservedCertificate(key, "fonte", asked_ms, summary, "/r1", 2, client, renewal)
    subject: Subject = "federal_certificate"
    return Observation(7, "live", "q1", subject, cnpj, None, (), ASKED + 5, answer)


def updated(paper: Paper, answer: Observation, *acts: Extension) -> tuple[Paper, Any]:
    """Return the certificate and its event after an answer that is newer."""
    found = paper_update(paper, answer, acts)
    assert found is not None
    return found


NEW_COUNTS = {"purchases": 0, "attempts": 0, "failures": 0, "reason": None, "next_ms": 0}


@pytest.mark.parametrize(
    ("paper", "answer", "kind", "changed"),
    [
        pytest.param(
            a_paper(), seen("CND", "2027-08-28"), None,
            {"verdict": "CND", "last_day": "2027-08-28", "answered_ms": ASKED, "request_id": "q1",
             "receipt_id": "r1", "next_ms": 0},
            id="first",
        ),
        pytest.param(
            in_force(), seen("CND", "2027-08-28"), "certidao.renovada",
            {"validity": "2027-08-28", "told": None, "renewing_ms": None, **NEW_COUNTS},
            id="renewed",
        ),
        pytest.param(
            in_force(), seen("CND", "2027-03-10"), None,
            {"request_id": "q1", "purchases": 1, "attempts": 3, "told": 10, "renewing_ms": 5,
             "failures": 0, "reason": None, "next_ms": 6},
            id="the same by a person",
        ),
        pytest.param(
            in_force(), seen("CND", "2027-03-10", renews="p1"), "certidao.mesma",
            {"purchases": 2, "attempts": 4, "told": 10, "renewing_ms": None, "next_ms": None},
            id="the same by a renewal",
        ),
        pytest.param(
            in_force(), seen("CPEND", "2027-02-01"), None,
            {"verdict": "CPEND", "last_day": "2027-02-01", "told": None, **NEW_COUNTS},
            id="ends earlier",
        ),
        pytest.param(
            in_force(), seen("CPD"), "certidao.positiva",
            {"verdict": "CPD", "validity": None, "last_day": None, "request_id": "q1",
             "told": None, **NEW_COUNTS},
            id="positive",
        ),
        pytest.param(a_paper(), seen("CPD"), "certidao.positiva", {"verdict": "CPD"},
                     id="positive at first"),
        pytest.param(
            a_paper(verdict="CPD", answered_ms=1), seen("CPD", renews="p1"), None,
            {"verdict": "CPD", "purchases": 1}, id="still positive",
        ),
        pytest.param(
            a_paper(verdict="CPD", answered_ms=1), seen("CND", "2027-08-28"), "certidao.renovada",
            {"verdict": "CND", "last_day": "2027-08-28"}, id="after a positive one",
        ),
        pytest.param(
            in_force(), seen("none"), None,
            {"verdict": "CND", "last_day": "2027-03-10", "request_id": "q0",
             "reason": "nao_emitida", "answered_ms": ASKED, "told": 10},
            id="not issued: the one in force stays",
        ),
        pytest.param(
            in_force(), seen("other", renews="p1"), "certidao.nao_renovada",
            {"verdict": "CND", "reason": "nao_emitida", "attempts": 4, "purchases": 2,
             "next_ms": 0},
            id="not issued by a renewal",
        ),
        pytest.param(
            in_force(reason="nao_emitida", next_ms=None, renewing_ms=None),
            seen("CND", "2027-03-10"), None, {"reason": None, "next_ms": 0, "purchases": 1},
            id="issued again as it was",
        ),
        pytest.param(
            in_force(renewing_ms=None), seen("none"), None, {"next_ms": 0},
            id="not issued: it is not renewed any more",
        ),
        pytest.param(
            a_paper(), seen("none"), None,
            {"verdict": "none", "reason": "nao_emitida", "request_id": "q1"}, id="never issued",
        ),
        pytest.param(
            a_paper(verdict="none", answered_ms=1), seen("CND", "2027-08-28"), None,
            {"verdict": "CND", "last_day": "2027-08-28"}, id="issued at last",
        ),
        pytest.param(
            in_force(), seen("CND", "2027-08-28", asked_ms=ASKED - 2, renews="p1"), None,
            {"last_day": "2027-03-10", "purchases": 2}, id="a renewal overtaken",
        ),
    ],
)  # fmt: skip
def test_updates(paper: Paper, answer: Observation, kind: str | None, changed: Any) -> None:
    after, event = updated(paper, answer)
    assert (event and event.kind) == kind
    assert {name: getattr(after, name) for name in changed} == changed
    assert after.is_refused is (
        after.verdict not in {"CND", "CPEND"} or after.reason == "nao_emitida"
    )


@pytest.mark.parametrize("asked_ms", [ASKED - 1, ASKED - 2])
def test_an_answer_that_is_not_newer_is_ignored(asked_ms: int) -> None:
    assert paper_update(in_force(), seen("CPD", asked_ms=asked_ms), ()) is None


def test_an_act_moves_the_last_day() -> None:
    act = Extension("federal_certificate", None, "2027-01-01", "2027-04-01", None, 90, "Portaria 1")
    after, event = updated(in_force(last_day="2027-10-01"), seen("CND", "2027-08-28"), act)
    assert (after.validity, after.extended_until, after.act, after.last_day) == (
        "2027-08-28", "2027-11-26", "Portaria 1", "2027-11-26",
    )  # fmt: skip
    assert event.data["valida_ate"] == "2027-11-26"
    assert event.data["valida_ate_antes"] == "2027-10-01"
    after, event = updated(after, msgspec.structs.replace(seen("CPD", asked_ms=ASKED + 1)), act)
    assert (after.extended_until, after.last_day, event.kind) == (None, None, "certidao.positiva")


def test_one_of_the_items_shows_the_price() -> None:
    event = PaperEvent("certidao.renovada", "/q1", {"valida_ate": "2027-08-28"}, credits=2)
    heads = [
        msgspec.structs.replace(HEAD, item_id=item_id, document=document, client=client)
        for item_id, document, client in (
            ("i1", "90010007000187", None),
            ("i2", "90010007000268", None),
            ("i3", "90010007000268", "loja"),
        )
    ]

    def charged(answer: Observation) -> dict[str, object]:
        events = item_events(event, a_paper(), heads, 9, seen=answer)
        return {head.item_id: each.data["creditos"] for head, each in events}

    assert charged(seen("CND")) == {"i1": 2, "i2": 0, "i3": 0}
    assert charged(seen("CND", cnpj="90010007000268")) == {"i1": 0, "i2": 2, "i3": 0}
    assert charged(seen("CND", cnpj="90010007000268", client="loja"))["i3"] == 2
    assert charged(seen("CND", cnpj="90010007000349"))["i1"] == 2
    ((_, one), *_) = item_events(event, a_paper(), heads, 9, seen=seen("CND"))
    assert (one.cause, one.source, one.at_ms) == ("i1/certidao.renovada/q1", "fonte", 9)
    assert one.data["papel"] == {
        "id": "p1", "tipo": "certidao_federal", "uf": None, "nome": None,
    }  # fmt: skip
