"""Certificates of the portfolio's items (contract 20.5)."""

from typing import Any

from balcao.core.papers import Paper
from balcao.storage.desk.wallet.papers import read_papers
from tests.http.test_wallet import add, send
from tests.records import CNPJ, CPF, a_federal, federal_of, fgts, labour
from tests.records import state as state_address
from tests.service import Service

EVENTS = "/eventos/v1?tipo=certidao.*"
BRANCH = CNPJ[:8] + "000290"
ALL = ["certidao_federal", "certidao_estadual:SP", "certidao_trabalhista", "regularidade_fgts"]


def papers(world: Service, item_id: str) -> dict[str, Paper]:
    """Return the stored certificates of an item, by kind."""
    found = read_papers(world.desk.engine.connection, [item_id])
    return {paper.kind: paper for paper in found.get(item_id, ())}


def events(world: Service) -> list[Any]:
    return list(world.get(EVENTS).json["itens"])


def test_own_lookups_bring_certificates_up_to_date(world: Service) -> None:
    item = add(world, documento=CNPJ, vigiar=ALL)["id"]
    branch = add(world, documento=BRANCH, vigiar=ALL)["id"]
    world.clock.advance(seconds=2)
    asked = [
        world.get(each)
        for each in (federal_of(CNPJ), state_address(CNPJ), labour(f"cnpj={CNPJ}"), fgts(CNPJ))
    ]
    assert [each.credits for each in asked] == [2, 2, 2, 2]
    found = papers(world, item)
    assert [found[kind].request_id for kind in sorted(found)] == [
        asked[number].json["request_id"] for number in (1, 0, 2, 3)
    ]
    assert {kind: each.verdict for kind, each in papers(world, branch).items()} == {
        "certidao_federal": "CND",
        "certidao_estadual": None,
        "certidao_trabalhista": "CND",
        "regularidade_fgts": None,
    }
    assert events(world) == []

    shown = world.get(f"/carteira/v1/itens/{item}").json["papeis"]
    assert shown[1] == {
        "id": found["certidao_federal"].paper_id, "tipo": "certidao_federal", "uf": None,
        "nome": None, "nota": None, "estado": "valida", "valida_ate": "2026-12-17",
        "emitida_em": "2026-06-20", "prorrogada_ate": None, "ato": None,
        "recibo": asked[0].json["print"], "request_id": asked[0].json["request_id"],
        "compras": 0, "tentativas": 0, "proxima_em": None, "motivo": None,
    }  # fmt: skip
    assert [each["tipo"] for each in shown] == sorted(found)
    listed = {one["id"]: one["papeis"] for one in world.get("/carteira/v1/itens").json["itens"]}
    assert listed[item] == shown
    assert [each["estado"] for each in listed[branch]] == [
        "sem_certidao", "valida", "valida", "sem_certidao",
    ]  # fmt: skip

    # From the cache, on the fast path, the answer is the one that is known.
    before = papers(world, item)
    assert world.get(federal_of(BRANCH)).credits == 1
    assert papers(world, item) == before
    # A newer one that another account bought is known with this account's own lookup.
    world.clock.advance(seconds=60)
    later = a_federal(validity="2027-02-01")
    world.keep(later)
    assert papers(world, item) == before
    answer = world.get(federal_of(BRANCH))
    assert (answer.credits, answer.json["source"]) == (1, "cache")
    assert papers(world, item)["certidao_federal"].last_day == "2027-02-01"
    told = events(world)
    assert {each["tipo"] for each in told} == {"certidao.renovada"}
    prices = {each["dados"]["item"]["id"]: each["dados"]["creditos"] for each in told}
    assert prices == {item: 0, branch: 1}
    data = told[0]["dados"]
    assert (data["valida_ate"], data["valida_ate_antes"]) == ("2027-02-01", "2026-12-17")
    assert data["request_id"] == answer.json["request_id"]
    assert data["recibo"] == answer.json["print"]


def test_a_positive_one_is_reported_with_the_charge(world: Service) -> None:
    body = {"documento": CPF, "vigiar": ["certidao_federal"], "data_nascimento": "1980-01-01"}
    item = send(world, "POST", "/carteira/v1/itens", body).json["id"]
    world.clock.advance(seconds=2)
    world.source.finds(a_federal(CPF, kind="CPD", code=None, validity=None, issued=False))
    assert world.get(federal_of(CPF)).status == 404
    (told,) = events(world)
    assert (told["tipo"], told["dados"]["pessoa"]) == ("certidao.positiva", True)
    assert CPF not in repr(told)
    assert papers(world, item)["certidao_federal"].verdict == "CPD"
    # A failure changes nothing.
    world.source.fails()
    before = papers(world, item)
    assert world.get(federal_of(CPF, "cache_strategy=SO_ONLINE")).status == 400
    assert papers(world, item) == before


def test_the_certificates_of_other_accounts_change_nothing(world: Service) -> None:
    item = add(world, documento=CNPJ, vigiar=ALL)["id"]
    other = world.account("outra")
    world.clock.advance(seconds=2)
    before = papers(world, item)
    for address in (federal_of(CNPJ), state_address(CNPJ), labour(f"cnpj={CNPJ}"), fgts(CNPJ)):
        assert world.get(address, other).status == 200
    assert papers(world, item) == before
    assert events(world) == []
