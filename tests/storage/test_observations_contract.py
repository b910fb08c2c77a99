"""Own answers change watched subjects in the commit of their charge, on every engine (20.4)."""

import json
import threading
from typing import Any

import msgspec

from balcao.core.access import Account
from balcao.core.company_record import registry_record
from balcao.core.documents import Cnpj, Cpf
from balcao.core.ledger import InsufficientFunds
from balcao.core.observations import Observation, ObservedAnswer
from balcao.core.observed_items import MonthRecord
from balcao.core.questions import Inquiry, Mode
from balcao.core.registration import Registrations
from balcao.storage.desk.desk import Desk
from tests.records import CNPJ, CPF, OTHER_CNPJ, a_company, a_record, a_registration
from tests.storage.engines import Engine
from tests.storage.world import NOW, a_charge, a_hash, a_hold, a_settle, balance
from tests.watching import an_item, registered

PERSON = b"p" * 16
BLOCKED = "Bloqueado como destinatário na UF"


def seen(
    account: Account,
    request: str,
    subject: str = "state_registration",
    document: str = CNPJ,
    *,
    body: Any = None,
    asked_ms: int = NOW,
    uf: str | None = None,
) -> Observation:
    """Return the observation of one answer; by default the usual record of the subject."""
    kind: type[Cnpj | Cpf] = Cnpj if len(document) == 14 else Cpf
    if subject in {"state_registration", "rural_producer"}:
        uf = uf or "SP"
    record = body or a_record(Inquiry(subject, kind(document), uf))
    person = None if kind is Cnpj else PERSON
    answer = ObservedAnswer(uf, "fonte", asked_ms, msgspec.json.encode(record))
    cnpj = document if person is None else None
    return Observation(account.account_id, "live", request, subject, cnpj, person, (answer,), NOW)


def watch(engine: Engine, account: Account, document: str, *watched: str, **more: Any) -> str:
    """Insert an item and return its number."""

    def execute(sql: str, values: tuple[Any, ...]) -> None:
        engine.sql(sql, *values)

    return an_item(execute, account.account_id, document, *watched, **more)


def item(engine: Engine, item_id: str) -> dict[str, Any]:
    """Return what lookups change of an item."""
    names = ("registry", "record_ms", "registrations", "suframa", "checked", "verified_ms")
    ((*row,),) = engine.sql(
        f"SELECT {', '.join(names)} FROM wallet_item WHERE item_id = '{item_id}'"
    )
    found = dict(zip(names, row, strict=True))
    for name in ("registry", "registrations", "suframa", "checked"):
        found[name] = found[name] and json.loads(found[name])
    return found


def told(desk: Desk, account: Account) -> list[tuple[str, Any]]:
    """Return the kinds and bodies of an account's events."""
    events = desk.events.after(account.account_id, 0, 100)
    return [(each.kind, json.loads(each.body)) for each in events]


def test_an_answer_changes_the_items_of_its_own_account_alone(
    engine: Engine, desk: Desk, ana: Account, bruno: Account
) -> None:
    known: Any = {
        "registrations": [registered(True)],
        "suframa": {"codigo": 1, "descricao": "Ativa"},
        "checked": {"inscricoes:SP": 1, "suframa": 1},
    }
    mine = watch(engine, ana, CNPJ, "inscricoes:SP", "suframa", **known)
    of_client = watch(engine, ana, CNPJ, "inscricoes:SP", client="loja", **known)
    theirs = watch(engine, bruno, CNPJ, "inscricoes:SP", "suframa", **known)
    before = item(engine, theirs)
    blocked = Registrations(CNPJ, "SP", inscricoes=(a_registration(situacao_pj=BLOCKED),))
    assert engine.run(desk.engine.caller(a_hash("ana"))).watches  # type: ignore[union-attr]
    assert desk.account(ana.account_id).caller().watches
    assert not ana.caller().watches
    assert engine.commit(desk, a_charge(ana, "q1"), seen(ana, "q1", body=blocked)) is None
    assert item(engine, mine)["registrations"] == [
        {**registered(True, BLOCKED), "inscricao": "110042490114",
         "verificado_em": "2026-08-05T13:15:30.000-03:00"}
    ]  # fmt: skip
    first, second = told(desk, ana)
    assert {first[1]["item"]["cliente"], second[1]["item"]["cliente"]} == {None, "loja"}
    assert {name: first[1][name] for name in ("uf", "inscricao", "de", "para", "grave")} == {
        "uf": "SP",
        "inscricao": "110042490114",
        "de": {"ativa": True, "situacao_pj": "Sem restrição", "tipo_ie": "IE Normal"},
        "para": {"ativa": True, "situacao_pj": BLOCKED, "tipo_ie": "IE Normal"},
        "grave": True,
    }
    assert first[1]["dados_de"] == "2026-08-05T13:15:30.000-03:00"
    # The same state again, and an older one.
    engine.commit(desk, seen(ana, "q2", body=blocked, asked_ms=NOW + 1))
    engine.commit(desk, seen(ana, "q3", asked_ms=NOW))
    assert len(told(desk, ana)) == 2
    assert item(engine, of_client)["verified_ms"] == NOW + 1
    # The absence at Suframa.
    gone = seen(ana, "q4", "suframa")
    gone = msgspec.structs.replace(gone, answers=(ObservedAnswer(None, "fonte", NOW, None),))
    engine.commit(desk, gone)
    assert told(desk, ana)[2][0] == "suframa.situacao"
    assert told(desk, ana)[2][1]["para"] is None
    assert item(engine, mine)["suframa"] is None
    assert item(engine, theirs) == before
    assert told(desk, bruno) == []


def test_a_refused_charge_changes_nothing(engine: Engine, desk: Desk, ana: Account) -> None:
    mine = watch(engine, ana, CNPJ, "inscricoes:SP", checked={"inscricoes:SP": 1})
    before = item(engine, mine)
    outcomes = engine.together(
        desk,
        [a_charge(ana, "q1", 11), seen(ana, "q1")],
        [a_charge(ana, "q2", 3), seen(ana, "q2", document=OTHER_CNPJ)],
        [a_settle(ana, "q3", 1), seen(ana, "q3")],
    )
    assert isinstance(outcomes[0], InsufficientFunds)
    assert outcomes[1] is None
    assert item(engine, mine) == before
    with engine.wall_off("event"):  # the events fail, and so does the charge
        (failed,) = engine.together(desk, [a_charge(ana, "q4"), seen(ana, "q4")])
    assert isinstance(failed, Exception)
    assert item(engine, mine) == before
    assert balance(desk, ana).credits == 7
    # With the settlement of a hold.
    engine.commit(desk, a_hold(ana, "q5", 2))
    assert item(engine, mine) == before
    engine.commit(desk, a_settle(ana, "q5", 1), seen(ana, "q5"))
    assert [kind for kind, _ in told(desk, ana)] == ["inscricao.situacao"]
    assert balance(desk, ana) == (6, 0)


def test_many_answers_are_not_compared_on_the_event_loop(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    watch(engine, ana, CNPJ, "cadastro")
    threads: list[threading.Thread] = []

    def find(mode: Mode, cnpj: str) -> None:
        threads.append(threading.current_thread())

    async def of_loop() -> threading.Thread:
        return threading.current_thread()

    desk.engine.find_in_month_by(find)
    lists = [[seen(ana, f"q{number}", "company")] for number in range(9)]
    assert engine.together(desk, *lists) == [None] * 9
    assert len(threads) == 9
    assert engine.run(of_loop()) not in threads


def test_the_first_answer_is_the_baseline(engine: Engine, desk: Desk, ana: Account) -> None:
    """Of the registry that is the month in use, if there is one."""
    root = watch(engine, ana, CNPJ[:8], "cadastro", item_id="root")
    mine = watch(engine, ana, CNPJ, "cadastro", "socios", item_id="establishment")
    other = watch(engine, ana, OTHER_CNPJ, "socios", "suframa", "inscricoes:SP")
    person = watch(engine, ana, "***100001**", "produtor:SP", person=PERSON)
    of_month = registry_record(a_company(nome_fantasia="ANTES"))
    desk.engine.find_in_month_by(
        lambda mode, cnpj: MonthRecord(of_month, NOW - 1) if cnpj == CNPJ else None
    )
    new = a_company(nome_fantasia="DEPOIS", situacao_cadastral="INAPTA")
    engine.commit(desk, seen(ana, "q1", "company", body=new))
    kinds = [(kind, body["item"]["id"], body["sequencia"]) for kind, body in told(desk, ana)]
    assert kinds == [
        (kind, name, number)
        for name in (mine, root)
        for number, kind in enumerate(("empresa.situacao", "empresa.nome_fantasia"), 1)
    ]
    assert told(desk, ana)[0][1]["grave"] is True
    assert item(engine, root)["registry"]["situacao"] == "INAPTA"
    assert item(engine, mine)["record_ms"] == NOW
    for subject in ("company", "suframa", "state_registration"):
        engine.commit(desk, seen(ana, f"other {subject}", subject, OTHER_CNPJ))
    engine.commit(desk, seen(ana, "person", "rural_producer", CPF))
    assert len(told(desk, ana)) == 4
    assert set(item(engine, other)["checked"]) == {"socios", "suframa", "inscricoes:SP"}
    assert len(item(engine, person)["registrations"]) == 1
    gone = Registrations(CPF, "SP", inscricoes=(a_registration(ativa=False),))
    engine.commit(desk, seen(ana, "later", "rural_producer", CPF, body=gone, asked_ms=NOW + 1))
    kind, body = told(desk, ana)[-1]
    assert (kind, body["pessoa"], body["cnpj"], body["grave"]) == (
        "inscricao.situacao", True, None, True,
    )  # fmt: skip
    assert CPF not in json.dumps(body)


def test_the_head_office_changes_the_items_of_its_root(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    """The head office has the flag, which is not always that of order 0001."""
    root = watch(engine, ana, CNPJ[:8], "cadastro")
    elsewhere = CNPJ[:8] + "000281"
    first = a_company(identificador_matriz_filial="FILIAL", uf="RJ")
    engine.commit(desk, seen(ana, "q1", "company", body=first))
    assert item(engine, root)["registry"] is None
    head = a_company(elsewhere, identificador_matriz_filial="MATRIZ")
    engine.commit(desk, seen(ana, "q2", "company", elsewhere, body=head))
    moved = msgspec.structs.replace(head, uf="MG")
    engine.commit(desk, seen(ana, "q3", "company", elsewhere, body=moved, asked_ms=NOW + 1))
    unflagged = a_company(elsewhere, uf="BA")
    engine.commit(desk, seen(ana, "q4", "company", elsewhere, body=unflagged, asked_ms=NOW + 2))
    ((kind, body),) = told(desk, ana)
    assert (kind, body["cnpj"]) == ("empresa.endereco", elsewhere)


def test_a_damaged_answer_costs_no_charge(engine: Engine, desk: Desk, ana: Account) -> None:
    mine = watch(engine, ana, CNPJ, "inscricoes:SP")
    broken = seen(ana, "q1", body=["not a record"])
    assert engine.commit(desk, a_charge(ana, "q1"), broken) is None
    assert item(engine, mine)["verified_ms"] is None
    assert balance(desk, ana).credits == 9
