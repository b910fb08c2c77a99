"""Checks that every part recognises a seventh operation, in a copy of the program that has one.

`test_operation.py` makes the copy and runs this file in it.
"""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import openapi_spec_validator
import pytest

from balcao.batches.columns import ValidRow, map_columns
from balcao.batches.result_columns import ResultColumns, ResultRow
from balcao.batches.tables.contract import TableRow
from balcao.cli.manual import write_manual
from balcao.cli.output import show
from balcao.cli.results import answer_blocks
from balcao.cli.service_client import ServiceReply
from balcao.core.access import Account
from balcao.core.questions import Mode
from balcao.operations import OPERATIONS
from balcao.providers import PROVIDERS
from balcao.providers.simulation.app import create_app
from balcao.settings import Settings
from balcao.storage.batches import StoredRow
from tests.cli.shell import Shell, begin
from tests.service import Service, open_service
from tests.web.browser import signed_in
from tests.web.lookups import asked, verdict

CNPJ, STRANGER, BROKEN = "90010001000100", "90010004000143", "90010003000107"
LOOKUP = f"/consultas/v2/simples-nacional/{CNPJ}"


@pytest.fixture(scope="module", params=["live", "test"])
def house(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """A service in live mode, and one in test mode."""
    mode: Mode = request.param
    wire = httpx2.ASGITransport(app=create_app())  # every registry is simulated
    own = PROVIDERS[-1].settings_class.simulated("http://registro.invalid")
    with open_service(
        tmp_path_factory.mktemp(mode), mode=mode, transport=wire, registro=own
    ) as house:
        yield house
        house.assert_books_agree()


def spent(house: Service, before: Account) -> int:
    return before.balance_credits - house.balance().balance_credits


def test_lookup_price_and_idempotency(house: Service) -> None:
    before = house.balance()
    first = house.get(LOOKUP, idempotency_key="uma-chave-0001")
    assert (first.status, first.json["optante"], first.json["desde"]) == (200, True, "2015-03-02")
    assert first.headers["x-creditos-cobrados"] == "3"
    again = house.get(LOOKUP, idempotency_key="uma-chave-0001")
    assert again.body == first.body
    assert again.headers["idempotent-replayed"] == "true"
    assert spent(house, before) == 3
    kept = house.get(LOOKUP)
    assert kept.headers["cache-status"] == "Balcao; hit"
    answer = house.get(f"/conta/v1/operacoes/{first.json['request_id']}").json
    assert (answer["operacao"], answer["creditos"]) == ("simples-nacional", 3)
    assert answer["regra"] == "simples-nacional: 3 por consulta concluída"


def test_refusals_and_failures_cost_nothing(house: Service) -> None:
    before = house.balance()
    assert (
        house.get("/consultas/v2/simples-nacional/1").json["error_message"]["code"]
        == "CNPJ_INVALIDO"
    )
    assert house.get(f"{LOOKUP}?cache=31").status == 400
    assert house.get(LOOKUP.replace(CNPJ, STRANGER)).status == 404
    assert house.get(LOOKUP.replace(CNPJ, BROKEN)).status in (500, 503)
    assert spent(house, before) == 0


def test_the_document_and_its_page(house: Service) -> None:
    document = house.get("/openapi.json").json
    openapi_spec_validator.validate(document)
    described = document["paths"]["/consultas/v2/simples-nacional/{cnpj}"]["get"]
    assert described["summary"] == "Opção pelo Simples Nacional"
    assert [each["name"] for each in described["parameters"]] == [
        "cnpj",
        "cache",
        "creditos_maximos",
        "X-Creditos-Maximos",
        "X-Cliente",
        "X-Referencia",
        "Idempotency-Key",
    ]
    schema = document["components"]["schemas"]["RespostaSimples"]
    assert schema["properties"]["desde"]["type"] == ["string", "null"]
    codes = document["components"]["schemas"]["RespostaOperacao"]["properties"]["regra_codigo"]
    assert "`simples/lookup`" in codes["description"]


def test_form_and_result(house: Service) -> None:
    browser = signed_in(house)
    assert "Simples Nacional 3 créditos" in browser.get("/app/consultas").words
    form = browser.get("/app/consultas/simples")
    assert "3 créditos por consulta. Falhas não custam nada." in form.words
    assert form.field("dias") == "10"
    documented = browser.get("/docs/operacoes/simples-nacional")
    assert "Opção pelo Simples Nacional" in documented.words
    assert "3 créditos por consulta. Falhas não custam nada." in documented.words
    assert documented.field("dias") == "10"
    shown = asked(browser, "/app/consultas/simples", {"cnpj": CNPJ, "onde": "fonte"})
    assert "Optante" in verdict(shown)
    assert "02/03/2015" in shown.words
    assert "Atualizar online (3 créditos)" in shown.words
    failed = asked(browser, "/app/consultas/simples", {"cnpj": BROKEN, "onde": "fonte"})
    assert "Nada foi cobrado" in failed.words


def test_a_terminal_shows_it(house: Service, capsys: pytest.CaptureFixture[str]) -> None:
    result = house.get(LOOKUP)
    reply = ServiceReply(result.status, result.headers, result.body)
    show(False, None, *answer_blocks(OPERATIONS["simples"], CNPJ, None, reply, now_ms=0))
    answer = capsys.readouterr().out
    assert answer.startswith("Optante.\n\nCNPJ:   90.010.001/0001-00\nDesde:  02/03/2015\n")
    assert "Cobrado: 3 créditos." in answer


def test_statement_history_and_status(house: Service) -> None:
    house.get(LOOKUP)
    browser = signed_in(house)
    lines = house.get("/conta/v1/consumo").json["linhas"]
    assert {line["operacao"] for line in lines} == {"simples-nacional"}
    for page in ("/app/extrato", "/app/historico", "/status"):
        assert "Simples Nacional" in browser.get(page).words, page
    assert 'subject="simples"' in house.get("/metrics").body.decode()


def test_the_command_line_and_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BALCAO_HOME", str(tmp_path / "dados"))
    monkeypatch.setenv("BALCAO_REGISTRO__URL", "http://registro.invalid")
    monkeypatch.chdir(tmp_path)
    shell = Shell(tmp_path / "dados")
    begin(shell.home)
    (listed,) = shell("source list --json").json["simples"]["sources"]
    assert (listed["source"], listed["on"], listed["alphanumeric"]) == ("registro", True, True)
    assert "opção pelo Simples (simples)" in shell("source list").out
    assert "quem responde opção pelo Simples" in shell("doctor", code=0).out
    assert "`BALCAO_SIMPLES_SOURCES`" in write_manual()
    assert Settings().sources_of("simples") == ("registro",)
    with pytest.raises(ValueError, match="registro"):
        Settings.model_validate({"simples_sources": ("outra",)})


def test_results_of_batches_have_its_columns() -> None:
    operation = OPERATIONS["simples"]
    columns = map_columns(operation, ["CNPJ"])
    asked = columns.read(TableRow(2, (CNPJ,)))
    assert isinstance(asked, ValidRow)
    body = b'{"optante":true,"desde":"2015-03-02"}'
    row = ResultRow(StoredRow(2, "concluida"), (CNPJ,), body)
    result = ResultColumns(operation, ["CNPJ"], columns)
    answer = dict(zip(result.names, result.cells(row), strict=True))
    assert (answer["balcao_optante"], answer["balcao_optante_desde"]) == ("Sim", "02/03/2015")
