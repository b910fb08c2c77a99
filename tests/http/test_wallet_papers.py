"""Certificates of the portfolio's items (contract 20.5)."""

from io import BytesIO
from typing import Any

import pikepdf
import pytest

from balcao.core.papers import Paper
from balcao.storage.desk.wallet.papers import read_papers
from tests.http.test_wallet import add, send
from tests.records import CNPJ, CPF, a_federal, a_labour, federal_of, fgts, labour
from tests.records import state as state_address
from tests.service import Reply, Service

EVENTS = "/eventos/v1?tipo=certidao.*"
BRANCH = CNPJ[:8] + "000290"
LABOUR_UNTIL = a_labour().validity
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
    gone = world.request("DELETE", f"/carteira/v1/itens/{branch}").json["papeis"]
    assert [each["valida_ate"] for each in gone] == [None, "2027-02-01", LABOUR_UNTIL, None]
    assert len(papers(world, item)) == 4


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


def pdf() -> bytes:
    document = pikepdf.new()
    document.add_blank_page()
    file = BytesIO()
    document.save(file)
    return file.getvalue()


def put(world: Service, path: str, body: bytes, kind: str = "application/pdf") -> Reply:
    return world.request("PUT", path, body=body, content_type=kind, content_length=str(len(body)))


def test_certificates_entered_by_hand(world: Service) -> None:
    item = add(world, documento=CNPJ, cliente="loja")["id"]
    papeis = f"/carteira/v1/itens/{item}/papeis"
    body = {"nome": " Alvará ", "valida_ate": "2026-08-12", "nota": "sala 3"}
    made = send(world, "POST", papeis, body, idempotency_key="papel-0001")
    assert (made.status, made.credits) == (201, 0)
    assert made.json["nome"] == "Alvará"
    assert (made.json["tipo"], made.json["estado"], made.json["recibo"]) == (
        "outra", "a_vencer", None,
    )  # fmt: skip
    again = send(world, "POST", papeis, body, idempotency_key="papel-0001")
    assert (again.status, again.json) == (201, made.json)
    one = f"{papeis}/{made.json['id']}"
    changed = send(world, "PATCH", one, {"valida_ate": "2027-08-12", "nota": None})
    assert (changed.json["valida_ate"], changed.json["nota"]) == ("2027-08-12", None)
    assert (changed.json["estado"], changed.json["nome"]) == ("valida", "Alvará")

    assert world.get(f"{one}/arquivo").code == "COMPROVANTE_NAO_ENCONTRADO"
    content = pdf()
    sent = put(world, f"{one}/arquivo", content)
    assert sent.json["recibo"] == f"{one}/arquivo"
    file = world.get(f"{one}/arquivo")
    assert (file.status, file.body, file.headers["content-type"]) == (
        200, content, "application/pdf",
    )  # fmt: skip
    assert 'filename="ALVARA_vale-2027-08-12.pdf"' in file.headers["content-disposition"]
    (shown,) = world.get(f"/carteira/v1/itens/{item}").json["papeis"]
    alone = {name: value for name, value in sent.json.items() if name not in ENVELOPE}
    assert {name: shown[name] for name in alone} == alone
    other = world.account("outra")
    assert world.get(f"{one}/arquivo", other).code == "ITEM_NAO_ENCONTRADO"

    assert world.request("DELETE", one).json["id"] == made.json["id"]
    for method in ("GET", "DELETE"):
        path = f"{one}/arquivo" if method == "GET" else one
        assert world.request(method, path).code == "CERTIDAO_NAO_ENCONTRADA"
    assert world.desk.engine.connection.execute("SELECT * FROM receipt").fetchall() == []


ENVELOPE = {"request_id", "success", "error", "error_message"}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"nome": "", "valida_ate": "2026-08-12"}, "PARAMETRO_INVALIDO"),
        ({"nome": "x" * 81, "valida_ate": "2026-08-12"}, "PARAMETRO_INVALIDO"),
        ({"nome": "a", "valida_ate": "2026-02-30"}, "PARAMETRO_INVALIDO"),
        ({"nome": "a", "valida_ate": "0026-12-01"}, "PARAMETRO_INVALIDO"),
        ({"nome": "a"}, "PARAMETRO_INVALIDO"),
        ({"nome": f"de {CPF}", "valida_ate": "2026-08-12"}, "MARCA_COM_CPF"),
        ({"nome": "a", "valida_ate": "2026-08-12", "nota": CPF}, "MARCA_COM_CPF"),
    ],
)
def test_refused_certificates(world: Service, body: object, code: str) -> None:
    item = add(world, documento=CNPJ)["id"]
    refused = send(world, "POST", f"/carteira/v1/itens/{item}/papeis", body)
    assert (refused.status, refused.code) == (400, code)
    assert CPF.encode() not in refused.body


def test_refused_files(world: Service) -> None:
    item = add(world, documento=CNPJ, vigiar=["certidao_federal"])
    papeis = f"/carteira/v1/itens/{item['id']}/papeis"
    body = {"nome": "Alvará", "valida_ate": "2026-08-12"}
    one = f"{papeis}/{send(world, 'POST', papeis, body).json['id']}/arquivo"
    for content in (b"", b"texto", b"<!doctype html><html></html>", pdf()[:-9]):
        assert put(world, one, content).code == "PARAMETRO_INVALIDO"
    assert put(world, one, b"{}", "application/json").code == "TIPO_NAO_SUPORTADO"
    # A certificate that is bought has no file of the customer.
    bought = f"{papeis}/{item['papeis'][0]['id']}"
    assert put(world, f"{bought}/arquivo", pdf()).code == "PARAMETRO_INVALIDO"
    assert world.request("DELETE", bought).code == "PARAMETRO_INVALIDO"
    assert world.get(f"{papeis}/nada").code == "METODO_NAO_PERMITIDO"
    assert world.request("DELETE", f"{papeis}/nada").code == "CERTIDAO_NAO_ENCONTRADA"


def test_lists_by_state_and_last_day(world: Service) -> None:
    items, papers = [], {}
    for number, (client, day) in enumerate(
        [("a", "2026-08-01"), ("a", "2026-08-10"), ("b", "2026-08-10"), ("b", "2027-01-01")]
    ):
        item = add(world, documento=CNPJ, cliente=f"{client}{number}", etiquetas=[client])["id"]
        body = {"nome": f"Alvará {number}", "valida_ate": day}
        papers[item] = send(world, "POST", f"/carteira/v1/itens/{item}/papeis", body).json["id"]
        items.append(item)

    def listed(query: str, path: str = "itens") -> list[str]:
        found = world.get(f"/carteira/v1/{path}?{query}").json["itens"]
        return [one["id"] if path == "itens" else one["item"]["id"] for one in found]

    assert {*listed("estado=vencida")} == {items[0]}
    assert {*listed("estado=vencida,a_vencer&ate=2026-08-10&etiqueta=a")} == {*items[:2]}
    assert listed("estado=a_vencer&ate=2026-08-01") == []
    assert {*listed("ate=2026-08-10")} == {*items[:3]}

    expiries = world.get("/carteira/v1/vencimentos").json["itens"]
    assert [each["valida_ate"] for each in expiries] == [
        "2026-08-01", "2026-08-10", "2026-08-10", "2027-01-01",
    ]  # fmt: skip
    first = expiries[0]
    assert (first["id"], first["documento"], first["estado"]) == (papers[items[0]], CNPJ, "vencida")
    assert first["item"] == {"id": items[0], "ref": None, "cliente": "a0", "etiquetas": ["a"]}
    assert listed("de=2026-08-11", "vencimentos") == [items[3]]
    assert listed("de=2026-08-10&ate=2026-08-10&etiqueta=b", "vencimentos") == [items[2]]
    assert listed("estado=valida&cliente=b3", "vencimentos") == [items[3]]
    paged, cursor = [], ""
    for _ in expiries:
        page = world.get(f"/carteira/v1/vencimentos?limite=1&cursor={cursor}").json
        paged += page["itens"]
        cursor = page["cursor"] or ""
    assert (paged, cursor) == (expiries, "")
    for path in ("itens", "vencimentos"):
        for query in ("estado=boa", "ate=2026-13-01", "estado=vencida,"):
            assert world.get(f"/carteira/v1/{path}?{query}").code == "PARAMETRO_INVALIDO"
    for query in ("cursor=x", "de=ontem", "cursor=2026-08-01/x/y"):
        assert world.get(f"/carteira/v1/vencimentos?{query}").code == "PARAMETRO_INVALIDO"
