"""`/app/carteira/certidoes`: certificates of the portfolio, and their purchase (contract 20.7)."""

import io
import zipfile
from datetime import timedelta
from typing import Any

import icalendar
from python_calamine import CalamineWorkbook

from balcao.core.calendar import civil_day
from balcao.service.clock import system_now_ms
from balcao.storage.connection import SqlConnection
from tests.http.test_wallet_papers import pdf
from tests.service import Client, Service
from tests.watching import a_paper
from tests.web.batches import MULTIPART, BatchUser, multipart
from tests.web.browser import Browser, PageResponse, signed_in

CNPJ, OTHER = "90010001000100", "90010008000121"
PATH = "/app/carteira/certidoes"


def watch(browser: Browser, document: str, **fields: str) -> str:
    """Add a company with its federal certificate and return its id."""
    form = {"documento": document, "vigiar_certidao_federal": "1", **fields}
    added = browser.post("/app/carteira/incluir", form)
    assert added.status == 303, added.words
    return added.location.partition("?")[0].rpartition("/")[2]


def by_hand(house: Service, who: Client, item_id: str, name: str, left: int) -> None:
    """Write a certificate that ends in so many days."""

    def work(connection: SqlConnection) -> None:
        day = civil_day(system_now_ms()) + timedelta(left)
        with connection.transaction():
            a_paper(
                connection.execute, who.account_id, "outra", item_id,
                paper_id=f"{item_id} {name}", name=name, validity=day.isoformat(),
            )  # fmt: skip

    house.run(house.desk.engine.run_in_writer(work))


def rows(page: Any) -> list[str]:
    return [" ".join(row.text_content().split()) for row in page.tree.xpath("//tbody/tr")]


def test_certificates_are_selected_by_their_last_days(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    assert "Nenhuma certidão acompanhada" in browser.get(PATH).words
    item = watch(browser, CNPJ, etiquetas="sul")
    by_hand(house, who, item, "Alvará", 3)
    by_hand(house, who, item, "Bombeiros", -2)
    page = browser.get(PATH)
    assert "venceu há 2 dias" in rows(page)[0]
    assert "Ainda não consultada" in rows(page)[2]
    links = page.tree.xpath("//nav[@aria-label='Seleções']/a")
    chips = {" ".join(each.text_content().split()) for each in links}
    assert chips >= {"Todas 3", "Vencem em 7 dias 1", "Em 15 dias 1", "Vencidas 1", "Positivas 0"}
    assert chips >= {"Sem certidão 1"}
    assert "Alvará A vencer" in rows(browser.get(f"{PATH}?ver=7"))[0]
    assert "Nenhuma certidão nesta seleção" in browser.get(f"{PATH}?ver=positivas").words
    assert len(rows(browser.get(f"{PATH}?etiqueta=sul&tipo=outra"))) == 2
    day = civil_day(system_now_ms()) + timedelta(3)
    month = browser.get(f"{PATH}?vista=mes&mes={day:%Y-%m}")
    assert f"/app/carteira/itens/{item}" in month.text
    assert len(rows(browser.get(f"{PATH}?dia={day}"))) == 1
    marked = browser.post(f"/app/carteira/itens/{item}/tratado", {"de": f"{PATH}?ver=vencidas"})
    assert marked.location == f"{PATH}?ver=vencidas"
    assert "tratado" in rows(browser.get(marked.location))[0]
    assert "Alvará" in browser.get(f"/app/carteira/itens/{item}").words
    assert browser.get(f"{PATH}?vista=mes&mes=nada&dia=2026-99-99").status == 200


def test_ticked_certificates_are_renewed_by_a_batch(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    item = watch(browser, CNPJ)
    watch(browser, OTHER)
    by_hand(house, who, item, "Alvará", 3)
    nothing = browser.post(f"{PATH}/renovar", {})
    assert (nothing.status, "Selecione ao menos uma" in nothing.words) == (422, True)
    page = browser.post(f"{PATH}/renovar", {"quais": "todas"})
    assert "Renovar 2 (até 4 créditos)" in page.words
    sent = {name: page.field(name) for name in ("form_id", "teto_certidao_federal", "papeis")}
    before = house.balance(who).balance_credits
    begun = browser.post(f"{PATH}/renovar/confirmar", {**sent, "quais": "todas"})
    assert begun.status == 303, begun.words
    BatchUser(browser).until(begun.location, "concluido")
    assert before - house.balance(who).balance_credits == 4
    again = browser.post(f"{PATH}/renovar/confirmar", {**sent, "quais": "todas"})
    assert again.location in {begun.location, "/app/lotes"}
    states = [each for each in rows(browser.get(PATH)) if "Certidão federal" in each]
    assert all("Comprovante" in each for each in states)


def test_certificates_entered_by_hand_and_files(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    item = watch(browser, CNPJ, ref="F-9")
    page = f"/app/carteira/itens/{item}"
    house.get(f"/consultas/v2/certidao-negativa-de-debitos-federal?cnpj={CNPJ}", who)
    day = civil_day(system_now_ms()) + timedelta(20)

    def sent(at: str, fields: dict[str, str], file: bytes) -> PageResponse:
        return browser.upload(at, multipart(fields, file, "alvara.pdf"), MULTIPART)

    alvara = {"nome": "Alvará de funcionamento", "valida_ate": f"{day}", "nota": "Prefeitura"}
    wrong = sent(f"{page}/papeis", alvara, b"<html>")
    assert (wrong.status, wrong.field("nome")) == (422, "Alvará de funcionamento")
    assert "Deve ser um PDF que abre" in wrong.words
    assert sent(f"{page}/papeis", alvara, pdf()).status == 303
    shown = browser.get(page)
    assert "Alvará de funcionamento" in shown.words
    (at,) = shown.tree.xpath("//form[contains(@action, '/papeis/')][@enctype]/@action")
    assert sent(at, {"valida_ate": f"{day + timedelta(365)}"}, b"").status == 303

    assert "Em dia: 1 de 5" in browser.get(f"/app/empresas/{CNPJ}").words
    municipal = {"nome": "Certidão Municipal", "valida_ate": f"{day}"}
    assert sent(f"{page}/papeis", municipal, b"").status == 303
    assert "Em dia: 2 de 5" in browser.get(f"/app/empresas/{CNPJ}").words

    content = browser.get(f"{PATH}/comprovantes.zip").content
    names = sorted(zipfile.ZipFile(io.BytesIO(content)).namelist())
    assert names[-1] == "indice.csv"
    assert names[0] == f"{CNPJ}_ALVARA-DE.pdf"
    assert names[1].startswith(f"{CNPJ}_EMPRESA-ATIVA")
    sheet = house.get("/carteira/v1/planilha.xlsx", who)
    book = CalamineWorkbook.from_filelike(io.BytesIO(sheet.body))
    assert book.sheet_names == ["Resumo", "Certidões"]
    header, *lines = book.get_sheet_by_name("Certidões").to_python()
    titles = [dict(zip(header, row, strict=True))["Certidão"] for row in lines]
    assert titles == ["Certidão Municipal", "Certidão federal", "Alvará de funcionamento"]
    assert house.get("/carteira/v1/planilha.xlsx?estado=boa", who).code == "PARAMETRO_INVALIDO"
    none = house.get("/carteira/v1/recibos.zip?ate=2020-01-01", who)
    assert zipfile.ZipFile(io.BytesIO(none.body)).namelist() == ["indice.csv"]
    assert browser.post(f"{at}/remover").status == 303
    assert "Prefeitura" not in browser.get(page).words


def test_a_calendar_follows_its_certificates(house: Service, who: Client) -> None:
    browser, program = signed_in(house, who), Browser(house)
    item = watch(browser, CNPJ)
    house.get(f"/consultas/v2/certidao-negativa-de-debitos-federal?cnpj={CNPJ}", who)
    made = browser.post("/app/carteira/calendarios", {"nome": "Minhas certidões"})
    (address,) = made.tree.xpath("//code/text()")
    path = address[address.index("/app/") :]
    feed = program.get(path)
    assert feed.headers["content-type"] == "text/calendar; charset=utf-8"
    assert feed.headers["referrer-policy"] == "no-referrer"
    (event,) = icalendar.Calendar.from_ical(feed.content).walk("VEVENT")
    assert str(event["summary"]).startswith("Vence: certidão federal de ")
    assert (str(event["status"]), event["sequence"]) == ("CONFIRMED", 0)
    same = program.get(path, if_none_match=feed.headers["etag"])
    assert (same.status, same.content) == (304, b"")
    browser.post(f"/app/carteira/itens/{item}/remover")
    (gone,) = icalendar.Calendar.from_ical(program.get(path).content).walk("VEVENT")
    assert (str(gone["status"]), gone["sequence"]) == ("CANCELLED", 1)
    shown = browser.get("/app/carteira/calendarios")
    assert path not in shown.text
    (remove,) = shown.tree.xpath("//form[contains(@action, '/remover')]/@action")
    assert browser.post(remove).status == 303
    assert program.get(path).status == 404
    assert program.get("/app/calendario/nada.ics").status == 404


def test_a_calendar_does_not_name_persons(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    for number, ref in (("90030000181", "17"), ("90010000100", "")):
        form = {"documento": number, "vigiar_certidao_trabalhista": "1", "ref": ref}
        added = browser.post("/app/carteira/incluir", form)
        item = added.location.partition("?")[0].rpartition("/")[2]
        by_hand(house, who, item, "Alvará", 3)
    made = browser.post("/app/carteira/calendarios", {"nome": ""})
    (address,) = made.tree.xpath("//code/text()")
    feed = Browser(house).get(address[address.index("/app/") :])
    events = icalendar.Calendar.from_ical(feed.content).walk("VEVENT")
    assert {str(each["summary"]) for each in events} == {
        "Vence: alvará de pessoa física (17)",
        "Vence: alvará de pessoa física",
    }
    assert "***" not in feed.text
