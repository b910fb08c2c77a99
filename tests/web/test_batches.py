"""Batches in the application: access, forms, and the page of each state."""

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
from balcao.web.kit.streams import STREAMS_PER_PERSON_MAX
from balcao.web.pages.batches import live, words
from balcao.web.pages.batches.form import as_list, columns_of_list
from tests.http.batcher import Batcher
from tests.service import Service, open_service
from tests.web.batches import LIST, MULTIPART, NEW, BatchUser, multipart
from tests.web.browser import Browser, PageResponse, signed_in
from tests.web.lookups import BROKEN, CLOSED, FARMER, FEDERAL, FRAGMENT, GOOD, ZONE

WRONG = "90010001000101"


@pytest.fixture(scope="module")
def shared_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batching, "POLL_SECONDS", 0.05)
        with open_service(tmp_path_factory.mktemp("casa"), establishments=1) as house:
            yield house
            house.assert_books_agree()


@pytest.fixture
def office(shared_house: Service, request: pytest.FixtureRequest) -> BatchUser:
    """Return a manager of a separate account."""
    return BatchUser(signed_in(shared_house, shared_house.account(request.node.name)))


def cells(page: PageResponse) -> list[list[str]]:
    """Return the texts of the table of rows."""
    rows = page.tree.xpath("//table[contains(@class, 'batch-rows')]/tbody/tr")
    return [[" ".join(cell.text_content().split()) for cell in row] for row in rows]


def found(page: PageResponse) -> list[str]:
    """Return the summary of the list."""
    return [each.text_content() for each in page.tree.xpath("//ul[@class='found']/li")]


def test_answers_of_our_own_copy_are_shown_as_in_the_history(office: BatchUser) -> None:
    page = office.run(office.open({"lista": f"{GOOD}\n{CLOSED}", "operacao": "empresa"}))
    words = ["Ativa", "Baixada"]
    assert [row[2] for row in cells(page)] == words
    assert [row[3] for row in cells(page)] == ["nossa cópia do mês"] * 2
    for number, word in zip((GOOD, CLOSED), words, strict=True):
        company = office.browser.get(f"/app/empresas/{number}")
        (expected,) = company.tree.xpath("//table[contains(@class, 'registers')]/tbody/tr[1]/td[1]")
        assert expected.text_content().startswith(word)


def test_an_invalid_row_shows_its_text_and_reason(office: BatchUser) -> None:
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
        "1 só com a raiz do CNPJ (linha 6). Informe o número completo, com 14 caracteres.",
        "1 com mais de um documento (linha 7). Deixe só um documento por linha.",
        "1 cortada pela planilha (linha 9). Formate a coluna como texto e preencha de novo.",
    ]
    texts = [
        page.tree.xpath(f"//tr[@id='l{line}']/td[1]/span")[0].text_content()
        for line in range(4, 10)
    ]
    (wrong,) = page.tree.xpath("//tr[@id='l5']/td[1]//mark/text()")
    assert wrong == "1"
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


def test_rows_have_names_and_lead_to_the_company(office: BatchUser) -> None:
    """Rows show the name of the list, else of the month, and after the run of the answer."""
    listed = f"CNPJ;Razão Social;UF\n{GOOD};Meu nome para ela;SP\n{ZONE};;AM\n"
    address = office.open({"operacao": "inscricoes-estaduais"}, listed.encode(), "clientes.csv")
    first, zone = rows_of(office.browser.get(address))
    assert first == ("Meu nome para ela", f"/app/empresas/{GOOD}")
    assert zone == ("INDUSTRIA DE MANAUS FICTICIA LTDA", f"/app/empresas/{ZONE}")
    page = office.run(address)
    assert rows_of(page)[0] == ("EMPRESA ATIVA FICTICIA LTDA", f"/app/empresas/{GOOD}")
    assert "IE 126624030594 SP" in cells(page)[0][2]


def test_a_sole_trader_is_named_only_once_answered(office: BatchUser) -> None:
    """Contract 14.4: the name is a person's."""
    trader = "90010012000190"
    address = office.open({"lista": f"{trader}\n{GOOD}", "operacao": "empresa"})
    assert [name for name, _ in rows_of(office.browser.get(address))] == [
        *("", "EMPRESA ATIVA FICTICIA LTDA")
    ]
    assert "CICRANO" not in office.browser.get(f"{address}/resultado.csv").text
    assert rows_of(office.run(address))[0][0].startswith("CICRANO DA FICCAO PEREIRA")


def rows_of(page: PageResponse) -> list[tuple[str, str]]:
    """Return the name and the link of each row."""
    links = page.tree.xpath("//table[contains(@class, 'batch-rows')]/tbody/tr/td[1]/a")
    return [((link.text or "").strip(), link.get("href")) for link in links]


def test_from_a_pasted_list_to_its_receipts(office: BatchUser) -> None:
    browser = office.browser
    listed = f"{GOOD}\n{ZONE}\n{GOOD}\n{WRONG}\n{BROKEN}\n"
    address = office.open({"lista": listed, "nome": "Novembro", "cliente": "acme"})
    page = browser.get(address)
    assert found(page) == ["3 válidas", "1 repetida", "1 com dígito errado (linha 4)"]
    assert "Coluna A → documento" in page.words
    assert "Iniciar (até 6 créditos)" in page.words
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


def test_a_confirmation_is_signed(office: BatchUser) -> None:
    address = office.open({"lista": f"{GOOD}\n{ZONE}"})
    office.run(address)
    user = office.browser.user
    assert user is not None
    entries = office.browser.house.desk.people.audit(10)
    made = next(each for each in entries if each.action == "budget.create")
    assert made.account_id == user.account_id
    assert made.user_id == user.user_id


def test_actions_on_a_batch_are_signed(office: BatchUser) -> None:
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
    expected = [(one.action, one.user_id) for one in reversed(entries)]
    who = user.user_id
    assert [one for one in expected if one[0].startswith("b")] == [
        ("budget.create", who),
        ("budget.change", who),
        ("batch.resume", who),
        ("batch.stop", who),
        ("batch.erase", who),
    ]


def test_a_ceiling_that_is_reached_is_raised_here(office: BatchUser) -> None:
    browser = office.browser
    address = office.open({"lista": f"{GOOD}\n{ZONE}\n{CLOSED}", "operacao": "empresa"})
    assert office.confirm(address, 1).status == 303
    office.until(address, "pausado")
    page = browser.get(address)
    assert "Pausado: o teto acabou" in page.words
    assert page.field("teto_creditos") == "3"
    form_id = page.field("form_id")
    answer = browser.post(f"{address}/retomar", {"form_id": form_id, "teto_creditos": "0"})
    assert answer.status == 422
    assert "O limite só pode aumentar" in answer.words
    answer = browser.post(f"{address}/retomar", {"form_id": form_id, "teto_creditos": "3"})
    assert answer.status == 303
    assert office.until(address, "concluido").spent == 3
    # Sent again, it has no effect.
    again = browser.post(f"{address}/retomar", {"form_id": form_id, "teto_creditos": "30"})
    assert again.status == 303
    assert office.until(address, "concluido").ceiling == 3


def test_no_ceiling_no_start(office: BatchUser) -> None:
    address = office.open({"lista": GOOD})
    page = office.browser.get(address)
    for typed in ("", "muitos", "-1", "9" * 12):
        fields = {"form_id": page.field("form_id"), "digest": page.field("digest")}
        answer = office.browser.post(f"{address}/confirmar", fields | {"teto_creditos": typed})
        assert answer.status == 422
        assert "Informe o limite de gasto" in answer.words
    office.until(address, "cotado")


def test_another_quote_is_shown_and_starts_nothing(office: BatchUser) -> None:
    address = office.open({"lista": GOOD})
    fields = {"digest": "0" * 32, "teto_creditos": "2", "form_id": "x"}
    answer = office.browser.post(f"{address}/confirmar", fields)
    assert answer.status == 409
    assert "confira a nova cotação" in answer.words
    office.until(address, "cotado")


def test_the_same_form_twice_is_one_batch(office: BatchUser) -> None:
    form_id = office.browser.get(NEW).field("form_id")
    fields = {"operacao": "empresa", "form_id": form_id, "lista": GOOD}
    one, other = office.post(fields), office.post(fields)
    assert one.status == other.status == 303
    assert one.location == other.location
    answer = office.post(fields | {"lista": ZONE})
    assert answer.status == 409
    assert "já foi enviado com outra lista" in answer.words


def test_a_file_with_columns_of_its_own(office: BatchUser) -> None:
    file = f"Codigo;CNPJ do cliente;Estado\n1;{GOOD};SP\n2;{ZONE};AM\n".encode("latin-1")
    address = office.open({"operacao": "certidao-estadual"}, file, "clientes.csv")
    page = office.browser.get(address)
    assert found(page) == ["2 válidas"]
    assert "Coluna B «CNPJ do cliente» → cnpj" in page.words
    assert "CSV, separado por ponto e vírgula" in page.words
    assert "clientes.csv" not in page.words


def test_unrecognised_columns_are_chosen_by_hand(office: BatchUser) -> None:
    file = f"um;dois\n{GOOD};{ZONE}\n".encode()
    address = office.open({"operacao": "empresa", "coluna_documento": "b"}, file, "x.txt")
    page = office.browser.get(address)
    assert "Coluna B «dois» → documento" in page.words
    assert "90.010.002/0001-54" in page.words


def test_people_with_their_birth_dates(office: BatchUser) -> None:
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
def test_birth_dates_after_the_first_row(browser_of_all: BatchUser, listed: str) -> None:
    page = browser_of_all.browser.get(browser_of_all.open({"lista": listed}))
    assert found(page)[0] == "2 válidas"
    assert "sem nascimento" not in page.words


def test_a_quote_shows_missing_credits(shared_house: Service) -> None:
    office = BatchUser(signed_in(shared_house, shared_house.account("sem nada", credits=0)))
    for rows, lacking in (
        (f"A;{GOOD}", "falta 1 crédito"),
        (f"A;{GOOD}\nB;{ZONE}", "faltam 2 créd"),
    ):
        listed = {"operacao": "empresa", "lista": f"Razão social;CNPJ\n{rows}"}
        page = office.browser.get(office.open(listed))
        assert f"Se custar o máximo, {lacking}" in page.words
        assert "Coluna A «Razão social» → conferir razão social" in page.words
        assert "Tempo estimadomenos de um segundo" in page.words
    nothing = office.browser.get(office.open({"lista": WRONG}))
    assert "Tempo estimado" not in nothing.words


def test_a_cpf_in_a_column_of_cnpjs_names_the_right_operation(office: BatchUser) -> None:
    address = office.open({"lista": f"CNPJ\n{GOOD}\n900.100.001-00"})
    remedy = "Para pessoas, use uma coluna “CPF” e outra “Data de nascimento”."
    page = office.browser.get(address)
    assert found(page) == ["1 válida", f"1 com CPF em coluna de CNPJ (linha 3). {remedy}"]
    assert cells(page)[1][2] == "CPF em coluna de CNPJ"
    office.run(address)
    file = office.browser.get(f"{address}/resultado.csv")
    assert f"Linha 3, coluna A «CNPJ»: esta coluna é de CNPJ. {remedy}" in file.text


def test_an_unreadable_list_is_explained(office: BatchUser) -> None:
    answer = office.send({"lista": "nome\njoão\nmaria"})
    office.until(answer.location, "recusado")
    page = office.browser.get(answer.location)
    assert "Nenhuma coluna do arquivo parece ter CNPJ ou CPF" in page.words
    (again,) = page.tree.xpath("//a[contains(text(), 'Corrigir')]/@href")
    form = office.browser.get(again)
    assert form.tree.xpath("//input[@name='operacao'][@checked]/@value") == ["certidao-federal"]


@pytest.mark.parametrize(
    ("fields", "field", "expected"),
    [
        ({"lista": ""}, "lista", "Cole os documentos"),
        ({"cliente": "com espaço"}, "cliente", "O cliente deve ter de 1 a 64"),
        ({"cliente": FARMER}, "cliente", "CPF"),
        ({"nome": "x" * 121}, "nome", "de 1 a 120"),
        ({"nome": "\u202eodarepmi"}, "nome", "invertem o texto"),
        ({"operacao": "empresa", "dias": "x"}, "dias", "número inteiro de dias"),
        ({"operacao": "certidao-estadual", "uf": "BR"}, "uf", "Escolha uma das UFs"),
        ({"operacao": "outra"}, "operacao", "Escolha o que consultar"),
        ({"coluna_uf": "7"}, "coluna_uf", "a letra da coluna"),
    ],
)
def test_errors_are_shown_at_their_field(
    browser_of_all: BatchUser, fields: dict[str, str], field: str, expected: str
) -> None:
    answer = browser_of_all.send({"lista": GOOD} | fields)
    assert answer.status == 422
    assert expected in answer.tree.get_element_by_id(f"{field}-error").text_content()
    assert answer.tree.xpath("//textarea/text()")[0].strip() == fields.get("lista", GOOD)


@pytest.fixture(scope="module")
def browser_of_all(shared_house: Service) -> BatchUser:
    """Return a browser for tests that open no batch."""
    return BatchUser(signed_in(shared_house, shared_house.account("todos")))


@pytest.mark.parametrize(("plan", "megabytes"), [("gratuito", 10), ("pre_pago", 100)])
def test_the_form_names_the_limit_of_the_plan(
    shared_house: Service, plan: Plan, megabytes: int
) -> None:
    page = signed_in(shared_house, shared_house.account(f"limite {plan}", plan=plan)).get(
        "/app/lotes/novo"
    )
    assert f"até {megabytes} MB e um milhão de linhas" in page.words


def test_a_list_and_a_file_together_are_refused(browser_of_all: BatchUser) -> None:
    answer = browser_of_all.send({"lista": GOOD}, b"cnpj\n", "a.csv")
    assert answer.status == 422
    assert "Deixe só um dos dois" in answer.words


def test_a_very_long_list_must_be_a_file(browser_of_all: BatchUser) -> None:
    answer = browser_of_all.post({"operacao": "empresa", "lista": "9" * UPLOAD_FIELDS_BYTES_MAX})
    assert answer.status == 413
    assert "se for maior, envie como arquivo" in answer.words
    browser, body = browser_of_all.browser, multipart({})
    announced = browser.upload(NEW, body, MULTIPART, content_length=str(UPLOAD_BYTES_MAX + 1))
    assert announced.status == 413


@pytest.mark.parametrize("body", [b"", b"nothing", multipart({"a": "b"})[:-30]])
def test_a_truncated_form_is_refused(browser_of_all: BatchUser, body: bytes) -> None:
    answer = browser_of_all.browser.upload(NEW, body, MULTIPART)
    assert answer.status == 413
    other = browser_of_all.browser.post(NEW, {"operacao": "empresa"})
    assert other.status == 422  # as if nothing was typed


def test_a_cross_site_form_is_refused(browser_of_all: BatchUser) -> None:
    body = multipart({"operacao": "empresa", "lista": GOOD})
    browser = browser_of_all.browser
    assert browser.upload(NEW, body, MULTIPART, sec_fetch_site="cross-site").status == 403


def test_consultants_see_their_own_and_managers_all(
    shared_house: Service, office: BatchUser
) -> None:
    assert office.browser.user is not None
    account_id = office.browser.user.account_id
    caio, other = BatchUser(Browser(shared_house)), Browser(shared_house)
    caio.browser.sign_in_as("consultant", account_id)
    other.sign_in_as("consultant", account_id)
    stranger = signed_in(shared_house)
    address = caio.open({"lista": GOOD, "operacao": "empresa", "nome": "Do Caio"})
    assert "Do Caio" in office.browser.get(LIST).words
    assert office.browser.get(address).status == 200
    for outsider in (other, stranger):
        assert "Do Caio" not in outsider.get(LIST).words
        for path in ("", "/resultado.csv", "/andamento", "/apagar"):
            assert outsider.get(f"{address}{path}").status == 404
        for action in ("confirmar", "pausar", "retomar", "encerrar", "repetir", "apagar"):
            answer = outsider.post(f"{address}/{action}", {"form_id": "x", "teto_creditos": "1"})
            assert answer.status == 404
    caio.until(address, "cotado")
    operator = signed_in(shared_house, role="operator")
    assert operator.get(address).status == 403
    listed = operator.get(f"/app/operador/contas/{account_id}/lotes")
    assert "Do Caio" in listed.words
    assert address not in listed.text


def test_managers_see_the_batches_of_programs(shared_house: Service) -> None:
    client = shared_house.account("programa")
    manager, consultant = (
        signed_in(shared_house, client),
        signed_in(shared_house, client, "consultant"),
    )
    number = Batcher(shared_house, client).create(f"cnpj\n{GOOD}\n")
    assert manager.get(f"{LIST}/{number}").status == 200
    assert consultant.get(f"{LIST}/{number}").status == 404


def test_paused_stopped_and_erased(office: BatchUser) -> None:
    browser = office.browser
    address = office.open({"lista": f"{GOOD}\n{ZONE}", "operacao": "empresa"})
    office.confirm(address, 1)
    office.until(address, "pausado")
    refused = browser.get(f"{address}/apagar")
    assert "Encerre o lote antes" in refused.words
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


def test_failed_rows_are_repeated_with_a_new_quote(office: BatchUser) -> None:
    address = office.open({"lista": f"{GOOD}\n{BROKEN}"})
    page = office.run(address)
    (form,) = page.tree.xpath("//form[contains(@action, '/repetir')]")
    fields = {each.get("name"): each.get("value") for each in form.xpath(".//input")}
    assert "Tentar de novo a linha que falhou" in form.text_content()
    answer = office.browser.post(f"{address}/repetir", fields)
    assert answer.status == 303
    assert answer.location != address
    assert office.browser.post(f"{address}/repetir", fields).location == answer.location
    office.until(answer.location, "cotado")
    assert [row[0] for row in cells(office.browser.get(answer.location))] == ["Linha 2"]


def test_a_batch_is_repeated_with_another_list(office: BatchUser) -> None:
    """Next month's list: all choices and columns are filled in, except the list."""
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
    answer = office.post(fields, file.replace(ZONE.encode(), BROKEN.encode()), "y.txt")
    assert answer.status == 303
    office.until(answer.location, "cotado")
    assert "90.020.003" in office.browser.get(answer.location).words


def test_batches_need_an_account_that_may_look_up(shared_house: Service) -> None:
    client = shared_house.account("livre", plan="gratuito")
    office = BatchUser(signed_in(shared_house, client))
    form = office.browser.get(NEW)
    offered = form.tree.xpath("//input[@name='operacao']/@value")
    assert "certidao-federal" not in offered
    assert "empresa" in offered
    assert office.send({"lista": GOOD}).status == 403
    people, signed = shared_house.desk.people, Signature("cli")
    shared_house.run(people.suspend_account(client.account_id, True, signed, system_now_ms()))
    assert "suspensa" in office.browser.get(NEW).words
    assert office.browser.get(LIST).status == 200


def test_updates_come_as_events(office: BatchUser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "STREAM_SECONDS", 0.0)
    browser = office.browser
    address = office.open({"lista": f"{GOOD}\n{ZONE}", "operacao": "empresa"})
    office.confirm(address, 1)
    office.until(address, "pausado")
    answer = browser.get(f"{address}/andamento?em=pausado", accept="text/event-stream")
    assert answer.headers["content-type"].startswith("text/event-stream")
    retry, event = answer.text.strip().split("\n\n")
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
    holding = [streams.open(user.user_id) for _ in range(STREAMS_PER_PERSON_MAX)]
    for each in holding:
        each.__enter__()
    assert browser.get(f"{address}/andamento?em=pausado").status == 204
    for each in holding:
        each.__exit__(None, None, None)


def test_several_documents_in_one_field_become_a_batch(browser_of_all: BatchUser) -> None:
    browser = browser_of_all.browser
    form_id = browser.get(FEDERAL).field("form_id")
    typed = {"quem": "cnpj", "cnpj": f"{GOOD}, {ZONE} {CLOSED}", "form_id": form_id}
    answer = browser.post(FEDERAL, typed)
    assert answer.status == 422
    (button,) = answer.tree.xpath("//*[@id='cnpj-error']//button")
    assert "crie um lote com todos" in button.text_content()
    form = browser.post(button.get("formaction"), typed)
    assert form.status == 200
    assert form.tree.xpath("//textarea/text()")[0].split() == [GOOD, ZONE, CLOSED]
    assert form.tree.xpath("//input[@name='operacao'][@checked]/@value") == ["certidao-federal"]
    assert browser.post(f"{FEDERAL}/preco", typed, **FRAGMENT).status == 200


@pytest.mark.parametrize(
    ("text", "listed", "expected"),
    [
        (f"{GOOD}, {ZONE};{CLOSED}", f"{GOOD}\n{ZONE}\n{CLOSED}", {"documento": 0}),
        (f"{GOOD} {ZONE}", f"{GOOD}\n{ZONE}", {"documento": 0}),
        (f"{GOOD[:-1]} {ZONE}", f"{GOOD[:-1]}\n{ZONE}", {"documento": 0}),  # one digit too few
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
def test_pasted_lists(text: str, listed: str | None, expected: dict[str, int]) -> None:
    assert as_list(text) == (text if listed is None else listed)
    assert columns_of_list(as_list(text)) == expected


def test_every_state_and_code_has_a_text() -> None:
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
