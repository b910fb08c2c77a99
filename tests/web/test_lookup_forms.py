"""Lookups by hand: prices, charges, and errors at their fields."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

import pytest

from balcao.core.documents import Cnpj
from balcao.core.errors import CommitUncertain
from balcao.core.ledger import Change, Finish, Refusal
from balcao.core.people import Role, Signature
from balcao.service.clock import system_now_ms
from balcao.settings import Limits
from balcao.web.pages.lookups.pages import usual_in_words
from tests.service import PATIENCE_SECONDS, Service, open_service
from tests.web.browser import Browser, PageResponse, signed_in
from tests.web.lookups import (
    BROKEN,
    CLOSED,
    COMPANY,
    DOWN,
    FARMER,
    FEDERAL,
    FGTS,
    FRAGMENT,
    GOOD,
    LABOUR,
    NO_STATE,
    RURAL,
    SINTEGRA,
    SLOW,
    STATE,
    ZONE,
    ZONE_FORM,
    asked,
    balance,
    by_cnpj,
    by_cpf,
    error_at,
    pressed,
    price,
    verdict,
)


@pytest.fixture
def house(fresh: Service) -> Service:
    return fresh


# ---- The list ----


def test_the_list_has_the_operations_with_their_prices(browser: Browser) -> None:
    answer = browser.get("/app/consultas")
    assert answer.status == 200
    links = answer.tree.xpath("//tbody//a/@href")
    assert links == [COMPANY, SINTEGRA, FEDERAL, STATE, LABOUR, FGTS, RURAL, ZONE_FORM]
    assert answer.words.count("1 crédito com certidão guardada, 2 na fonte") == 4
    assert "Disponíveis: 100.000 créditos" in answer.words


def test_certificates_that_the_plan_does_not_include(house: Service) -> None:
    poor = house.account("gratis", plan="gratuito")
    browser = signed_in(house, poor)
    answer = browser.get("/app/consultas")
    assert answer.tree.xpath("//tbody//a/@href") == [COMPANY, SINTEGRA, RURAL, ZONE_FORM]
    assert answer.words.count("não incluída no plano") == 4
    for path, fields in ((FEDERAL, by_cnpj(GOOD)), (STATE, {"cnpj": GOOD, "uf": "SP"})):
        assert browser.get(path).status == 403
        assert browser.post(f"{path}/preco", fields).status == 403
        refused = browser.post(path, {**fields, "form_id": "f" * 20})
        assert refused.status == 403
        assert "Certidões fora do plano" in refused.words
        assert "operador do serviço" in refused.words
    assert not house.charges(poor)


# ---- Certificates: online, then from the cache ----


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        (FEDERAL, by_cnpj(GOOD)),
        (FEDERAL, by_cpf(FARMER)),
        (STATE, {"cnpj": GOOD, "uf": "SP"}),
        (LABOUR, by_cnpj(GOOD)),
        (LABOUR, {"quem": "cpf", "cpf": FARMER}),
        (FGTS, {"cnpj": GOOD}),
    ],
)
def test_a_certificate_is_dearer_the_first_time(
    house: Service, browser: Browser, path: str, fields: Mapping[str, str]
) -> None:
    before = balance(house)
    assert "Até 2 créditos se a fonte responder" in price(browser, path, fields)
    online = asked(browser, path, fields)
    good = "Regular com o FGTS" if path == FGTS else "Certidão negativa"
    assert good in verdict(online)
    assert "Válid" in online.words
    assert "da fonte" in online.words
    assert balance(house) == before - 2

    answer = price(browser, path, fields)
    assert re.search(
        r"Há um resultado guardado de \d\d/\d\d/\d{4} às \d\d:\d\d: 1 crédito\.", answer
    )
    assert f"Disponíveis: {before - 2:,}".replace(",", ".") in answer
    cached = asked(browser, path, fields)
    assert "Resposta: guardado." in cached.words
    assert balance(house) == before - 3


def test_a_result_can_be_renewed_and_reissued(house: Service, browser: Browser) -> None:
    result = asked(browser, FEDERAL, by_cnpj(GOOD))
    (again,) = browser.get(STATE).tree.xpath("//main//aside//li/a/@href")
    assert again == f"{STATE}?cnpj={GOOD}", "a company of a moment ago fills any form"
    assert browser.get(again).tree.xpath("//input[@name='cnpj']/@value") == [GOOD]
    assert browser.get(FEDERAL).tree.xpath("//main//aside//li/a/@href") == [
        f"{FEDERAL}?cnpj={GOOD}"
    ]
    assert not browser.get(RURAL).tree.xpath("//main//aside//li"), "no company is asked for"
    before = balance(house)
    forms = result.tree.xpath("//form[contains(@class, 'once-more')]")
    answer = result
    for form, text in zip(forms, ("Atualizar online", "Nova emissão"), strict=True):
        assert f"{text} (2 créditos)" in form.text_content()
        answer = browser.post(form.get("action"), pressed(form))
        assert answer.status == 303
        assert "da fonte" in browser.get(answer.location).words
        # Back on the outdated page, the same button leads to its earlier result.
        assert browser.post(form.get("action"), pressed(form)).location == answer.location
    assert balance(house) == before - 4
    last = browser.get(answer.location)
    (newer, *_) = last.tree.xpath("//form[contains(@class, 'once-more')]")
    assert browser.post(newer.get("action"), pressed(newer)).location != answer.location
    assert balance(house) == before - 6


def test_each_person_has_their_own_buttons(house: Service) -> None:
    """A consultant's result renewed by a manager is the manager's result."""
    consultant, manager = signed_in(house, role="consultant"), signed_in(house)
    answer = consultant.post(FEDERAL, by_cnpj(GOOD, form_id="whose-button-0123456789"))
    locations = []
    for person in (manager, consultant):
        (form, *_) = person.get(answer.location).tree.xpath("//form[contains(@class, 'once-more')]")
        renewed = person.post(form.get("action"), pressed(form))
        assert person.get(renewed.location).status == 200
        locations.append(renewed.location)
    assert len(set(locations)) == 2


def test_a_person_is_asked_for_the_birth_date_again(house: Service, browser: Browser) -> None:
    result = asked(browser, FEDERAL, by_cpf(FARMER))
    (form,) = result.tree.xpath("//form[contains(@class, 'once-more')]")
    for button, mode in enumerate(("online", "nova")):
        fields = pressed(form, button)
        assert (fields["cpf"], fields["nascimento"]) == ("900.100.001-00", "")
        refused = browser.post(form.get("action"), fields)
        assert refused.status == 422
        assert "Informe a data" in error_at(refused, "nascimento")
        # The pressed button is kept when a field has an error.
        assert refused.tree.xpath("//input[@name='modo'][@checked]/@value") == [mode]
        # Another date is another question: a typing error does not block the button.
        wrong = browser.post(form.get("action"), {**fields, "nascimento": "02/01/1980"})
        assert "recusou os dados" in verdict(browser.get(wrong.location))
        answer = browser.post(form.get("action"), {**fields, "nascimento": "01/01/1980"})
        assert answer.status == 303
        assert "da fonte" in browser.get(answer.location).words
    assert balance(house) == 100_000 - 6


def test_only_kept_results(house: Service, browser: Browser) -> None:
    fields = by_cnpj(GOOD, modo="guardado")
    assert "sem resultado e sem custo" in price(browser, FEDERAL, fields)
    answer = browser.post(FEDERAL, {**fields, "form_id": "f" * 20})
    assert answer.status == 422
    assert "Nenhum resultado guardado" in answer.words
    assert answer.field("cnpj") == GOOD
    asked(browser, FEDERAL, by_cnpj(GOOD))
    before = balance(house)
    asked(browser, FEDERAL, fields)
    assert balance(house) == before - 1


# ---- Once ----


def test_one_form_charges_once(house: Service, browser: Browser) -> None:
    form_id = browser.get(FEDERAL).field("form_id")
    fields = by_cnpj(GOOD, form_id=form_id)
    first, second = browser.post(FEDERAL, fields), browser.post(FEDERAL, fields)
    assert first.status == second.status == 303
    assert first.location == second.location
    assert len(house.charges()) == 1


def test_a_form_that_may_have_been_charged_is_sent_again_as_it_is(
    house: Service, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database connection was lost during the commit, which succeeded (contract 6.4)."""
    desk, before = house.desk, len(house.charges())
    commit = desk.commit

    async def loses_the_answer(changes: Sequence[Change]) -> Refusal | None:
        refusal = await commit(changes)
        if any(isinstance(change, Finish) for change in changes):
            raise CommitUncertain("outcome unknown")
        return refusal

    form_id = browser.get(FEDERAL).field("form_id")
    with monkeypatch.context() as patched:
        patched.setattr(desk, "commit", loses_the_answer)
        answer = browser.post(FEDERAL, by_cnpj(GOOD, form_id=form_id))
    assert answer.status == 503
    assert "Não foi possível confirmar a consulta" in answer.words
    assert "Nada foi cobrado" not in answer.words
    assert answer.field("form_id") == form_id
    assert browser.post(FEDERAL, by_cnpj(GOOD, form_id=form_id)).status == 303
    assert len(house.charges()) == before + 1
    assert browser.get(FEDERAL).field("form_id") != form_id


@pytest.mark.parametrize("path", [FEDERAL, COMPANY])
def test_a_double_click_charges_once(
    house: Service, browser: Browser, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("balcao.web.pages.lookups.pages._AT_ONCE_SECONDS", 0)
    fields = by_cnpj(SLOW, form_id="double-click-0123456789")
    headers = {"sec-fetch-site": "same-origin"}

    async def clicks() -> list[PageResponse]:
        sending = [browser.send("POST", path, fields, headers) for _ in range(3)]
        answer = await asyncio.gather(*sending)
        await house.until(lambda: bool(house.charges()))
        return answer

    answer = house.run(clicks())
    assert [each.status for each in answer] == [303, 303, 303]
    (waiting,) = {each.location for each in answer}
    assert browser.get(browser.get(waiting).location).status == 200
    assert len(house.charges()) == 1


def test_a_form_that_is_used_for_something_else(house: Service, browser: Browser) -> None:
    fields = by_cnpj(GOOD, form_id="going-back-0123456789")
    assert browser.post(FEDERAL, fields).status == 303
    answer = browser.post(FEDERAL, {**fields, "cnpj": ZONE})
    assert answer.status == 422
    assert "já tinha sido usado" in answer.words
    assert answer.field("cnpj") == ZONE
    assert answer.field("form_id") != fields["form_id"]
    assert len(house.charges()) == 1


def test_without_a_number_nothing_is_asked(house: Service, browser: Browser) -> None:
    answer = browser.post(FEDERAL, by_cnpj(GOOD))
    assert answer.status == 422
    assert "chegou incompleto" in answer.words
    assert not house.charges()


def test_slow_lookups_have_a_waiting_page(
    house: Service, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("balcao.web.pages.lookups.pages._AT_ONCE_SECONDS", 0)
    fields = by_cnpj(SLOW, form_id="waiting-0123456789012345")
    headers = {"sec-fetch-site": "same-origin"}
    waiting = f"/app/consultas/andamento/{fields['form_id']}?tipo=certidao-federal"
    script = {"hx-request": "true"}

    async def story() -> tuple[PageResponse, PageResponse, PageResponse]:
        asked = await browser.send("POST", FEDERAL, fields, headers)
        meanwhile = await browser.send("GET", waiting, None, {})
        early = await browser.send("GET", waiting, None, script)
        await house.until(lambda: bool(house.charges()))
        return asked, meanwhile, early

    asked, meanwhile, early = house.run(story())
    assert (asked.status, asked.location) == (303, waiting)
    assert meanwhile.tree.xpath("//meta[@http-equiv='refresh']/@content") == ["3"]
    assert meanwhile.tree.xpath("//@hx-get") == [waiting]
    assert "Consultando: Certidão federal" in meanwhile.words
    (who,) = meanwhile.tree.xpath("//main//a[@class='document']")
    assert who.text == Cnpj(SLOW).punctuated
    assert len(meanwhile.tree.xpath("//@data-elapsed")) == 1
    assert "no máximo 2 créditos; nada, se a fonte falhar" in meanwhile.words
    assert early.status == 204
    afterwards = browser.get(waiting)
    assert afterwards.status == 303
    assert browser.get(afterwards.location).status == 200
    onward = house.run(browser.send("GET", waiting, None, script))
    assert (onward.status, onward.headers["hx-redirect"]) == (204, afterwards.location)
    assert browser.get("/app/consultas/andamento/nunca-existiu").status == 404
    assert signed_in(house, house.account("outra")).get(waiting).status == 404


@pytest.mark.parametrize(
    ("usual_ms", "elapsed_ms", "expected"),
    [
        (120, 1_500, "menos de 1 s"),
        (120, 2_600, "menos de 1 s; esta está demorando"),
        (12_000, 23_900, "12 s"),
        (12_000, 24_100, "12 s; esta está demorando"),
    ],
)
def test_the_usual_duration_in_words(usual_ms: float, elapsed_ms: int, expected: str) -> None:
    assert usual_in_words(usual_ms, elapsed_ms) == expected


def test_a_refusal_reaches_the_waiting_page(
    house: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("balcao.web.pages.lookups.pages._AT_ONCE_SECONDS", 0)
    browser = signed_in(house, house.account("pobre", credits=1))
    asked = browser.post(FEDERAL, by_cnpj(GOOD, form_id="refused-0123456789012345"))

    async def watched() -> PageResponse:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (answer := await browser.send("GET", asked.location, None, {})).status == 200:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        return answer

    answer = house.run(watched())
    assert answer.status == 402
    assert "Créditos insuficientes" in answer.words
    assert not house.charges()


# ---- Failures ----


def test_a_negative_result_is_charged_and_shown(house: Service, browser: Browser) -> None:
    before = balance(house)
    assert "Certidão positiva (CPD)" in verdict(asked(browser, FEDERAL, by_cnpj(CLOSED)))
    assert "Certidão não emitida" in verdict(asked(browser, FEDERAL, by_cnpj(NO_STATE)))
    fields = {"cnpj": CLOSED, "uf": "SP"}
    assert "não emitida (SP)" in verdict(asked(browser, STATE, fields))
    assert balance(house) == before - 6


@pytest.mark.parametrize(
    ("path", "fields", "title"),
    [
        (FEDERAL, by_cnpj(BROKEN), "A fonte falhou"),
        (FEDERAL, by_cnpj(DOWN), "Fonte indisponível"),
        (FEDERAL, by_cpf(FARMER, "02/01/1980"), "A fonte recusou os dados"),
        (STATE, {"cnpj": BROKEN, "uf": "SP"}, "A fonte falhou"),
        (COMPANY, {"cnpj": "99999999000191"}, "Este CNPJ não existe"),
        (COMPANY, {"cnpj": BROKEN}, "A fonte falhou"),
        (SINTEGRA, {"cnpj": BROKEN, "uf": "SP"}, "A fonte falhou"),
        (RURAL, {"cpf": "90020000308", "uf": "SP"}, "A fonte falhou"),
        (ZONE_FORM, {"cnpj": GOOD}, "Sem inscrição na Suframa"),
    ],
)
def test_failures_cost_nothing(
    house: Service, browser: Browser, path: str, fields: Mapping[str, str], title: str
) -> None:
    result = asked(browser, path, fields)
    assert title in verdict(result)
    assert "Nada foi cobrado." in verdict(result)
    assert not house.charges()
    (explained,) = result.tree.xpath("//main//a[starts-with(@href, '/docs/erros/')]/@href")
    assert browser.get(explained).status == 200


def test_too_few_credits(house: Service) -> None:
    poor = house.account("pobre", credits=1)
    advices: Mapping[Role, str] = {
        "manager": "operador do serviço",
        "consultant": "o gestor da conta",
    }
    for role, advice in advices.items():
        browser = signed_in(house, poor, role)
        assert "Esta consulta precisa de 2 créditos disponíveis. Disponíveis: 1." in price(
            browser, FEDERAL, by_cnpj(GOOD)
        )
        answer = browser.post(FEDERAL, by_cnpj(GOOD, form_id=f"too-few-{role}-0123456789"))
        assert answer.status == 402
        assert "precisa de 2 créditos disponíveis. Disponíveis: 1" in answer.words
        assert advice in answer.words
        assert answer.field("cnpj") == GOOD
    assert house.money(poor) == (1, 0)


def test_too_many_requests(tmp_path: Path) -> None:
    with open_service(tmp_path, limits_pre_pago=Limits(per_minute=1, per_day=1000)) as house:
        browser = signed_in(house)
        assert browser.post(COMPANY, {"cnpj": GOOD, "form_id": "limit-one-0123"}).status == 303
        answer = browser.post(COMPANY, {"cnpj": GOOD, "form_id": "limit-two-0123"})
        assert answer.status == 429
        assert int(answer.headers["retry-after"]) >= 1
        assert re.search(r"Espere \d+ segundos? e consulte de novo", answer.words)
        assert "Créditos disponíveis: 99.999" in answer.words
        # Showing prices is no lookup.
        assert "1 crédito" in price(browser, COMPANY, {"cnpj": GOOD})


def test_a_suspended_account_asks_nothing(house: Service, browser: Browser) -> None:
    result = asked(browser, FEDERAL, by_cnpj(GOOD))
    people = house.desk.people
    number = house.client.account_id
    house.run(people.suspend_account(number, True, Signature("cli"), system_now_ms()))
    before = balance(house)
    for answer in (
        browser.get(FEDERAL),
        browser.post(FEDERAL, by_cnpj(GOOD, form_id="suspended-0123456789")),
        browser.post(f"{FEDERAL}/preco", by_cnpj(GOOD), **FRAGMENT),
        browser.post(FEDERAL, {"cnpj": "nonsense"}),
    ):
        assert answer.status == 403
        assert "Conta suspensa" in answer.words
    assert "Conta suspensa" in browser.get("/app/consultas").words
    assert balance(house) == before
    assert result.status == 200


# ---- Forms ----


@pytest.mark.parametrize(
    ("path", "fields", "at"),
    [
        (FEDERAL, by_cnpj(""), ("cnpj", "14 caracteres")),
        (
            FEDERAL,
            by_cnpj("90010001000101"),
            ("cnpj", "Os dígitos verificadores deste CNPJ não conferem."),
        ),
        (FEDERAL, by_cpf(""), ("cpf", "11 dígitos")),
        (
            FEDERAL,
            by_cpf("90010000101"),
            ("cpf", "Os dígitos verificadores deste CPF não conferem."),
        ),
        (FEDERAL, by_cpf(FARMER, ""), ("nascimento", "Informe a data")),
        (FEDERAL, by_cpf(FARMER, "31/02/1980"), ("nascimento", "uma data válida")),
        (FEDERAL, by_cpf(FARMER, "1980-01-01"), ("nascimento", "uma data válida")),
        (FEDERAL, by_cpf(FARMER, "01/01/2980"), ("nascimento", "está no futuro")),
        (STATE, {"cnpj": "123", "uf": "SP"}, ("cnpj", "14 caracteres")),
        (STATE, {"cnpj": GOOD}, ("uf", "Escolha a UF")),
        (STATE, {"cnpj": GOOD, "uf": "XX"}, ("uf", "uma das UFs")),
        (COMPANY, {"cnpj": GOOD, "onde": "guardado", "dias": "366"}, ("dias", "de 0 a 365")),
        (ZONE_FORM, {"cnpj": GOOD, "dias": "46"}, ("dias", "de 0 a 45")),
        (SINTEGRA, {"cnpj": GOOD, "uf": "SP", "dias": "sete"}, ("dias", "número inteiro")),
        (RURAL, {"cpf": FARMER}, ("uf", "Escolha a UF")),
        (RURAL, {"cpf": "123", "uf": "SP"}, ("cpf", "11 dígitos")),
    ],
)
def test_errors_are_shown_at_their_fields(
    house: Service,
    browser: Browser,
    path: str,
    fields: Mapping[str, str],
    at: tuple[str, str],
) -> None:
    field, message = at
    answer = browser.post(path, {**fields, "form_id": "errors-0123456789"})
    assert answer.status == 422
    assert message in error_at(answer, field)
    assert answer.tree.xpath("//*[@autofocus]/@name") == [field]
    assert answer.tree.findtext(".//title").startswith("Erro: ")
    for name, value in fields.items():
        if name not in ("uf", "quem", "onde"):
            assert answer.field(name) == value
    chosen = answer.tree.xpath("//select[@name='uf']/option[@selected]/@value")
    assert chosen == ([fields["uf"]] if fields.get("uf") == "SP" else chosen)
    assert not house.charges()


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        (COMPANY, {"cnpj": f"CNPJ {GOOD} matriz"}),
        (COMPANY, {"cnpj": "Padaria São João - 90.010.001/0001\u201100"}),
        (COMPANY, {"cnpj": f'="{GOOD}"'}),
        (COMPANY, {"cnpj": f"0{GOOD}"}),
        (FEDERAL, by_cnpj(f"\ufeff{GOOD}")),
        (FEDERAL, by_cpf("000900.100.001-00")),
    ],
)
def test_every_spelling_of_the_box_is_one_of_the_forms(
    browser: Browser, path: str, fields: Mapping[str, str]
) -> None:
    form_id = browser.get(path).field("form_id")
    answer = browser.post(path, {**fields, "form_id": form_id})
    assert answer.status == 303
    assert answer.location.startswith("/app/consultas/resultado/")


THREE = "90.010.001/0001-00, 90010002000154\n90010003000107"


@pytest.mark.parametrize(
    ("path", "fields", "expected"),
    [
        (COMPANY, {"cnpj": THREE}, ("Há 3 documentos aqui, e cada consulta usa um só.", [])),
        (FEDERAL, by_cnpj(GOOD + ZONE), ("Há 2 documentos aqui", [])),
        (STATE, {"cnpj": "padaria do joão", "uf": "SP"}, ("Informe um CNPJ com 14", [])),
        (COMPANY, {"cnpj": "900100010001"}, ("O CNPJ tem 14 caracteres; aqui há 12.", [])),
        (COMPANY, {"cnpj": "90010001"}, ("Esta é a raiz de um CNPJ", [])),
        (COMPANY, {"cnpj": "9,001E+13"}, ("A planilha cortou este número", [])),
        (
            COMPANY,
            {"cnpj": "9001000000180"},
            (
                "Faltam zeros à esquerda. É 09.001.000/0001-80?",
                [f"{COMPANY}?cnpj=09001000000180"],
            ),
        ),
        (
            COMPANY,
            {"cnpj": "900.100.001-00"},
            (
                "Este é um CPF, e esta consulta usa CNPJ.",
                [f"{FEDERAL}?quem=cpf", f"{LABOUR}?quem=cpf", RURAL],
            ),
        ),
        (FEDERAL, by_cnpj(FARMER), ("Este é um CPF. Escolha acima “Pessoa (CPF)”", [])),
        (FEDERAL, by_cpf(GOOD), ("Este é um CNPJ. Escolha acima “Empresa (CNPJ)”", [])),
        (RURAL, {"cpf": GOOD, "uf": "SP"}, ("Este é um CNPJ", [COMPANY, SINTEGRA])),
        (RURAL, {"cpf": "joão", "uf": "SP"}, ("Informe um CPF com 11 dígitos", [])),
        (
            COMPANY,
            {"cnpj": "01a202e1-a061-7653-8263-9d4b2f084f6b"},
            (
                "Este é o número de uma consulta",
                ["/app/historico/01a202e1-a061-7653-8263-9d4b2f084f6b"],
            ),
        ),
    ],
)
def test_text_that_is_no_document_is_explained(
    house: Service,
    browser: Browser,
    path: str,
    fields: Mapping[str, str],
    expected: tuple[str, Sequence[str]],
) -> None:
    message, links = expected
    field = "cpf" if path == RURAL or fields.get("quem") == "cpf" else "cnpj"
    answer = browser.post(path, {**fields, "form_id": "no-such-0123456789"})
    assert answer.status == 422
    assert message in error_at(answer, field)
    assert answer.tree.xpath(f"//p[@id='{field}-error']/a/@href") == links
    # A field is one line; the rest of the pasted text is kept.
    assert answer.field(field) == fields[field]
    assert not house.charges()


def test_the_other_kind_of_document_has_a_form(browser: Browser) -> None:
    (link, *_) = browser.post(COMPANY, {"cnpj": FARMER}).tree.xpath("//p[@id='cnpj-error']/a/@href")
    assert FARMER not in link
    assert browser.get(link).tree.xpath("//input[@name='quem'][@checked]/@value") == ["cpf"]


def test_an_address_fills_a_form_without_personal_data(browser: Browser) -> None:
    answer = browser.get(f"{FEDERAL}?quem=cpf&cnpj={GOOD}&cpf={FARMER}&nascimento=01/01/1980&x=1")
    assert answer.tree.xpath("//input[@name='quem'][@checked]/@value") == ["cpf"]
    assert [answer.field(name) for name in ("cnpj", "cpf", "nascimento")] == [GOOD, "", ""]
    answer = browser.get(f"{SINTEGRA}?uf=SP&endereco=1&onde=fonte&dias=3&cnpj=900.100.001-00")
    assert [answer.field(name) for name in ("cnpj", "dias")] == ["", "3"]
    assert answer.tree.xpath("//option[@selected]/@value") == ["SP"]
    assert answer.tree.xpath("//input[@type='radio'][@checked]/@value") == ["fonte"]
    assert answer.tree.xpath("//input[@type='checkbox'][@checked]/@name") == ["endereco"]


def test_dates_are_typed_as_people_write_them(house: Service, browser: Browser) -> None:
    for birth in ("01/01/1980", "1/1/1980", "01011980"):
        assert "Certidão negativa" in verdict(asked(browser, FEDERAL, by_cpf(FARMER, birth)))


def test_partners_documents_need_the_opt_in(house: Service) -> None:
    plain = signed_in(house)
    assert "CPF dos sócios" not in plain.get(COMPANY).words
    answer = plain.post(COMPANY, {"cnpj": GOOD, "optin": "1", "form_id": "optin-0123456789"})
    assert answer.status == 403
    assert "não está habilitado" in error_at(answer, "optin")
    accounts = {each.name: each for each in house.desk.accounts()}
    rich = next(each for each in accounts.values() if each.partner_optin)
    browser = signed_in(house, rich)
    assert "Incluir o CPF dos sócios" in browser.get(COMPANY).words
    masked = asked(browser, COMPANY, {"cnpj": GOOD})
    assert "***.256.481-**" in masked.words
    result = asked(browser, COMPANY, {"cnpj": GOOD, "optin": "1"})
    assert "***.256.481-**" not in result.words
    assert re.search(r"\d{3}\.256\.481-\d\d", result.words)
    assert result.field("optin") == "1"  # and again, online


def test_prices_before_they_are_paid(house: Service, browser: Browser) -> None:
    assert "Uma consulta à fonte custa 2" in price(browser, FEDERAL, by_cnpj("9001"))
    assert "São 27 UFs: até 27 créditos; só as que responderem são cobradas." in price(
        browser, SINTEGRA, {"cnpj": GOOD, "uf": "BR"}
    )
    assert "São 26 UFs, mais 1 pelos endereços: até 27 créditos" in price(
        browser, RURAL, {"cpf": FARMER, "uf": "BR", "endereco": "1"}
    )
    assert "Até 2 créditos (1 pelos endereços) se a fonte responder" in price(
        browser, SINTEGRA, {"cnpj": GOOD, "uf": "SP", "endereco": "1"}
    )
    assert "Disponíveis: 100.000" in price(browser, ZONE_FORM, {"cnpj": GOOD})
    assert not house.charges()


def test_prices_without_a_script_come_with_the_whole_form(browser: Browser) -> None:
    fields = {"cnpj": GOOD, "uf": "BR", "endereco": "1", "onde": "fonte", "dias": "3"}
    answer = browser.post(f"{SINTEGRA}/preco", fields)
    assert answer.status == 200
    assert "até 28 créditos" in answer.words
    assert (answer.field("cnpj"), answer.field("dias")) == (GOOD, "3")
    assert answer.tree.xpath("//option[@selected]/@value") == ["BR"]
    checked = answer.tree.xpath("//input[@checked]/@name")
    assert checked == ["endereco", "onde"]
    assert "14 caracteres" in error_at(browser.post(f"{SINTEGRA}/preco", {"uf": "SP"}), "cnpj")


def test_a_kept_answer_has_its_own_price(tmp_path: Path) -> None:
    with open_service(tmp_path, establishments=200) as house:
        browser = signed_in(house)
        answer = price(browser, COMPANY, {"cnpj": GOOD})
        assert "nossa cópia do mês: 1 crédito" in answer
        asked(browser, SINTEGRA, {"cnpj": GOOD, "uf": "SP"})
        kept = price(browser, SINTEGRA, {"cnpj": GOOD, "uf": "SP", "dias": "7"})
        assert re.search(r"Há um resultado guardado de [0-9/]{10} às [0-9:]{5}: 1 crédito\.", kept)
        online = price(browser, SINTEGRA, {"cnpj": GOOD, "uf": "SP", "onde": "fonte"})
        assert "Até 1 crédito se a fonte responder" in online


def test_unserved_operations_have_no_price(house: Service) -> None:
    browser = signed_in(house, house.account("sem fontes", mode="live"))
    for path, fields in ((STATE, {"cnpj": GOOD, "uf": "SP"}), (COMPANY, {"cnpj": GOOD})):
        answer = price(browser, path, fields)
        assert "Nenhuma fonte pode responder esta consulta agora" in answer
    assert "Escolha a UF." in price(browser, SINTEGRA, {"cnpj": GOOD})


def test_nothing_costs_more_than_the_form_showed(house: Service, browser: Browser) -> None:
    """The kept result that was priced has expired since."""
    fields = by_cnpj(GOOD)
    most, _, of = promised(browser.post(f"{FEDERAL}/preco", fields, **FRAGMENT)).partition(".")
    assert most == "2"
    kept = {"prometido": f"1.{of}", "form_id": "dearer-0123456789"}
    answer = browser.post(FEDERAL, fields | kept)
    assert answer.status == 402
    assert "O preço mudou" in answer.words
    assert "até 2 créditos. Nada foi cobrado." in answer.words
    assert not house.charges()
    # The price is void for another question; the returned form shows the new price.
    assert browser.post(FEDERAL, by_cnpj(ZONE, **kept)).status == 303
    again = fields | {"prometido": promised(answer), "form_id": answer.field("form_id")}
    assert browser.post(FEDERAL, again).status == 303
    assert len(house.charges()) == 2


def promised(answer: PageResponse) -> str:
    return answer.field("prometido")


def test_a_form_is_filled_from_an_earlier_request(house: Service, browser: Browser) -> None:
    fields = {"cnpj": GOOD, "uf": "SP", "form_id": "earlier-0123456789"}
    request_id = browser.post(STATE, fields).location.rpartition("/")[2]
    answer = browser.get(f"{STATE}?de={request_id}")
    assert answer.field("cnpj") == GOOD
    assert answer.tree.xpath("//option[@selected]/@value") == ["SP"]
    assert "Há um resultado guardado" in answer.words
    stranger = signed_in(house, role="consultant")
    assert stranger.get(f"{STATE}?de={request_id}").field("cnpj") == ""
    person = browser.post(FEDERAL, by_cpf(FARMER, form_id="earlier-person-0123"))
    number = person.location.rpartition("/")[2]
    assert browser.get(f"{FEDERAL}?de={number}").field("cpf") == ""


def test_prices_reveal_nothing_about_people(house: Service) -> None:
    """A price must not reveal whether a colleague looked up a CPF."""
    cpf, other = "90010000100", house.account("outra")
    house.get(f"/consultas/v2/produtor-rural/{cpf}?uf=SP", by=other)
    browser = signed_in(house, role="consultant")
    fields = {"cpf": cpf, "uf": "SP", "onde": "guardado", "dias": "7"}
    answer = browser.post("/app/consultas/produtor-rural/preco", fields, hx_request="true")
    assert answer.status == 200
    assert "guardad" not in answer.words
    assert "Até 1 crédito" in answer.words


def test_a_fresh_form_begins_at_its_document(house: Service, browser: Browser) -> None:
    for path, field in ((FEDERAL, "cnpj"), (COMPANY, "cnpj"), (RURAL, "cpf")):
        answer = browser.get(path)
        assert answer.tree.xpath("//*[@autofocus]/@name") == [field]
        assert not answer.tree.findtext(".//title").startswith("Erro")
        assert answer.tree.xpath(f"//input[@name='{field}']/@maxlength") == ["4000"]
    # The accounts of a first start are for trying, so the form has an example.
    assert "Na sandbox, experimente 90.010.001/0001-00." in browser.get(COMPANY).words
    assert "Na sandbox, experimente 90.010.002/0001-54." in browser.get(ZONE_FORM).words
    live = house.account("de verdade", mode="live")
    assert "sandbox" not in signed_in(house, live).get(FEDERAL).words


def test_a_recent_result_is_offered_at_no_cost(house: Service, browser: Browser) -> None:
    answer = browser.post(STATE, {"cnpj": GOOD, "uf": "SP", "form_id": "just-now-0123456789"})
    asking = {"cnpj": GOOD, "uf": "SP"}
    again = browser.post(f"{STATE}/preco", asking, **FRAGMENT)
    assert "Você consultou este documento" in again.words
    assert again.tree.xpath(f"//a[@href='{answer.location}']")
    for path, fields, who in (
        (STATE, asking | {"uf": "AM"}, browser),  # another UF
        (FEDERAL, by_cnpj(GOOD), browser),  # another operation
        (STATE, asking, signed_in(house, role="consultant")),  # another person
    ):
        assert "Você consultou" not in price(who, path, fields)
    asked(browser, FEDERAL, by_cpf(FARMER))
    assert "Você consultou" not in price(browser, FEDERAL, by_cpf(FARMER))


def test_a_session_that_ended_before_the_form_was_sent(house: Service, browser: Browser) -> None:
    stranger = Browser(house)
    box = stranger.post(f"{COMPANY}/preco", {"cnpj": GOOD}, **FRAGMENT)
    assert box.status == 401
    assert "hx-redirect" not in box.headers  # the typed values stay
    assert "Sua sessão terminou." in box.words
    (back,) = box.tree.xpath("//a[.='Entrar de novo']/@href")
    assert f"cnpj%3D{GOOD}" in back
    sent = stranger.post(COMPANY, {"cnpj": GOOD, "form_id": "ended-0123456789"})
    assert (sent.status, sent.location) == (303, back)
    page = stranger.get(back)
    assert "Sua sessão terminou. Nada foi enviado nem cobrado." in page.words
    assert page.field("para").partition("?")[0] == COMPANY
    offered = browser.get(page.field("para"))
    assert (offered.status, offered.field("cnpj")) == (200, GOOD)
    # Nothing about a person, from any field; choices are kept.
    for path, fields in (
        (FEDERAL, by_cpf(FARMER, "01/01/1980", cnpj="900.100.001-00", modo="guardado")),
        (RURAL, {"cpf": FARMER, "uf": "SP", "onde": "fonte", "dias": FARMER}),
        (f"{RURAL}/preco", {"cpf": FARMER, "cnpj": "90.010.000/100", "optin": "a@b.test"}),
    ):
        left = stranger.post(path, {**fields, "form_id": "ended-0123456789"}).location
        for personal in (FARMER, "900.100", "01/01", "1980", "90.010", "%40", "a@b"):
            assert personal not in unquote(unquote(left)), left
    chosen = stranger.post(RURAL, {"uf": "SP", "onde": "fonte"}).location
    assert "uf=SP&onde=fonte" in unquote(chosen)
    assert "Sua sessão terminou" not in stranger.get("/app/entrar?para=/app/historico").words
    # A polling page redirects to sign-in as a whole.
    assert "hx-redirect" in stranger.get("/app/operador/fontes", **FRAGMENT).headers
    assert not house.charges()
