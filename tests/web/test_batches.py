"""Batches in the application: who may, forms, what each state says and offers."""

import io
import re
import zipfile
from collections.abc import Iterator
from typing import get_args

import pytest

from balcao.batches import columns, pauses
from balcao.batches.documents import DocumentFlaw
from balcao.core.access import Plan
from balcao.core.batches import BATCH_STATES, PAUSE_REASONS, ROW_STATES
from balcao.core.people import Signature
from balcao.service import batching
from balcao.service.clock import system_now_ms
from balcao.web.kit.application import UPLOAD_BYTES_MAX, UPLOAD_FIELDS_BYTES_MAX
from balcao.web.kit.streams import STREAMS_OF_A_PERSON_MAX
from balcao.web.pages.batches import live, words
from balcao.web.pages.batches.form import as_list, columns_of_list
from tests.http.batcher import Batcher
from tests.service import Service, open_service
from tests.web.batches import LIST, MULTIPART, NEW, Office, multipart
from tests.web.browser import Browser, Said, signed_in
from tests.web.consulting import BROKEN, CLOSED, FARMER, FEDERAL, FRAGMENT, GOOD, ZONE

WRONG = "90010001000101"


@pytest.fixture(scope="module")
def casa(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batching, "POLL_SECONDS", 0.05)
        with open_service(tmp_path_factory.mktemp("casa"), establishments=1) as house:
            yield house
            house.assert_books_agree()


@pytest.fixture
def office(casa: Service, request: pytest.FixtureRequest) -> Office:
    """A manager of an account of the test's own."""
    return Office(signed_in(casa, casa.account(request.node.name)))


def cells(page: Said) -> list[list[str]]:
    """The table of rows, as it is read."""
    rows = page.tree.xpath("//table[contains(@class, 'batch-rows')]/tbody/tr")
    return [[" ".join(cell.text_content().split()) for cell in row] for row in rows]


def found(page: Said) -> list[str]:
    """What was found in the list."""
    return [each.text_content() for each in page.tree.xpath("//ul[@class='found']/li")]


def test_what_our_own_copy_says_stands_in_rows_as_in_the_history(office: Office) -> None:
    page = office.run(office.open({"lista": f"{GOOD}\n{CLOSED}", "operacao": "empresa"}))
    words = ["Ativa", "Baixada"]
    assert [row[2] for row in cells(page)] == words
    assert [row[3] for row in cells(page)] == ["nossa cópia do mês"] * 2
    for number, word in zip((GOOD, CLOSED), words, strict=True):
        company = office.browser.get(f"/app/empresas/{number}")
        (told,) = company.tree.xpath("//table[contains(@class, 'registers')]/tbody/tr[1]/td[1]")
        assert told.text_content().startswith(word)


def test_a_wrong_row_says_what_was_typed_and_its_true_reason(office: Office) -> None:
    listed = (
        f'90.010.001/0001-00 - Padaria, Bar e Cia\nREDE (90.010.002/0001-54)\n="{CLOSED}"\n'
        "abc\n90.010.001/0001-01\n90010001\n90.010.001/0001-00 / 90.010.002/0001-54\n"
        "900.100.001-01\n1,23E+13\n"
    )
    page = office.browser.get(office.open({"lista": listed, "operacao": "empresa"}))
    assert found(page) == [
        "3 válidas",
        "1 que não é CNPJ nem CPF (linha 4)",
        "2 com dígito errado (linhas 5, 8)",
        "1 só com a raiz do CNPJ (linha 6). Escreva o número inteiro, com 14 caracteres.",
        "1 com mais de um documento (linha 7). Deixe um documento em cada linha.",
        "1 cortada pela planilha (linha 9). Formate a coluna como texto e preencha-a de novo.",
    ]
    texts = [page.tree.xpath(f"//tr[@id='l{line}']/td[1]/text()")[0] for line in range(4, 10)]
    assert texts == [
        "abc",
        "90.010.001/0001-01",
        "90010001",
        "90.010.001/0001-00 / 90.010.002/0001-54",
        "***.100.001-**",
        "1,23E+13",
    ]
    assert [row[2] for row in cells(page)][3:5] == ["Não é CNPJ nem CPF", "Dígito errado"]
    (hint,) = page.tree.xpath("//tr[@id='l5']/td[1]/small/text()")
    assert hint.startswith("O último dígito não confere")
    assert "terminaria em 00, e não em 01" in hint


def test_from_a_pasted_list_to_its_receipts(office: Office) -> None:
    browser = office.browser
    listed = f"{GOOD}\n{ZONE}\n{GOOD}\n{WRONG}\n{BROKEN}\n"
    address = office.open({"lista": listed, "nome": "Novembro", "cliente": "acme"})
    page = browser.get(address)
    assert found(page) == ["3 válidas", "1 repetida", "1 com dígito errado (linha 4)"]
    assert "Coluna A → documento" in page.words
    assert "Começar (até 6 créditos)" in page.words
    assert page.field("teto_creditos") == "6"
    assert [row[2] for row in cells(page)] == [
        *("Válida", "Válida", "Igual à linha 1", "Dígito errado", "Válida"),
    ]

    page = office.run(address)
    assert "Concluído, 1 falha" in page.words
    assert [row[2].split("até")[0] for row in cells(page)] == [
        *("CND", "CPEND", "Igual à linha 1", "Dígito errado", "A fonte falhou"),
    ]
    (who,) = page.tree.xpath("//tr[@id='l1']/td//a[starts-with(text(), 'Explicar')]/@href")
    assert browser.get(who).status == 200
    (receipt,) = page.tree.xpath("//tr[@id='l1']/td//a[starts-with(text(), 'Compr')]/@href")
    assert browser.get(receipt).content.startswith(b"%PDF")
    assert "Para acme" in page.words

    archive = browser.get(f"{address}/comprovantes.zip")
    assert archive.headers["content-type"] == "application/zip"
    names = zipfile.ZipFile(io.BytesIO(archive.content)).namelist()
    assert sum(name.endswith(".pdf") for name in names) == 2
    table = browser.get(f"{address}/resultado.csv")
    assert re.search(r'"lote-certidao-federal-20..-..-..-\w{6}\.csv"', str(table.headers))
    assert table.content.count(b"\n") == 6
    assert browser.get(f"{address}/resultado.xlsx").content.startswith(b"PK")
    assert len(browser.get(f"{address}/resultado.jsonl").text.splitlines()) == 5
    assert "Novembro" in browser.get(LIST).words
    assert "Novembro" in browser.get("/app").words
    assert [row[0] for row in cells(browser.get(f"{address}?estado=falha"))] == ["Linha 5"]
    assert [row[0] for row in cells(browser.get(f"{address}?depois=3"))] == ["Linha 4", "Linha 5"]


def test_what_is_released_is_signed(office: Office) -> None:
    address = office.open({"lista": f"{GOOD}\n{ZONE}"})
    office.run(address)
    user = office.browser.user
    assert user is not None
    entries = office.browser.house.desk.people.audit(10)
    made = next(each for each in entries if each.action == "budget.create")
    assert made.account_id == user.account_id
    assert made.user_id == user.user_id


def test_what_people_do_to_a_batch_is_signed(office: Office) -> None:
    browser = office.browser
    address = office.open({"lista": f"{GOOD}\n{ZONE}"})
    office.confirm(address, 0)
    office.until(address, "pausado")
    browser.post(f"{address}/retomar", {"teto_creditos": "1", "form_id": "9" * 32})
    office.until(address, "pausado")
    browser.post(f"{address}/encerrar", {})
    office.until(address, "encerrado")
    browser.post(f"{address}/apagar", {})
    user = browser.user
    assert user is not None
    entries = browser.house.desk.people.audit(10, account_id=user.account_id)
    told = [(one.action, one.user_id) for one in reversed(entries)]
    who = user.user_id
    assert [one for one in told if one[0].startswith("b")] == [
        ("budget.create", who),
        ("budget.change", who),
        ("batch.resume", who),
        ("batch.stop", who),
        ("batch.erase", who),
    ]


def test_a_ceiling_that_is_reached_is_raised_here(office: Office) -> None:
    browser = office.browser
    address = office.open({"lista": f"{GOOD}\n{ZONE}\n{CLOSED}", "operacao": "empresa"})
    assert office.confirm(address, 1).status == 303
    office.until(address, "pausado")
    page = browser.get(address)
    assert "Pausado: o teto acabou" in page.words
    assert page.field("teto_creditos") == "3"
    form_id = page.field("form_id")
    said = browser.post(f"{address}/retomar", {"form_id": form_id, "teto_creditos": "0"})
    assert said.status == 422
    assert "O teto só pode aumentar" in said.words
    said = browser.post(f"{address}/retomar", {"form_id": form_id, "teto_creditos": "3"})
    assert said.status == 303
    assert office.until(address, "concluido").spent == 3
    # Sent once more, it goes nowhere.
    again = browser.post(f"{address}/retomar", {"form_id": form_id, "teto_creditos": "30"})
    assert again.status == 303
    assert office.until(address, "concluido").ceiling == 3


def test_no_ceiling_no_start(office: Office) -> None:
    address = office.open({"lista": GOOD})
    page = office.browser.get(address)
    for typed in ("", "muitos", "-1", "9" * 12):
        fields = {"form_id": page.field("form_id"), "digest": page.field("digest")}
        said = office.browser.post(f"{address}/confirmar", fields | {"teto_creditos": typed})
        assert said.status == 422
        assert "Informe o teto" in said.words
    office.until(address, "cotado")


def test_another_quote_is_shown_and_starts_nothing(office: Office) -> None:
    address = office.open({"lista": GOOD})
    fields = {"digest": "0" * 32, "teto_creditos": "2", "form_id": "x"}
    said = office.browser.post(f"{address}/confirmar", fields)
    assert said.status == 409
    assert "confira a nova cotação" in said.words
    office.until(address, "cotado")


def test_the_same_form_twice_is_one_batch(office: Office) -> None:
    form_id = office.browser.get(NEW).field("form_id")
    fields = {"operacao": "empresa", "form_id": form_id, "lista": GOOD}
    one, other = office.post(fields), office.post(fields)
    assert one.status == other.status == 303
    assert one.location == other.location
    said = office.post(fields | {"lista": ZONE})
    assert said.status == 409
    assert "já foi enviado com outra lista" in said.words


def test_a_file_with_columns_of_its_own(office: Office) -> None:
    file = f"Codigo;CNPJ do cliente;Estado\n1;{GOOD};SP\n2;{ZONE};AM\n".encode("latin-1")
    address = office.open({"operacao": "certidao-estadual"}, file, "clientes.csv")
    page = office.browser.get(address)
    assert found(page) == ["2 válidas"]
    assert "Coluna B «CNPJ do cliente» → cnpj" in page.words
    assert "CSV, separado por ponto e vírgula" in page.words
    assert "clientes.csv" not in page.words


def test_columns_are_said_where_they_were_not_recognised(office: Office) -> None:
    file = f"um;dois\n{GOOD};{ZONE}\n".encode()
    address = office.open({"operacao": "empresa", "coluna_documento": "b"}, file, "x.txt")
    page = office.browser.get(address)
    assert "Coluna B «dois» → documento" in page.words
    assert "90.010.002/0001-54" in page.words


def test_people_with_their_birth_dates(office: Office) -> None:
    address = office.open({"lista": f"{FARMER};01/01/1980\n90010000100"})
    page = office.browser.get(address)
    assert found(page) == ["1 válida", "1 com CPF sem nascimento (linha 2)"]
    assert FARMER not in page.text
    assert FARMER not in address
    assert "***.100.001-**" in page.words


@pytest.mark.parametrize(
    "listed",
    [
        f"{GOOD}\n900.100.001-00;01/01/1980",
        f"{GOOD}\n900.100.001-00\t01/01/1980",
        f"{GOOD};\n900.100.001-00;01/01/1980",
        f"{GOOD}\n900.100.001-00 01/01/1980",
        "900.100.001-00 1980-01-01\n" + GOOD,
        "\n".join([f"{GOOD}"] * 25 + ["900.100.001-00;01/01/1980"]),
        "\n".join([f"{GOOD};"] * 25 + ["900.100.001-00;01/01/1980"]),
    ],
)
def test_birth_dates_after_the_first_row(browser_of_all: Office, listed: str) -> None:
    page = browser_of_all.browser.get(browser_of_all.open({"lista": listed}))
    assert found(page)[0] == "2 válidas"
    assert "sem nascimento" not in page.words


def test_a_quote_says_what_the_account_lacks(casa: Service) -> None:
    office = Office(signed_in(casa, casa.account("sem nada", credits=0)))
    for rows, lacking in (
        (f"A;{GOOD}", "falta 1 crédito"),
        (f"A;{GOOD}\nB;{ZONE}", "faltam 2 créd"),
    ):
        listed = {"operacao": "empresa", "lista": f"Razão social;CNPJ\n{rows}"}
        page = office.browser.get(office.open(listed))
        assert f"Se custar o máximo, {lacking}" in page.words
        assert "Coluna A «Razão social» → conferir razão social" in page.words
        assert "Deve levarmenos de um segundo" in page.words
    nothing = office.browser.get(office.open({"lista": WRONG}))
    assert "Deve levar" not in nothing.words


def test_a_cpf_in_a_column_of_cnpjs_says_where_it_goes(office: Office) -> None:
    address = office.open({"lista": f"CNPJ\n{GOOD}\n900.100.001-00"})
    remedy = (
        "Um CPF vai em uma coluna «CPF» ou «Documento», com a data de nascimento em uma coluna"
        " «data_nascimento»."
    )
    page = office.browser.get(address)
    assert found(page) == ["1 válida", f"1 com CPF em coluna de CNPJ (linha 3). {remedy}"]
    assert cells(page)[1][2] == "CPF em coluna de CNPJ"
    office.run(address)
    file = office.browser.get(f"{address}/resultado.csv")
    assert f"Linha 3, coluna A «CNPJ»: esta coluna é de CNPJ. {remedy}" in file.text


def test_a_list_that_cannot_be_read_says_why_and_what_to_do(office: Office) -> None:
    said = office.send({"lista": "nome\njoão\nmaria"})
    office.until(said.location, "recusado")
    page = office.browser.get(said.location)
    assert "Nenhuma coluna do arquivo tem CNPJ ou CPF" in page.words
    (again,) = page.tree.xpath("//a[contains(text(), 'Corrigir')]/@href")
    form = office.browser.get(again)
    assert form.tree.xpath("//input[@name='operacao'][@checked]/@value") == ["certidao-federal"]


@pytest.mark.parametrize(
    ("fields", "field", "told"),
    [
        ({"lista": ""}, "lista", "Cole os documentos"),
        ({"cliente": "com espaço"}, "cliente", "O cliente deve ter de 1 a 64"),
        ({"cliente": FARMER}, "cliente", "CPF"),
        ({"nome": "x" * 121}, "nome", "no máximo 120"),
        ({"operacao": "empresa", "dias": "x"}, "dias", "número inteiro de dias"),
        ({"operacao": "certidao-estadual", "uf": "BR"}, "uf", "Escolha uma das UFs"),
        ({"operacao": "outra"}, "operacao", "Escolha o que consultar"),
        ({"coluna_uf": "7"}, "coluna_uf", "a letra da coluna"),
    ],
)
def test_what_is_wrong_is_told_beside_its_field(
    browser_of_all: Office, fields: dict[str, str], field: str, told: str
) -> None:
    said = browser_of_all.send({"lista": GOOD} | fields)
    assert said.status == 422
    assert told in said.tree.get_element_by_id(f"{field}-error").text_content()
    assert said.tree.xpath("//textarea/text()")[0].strip() == fields.get("lista", GOOD)


@pytest.fixture(scope="module")
def browser_of_all(casa: Service) -> Office:
    """Of tests that open no batch."""
    return Office(signed_in(casa, casa.account("todos")))


@pytest.mark.parametrize(("plan", "megabytes"), [("gratuito", 10), ("pre_pago", 100)])
def test_the_form_names_the_limit_of_the_plan(casa: Service, plan: Plan, megabytes: int) -> None:
    page = signed_in(casa, casa.account(f"limite {plan}", plan=plan)).get("/app/lotes/novo")
    assert f"até {megabytes} MB e um milhão de linhas" in page.words


def test_a_list_and_a_file_are_one_too_many(browser_of_all: Office) -> None:
    said = browser_of_all.send({"lista": GOOD}, b"cnpj\n", "a.csv")
    assert said.status == 422
    assert "deixe um dos dois" in said.words


def test_too_long_a_list_is_a_file(browser_of_all: Office) -> None:
    said = browser_of_all.post({"operacao": "empresa", "lista": "9" * UPLOAD_FIELDS_BYTES_MAX})
    assert said.status == 413
    assert "uma lista mais longa vai como arquivo" in said.words
    browser, body = browser_of_all.browser, multipart({})
    announced = browser.upload(NEW, body, MULTIPART, content_length=str(UPLOAD_BYTES_MAX + 1))
    assert announced.status == 413


@pytest.mark.parametrize("body", [b"", b"nothing", multipart({"a": "b"})[:-30]])
def test_half_a_form_is_none(browser_of_all: Office, body: bytes) -> None:
    said = browser_of_all.browser.upload(NEW, body, MULTIPART)
    assert said.status == 413
    other = browser_of_all.browser.post(NEW, {"operacao": "empresa"})
    assert other.status == 422  # as if nothing had been typed


def test_a_form_from_elsewhere_is_refused(browser_of_all: Office) -> None:
    body = multipart({"operacao": "empresa", "lista": GOOD})
    browser = browser_of_all.browser
    assert browser.upload(NEW, body, MULTIPART, sec_fetch_site="cross-site").status == 403


def test_consultants_see_their_own_and_managers_all(casa: Service, office: Office) -> None:
    assert office.browser.user is not None
    account_id = office.browser.user.account_id
    caio, other = Office(Browser(casa)), Browser(casa)
    caio.browser.sign_in_as("consultant", account_id)
    other.sign_in_as("consultant", account_id)
    stranger = signed_in(casa)
    address = caio.open({"lista": GOOD, "operacao": "empresa", "nome": "Do Caio"})
    assert "Do Caio" in office.browser.get(LIST).words
    assert office.browser.get(address).status == 200
    for outsider in (other, stranger):
        assert "Do Caio" not in outsider.get(LIST).words
        for path in ("", "/resultado.csv", "/andamento", "/apagar"):
            assert outsider.get(f"{address}{path}").status == 404
        for deed in ("confirmar", "pausar", "retomar", "encerrar", "repetir", "apagar"):
            said = outsider.post(f"{address}/{deed}", {"form_id": "x", "teto_creditos": "1"})
            assert said.status == 404
    caio.until(address, "cotado")
    operator = signed_in(casa, role="operator")
    assert operator.get(address).status == 403
    listed = operator.get(f"/app/operador/contas/{account_id}/lotes")
    assert "Do Caio" in listed.words
    assert address not in listed.text


def test_programs_batches_are_the_managers(casa: Service) -> None:
    client = casa.account("programa")
    manager, consultant = signed_in(casa, client), signed_in(casa, client, "consultant")
    number = Batcher(casa, client).create(f"cnpj\n{GOOD}\n")
    assert manager.get(f"{LIST}/{number}").status == 200
    assert consultant.get(f"{LIST}/{number}").status == 404


def test_paused_stopped_and_erased(office: Office) -> None:
    browser = office.browser
    address = office.open({"lista": f"{GOOD}\n{ZONE}", "operacao": "empresa"})
    office.confirm(address, 1)
    office.until(address, "pausado")
    refused = browser.get(f"{address}/apagar")
    assert "Encerre-o primeiro" in refused.words
    assert "Encerrar “" in browser.get(f"{address}/encerrar").words
    assert browser.post(f"{address}/encerrar").status == 303
    office.until(address, "encerrado")
    page = browser.get(address)
    assert "Não consultada" in page.words
    assert "Apagar para sempre" in browser.get(f"{address}/apagar").words
    assert browser.post(f"{address}/apagar").location == LIST
    page = browser.get(address)
    assert "foram apagados" in page.words
    assert browser.get(f"{address}/resultado.csv").status == 410


def test_what_failed_is_repeated_with_a_new_quote(office: Office) -> None:
    address = office.open({"lista": f"{GOOD}\n{BROKEN}"})
    page = office.run(address)
    (form,) = page.tree.xpath("//form[contains(@action, '/repetir')]")
    fields = {each.get("name"): each.get("value") for each in form.xpath(".//input")}
    assert "Repetir a que falhou" in form.text_content()
    said = office.browser.post(f"{address}/repetir", fields)
    assert said.status == 303
    assert said.location != address
    assert office.browser.post(f"{address}/repetir", fields).location == said.location
    office.until(said.location, "cotado")
    assert [row[0] for row in cells(office.browser.get(said.location))] == ["Linha 2"]


def test_a_batch_is_repeated_with_another_list(office: Office) -> None:
    """The next month's: all that was asked and said of the columns is there, but for the list."""
    file = f"um;dois;uf\n{GOOD};{ZONE};SP\n".encode()
    sent = {
        "operacao": "empresa",
        "nome": "Clientes de julho",
        "cliente": "loja-7",
        "onde": "guardado",
        "dias": "3",
        "coluna_documento": "b",
    }
    address = office.open(sent, file, "x.txt")
    (link,) = office.run(address).tree.xpath("//a[contains(@href, '/app/lotes/novo?de=')]")
    assert link.text_content().strip() == "Repetir este lote"
    form = office.browser.get(link.get("href"))
    again = {name: form.field(name) for name in ("nome", "cliente", "dias", "coluna_documento")}
    assert again == {
        "nome": "Clientes de julho", "cliente": "loja-7", "dias": "3", "coluna_documento": "B",
    }  # fmt: skip
    assert GOOD not in form.text
    assert form.tree.xpath("//input[@name='operacao'][@checked]/@value") == ["empresa"]
    fields = again | {"operacao": "empresa", "onde": "guardado", "form_id": form.field("form_id")}
    said = office.post(fields, file.replace(ZONE.encode(), BROKEN.encode()), "y.txt")
    assert said.status == 303
    office.until(said.location, "cotado")
    assert "90.020.003" in office.browser.get(said.location).words


def test_nothing_is_opened_where_the_account_may_not(casa: Service) -> None:
    client = casa.account("livre", plan="gratuito")
    office = Office(signed_in(casa, client))
    form = office.browser.get(NEW)
    offered = form.tree.xpath("//input[@name='operacao']/@value")
    assert "certidao-federal" not in offered
    assert "empresa" in offered
    assert office.send({"lista": GOOD}).status == 403
    people, signed = casa.desk.people, Signature("cli")
    casa.run(people.suspend_account(client.account_id, True, signed, system_now_ms()))
    assert "suspensa" in office.browser.get(NEW).words
    assert office.browser.get(LIST).status == 200


def test_news_come_as_events(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "STREAM_SECONDS", 0.0)
    browser = office.browser
    address = office.open({"lista": f"{GOOD}\n{ZONE}", "operacao": "empresa"})
    office.confirm(address, 1)
    office.until(address, "pausado")
    said = browser.get(f"{address}/andamento?em=pausado", accept="text/event-stream")
    assert said.headers["content-type"].startswith("text/event-stream")
    retry, event = said.text.strip().split("\n\n")
    assert retry == "retry: 500"
    kind, *data = event.splitlines()
    assert kind == "event: lote"
    assert all(line.startswith("data: ") for line in data)
    assert 'id="l2"' in event
    assert "1 de 2" in event
    ended = browser.get(f"{address}/andamento?em=executando")
    assert "event: fim" in ended.text
    streams, user = browser.house.front.web._tools.streams, browser.user  # type: ignore[union-attr]
    assert user is not None
    assert streams.has_room(user.user_id)
    holding = [streams.one(user.user_id) for _ in range(STREAMS_OF_A_PERSON_MAX)]
    for each in holding:
        each.__enter__()
    assert browser.get(f"{address}/andamento?em=pausado").status == 204
    for each in holding:
        each.__exit__(None, None, None)


def test_several_documents_in_one_field_become_a_batch(browser_of_all: Office) -> None:
    browser = browser_of_all.browser
    form_id = browser.get(FEDERAL).field("form_id")
    typed = {"quem": "cnpj", "cnpj": f"{GOOD}, {ZONE} {CLOSED}", "form_id": form_id}
    said = browser.post(FEDERAL, typed)
    assert said.status == 422
    (button,) = said.tree.xpath("//*[@id='cnpj-error']//button")
    assert "abra um lote com todos" in button.text_content()
    form = browser.post(button.get("formaction"), typed)
    assert form.status == 200
    assert form.tree.xpath("//textarea/text()")[0].split() == [GOOD, ZONE, CLOSED]
    assert form.tree.xpath("//input[@name='operacao'][@checked]/@value") == ["certidao-federal"]
    assert browser.post(f"{FEDERAL}/preco", typed, **FRAGMENT).status == 200


@pytest.mark.parametrize(
    ("text", "listed", "told"),
    [
        (f"{GOOD}, {ZONE};{CLOSED}", f"{GOOD}\n{ZONE}\n{CLOSED}", {"documento": 0}),
        (f"{GOOD} {ZONE}", f"{GOOD}\n{ZONE}", {"documento": 0}),
        (f"{GOOD[:-1]} {ZONE}", f"{GOOD[:-1]}\n{ZONE}", {"documento": 0}),  # one too short
        (f"{GOOD}\t2026000123", None, {"documento": 0}),  # two columns
        (f"{GOOD};2026000123\n{ZONE};2026000124", None, {"documento": 0}),
        (f"{GOOD}\tSP", f"{GOOD}\tSP", {"documento": 0, "uf": 1}),
        (f"|7|{GOOD}|SP|\n|8|{ZONE}|AM|", None, {"documento": 1, "uf": 2}),
        (f'="{FARMER}";="01/01/1980"', None, {"documento": 0, "data_nascimento": 1}),
        (f"{GOOD} Padaria, Bar\n{ZONE} Mercado\n{CLOSED} Loja", None, {"documento": 0}),
        (f"\n7;{FARMER};1980-01-01", None, {"documento": 1, "data_nascimento": 2}),
        (f"CNPJ\n{GOOD}", None, {}),
        ("", None, {}),
    ],
)
def test_pasted_lists(text: str, listed: str | None, told: dict[str, int]) -> None:
    assert as_list(text) == (text if listed is None else listed)
    assert columns_of_list(as_list(text)) == told


def test_everything_has_its_words() -> None:
    assert set(words.STATES) == set(BATCH_STATES)
    assert set(words.ROW_STATES) == set(words.FILTERS) == set(ROW_STATES)
    assert set(pauses._PAUSES) == set(PAUSE_REASONS)
    marks = {"ref_invalida", "cliente_invalido", "marca_com_cpf"}
    other = {"celulas_demais", "documentos_conflitantes", "parametro_invalido"}
    assert set(words._FLAWS) == (
        {*get_args(DocumentFlaw)} | {*columns._CODES.values()} | marks | other
    )
    assert words.flaws("documento_invalido", 3) == "3 com dígito errado"
    assert words.flaw("algo_novo") == "algo_novo"
    assert words.flaws("algo_novo", 1) == "1 inválida (algo_novo)"
