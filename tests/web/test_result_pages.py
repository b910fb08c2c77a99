"""Results: access, content for each operation, and download of receipts."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from balcao.core.calendar import HOUR_MS, civil_day_text
from balcao.core.extensions import FEDERAL as SUBJECT
from balcao.core.extensions import Extension
from balcao.core.people import Signature
from balcao.home import Home
from balcao.http import receipts
from balcao.service.clock import system_now_ms
from balcao.service.retention import Retention
from balcao.storage import blobs
from balcao.storage.blobs import open_blobs
from tests.records import FEDERAL as API_FEDERAL
from tests.records import STATE as API_STATE
from tests.records import federal_of
from tests.service import Service, open_service
from tests.web.browser import Browser, signed_in
from tests.web.companies import of_all, of_form
from tests.web.lookups import (
    CLOSED,
    COMPANY,
    FARMER,
    FEDERAL,
    GOOD,
    NO_STATE,
    RURAL,
    SINTEGRA,
    SOME_UFS,
    STATE,
    ZONE,
    ZONE_FORM,
    asked,
    balance,
    by_cnpj,
    by_cpf,
    pressed,
    verdict,
)


@pytest.fixture
def house(fresh: Service) -> Service:
    return fresh


# ---- Access ----


def test_results_are_visible_to_their_user_and_managers(house: Service) -> None:
    manager, consultant = signed_in(house), signed_in(house, role="consultant")
    colleague = signed_in(house, role="consultant")
    stranger = signed_in(house, house.account("outra"))
    fields = by_cnpj(GOOD, form_id="who-sees-what-0123456789")
    result = consultant.post(FEDERAL, fields).location
    assert consultant.get(result).status == 200
    assert manager.get(result).status == 200
    assert colleague.get(result).status == 404
    assert stranger.get(result).status == 404
    assert (
        manager.get("/app/consultas/resultado/00000000-0000-7000-8000-000000000000").status == 404
    )


def test_requests_of_the_api_are_shown_to_managers(house: Service) -> None:
    kept = house.get(f"/consultas/v2/sintegra/{GOOD}?uf=SP", idempotency_key="api-0123456789")
    unkept = house.get(f"/consultas/v2/sintegra/{GOOD}?uf=SP")
    house.run(house.until(lambda: not house.front.parts.writing_traces))
    path = "/app/consultas/resultado/"
    manager, consultant = signed_in(house), signed_in(house, role="consultant")
    shown = manager.get(path + kept.json["request_id"])
    assert "1 inscrição ativa" in verdict(shown)
    gone = manager.get(path + unkept.json["request_id"])
    assert gone.status == 200
    assert "O resultado não foi guardado" in verdict(gone)
    assert "Idempotency-Key. Esta requisição não trazia" in gone.words
    assert "Válida até" not in gone.words, "registrations have no validity"
    assert "Cobrado: 1 crédito." in verdict(gone)
    again = gone.tree.xpath("//a[contains(., 'Consultar de novo')]/@href")
    assert again == [f"{SINTEGRA}?de={unkept.json['request_id']}"]
    assert consultant.get(path + kept.json["request_id"]).status == 404


def test_a_result_shows_its_subject_and_actions(browser: Browser) -> None:
    nameless = asked(browser, STATE, {"cnpj": GOOD, "uf": "SP"})
    assert nameless.tree.xpath("//h1/text()") == ["90.010.001/0001-00"]
    asked(browser, COMPANY, {"cnpj": GOOD})  # makes the name available
    result = asked(browser, STATE, {"cnpj": GOOD, "uf": "SP"})
    assert result.tree.xpath("//h1/text()") == ["EMPRESA ATIVA FICTICIA LTDA"]
    assert result.tree.xpath("//p[@class='eyebrow']/text()") == ["Certidão estadual SP"]
    actions = result.tree.xpath("//div[contains(@class, 'result-actions')]")[0]
    links = {link.text_content().strip(): link.get("href") for link in actions.xpath(".//a")}
    number = result.tree.xpath("//code[string-length() = 36]/text()")[0]
    assert [*links] == ["Abrir PDF", "Baixar PDF", "JSON", "Corrigir"]
    # The typed values are filled in again.
    form = browser.get(links["Corrigir"])
    assert form.field("cnpj") == GOOD
    assert form.tree.xpath("//select[@name='uf']/option[@selected]/@value") == ["SP"]
    # The JSON is the API's answer, and the command requests it.
    answer = browser.get(links["JSON"])
    assert answer.headers["content-type"] == "application/json"
    assert msgspec.json.decode(answer.content)["request_id"] == number
    command = actions.xpath(".//code[contains(., 'curl')]/text()")[0]
    assert command.endswith(f'{API_STATE}/{GOOD}?uf=SP"')


def test_a_person_s_result_has_no_cpf_in_copied_text(browser: Browser) -> None:
    result = asked(browser, FEDERAL, by_cpf(FARMER))
    assert result.tree.xpath("//h1/text()") == ["***.100.001-**"]
    actions = result.tree.xpath("//div[contains(@class, 'result-actions')]")[0]
    assert "curl" not in actions.text_content()
    assert actions.xpath(".//a[contains(., 'Corrigir')]/@href") == [f"{FEDERAL}?quem=cpf"]
    assert not [each for each in actions.xpath(".//@*") if FARMER in each]


def test_the_json_answer_needs_access_to_the_result(house: Service) -> None:
    consultant, stranger = signed_in(house, role="consultant"), signed_in(house, house.account("b"))
    result = consultant.post(FEDERAL, by_cnpj(GOOD, form_id="the-answer-0123456789")).location
    path = f"{result}/resposta.json"
    assert consultant.get(path).headers["cache-control"] == "no-store"
    assert [signed_in(house, role=role).get(path).status for role in ("manager", "consultant")] == [
        200,
        404,
    ]
    assert stranger.get(path).status == 404
    assert Browser(house).get(path).status == 303
    unkept = house.get(f"{API_FEDERAL}?cnpj={GOOD}").json["request_id"]
    assert signed_in(house).get(f"/app/consultas/resultado/{unkept}/resposta.json").status == 404


def test_receipts_belong_to_the_account_that_obtained_them(
    house: Service, browser: Browser
) -> None:
    federal = asked(browser, FEDERAL, by_cnpj(GOOD))
    state = asked(browser, STATE, {"cnpj": GOOD, "uf": "SP"})
    stranger = signed_in(house, house.account("outra"))
    shown = ""
    for result, foreign in ((federal, 404), (state, 200)):
        shown, saved = result.tree.xpath("//a[contains(@href, '/app/comprovantes/')]/@href")
        assert saved == f"{shown}?baixar=1"
        response = browser.get(shown)
        assert response.status == 200
        assert response.content.startswith(b"%PDF-")
        assert response.headers["content-disposition"].startswith("inline;")
        assert response.headers["cache-control"] == "private, no-store"
        assert browser.get(saved).headers["content-disposition"].startswith("attachment;")
        assert stranger.get(shown).status == foreign
    assert (
        Browser(house).get(shown).status == 303
    )  # state receipts, too: this address needs a session
    assert browser.get("/app/comprovantes/nada").status == 404


def test_a_receipt_is_found_as_long_as_it_is_kept(tmp_path: Path) -> None:
    """Found by form and API, with and without a key, even after other records are deleted."""
    with open_service(tmp_path, session_idle_minutes=10**7, session_hours=10**6) as house:
        manager, consultant = signed_in(house), signed_in(house, role="consultant")
        by_form = consultant.post(FEDERAL, by_cpf(FARMER, form_id="five-years-0123456789"))
        paths = {
            by_form.location.rpartition("/")[2]: "***100001**",
            house.get(f"{API_FEDERAL}?cnpj={GOOD}").json["request_id"]: GOOD,
            house.get(f"{API_FEDERAL}?cnpj={GOOD}").json["request_id"]: GOOD,  # from the cache
            house.get(f"{API_STATE}/{GOOD}?uf=SP", idempotency_key="five-years-0123456789").json[
                "request_id"
            ]: GOOD,
        }
        other = house.get(f"/consultas/v2/suframa/{ZONE}").json["request_id"]
        house.run(house.until(lambda: not house.front.parts.writing_traces))
        days = 1_800
        object.__setattr__(
            house.front.parts, "now_ms", lambda: system_now_ms() + days * 24 * HOUR_MS
        )
        settings, parts = house.settings, house.front.parts
        blobs = open_blobs(Home(settings.home).receipts)
        retention = Retention(house.desk, {}, blobs, settings, parts.now_ms)
        while house.run(retention.purge_some()):
            pass
        assert manager.get(f"/app/consultas/resultado/{other}").status == 404
        then = civil_day_text(system_now_ms())
        rows = manager.get(f"/app/historico?de={then}&ate={then}").tree.xpath("//tbody/tr")
        assert len(rows) == len(paths)
        for number, row in zip(reversed(paths), rows, strict=True):
            (receipt,) = row.xpath(".//a[contains(@href, '/app/comprovantes/')]/@href")
            for page in (f"/app/consultas/resultado/{number}", f"/app/historico/{number}"):
                response = manager.get(page)
                assert response.status == 200
                opened_at, saved = response.tree.xpath("//a[contains(@href, 'comprovantes')]/@href")
                assert (opened_at, saved) == (receipt, f"{receipt}?baixar=1")
            assert (
                "fica guardado por 5 anos"
                in manager.get(f"/app/consultas/resultado/{number}").words
            )
            saved_as = manager.get(f"{receipt}?baixar=1").headers["content-disposition"]
            assert f"_{paths[number].replace('*', 'x')}_" in saved_as
            assert FARMER not in saved_as
        # Consultants find only their own.
        mine = consultant.get(f"/app/historico?de={then}&ate={then}").tree.xpath("//tbody/tr")
        assert len(mine) == 1
        assert "CND" in mine[0].text_content()
        # When the receipt is deleted, so are the links to it.
        days = 1_826
        while house.run(retention.purge_some()):
            pass
        for number in paths:
            assert manager.get(f"/app/consultas/resultado/{number}").status == 404
            left = manager.get(f"/app/historico/{number}")
            assert "vêm do livro-razão" in left.words
            assert "comprovantes" not in left.text


def test_without_a_receipt_no_receipt_is_mentioned(tmp_path: Path) -> None:
    with open_service(tmp_path) as house:
        manager = signed_in(house)
        nothing = house.get(f"{API_STATE}/90010006000132?uf=SP").json
        company = house.get(f"/consultas/v2/sintegra/{GOOD}?uf=SP").json
        house.run(house.until(lambda: not house.front.parts.writing_traces))
        assert nothing["print"] is None
        response = manager.get(f"/app/consultas/resultado/{nothing['request_id']}")
        assert "Esta consulta não tem comprovante guardado." in response.words
        response = manager.get(f"/app/consultas/resultado/{company['request_id']}")
        assert "A consulta e a cobrança continuam registradas." in response.words
        assert "omprovante" not in response.tree.xpath("//main")[0].text_content()


def test_large_receipts_come_in_pieces(
    house: Service, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = asked(browser, FEDERAL, by_cnpj(GOOD))
    shown = result.tree.xpath("//a[contains(@href, '/app/comprovantes/')]/@href")[0]
    whole = browser.get(shown)
    monkeypatch.setattr(receipts, "WHOLE_BYTES_MAX", 100)
    monkeypatch.setattr(blobs, "PIECE_BYTES", 512)
    response = browser.get(shown)
    assert response.content == whole.content
    for name in set(response.headers) - {"x-request-id"}:
        assert response.headers[name] == whole.headers[name]


def test_personal_data_stays_out_of_addresses_and_events(house: Service, browser: Browser) -> None:
    addresses: list[str] = []
    for path, fields in (
        (FEDERAL, by_cpf(FARMER)),
        (FEDERAL, by_cpf(FARMER, "02/01/1980")),
        (RURAL, {"cpf": FARMER, "uf": "SP"}),
    ):
        response = browser.post(path, {**fields, "form_id": f"personal-{len(addresses)}-0123"})
        addresses.append(response.location)
        page = browser.get(response.location)
        assert FARMER not in page.tree.findtext(".//title")
        assert "900.100.001-00" not in page.tree.findtext(".//title")
        addresses += page.tree.xpath("//@href | //@action")
    browser.post(FEDERAL, by_cpf(FARMER, "31/02/1980", form_id="personal-error-0123"))
    house.front.request_log.flush()
    texts = " ".join(addresses) + house.logged.decode()
    assert "app:consultar" in texts
    for secret in (FARMER, "900.100.001-00", "19800101", "01/01/1980", "1980-01-01"):
        assert secret not in texts


# ---- Content for each operation ----


@pytest.mark.parametrize(
    ("path", "fields", "expected"),
    [
        (FEDERAL, by_cnpj(ZONE), ["Positiva com efeitos de negativa", "Débitos na PGFN", "Sim"]),
        (FEDERAL, by_cpf("90010000291"), ["Positiva com efeitos", "900.100.002-91"]),
        (STATE, {"cnpj": ZONE, "uf": "AM"}, ["Certidão negativa (AM)", "Mensagem fiscal"]),
        (COMPANY, {"cnpj": CLOSED}, ["Baixada A empresa foi", "encerrada"]),
        (
            COMPANY,
            {"cnpj": GOOD},
            [
                "Ativa A empresa está regular",
                "FULANA DA FICCAO SILVA",
                "***.256.481-**",
                "6201-5/01",
            ],
        ),
        (
            SINTEGRA,
            {"cnpj": GOOD},
            ["1 inscrição ativa em SP", "IE Normal", "Sem restrição", "As outras UFs não foram"],
        ),
        (SINTEGRA, {"cnpj": CLOSED, "uf": "SP"}, ["Nenhuma inscrição ativa em SP", "Inativa"]),
        (
            SINTEGRA,
            {"cnpj": NO_STATE, "uf": "SP"},
            ["Sem inscrição em SP", "As outras UFs não foram consultadas."],
        ),
        (SINTEGRA, {"cnpj": GOOD, "uf": "SP", "endereco": "1"}, ["04000-100", "2 créditos"]),
        (RURAL, {"cpf": FARMER, "uf": "SP"}, ["1 inscrição ativa", "Produtor Rural", "Mudou em"]),
        (ZONE_FORM, {"cnpj": ZONE}, ["Inscrição ativa", "Incentivos fiscais", "Convênio ICMS"]),
        (ZONE_FORM, {"cnpj": CLOSED}, ["Inscrição cancelada", "Não aprovada"]),
    ],
)
def test_every_form_leads_to_its_result(
    house: Service, browser: Browser, path: str, fields: Mapping[str, str], expected: list[str]
) -> None:
    result = asked(browser, path, fields)
    for text in expected:
        assert text in result.words
    assert len(result.tree.xpath("//h1")) == 1
    request_id = result.tree.xpath("//a[starts-with(@href, '/app/historico/')]/@href")[0]
    assert request_id.rpartition("/")[2] in result.words  # the number, with a copy button
    (charge,) = house.charges()
    assert f"Cobrado{-charge.credits} crédito" in result.words.replace("Cobrado ", "Cobrado")


def test_all_ufs_are_drawn(house: Service, browser: Browser) -> None:
    result = asked(browser, SINTEGRA, {"cnpj": SOME_UFS, "uf": "BR"})
    texts = result.tree.xpath("//svg[contains(@class, 'tiles')]//g/title/text()")
    assert len(texts) == 27
    assert "BA: sem resposta e sem cobrança" in texts
    assert "SP: 1 inscrição ativa" in texts
    assert "nas 24 UFs que responderam" in verdict(result)
    assert "Sem resposta, e sem custo: BA, MG, RS." in verdict(result)
    assert balance(house) == 100_000 - 24

    # Failed UFs one by one, at one credit each; all of them only after showing the price.
    retry, everywhere = result.tree.xpath("//form[contains(@class, 'once-more')]")
    assert [each.get("value") for each in retry.xpath(".//button")] == ["BA", "MG", "RS"]
    one = browser.post(retry.get("action"), pressed(retry, 1))
    assert "Fonte indisponível" in verdict(browser.get(one.location))
    # A failed lookup can be repeated from the same page.
    assert browser.post(retry.get("action"), pressed(retry, 1)).location != one.location
    assert everywhere.get("action") == f"{SINTEGRA}/preco"
    form = browser.post(everywhere.get("action"), pressed(everywhere))
    assert form.status == 200
    assert "até 27 créditos" in form.words
    assert form.tree.xpath("//option[@selected]/@value") == ["BR"]
    assert form.tree.xpath("//input[@name='onde'][@checked]/@value") == ["fonte"]
    assert balance(house) == 100_000 - 24


def test_all_ufs_are_claimed_only_if_all_answered(browser: Browser) -> None:
    none = asked(browser, SINTEGRA, {"cnpj": NO_STATE, "uf": "BR"})
    assert verdict(none).startswith("Sem inscrição estadual")
    assert "não foram consultadas" not in none.words


def test_one_uf_has_no_map(browser: Browser) -> None:
    result = asked(browser, RURAL, {"cpf": "90010000291", "uf": "GO"})
    assert "Nenhuma inscrição ativa em GO" in verdict(result)
    assert not result.tree.xpath("//svg[contains(@class, 'tiles')]")
    headings = result.tree.xpath("//main//caption | //main//h2")
    assert headings[0].text_content() == "Inscrições estaduais"
    assert "***.100.002-**" in result.tree.findtext(".//title")


def test_unaffordable_buttons_are_disabled(house: Service) -> None:
    poor = house.account("pobre", credits=3)
    browser = signed_in(house, poor)
    result = asked(browser, FEDERAL, by_cnpj(GOOD))
    buttons = result.tree.xpath("//form[contains(@class, 'once-more')]//button")
    assert [each.get("disabled") is not None for each in buttons] == [True, True]
    assert result.words.count("Créditos insuficientes. Disponíveis: 1.") == 2
    assert "Busca na fonte a certidão ainda válida" in result.words
    assert not asked(browser, COMPANY, {"cnpj": GOOD}).tree.xpath("//button[@name='modo']")


def test_a_failure_is_described_once(browser: Browser) -> None:
    result = asked(browser, STATE, {"cnpj": "90020003000180", "uf": "SP"})
    assert "2ª via" not in result.words
    assert "secretaria da fazenda" in result.words
    assert "Dados de" not in result.words
    down = asked(browser, COMPANY, {"cnpj": "90020001000190"})
    assert down.words.count("Nada foi cobrado") == 1
    zone = asked(browser, ZONE_FORM, {"cnpj": GOOD})
    assert zone.tree.xpath("//a[contains(@class, 'primary')]/text()") == [
        "Consultar outro documento"
    ]


def test_known_registrations_are_shown_with_the_partners(house: Service) -> None:
    browser, colleague = signed_in(house, role="consultant"), signed_in(house, role="consultant")
    first = asked(browser, COMPANY, {"cnpj": GOOD})
    forms = first.tree.xpath(f"//form[starts-with(@action, '{SINTEGRA}')]")
    assert [form.xpath(".//input[@name='uf']/@value") for form in forms] == [[""], ["BR"]]
    assert [form.get("action") for form in forms] == [SINTEGRA, f"{SINTEGRA}/preco"]
    assert "(1 crédito)" in forms[0].text_content()
    response = browser.post(SINTEGRA, pressed(forms[0]))
    assert "1 inscrição ativa" in verdict(browser.get(response.location))

    # The same button of the open page costs nothing more.
    assert browser.post(SINTEGRA, pressed(forms[0])).location == response.location

    for _ in range(12):  # a program's request without a key: not recorded
        house.get(f"/consultas/v2/sintegra/{GOOD}?uf=SP&cache_strategy=CACHE_SE_EXISTIR")
    again = asked(browser, COMPANY, {"cnpj": GOOD})
    assert not again.tree.xpath(f"//form[@action='{SINTEGRA}']")
    assert again.tree.xpath(f"//a[@href='{response.location}']")
    assert again.tree.xpath("//table[caption='Inscrições estaduais']//tbody/tr")
    assert "table" in [
        each.tag
        for each in asked(signed_in(house), COMPANY, {"cnpj": GOOD}).tree.xpath(
            "//table[caption='Inscrições estaduais']"
        )
    ]
    # Only managers see a colleague's requests.
    assert asked(colleague, COMPANY, {"cnpj": GOOD}).tree.xpath(f"//form[@action='{SINTEGRA}']")


def test_our_own_copy_offers_no_renewal(tmp_path: Path) -> None:
    with open_service(tmp_path, establishments=200) as house:
        result = asked(signed_in(house), COMPANY, {"cnpj": GOOD})
        assert "da nossa cópia" in result.words
        assert "Atualizar online" not in result.words


def test_receipts_in_html_are_only_downloaded(browser: Browser) -> None:
    result = asked(browser, FEDERAL, by_cnpj("90010011000145"))
    (address,) = result.tree.xpath("//a[contains(@href, '/app/comprovantes/')]/@href")
    response = browser.get(address)
    assert response.headers["content-disposition"].startswith("attachment;")
    assert response.headers["content-security-policy"] == "sandbox; default-src 'none'"


def test_an_expired_certificate_is_marked(tmp_path: Path) -> None:
    with open_service(tmp_path, session_idle_minutes=10**6, session_hours=10**5) as house:
        browser = signed_in(house)
        tomorrow = "90010009000176"
        fields = {
            FEDERAL: by_cnpj(tomorrow, form_id="expires-federal-0123"),
            STATE: {"cnpj": tomorrow, "uf": "SP", "form_id": "expires-state-0123"},
        }
        results = {path: browser.post(path, each).location for path, each in fields.items()}
        for address in results.values():
            assert "vencida" not in browser.get(address).words
        # The newest one is a program's, without a recorded answer.
        house.get(federal_of(tomorrow))
        company = f"/app/empresas/{tomorrow}"
        parts = house.front.parts
        object.__setattr__(parts, "now_ms", lambda: system_now_ms() + 48 * HOUR_MS)
        for path, address in results.items():
            assert "Certidão vencida" in verdict(browser.get(address))
            # The same form again: its result, without another charge.
            assert browser.post(path, fields[path]).location == address
        assert balance(house) == 100_000 - 5

        # A certificate extended by an act is not missing on the company's page (contract 4.12).
        assert of_all(browser.get(company))[0] == "falta.11"
        act = Extension(SUBJECT, None, "2000-01-01", "2200-01-01", None, 30, "Portaria 1")
        house.run(house.desk.extensions.add(act, Signature("cli"), system_now_ms()))
        response = browser.get(company)
        assert "venceu pela fonte" in response.words
        assert "por Portaria 1 (confira o ato)" in response.words
        assert of_all(response)[0] == "falta.9"
        assert "Renovar" in of_form(response, "certidao-federal")[1]
        assert "por ato, " in browser.get("/app/historico").words

        object.__setattr__(parts, "now_ms", lambda: system_now_ms() + 179 * 24 * HOUR_MS)
        assert "Certidão vencida" in verdict(browser.get(results[FEDERAL]))
        assert browser.post(FEDERAL, fields[FEDERAL]).location == results[FEDERAL]
        object.__setattr__(parts, "now_ms", lambda: system_now_ms() + 181 * 24 * HOUR_MS)
        gone = browser.get(results[FEDERAL])
        assert "não está mais disponível" in verdict(gone)
        assert "Cobrado: 2 créditos." in verdict(gone)
