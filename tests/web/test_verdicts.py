"""One outcome of a certificate has one name: on pages, in lists and in files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from balcao.batches.receipts_zip import ReceiptOfRow, _indexed
from balcao.core.certificates import CertificateSummary, Verdict
from balcao.core.receipts import Receipt, ReceiptSubject
from balcao.operations import OPERATIONS
from balcao.storage.batches import StoredRow
from balcao.web.kit.words.vocabulary import last_day, outcome_of
from tests.records import federal_of, state_of
from tests.service import Service, open_service
from tests.web.browser import signed_in
from tests.web.companies import address, lines
from tests.web.lookups import a_trace

UNCLASSIFIED = "90010005000198"  # its state certificate has no validity
GIVEN: dict[str, Any] = {"error": False, "success": False, "certificate": ""}
CASES: list[tuple[str, Verdict, dict[str, Any]]] = [
    ("federal_certificate", "CND", {**GIVEN, "success": True, "certificate_type": "CND"}),
    ("federal_certificate", "CPEND", {**GIVEN, "success": True, "certificate_type": "CPEND"}),
    ("federal_certificate", "CPD", {**GIVEN, "certificate_type": "CPD"}),
    ("federal_certificate", "other", {**GIVEN, "certificate_type": "Circunstanciada"}),
    ("federal_certificate", "other", {**GIVEN, "certificate_type": None, "certificate": "X"}),
    ("federal_certificate", "none", {**GIVEN, "certificate_type": None}),
    ("state_certificate", "CND", {"error": False, "success": True}),
    ("state_certificate", "none", {"error": False, "success": False}),
]


@pytest.mark.parametrize(("subject", "verdict", "body"), CASES)
def test_words_of_a_verdict(subject: str, verdict: Verdict, body: dict[str, Any]) -> None:
    """Lists use the recorded summary, spreadsheets the answer."""
    operation = OPERATIONS[subject]
    trace = a_trace(
        operation=operation.path, certificate=CertificateSummary(verdict, None, None, None, None)
    )
    (of_sheet,) = [each.of for each in operation.sheet_columns.facts if each.name == "certidao"]
    words = outcome_of(trace).text
    assert of_sheet(body) == words

    about = ReceiptSubject("90010001000100", None, verdict, None, None)
    receipt = Receipt("n", 1, "d" * 64, "application/pdf", 9, about)
    row = ReceiptOfRow(operation, StoredRow(2, "concluida"), receipt, ())
    assert words in _indexed(row, "x.pdf") or verdict == "none"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Service]:
    with open_service(tmp_path, establishments=1) as house:
        yield house


def test_on_the_pages_of_a_company(house: Service) -> None:
    """Its table, its timeline, the history, and the result itself."""
    mine = house.account("nomes")
    answer = house.get(federal_of(UNCLASSIFIED), mine).json
    assert answer["certificate_type"] == "Circunstanciada"
    browser = signed_in(house, mine)
    page = browser.get(address(UNCLASSIFIED))
    assert lines(page)["Certidão federal"].startswith("Nem CND nem CPEND")
    assert "Circunstanciada" not in page.words
    assert "Nem CND nem CPEND" in browser.get("/app/historico").words


def test_a_validity_that_the_source_did_not_give(house: Service) -> None:
    """The pages name what is missing: nobody is reminded of such a certificate."""
    mine = house.account("sem validade")
    answer = house.get(state_of(UNCLASSIFIED), mine).json
    assert (answer["success"], answer["validade"]) == (True, None)
    browser = signed_in(house, mine)
    result = browser.get(f"/app/consultas/resultado/{answer['request_id']}")
    assert result.tree.xpath("//dt[. = 'Válida até']/following-sibling::dd[1]/text()") == [
        "não informada"
    ]
    for path, row in ((address(UNCLASSIFIED), "Certidão estadual"), ("/app/historico", "estadual")):
        cells = browser.get(path).tree.xpath(
            f"//tr[contains(., '{row}')]/td[@data-label='Vale até']"
        )
        assert [cell.text_content() for cell in cells] == ["não informada"], path


@pytest.mark.parametrize(
    ("verdict", "validity", "words"),
    [
        ("CND", "2027-02-15", "15/02/2027"),
        ("CPEND", None, "não informada"),
        ("CPD", None, None),
        ("none", None, None),
    ],
)
def test_words_of_a_validity(verdict: Verdict, validity: str | None, words: str | None) -> None:
    assert last_day(CertificateSummary(verdict, validity, None, None, None)) == words
