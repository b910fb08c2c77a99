"""Erasing a person who was looked up: the pages keep working without their data."""

from pathlib import Path

from balcao.core.data_subject import data_subject
from balcao.core.documents import Cpf
from tests.service import open_service
from tests.web.browser import signed_in
from tests.web.lookups import FARMER, FEDERAL, RURAL, by_cpf


def test_every_page_of_an_erased_request_still_opens(tmp_path: Path) -> None:
    with open_service(tmp_path) as house:
        browser = signed_in(house)
        forms = {
            FEDERAL: by_cpf(FARMER, form_id="erased-federal-0123456789"),
            RURAL: {
                "cpf": FARMER,
                "uf": "SP",
                "form_id": "erased-rural-0123456789",
            },
        }
        results = {form: browser.post(form, fields).location for form, fields in forms.items()}
        assert all("/resultado/" in location for location in results.values()), results

        desk, parts = house.desk, house.front.parts
        person = data_subject(parts.receipt_numbers.pepper, Cpf.parse(FARMER))
        held, _ = house.run(desk.data_subjects.erase(person, parts.now_ms()))
        assert len(held.requests) == len(held.answers) == 2

        for form, result in results.items():
            number = result.rpartition("/")[2]
            page = browser.get(result)
            assert page.status == 200
            assert "O resultado não está mais disponível" in page.text
            assert "apagado" in page.text
            page = browser.get(f"/app/historico/{number}")
            assert page.status == 200
            assert "apagado" in page.text
            assert result not in page.text, "there is nothing to be shown there"
            assert browser.get(f"{form}?de={number}").status == 200
        for address in ("/app/historico", "/app/historico.csv", "/app/extrato"):
            shown = browser.get(address)
            assert shown.status == 200, address
            assert FARMER[3:9] not in shown.text

        # The same form again: neither the earlier answer, nor another charge.
        money = house.money()
        again = browser.post(FEDERAL, forms[FEDERAL])
        assert again.location == results[FEDERAL]
        assert house.money() == money
        house.assert_books_agree()


def test_the_button_of_an_outdated_page_shows_no_erased_answer(tmp_path: Path) -> None:
    """The button was pressed before, so a second press would show the earlier answer."""
    with open_service(tmp_path) as house:
        browser = signed_in(house)
        asked = {"cpf": FARMER, "uf": "SP"}
        first = browser.post(RURAL, {**asked, "form_id": "erased-rural-0123456789"}).location
        button = {**asked, "de": first.rpartition("/")[2]}
        brought = browser.post(RURAL, button).location
        assert "/resultado/" in brought
        assert brought != first

        desk, parts = house.desk, house.front.parts
        person = data_subject(parts.receipt_numbers.pepper, Cpf.parse(FARMER))
        house.run(desk.data_subjects.erase(person, parts.now_ms()))
        money = house.money()
        assert browser.post(RURAL, button).location == brought
        assert "O resultado não está mais disponível" in browser.get(brought).text
        assert house.money() == money
