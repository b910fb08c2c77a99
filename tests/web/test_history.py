"""`/app/historico`: the requests listed for each person, and data kept out of addresses."""

import csv
import io
import uuid
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from balcao.accounts.statement import month_of
from balcao.core.calendar import civil_day
from balcao.core.certificates import CertificateSummary, Verdict
from balcao.core.check_digits import cnpj_check_digits
from balcao.core.data_subject import document_hash
from balcao.core.result_summary import ResultSummary
from balcao.core.writing import MONTHS, cnpj
from balcao.service.clock import system_now_ms
from balcao.web.pages.history import files, pages
from balcao.web.pages.history.requests import Names
from tests.lookups import ANY_AGE
from tests.records import company, federal_of, producer, sintegra
from tests.service import Client, Service
from tests.web.browser import Browser, PageResponse, signed_in
from tests.web.lookups import CLOSED, a_trace
from tests.web.test_statement import cells, serial

CNPJ, OTHER, SHOP = "90010001000100", "90010002000154", "90010003000107"
CPF = "90010000100"
DAY_MS = 86_400_000


def note(house: Service, of: Client, at_ms: int, **fields: Any) -> str:
    """Record a request and return its number."""
    # Numbers are ordered by time, as UUIDs of version 7 are.
    number = f"{at_ms:012x}"
    request_id = f"{number[:8]}-{number[8:]}-7{uuid.uuid4().hex[:3]}-8000-{uuid.uuid4().hex[:12]}"
    usual: dict[str, Any] = {
        "account_id": of.account_id,
        "key_id": of.key_id,
        "asked_ms": at_ms,
        "opened_ms": at_ms,
        "settled_ms": at_ms + 5,
    }
    house.desk.commit_now([a_trace(request_id=request_id, **(usual | fields))])
    return request_id


def listed(answer: PageResponse) -> Sequence[str]:
    """Return the numbers of the requests on a page."""
    assert answer.status == 200, answer.words
    explained = "contains(@href, '/historico/') or contains(@href, '/requisicoes/')"
    found = answer.tree.xpath(f"//tbody//a[{explained}]/@href")
    return [href.rpartition("/")[2] for href in found]


def lines_of(answer: PageResponse) -> Sequence[dict[str, str]]:
    """Return a file's lines."""
    assert answer.text.startswith("\ufeff")
    return list(csv.DictReader(io.StringIO(answer.text[1:]), delimiter=";"))


@pytest.fixture(scope="module")
def many(house: Service) -> tuple[Client, dict[str, str], int]:
    """Return an account with one request of each kind, by label, and its consultant."""
    who = house.account("varias")
    person = signed_in(house, who, "consultant").user
    assert person is not None
    now = system_now_ms()
    secret = house.front.parts.receipt_numbers.pepper
    kinds: dict[str, dict[str, Any]] = {
        "usual": {},
        "cached": {"origin": "cache"},
        "failed": {"status": 500, "code": "ERRO_INTERNO", "origin": None, "credits": 0},
        "other company": {"document": OTHER},
        "federal": {"operation": "certidao-negativa-de-debitos-federal", "uf": None},
        "by a person": {"key_id": None, "user_id": person.user_id},
        "named": {
            "result_summary": ResultSummary("PADARIA SAO JOAO LTDA", "ativas:3"),
            "document": SHOP,
            "uf": "RJ",
        },
        "nameless": {"document": SHOP, "source": "snapshot", "operation": "suframa"},
        "of a person": {
            "operation": "produtor-rural",
            "document": "***100001**",
            "document_hash": document_hash(secret, CPF),
        },
    }
    found = {
        name: note(house, who, now - 60_000 * at, **fields)
        for at, (name, fields) in enumerate(kinds.items())
    }
    found["old"] = note(house, who, now - 40 * DAY_MS)
    return who, found, person.user_id


def test_newest_first_without_the_old_ones(house: Service, many: Any) -> None:
    who, found, _ = many
    numbers = [number for name, number in found.items() if name != "old"]
    assert listed(signed_in(house, who).get("/app/historico")) == numbers


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("origem=cache", ["cached"]),
        ("erros=1", ["failed"]),
        (f"documento={OTHER}", ["other company"]),
        ("documento=90.010.002%2F0001-54", ["other company"]),
        ("operacao=certidao-negativa-de-debitos-federal", ["federal"]),
        ("chave=web", ["by a person"]),
        ("operacao=sintegra&chave=web", ["by a person"]),
        ("operacao=produtor-rural&chave=web", []),
        ("nome=padaria", ["named", "nameless"]),
        ("nome=Jo%C3%A3o+padaria", ["named", "nameless"]),
        ("nome=padaria&origem=fonte", ["named"]),
        ("origem=copia", ["nameless"]),
        ("origem=online&nome=padaria", ["named", "nameless"]),
        ("nome=100%25", []),
        ("resultado=inscrita", ["named"]),
        ("resultado=cnd", []),
        ("uf=RJ", ["named"]),
    ],
)
def test_filters(house: Service, many: Any, query: str, names: Sequence[str]) -> None:
    who, found, _ = many
    browser = signed_in(house, who)
    assert listed(browser.get(f"/app/historico?{query}")) == [found[name] for name in names]
    rows = lines_of(browser.get(f"/app/historico.csv?{query}"))
    assert [row["request_id"] for row in rows] == [found[name] for name in names]


def test_the_period_filter(house: Service, many: Any) -> None:
    who, found, _ = many
    answer = signed_in(house, who).get("/app/historico?de=2000-01-01")
    assert answer.status == 422
    assert "O período pode ter no máximo 366 dias." in answer.words
    day = civil_day(system_now_ms() - 40 * DAY_MS).isoformat()
    answer = signed_in(house, who).get(f"/app/historico?de={day}&ate={day}")
    assert listed(answer) == [found["old"]]


def test_the_key_filter(house: Service, many: Any) -> None:
    who, found, _ = many
    answer = signed_in(house, who).get(f"/app/historico?chave={who.key_id}")
    assert found["by a person"] not in listed(answer)
    assert len(listed(answer)) == 8


def test_the_person_filter(house: Service, many: Any) -> None:
    who, found, user_id = many
    manager = signed_in(house, who)
    assert listed(manager.get(f"/app/historico?pessoa={user_id}")) == [found["by a person"]]
    colleague = signed_in(house, who, "consultant")
    # Naming another person shows no more.
    assert listed(colleague.get(f"/app/historico?pessoa={user_id}")) == []


def test_consultants_see_their_own(house: Service, many: Any) -> None:
    who, found, user_id = many
    browser = signed_in(house, who, "consultant")
    assert listed(browser.get("/app/historico")) == []  # another person's
    assert len(browser.get("/app/historico.csv").text.splitlines()) == 1
    assert len(cells(browser.get("/app/historico.xlsx").content, 2)) == 2  # heading and total
    user = house.desk.people.user(user_id)
    assert user is not None
    browser.sign_in(user)
    assert listed(browser.get("/app/historico?chave=" + str(who.key_id))) == []
    assert listed(browser.get("/app/historico")) == [found["by a person"]]
    assert browser.get(f"/app/historico/{found['by a person']}").status == 200
    assert browser.get(f"/app/historico/{found['usual']}").status == 404


def test_a_person_is_searched_by_post(house: Service, many: Any) -> None:
    who, found, _ = many
    browser = signed_in(house, who)
    answer = browser.post("/app/historico/pessoa", {"cpf": "900.100.001-00"})
    assert listed(answer) == [found["of a person"]]
    assert "***100001**" in answer.words
    # The typed number is in no address, and in no text.
    assert not [href for href in answer.tree.xpath("//@href") if CPF in href or "900.100" in href]
    assert CPF not in answer.words
    wrong = browser.post("/app/historico/pessoa", {"cpf": "111"})
    assert (wrong.status, "CPF inválido." in wrong.words) == (422, True)
    assert browser.get("/app/historico/pessoa").location == "/app/historico"


def test_a_cpf_in_the_wrong_field_does_not_stay_in_the_address(house: Service, many: Any) -> None:
    who, _, _ = many
    browser = signed_in(house, who)
    answer = browser.get(f"/app/historico?documento={CPF}&origem=cache")
    assert answer.status == 303
    assert CPF not in answer.location
    again = browser.get(answer.location)
    assert (again.status, "Para buscar por CPF" in again.words) == (422, True)
    assert browser.get(f"/app/historico.csv?documento={CPF}").location.find(CPF) == -1


def test_a_cpf_in_the_name_field_does_not_stay_in_the_address(house: Service, many: Any) -> None:
    who, _, _ = many
    browser = signed_in(house, who)
    for typed in (CPF, "900.100.001-00", "900.100.001-0", f"Maria {CPF}", f"{CPF} 90010000283"):
        answer = browser.get("/app/historico?" + urlencode({"nome": typed, "uf": "SP"}))
        assert answer.status == 303
        assert parse_qs(urlsplit(answer.location).query).keys() == {"de", "ate", "uf", "aviso"}
        assert "Informe um nome." in browser.get(answer.location).words


def test_filters_are_kept_over_signing_in(house: Service, many: Any) -> None:
    asked = "/app/historico?" + urlencode({"nome": "padaria", "uf": "RJ", "resultado": "inscrita"})
    assert Browser(house).get(asked).location == "/app/entrar?" + urlencode({"para": asked})


def test_active_filters_are_listed_while_collapsed(house: Service, many: Any) -> None:
    who, _, user_id = many
    answer = signed_in(house, who).get(
        f"/app/historico?nome=padaria&resultado=inscrita&origem=copia&pessoa={user_id}&chave=web"
    )
    summary = answer.tree.xpath("//details[contains(@class, 'filtering')]/summary")[
        0
    ].text_content()
    for text in ("“padaria”", "“Com inscrição ativa”", "nossa cópia do mês", "Pessoa", "aplicação"):
        assert text in summary


def test_rows_show_subject_and_outcome(house: Service) -> None:
    """Including API requests without a key: from the source, our own copy, and the cache."""
    who = house.account("nomes")
    asked = sintegra(CNPJ)
    for path in (company(CNPJ), asked, f"{asked}&{ANY_AGE}", federal_of(CNPJ), federal_of(CLOSED)):
        house.get(path, who)
    house.run(house.until(lambda: not house.front.parts.writing_traces))
    answer = signed_in(house, who).get("/app/historico")
    rows = [
        (row.xpath("./th/a/text()")[0].strip(), row.xpath("./td[2]")[0].text_content().strip())
        for row in answer.tree.xpath("//tbody/tr")
    ]
    active = "EMPRESA ATIVA FICTICIA LTDA"
    # Requests of the same millisecond have no order.
    assert sorted(rows) == sorted(
        [
            ("EMPRESA BAIXADA FICTICIA LTDA", "CPD"),
            (active, "CND"),
            (active, "Respondida"),  # from the cache, without a recorded outcome
            (active, "1 inscrição ativa"),
            (active, "Ativa"),
        ]
    )


def test_the_first_link_opens_the_result_while_it_exists(house: Service) -> None:
    who = house.account("ligada")
    kept = house.get(sintegra(CNPJ), who, idempotency_key="kept-0123456789").json["request_id"]
    unkept = house.get(sintegra(CNPJ), who).json["request_id"]
    certified = house.get(federal_of(CNPJ), who).json["request_id"]
    house.run(house.until(lambda: not house.front.parts.writing_traces))
    links = signed_in(house, who).get("/app/historico").tree.xpath("//tbody//a/@href")
    assert [link for link in links if "comprovantes" not in link] == [
        *(f"/app/consultas/resultado/{certified}", f"/app/historico/{certified}"),
        *(f"/app/empresas/{CNPJ}", f"/app/historico/{unkept}"),
        *(f"/app/consultas/resultado/{kept}", f"/app/historico/{kept}"),
    ]


def test_a_number_leads_to_its_page(house: Service, many: Any) -> None:
    who, found, _ = many
    browser = signed_in(house, who)
    answer = browser.get(f"/app/historico?id={found['usual'].upper()}")
    assert answer.location == f"/app/historico/{found['usual']}"
    unknown = browser.get("/app/historico?id=nada")
    assert (unknown.status, "O número de uma consulta tem 36 caracteres" in unknown.words) == (
        404,
        True,
    )


def test_pages_of_fifty(house: Service) -> None:
    who = house.account("longa")
    now, secret = system_now_ms(), house.front.parts.receipt_numbers.pepper
    hashed = document_hash(secret, CPF)
    numbers = [
        note(house, who, now - 1000 * at, document="***100001**", document_hash=hashed)
        for at in range(120)
    ]
    browser = signed_in(house, who)
    seen, path = [], "/app/historico?origem=online"
    for _ in range(3):
        answer = browser.get(path)
        assert len(answer.content) < 100_000
        seen.append(list(listed(answer)))
        path = next(iter(answer.tree.xpath("//a[@rel='next']/@href")), "")
        assert not path or "origem=online" in path
    assert [len(page) for page in seen] == [50, 50, 20]
    assert [number for page in seen for number in page] == numbers
    assert path == ""
    # For one person, the number is sent by POST.
    answer = browser.post("/app/historico/pessoa", {"cpf": CPF})
    found: list[str] = []
    for _ in range(3):
        found += listed(answer)
        if forms := answer.tree.xpath(
            "//form[@action='/app/historico/pessoa' and @class='action']"
        ):
            fields = {each.get("name"): each.get("value") for each in forms[0].xpath(".//input")}
            answer = browser.post("/app/historico/pessoa", fields)
    assert found == numbers


def test_files_go_beyond_a_page(house: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    who = house.account("exportada")
    now = system_now_ms()
    numbers = [note(house, who, now - 1000 * at, credits=2) for at in range(70)]
    monkeypatch.setattr(files, "_READ_AT_ONCE", 16)
    browser = signed_in(house, who)
    rows = lines_of(browser.get("/app/historico.csv"))
    assert [row["request_id"] for row in rows] == numbers
    assert {(row["regra"], row["regra_codigo"]) for row in rows} == {
        ("sintegra: 1 por UF respondida", "state_registration/uf")
    }
    head, *lines, total = cells(browser.get("/app/historico.xlsx").content, 2)
    assert head == [column.title for column in files.COLUMNS]
    assert [line[1] for line in lines] == numbers
    rule = head.index("Regra")
    assert {line[rule] for line in lines} == {"Inscrições estaduais: 1 por UF respondida"}
    assert total[11] == 140.0


def test_real_requests_are_listed_with_masked_documents(house: Service) -> None:
    who = house.account("real")
    for path in (company(CNPJ), producer(CPF), sintegra(CNPJ), federal_of(CPF)):
        assert house.get(path, who).status == 200
    browser = signed_in(house, who)
    answer = browser.get("/app/historico")
    documents = [
        cell.text for cell in answer.tree.xpath("//tbody//th//span[contains(@class, 'document')]")
    ]
    assert documents == ["***.100.001-**", "90.010.001/0001-00"] * 2
    assert len(listed(browser.post("/app/historico/pessoa", {"cpf": CPF}))) == 2
    for file in ("csv", "xlsx"):
        named = browser.get(f"/app/historico.{file}")
        assert CPF.encode() not in named.content
        assert named.headers["content-disposition"].startswith('attachment; filename="historico-')


def test_the_origin_filter(house: Service) -> None:
    who, now = house.account("origens"), system_now_ms()
    note(house, who, now, operation="cnpj-receita-federal", source="snapshot")
    note(house, who, now - 1000, source="sefaz")
    note(house, who, now - 2000, origin="cache")
    note(house, who, now - 3000, origin=None)
    answer = signed_in(house, who).get("/app/historico")
    origins = answer.tree.xpath("//td[@class='number']/small/text()")
    assert origins == ["nossa cópia do mês", "da fonte", "guardado", "—"]


def test_certificates_by_their_last_day(house: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    who, now = house.account("vencimentos"), system_now_ms()
    today = civil_day(now)
    month = month_of(today)
    last_days = [
        (today + timedelta(7), "SP"),
        (today + timedelta(8), "SP"),
        (today + timedelta(30), "RJ"),
        (today + timedelta(31), "SP"),
        (today - timedelta(1), "SP"),
        (today - timedelta(200), "SP"),
        (month.last, "SP"),
    ]

    def add(at_ms: int, document: str, until: date, uf: str, verdict: Verdict = "CND") -> str:
        return note(
            house, who, at_ms, operation="certidao-negativa-de-debitos-estadual", uf=uf,
            document=document,
            certificate=CertificateSummary(verdict, until.isoformat(), "EMPRESA", None, None),
        )  # fmt: skip

    stems = [f"{90010000 + n}0001" for n in range(1, 8)]
    documents = [stem + cnpj_check_digits(stem) for stem in stems]
    numbers = [
        add(now - 100 * DAY_MS + n, document, *last_days[n]) for n, document in enumerate(documents)
    ]
    # A renewed one expires by its newest certificate alone, also with a filter that omits this one.
    add(now - 90 * DAY_MS, documents[3], today, "SP", verdict="CPEND")
    add(now, documents[3], today + timedelta(180), "SP")
    colleague = signed_in(house, who, "consultant")
    browser = signed_in(house, who)

    def found(query: str) -> list[int]:
        return [numbers.index(each) + 1 for each in listed(browser.get(f"/app/historico?{query}"))]

    in_month = [n for n in (5, 1, 7, 2, 3) if month.first <= last_days[n - 1][0] <= month.last]
    assert [n for n in found("vencimento=7") if n != 7] == [1]
    assert [n for n in found("vencimento=15") if n != 7] == [1, 2]
    assert [n for n in found("vencimento=30") if n != 7] == [1, 2, 3]
    assert set(found("vencimento=mes")) == set(in_month)
    assert found("vencimento=vencidas") == [5, 6]
    assert found("vencimento=30&uf=RJ") == [3]
    assert found("vencimento=30&resultado=cpend") == []
    assert "vencimento" in browser.get("/app/historico?vencimento=amanha").words
    assert listed(colleague.get("/app/historico?vencimento=30")) == []  # another person's
    rows = lines_of(browser.get("/app/historico.csv?vencimento=vencidas"))
    assert [row["request_id"] for row in rows] == [numbers[4], numbers[5]]
    summary = cells(browser.get(f"/app/historico.xlsx?de={today - timedelta(120)}").content, 1)
    assert ["Consultas", 9] in summary
    assert ["  Certidão estadual", 9] in summary
    expiries = summary[summary.index(["Próximos vencimentos"]) + 1 :]
    due = sorted(n for n in range(7) if last_days[n][0] >= today and n != 3)
    assert {row[2] for row in expiries} == {cnpj(documents[n]) for n in (*due, 3)}
    assert expiries[-1][1] == serial((today + timedelta(180)).isoformat())  # as renewed
    monkeypatch.setattr(pages, "SHOWN", 1)
    first = browser.get("/app/historico?vencimento=vencidas")
    (older,) = first.tree.xpath("//a[@rel='next']/@href")
    assert (listed(first), listed(browser.get(older))) == ([numbers[4]], [numbers[5]])


def test_a_month_is_one_link_away(house: Service, many: Any) -> None:
    who, found, _ = many
    browser = signed_in(house, who)
    page = browser.get("/app/historico?uf=SP")
    assert page.tree.xpath("//nav[@aria-label='Consultas de']")
    day = civil_day(system_now_ms() - 40 * DAY_MS)
    (href,) = page.tree.xpath(
        "//nav[@aria-label='Consultas de']/a[contains(., $month)]/@href",
        month=MONTHS[day.month - 1],
    )
    month = browser.get(href)
    assert found["old"] in listed(month)
    assert month.tree.xpath("//nav/a[@aria-current]/text()")[0].startswith(MONTHS[day.month - 1])
    assert "uf=SP" in href


def test_unknown_filters_are_reported(house: Service, many: Any) -> None:
    who, found, _ = many
    browser = signed_in(house, who)
    answer = browser.get("/app/historico?origem=lua&operacao=nada&chave=999999")
    text = "Filtro desconhecido, ignorado: operação, chave e origem."
    assert (answer.status, text in answer.words) == (200, True)
    assert len(listed(answer)) == len(found) - 1
    assert "Filtro desconhecido" not in browser.get("/app/historico?origem=cache").words


def test_the_command_line_is_named() -> None:
    names = Names({None: "aplicação web", 1: "ERP"}, {2: "Ana"})
    asked = [(1, None), (9, None), (None, 2), (None, None)]
    answer = ["ERP", "chave 9", "Ana", "linha de comando"]
    assert [names.who(*each) for each in asked] == answer
    assert names.key_name(None) == "aplicação web", "an entry knows no people"
