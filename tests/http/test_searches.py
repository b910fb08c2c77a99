"""Company search over HTTP (contract 14): pages, counts, partners, and prices."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlencode

import pytest

from balcao.core.access import KeyRestrictions, Plan
from balcao.core.search import Filters
from balcao.home import Home
from balcao.http import wallet_searches
from balcao.opendata.search.building import build_index
from balcao.opendata.search.index import index_path
from balcao.opendata.snapshot import current_path
from balcao.service.search_pool import SearchPool
from tests.service import CREDITS, DEFAULT, Client, Reply, Service, open_service

COMPANIES, COUNT, PARTNERS = (
    "/buscas/v1/empresas",
    "/buscas/v1/empresas/contagem",
    "/buscas/v1/socios",
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with a search index for the sandbox, and none for live accounts."""
    folder = tmp_path_factory.mktemp("casa")
    with open_service(folder, establishments=1_500, opendata_search=True) as house:
        yield house
        house.assert_books_agree()


def opted(house: Service, name: str, plan: Plan = "pre_pago") -> Client:
    """An account that may search people."""
    return house.account(name, plan=plan, partner_optin=True)


def test_pages_are_one_order_and_cost_a_credit_each(shop: Service) -> None:
    by = shop.account("paginas")
    seen: list[str] = []
    query, pages = "?situacao=ATIVA,BAIXADA&limite=40", 0
    cursor = ""
    while cursor is not None:
        answer = shop.get(COMPANIES + query + (f"&cursor={cursor}" if cursor else ""), by)
        assert answer.status == 200
        assert list(answer.json)[:3] == ["request_id", "success", "error"]
        paid = "1" if answer.json["itens"] else "0"
        assert answer.headers["x-creditos-cobrados"] == paid
        assert answer.headers["x-request-id"] == answer.json["request_id"]
        assert "ratelimit" in answer.headers
        seen += [item["cnpj"] for item in answer.json["itens"]]
        assert all(item["situacao"] in ("ATIVA", "BAIXADA") for item in answer.json["itens"])
        assert not answer.json["parcial"]
        pages += paid == "1"
        cursor = answer.json["cursor"]
    assert seen == sorted(set(seen))
    assert len(seen) > 80
    assert shop.money(by) == (CREDITS - pages, 0)
    assert {(e.operation, e.rule) for e in shop.charges(by)} == {
        ("busca-de-empresas", "search/page")
    }
    counted = shop.get(COUNT + "?situacao=ATIVA,BAIXADA", by)
    assert (counted.json["total"], counted.json["exato"]) == (len(seen), True)


def test_searches_are_in_the_statement(shop: Service) -> None:
    by = shop.account("extrato")
    answer = shop.get(COMPANIES + "?uf=SP", by)
    body = shop.get(f"/conta/v1/operacoes/{answer.json['request_id']}", by).json
    assert (body["operacao"], body["creditos"]) == ("busca-de-empresas", 1)
    assert body["regra_codigo"] == "search/page"
    (line,) = shop.get("/conta/v1/consumo", by).json["linhas"]
    assert (line["operacao"], line["consultas"], line["creditos"]) == ("busca-de-empresas", 1, 1)


def test_nothing_found_is_free(shop: Service) -> None:
    by = shop.account("nada")
    for path in (f"{COMPANIES}?q=zzzyyyxxx", f"{COUNT}?q=zzzyyyxxx"):
        answer = shop.get(path, by)
        assert answer.status == 200
        assert answer.headers["x-creditos-cobrados"] == "0"
    assert shop.money(by) == (CREDITS, 0)
    assert not shop.charges(by)


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("", 400, "FILTRO_OBRIGATORIO"),
        ("?limite=10", 400, "FILTRO_OBRIGATORIO"),
        ("?pessoas=true", 400, "FILTRO_OBRIGATORIO"),
        ("?uf=XX", 400, "PARAMETRO_INVALIDO"),
        ("?uf=SP&uf=RJ", 400, "PARAMETRO_REPETIDO"),
        ("?uf=SP,,RJ", 400, "PARAMETRO_INVALIDO"),
        ("?municipio=7107", 200, ""),
        ("?municipio=3550308", 200, ""),
        ("?municipio=9999", 400, "PARAMETRO_INVALIDO"),
        ("?municipio=9999999", 400, "PARAMETRO_INVALIDO"),
        ("?municipio=S%C3%A3o%20Paulo&uf=SP", 200, ""),
        ("?municipio=S%C3%A3o%20Paulo", 400, "PARAMETRO_INVALIDO"),
        ("?municipio=Lugar%20Nenhum&uf=SP", 400, "PARAMETRO_INVALIDO"),
        ("?cnae=123", 400, "PARAMETRO_INVALIDO"),
        ("?q=ab*", 400, "PARAMETRO_INVALIDO"),
        ("?q=%2E%2E", 400, "PARAMETRO_INVALIDO"),
        ("?q=12345678901", 400, "PARAMETRO_INVALIDO"),
        ("?aberta_desde=2026-02-30", 400, "PARAMETRO_INVALIDO"),
        ("?aberta_desde=2026-02-03&aberta_ate=2026-02-01", 400, "PARAMETRO_INVALIDO"),
        ("?capital_min=-1", 400, "PARAMETRO_INVALIDO"),
        ("?capital_min=2&capital_max=1", 400, "PARAMETRO_INVALIDO"),
        ("?cep=123", 400, "PARAMETRO_INVALIDO"),
        ("?dominio=exemplo", 400, "PARAMETRO_INVALIDO"),
        ("?raiz=1234567", 400, "PARAMETRO_INVALIDO"),
        ("?uf=SP&limite=101", 400, "PARAMETRO_INVALIDO"),
        ("?uf=SP&limite=0", 400, "PARAMETRO_INVALIDO"),
        ("?uf=SP&cursor=x", 400, "PARAMETRO_INVALIDO"),
        ("?uf=SP&cursor=00000000.c1", 410, "CURSOR_DE_OUTRO_MES"),
        ("?uf=SP&pessoas=true", 403, "OPTIN_NAO_HABILITADO"),
        ("?uf=SP&mei=true", 403, "OPTIN_NAO_HABILITADO"),
        ("?natureza=2135", 403, "OPTIN_NAO_HABILITADO"),
        ("?natureza=213-5,4120", 403, "OPTIN_NAO_HABILITADO"),
        ("?natureza=2135,2062", 200, ""),
        ("?uf=SP&mei=false", 200, ""),
        ("?uf=SP&mei=true,false", 200, ""),
        ("?municipio=sao%20paulo%2FSP", 200, ""),
        ("?uf=SP&creditos_maximos=0", 402, "TETO_DA_REQUISICAO"),
    ],
)
def test_refused_searches_are_free(shop: Service, query: str, status: int, code: str) -> None:
    before = shop.money()
    answer = shop.get(COMPANIES + query)
    assert (answer.status, answer.code) == (status, code or None)
    if status != 200:
        assert answer.headers["x-creditos-cobrados"] == "0"
        assert shop.money() == before


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("?uf=SP&mei=true", "(mei=true)"),
        ("?uf=SP&pessoas=true", "(pessoas=true)"),
        ("?natureza=2135&mei=true", "(natureza"),
    ],
)
def test_a_refused_search_of_people_names_its_parameter(
    shop: Service, query: str, named: str
) -> None:
    assert named in shop.get(COMPANIES + query).json["message"]


def test_an_answer_reports_whether_people_are_included(shop: Service) -> None:
    by = opted(shop, "inclui")
    for path in (COMPANIES, COUNT):
        assert shop.get(f"{path}?uf=SP").json["inclui_pessoas"] is False
        assert shop.get(f"{path}?uf=SP&mei=true", by).json["inclui_pessoas"] is False
        assert shop.get(f"{path}?uf=SP&pessoas=true", by).json["inclui_pessoas"] is True
        assert shop.get(f"{path}?uf=SP&mei=true").code == "OPTIN_NAO_HABILITADO"
    with_people = shop.get(COUNT + "?uf=SP&mei=true&pessoas=true", by).json["total"]
    assert with_people > shop.get(COUNT + "?uf=SP&mei=true", by).json["total"]


def test_people_need_the_opt_in(shop: Service) -> None:
    by = opted(shop, "pessoas")
    hidden = shop.get(COMPANIES + "?natureza=2135", by).json["itens"]
    shown = shop.get(COMPANIES + "?natureza=2135&pessoas=true", by).json["itens"]
    assert not hidden
    assert shown
    assert {item["natureza"]["codigo"] for item in shown} == {"2135"}
    everybody = shop.get(COUNT + "?uf=SP&pessoas=true", by).json["total"]
    assert shop.get(COUNT + "?uf=SP", by).json["total"] < everybody


def test_partners(shop: Service) -> None:
    for nobody in (DEFAULT, opted(shop, "gratis", "gratuito")):
        refused = shop.get(PARTNERS + "?nome=maria", nobody)
        assert (refused.status, refused.code) == (403, "OPTIN_NAO_HABILITADO")
    by = opted(shop, "socios")
    answer = shop.get(PARTNERS + "?nome=maria", by)
    assert answer.headers["x-creditos-cobrados"] == "1"
    items = answer.json["itens"]
    assert items
    for item in items:
        assert "MARIA" in item["nome"]
        assert item["documento"][:3] == "***" or len(item["documento"]) == 14
    masked = next(item for item in items if item["documento"].startswith("***"))
    same = shop.get(f"{PARTNERS}?documento={masked['documento'][3:9]}", by).json["itens"]
    assert masked in same
    none = shop.get(PARTNERS, by)
    assert (none.code, "nome=, documento=" in none.json["message"]) == ("FILTRO_OBRIGATORIO", True)
    assert shop.get(PARTNERS + "?documento=12", by).code == "PARAMETRO_INVALIDO"
    assert [entry.operation for entry in shop.charges(by)] == ["busca-de-socios"] * 2


def test_a_repeated_request_is_charged_once(shop: Service) -> None:
    by = shop.account("chave")
    first = shop.get(COMPANIES + "?uf=SP&limite=3", by, idempotency_key="busca-0001")
    again = shop.get(COMPANIES + "?uf=SP&limite=3", by, idempotency_key="busca-0001")
    assert again.body == first.body
    assert again.headers["idempotent-replayed"] == "true"
    assert again.headers["x-creditos-cobrados"] == "0"
    assert shop.money(by) == (CREDITS - 1, 0)
    other = shop.get(COMPANIES + "?uf=RJ&limite=3", by, idempotency_key="busca-0001")
    assert (other.status, other.code) == (400, "IDEMPOTENCY_KEY_REUTILIZADA")


def test_concurrent_requests_under_one_key(shop: Service) -> None:
    by = shop.account("juntas")

    async def both() -> None:
        answers = await asyncio.gather(
            *(shop.aget(COMPANIES + "?uf=SP", by, idempotency_key="busca-0002") for _ in range(4))
        )
        assert {answer.status for answer in answers} == {200}
        assert len({answer.body for answer in answers}) == 1

    shop.run(both())
    assert shop.money(by) == (CREDITS - 1, 0)


def test_without_credits(shop: Service) -> None:
    by = shop.account("pobre", credits=0)
    refused = shop.get(COMPANIES + "?uf=SP", by)
    assert (refused.status, refused.code) == (402, "SALDO_INSUFICIENTE")
    assert "itens" not in refused.json
    assert shop.get(COMPANIES + "?q=zzzyyyxxx", by).status == 200


def test_no_name_is_logged(shop: Service) -> None:
    by = opted(shop, "discreta")
    answer = shop.get(PARTNERS + "?nome=maria", by)
    assert shop.event(answer.json["request_id"])["operation"] == "busca-de-socios"
    assert b"maria" not in shop.logged.lower()


def test_a_search_process_that_dies(shop: Service) -> None:
    """It is restarted unnoticed; search processes end with the service, even if that is killed."""
    searching = SearchPool({"test": Home(shop.settings.home).opendata("test")})

    async def found() -> Sequence[str]:
        active = Filters(coded={"situacao": frozenset({"02"})})
        while True:  # a page may be cut short on a busy machine
            pages = [searching.companies("test", active, None, 5) for _ in range(2)]
            first, second = await asyncio.gather(*pages)
            if len(first.itens) == len(second.itens) == 5:
                assert first.itens == second.itens
                return [each.cnpj for each in first.itens]

    before = asyncio.run(found())
    assert len(before) == 5
    killed = [worker.process for worker in searching._workers]
    for process in killed:
        process.kill()
        process.wait()
    assert asyncio.run(found()) == before
    with pytest.raises(RuntimeError, match=r"^AttributeError$"):  # and not what was sought
        asyncio.run(searching.count("test", "Fulana"))  # type: ignore[arg-type]
    alive = [worker.process for worker in searching._workers]
    searching.close()
    assert alive
    assert not {process.pid for process in alive} & {process.pid for process in killed}
    assert {process.returncode for process in alive} == {0}, "they were not killed"


def test_without_an_index_or_a_month_it_is_free(tmp_path: Path) -> None:
    with open_service(tmp_path, establishments=1, preco_busca_creditos=0) as house:
        store = Home(house.settings.home).opendata("test")
        missing = house.get(COMPANIES + "?uf=SP")
        assert (missing.status, missing.code) == (503, "BUSCA_INDISPONIVEL")
        assert missing.headers["x-creditos-cobrados"] == "0"
        assert "retry-after" in missing.headers
        live = house.account("viva", mode="live")
        assert house.get(COMPANIES + "?uf=SP", live).code == "BUSCA_INDISPONIVEL"
        assert build_index(store) == index_path(current_path(store))
        answer = house.run(_when_there(house))
        assert answer == "0"
        assert not house.charges()


async def _when_there(house: Service) -> str:
    """Return the price of a page once the service has the index, within a second."""
    cost = ""

    async def look() -> bool:
        nonlocal cost
        answer = await house.aget(COMPANIES + "?situacao=ATIVA")
        cost = answer.headers["x-creditos-cobrados"]
        return answer.status == 200

    async with asyncio.timeout(60):
        while not await look():  # noqa: ASYNC110 - the store is looked at once a second
            await asyncio.sleep(0.05)
    return cost


def test_a_key_for_other_operations_does_not_search(shop: Service) -> None:
    by, desk = shop.account("portas"), shop.desk
    assert desk.change_restrictions(by.key_id, KeyRestrictions(operations=("suframa",)), 1)
    answer = shop.get(COMPANIES + "?uf=SP", by)
    assert answer.status == 403
    assert b"OPERACAO_NAO_PERMITIDA" in answer.body
    assert shop.money(by) == (CREDITS, 0)


def watch(house: Service, query: str, body: object, by: Client) -> Reply:
    text = json.dumps(body).encode()
    path = f"/carteira/v1/itens?{urlencode({'busca': query})}"
    return house.request(
        "POST", path, by, body=text, content_type="application/json",
        content_length=str(len(text)),
    )  # fmt: skip


def test_a_search_is_a_list_of_items_to_watch(shop: Service) -> None:
    by = shop.account("carteira")
    query = "situacao=ATIVA&uf=SP"
    expected: set[str] = set()
    cursor = ""
    while cursor is not None:
        page = shop.get(f"{COMPANIES}?{query}" + (f"&cursor={cursor}" if cursor else ""), by).json
        expected |= {item["cnpj"] for item in page["itens"]}
        cursor = page["cursor"]
    money = shop.money(by)
    made = watch(shop, query, {"etiquetas": ["busca"], "vigiar": ["cadastro"]}, by)
    assert (made.status, made.credits, shop.money(by)) == (202, 0, money)
    assert [each["novo"] for each in made.json["itens"]] == [True] * len(expected)
    listed = shop.get("/carteira/v1/itens?etiqueta=busca&limite=1000", by).json["itens"]
    assert {each["documento"] for each in listed} == expected
    assert watch(shop, query, {}, by).json["itens"][0]["novo"] is False


@pytest.mark.parametrize(
    ("query", "body", "code"),
    [
        ("", {}, "FILTRO_OBRIGATORIO"),
        ("ufs=SP&situacao=ATIVA", {}, "PARAMETRO_INVALIDO"),
        ("uf=SP&cursor=1", {}, "PARAMETRO_INVALIDO"),
        ("uf=XX", {}, "PARAMETRO_INVALIDO"),
        ("uf=SP&pessoas=true", {}, "OPTIN_NAO_HABILITADO"),
        ("uf=SP", {"documento": "90010001000100"}, "PARAMETRO_INVALIDO"),
    ],
)
def test_refused_lists_of_a_search(shop: Service, query: str, body: object, code: str) -> None:
    by = shop.account(f"recusa {query} {len(str(body))}")
    assert watch(shop, query, body, by).code == code
    assert shop.get("/carteira/v1", by).json["itens"] == 0


def test_a_search_with_too_many_results_adds_nothing(
    shop: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wallet_searches, "SYNCED_AT_ONCE", 20)
    by = shop.account("demais")
    assert watch(shop, "situacao=ATIVA", {}, by).code == "PARAMETRO_INVALIDO"
    assert shop.get("/carteira/v1", by).json["itens"] == 0
    key = shop.another_key(by, restrictions=KeyRestrictions(operations=("suframa",)))
    assert watch(shop, "uf=SP", {}, key).code == "OPERACAO_NAO_PERMITIDA"
