"""Batches through the API: a file, a quote, a confirmation, results; and reasons to pause."""

import io
import json
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from pydantic import SecretStr

from balcao.accounts.keys import issue_key
from balcao.batches import running, validating
from balcao.batches.batch_context import BatchContext, summary_of
from balcao.core.access import KeyRestrictions
from balcao.core.data_subject import data_subject
from balcao.core.documents import Cpf
from balcao.core.event_types import EVENT_TYPES
from balcao.core.secrets import single
from balcao.home import Home
from balcao.operations import OPERATIONS
from balcao.operations.contract import Operation
from balcao.service import batching
from balcao.service.clock import system_now_ms
from tests.http.batcher import COMPANIES, FEDERAL, Batcher, certificates, some_cnpjs
from tests.service import CREDITS, Client, Reply, Service, call, open_service
from tests.storage import postgres


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batching, "POLL_SECONDS", 0.05)
        with open_service(tmp_path_factory.mktemp("house"), establishments=1) as house:
            yield house
            house.assert_books_agree()


@pytest.fixture
def batcher(house: Service, request: pytest.FixtureRequest) -> Batcher:
    return Batcher(house, house.account(request.node.name))


def test_from_a_file_to_its_results(batcher: Batcher) -> None:
    file = "cnpj;ref\n" + "".join(f"{each};c{at}\n" for at, each in enumerate(COMPANIES))
    file += f"{COMPANIES[0]};outra-vez\n123;curto\n"
    number = batcher.create(file)

    body = batcher.until(number, "cotado")
    assert (
        body["linhas"] | {"total": 5, "validas": 3, "invalidas": 1, "repetidas": 1}
        == (body["linhas"])
    )
    assert body["cotacao"]["creditos_max"] == 3
    assert body["cotacao"]["a_mao"] == 3
    assert (body["cotacao"]["duracao_estimada_s"], body["cotacao"]["fontes"]) == (1, [])

    batcher.confirm(number)
    body = batcher.until(number, "concluido")
    assert body["creditos_gastos"] == 3
    assert body["creditos_reservados"] == 0
    assert body["linhas"]["concluidas"] == 3

    rows = batcher.rows(number)
    assert [row["estado"] for row in rows] == [*["concluida"] * 3, "repetida", "invalida"]
    assert rows[3]["repetida_de"] == 2
    operation = batcher.house.get(
        f"/conta/v1/operacoes/{rows[0]['request_id']}", batcher.client
    ).json
    assert (operation["estado"], operation["creditos"]) == ("cobrada", 1)
    assert sum(-entry.credits for entry in batcher.house.charges(batcher.client)) == 3

    result = batcher.call("GET", f"/{number}/resultado.csv")
    assert result.status == 200
    lines = result.body.decode("utf-8-sig").splitlines()
    assert lines[0].startswith('"cnpj";"ref";"balcao_')
    assert len(lines) == 6


def test_columns_can_be_named_where_recognition_is_wrong(batcher: Batcher) -> None:
    file = f"CNPJ;Tomador;Nota\n{COMPANIES[0]};{COMPANIES[1]};n-1\n"
    one = batcher.until(batcher.create(file), "cotado")
    assert batcher.rows(one["id"])[0]["documento"] == COMPANIES[0]
    query = "operacao=cnpj-receita-federal&coluna_cnpj=tomador&coluna_ref=C"
    other = batcher.until(batcher.create(file, query), "cotado")
    assert "coluna B «Tomador» → cnpj" in other["colunas"]
    row = batcher.rows(other["id"])[0]
    assert (row["documento"], row["ref"]) == (COMPANIES[1], "n-1")
    query = "operacao=cnpj-receita-federal&coluna_cnpj=H"
    refused = batcher.until(batcher.create(file, query), "recusado")
    assert refused["codigo"] == "coluna_inexistente"
    answer = batcher.call(
        "POST",
        "?operacao=cnpj-receita-federal&coluna_cpf=A",
        file.encode(),
        content_type="text/csv",
        idempotency_key="papel-de-outra",
    )
    assert (answer.status, answer.code) == (400, "PARAMETRO_INVALIDO")
    assert "coluna_cpf" in str(answer.json)


@pytest.mark.parametrize("operation", ["sintegra", "certidao-negativa-de-debitos-estadual"])
@pytest.mark.parametrize("quoted_before", [False, True])  # when only found columns were kept
def test_an_excluded_column_is_excluded_when_rows_run_too(
    batcher: Batcher, operation: str, *, quoted_before: bool
) -> None:
    query = f"operacao={operation}&uf=SP&coluna_uf="
    number = batcher.create(f"CNPJ;UF\n{COMPANIES[0]};RJ\n", query)
    assert batcher.until(number, "cotado")["colunas"][0] == "coluna A «CNPJ» → cnpj"
    if quoted_before:
        batches = batcher.house.desk.batches
        batch = batcher.house.run(batches.batch(number))
        assert batch is not None
        summary = summary_of(batch)
        assert summary is not None
        found = {role: at for role, at in summary.letters.items() if at is not None}
        old = msgspec.structs.replace(summary, letters=found)
        batcher.house.run(batches.replace_layout(number, batch.layout, old.stored))
    batcher.confirm(number)
    batcher.until(number, "concluido")
    (row,) = batcher.rows(number)
    trace = batcher.house.desk.people.trace(batcher.client.account_id, row["request_id"])
    assert trace is not None
    assert trace.uf == "SP", "as it was quoted"


def test_repeated_rows_use_the_column_recognised_in_them(
    batcher: Batcher,
) -> None:
    file = f"Quem;Número\nLoja 1;{COMPANIES[0]}\nLoja 2;90020003000180\n"
    number = batcher.create(file, f"operacao={FEDERAL}")
    batcher.until(number, "cotado")
    batcher.confirm(number)
    assert batcher.until(number, "concluido")["linhas"]["falhas"] == 1
    again = batcher.call("POST", f"/{number}/repetir", idempotency_key="repetir-achada").json
    body = batcher.until(again["id"], "cotado", "recusado")
    assert (body["estado"], body["linhas"]["total"]) == ("cotado", 1)
    assert body["colunas"] == batcher.show(number)["colunas"]


def test_tags_that_do_not_fit_a_guessed_column_are_reported_before_any_charge(
    batcher: Batcher,
) -> None:
    one, two, three = COMPANIES
    # The last row asks nothing, whatever it is called.
    rows = f"loja-1;X 1;{one}\nLoja 2;X 2;{two}\n;X 3;{three}\nnão vale;X 4;1\n"
    file = f"Cliente;Código;CNPJ\n{rows}"
    alone = batcher.until(batcher.create(file), "cotado")
    assert alone["colunas"] == [
        "coluna A «Cliente» → cliente (em 1 linha não é um código: sem cliente)",
        "coluna B «Código» → ref (em 3 linhas não é um código: sem ref)",
        "coluna C «CNPJ» → cnpj",
    ]
    query = "operacao=cnpj-receita-federal&coluna_ref="
    of_one = batcher.until(batcher.create(file, query, x_cliente="matriz"), "cotado")
    assert of_one["colunas"][0].endswith("(em 1 linha não é um código: vale o do lote)")


def test_certificates_never_cost_more_than_the_ceiling(batcher: Batcher) -> None:
    number = batcher.create(certificates(*some_cnpjs(6)), f"operacao={FEDERAL}")
    body = batcher.until(number, "cotado")
    assert (body["cotacao"]["creditos_min"], body["cotacao"]["creditos_max"]) == (0, 12)
    assert body["cotacao"]["a_consultar"] == 6
    assert [each["nome"] for each in body["cotacao"]["fontes"]] == ["infosimples", "serpro_cnd"]

    batcher.confirm(number, 5)
    body = batcher.until(number, "pausado")
    assert (body["motivo"], body["codigo"]) == ("teto", "TETO_DO_LOTE")
    assert (
        "limite de gasto de 5 créditos não cobre a próxima linha. Já foram gastos 4"
        in body["mensagem"]
    )
    assert body["creditos_gastos"] == 4
    assert body["linhas"]["pendentes"] == 4

    answer = batcher.call("POST", f"/{number}/retomar", {"teto_creditos": 4})
    assert (answer.status, answer.code) == (400, "PARAMETRO_INVALIDO")
    assert batcher.call("POST", f"/{number}/retomar", {"teto_creditos": 12}).status == 200
    body = batcher.until(number, "concluido")
    assert (body["creditos_gastos"], body["linhas"]["concluidas"]) == (12, 6)
    assert batcher.house.money(batcher.client) == (CREDITS - 12, 0)

    receipts = batcher.call("GET", f"/{number}/recibos.zip")
    with zipfile.ZipFile(io.BytesIO(receipts.body)) as found:
        assert len(found.namelist()) == 7  # and the index
    for form in ("xlsx", "jsonl"):
        assert batcher.call("GET", f"/{number}/resultado.{form}").status == 200


def test_an_exhausted_balance_pauses(house: Service) -> None:
    batcher = Batcher(house, house.account("pouco", credits=3))
    number = batcher.create(certificates(*some_cnpjs(3, 90_041_001)), f"operacao={FEDERAL}")
    body = batcher.until(number, "cotado")
    assert body["cotacao"]["saldo_apos_maximo"] == -3
    batcher.confirm(number)
    body = batcher.until(number, "pausado")
    assert (body["motivo"], body["creditos_gastos"]) == ("saldo", 2)
    assert body["cotacao"]["saldo_apos_maximo"] == 1 - 4
    assert "Disponíveis agora: 1 crédito." in body["mensagem"]
    house.top_up(batcher.client, 10)
    assert batcher.call("POST", f"/{number}/retomar").status == 200
    body = batcher.until(number, "concluido")
    assert body["creditos_gastos"] == 6
    assert body["cotacao"]["saldo_apos_maximo"] == 3 + 10 - 6, "nothing more will be spent"


def test_failed_rows_cost_nothing_and_can_be_repeated(batcher: Batcher) -> None:
    file = "\n".join(("cnpj", "90020003000180", COMPANIES[0], "99999999000191", ""))
    number = batcher.create(file, f"operacao={FEDERAL}")
    batcher.confirm(number)
    body = batcher.until(number, "concluido")
    rows = batcher.rows(number)
    assert [row["estado"] for row in rows] == ["falha", "concluida", "concluida"]
    assert (rows[0]["creditos"], rows[0]["codigo"]) == (0, "FALHA_TECNICA")
    assert body["linhas"]["falhas"] == 1

    answer = batcher.call("POST", f"/{number}/repetir", idempotency_key="repetir-1")
    again = batcher.call("POST", f"/{number}/repetir", idempotency_key="repetir-1")
    assert answer.status == 201
    assert again.json["id"] == answer.json["id"] != number
    body = batcher.until(answer.json["id"], "cotado")
    assert (body["repete"], body["linhas"]["total"]) == (number, 1)
    assert body["cotacao"]["duracao_estimada_s"] >= 1  # it was asked a moment ago
    assert {each["estado"] for each in body["cotacao"]["fontes"]} & {"respondendo", "instavel"}
    assert batcher.rows(answer.json["id"])[0]["linha"] == 2


def test_a_file_that_is_no_table_is_refused(batcher: Batcher) -> None:
    number = batcher.create("isto;aquilo\nx;y\n")
    body = batcher.until(number, "recusado")
    assert body["codigo"]
    assert body["mensagem"]
    assert body["terminado_em"]


def test_a_bug_ends_a_batch(batcher: Batcher, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise IndexError(COMPANIES[0])

    logged: list[tuple[str, dict[str, object]]] = []
    log = SimpleNamespace(exception=lambda event, **more: logged.append((event, more)))
    with monkeypatch.context() as patch:
        patch.setattr(validating, "map_columns", fail)
        patch.setattr(validating, "log", log)
        number = batcher.create(certificates(*COMPANIES))
        body = batcher.until(number, "recusado")
    assert body["codigo"] == "erro_interno"
    assert "falha do serviço" in body["mensagem"]
    assert logged == [("batch.bug", {"batch": number})]


def test_the_same_key_and_file_are_one_batch(batcher: Batcher) -> None:
    def send(file: bytes, key: str | None = "mesma-chave") -> Reply:
        headers = {} if key is None else {"idempotency_key": key}
        query = "?operacao=cnpj-receita-federal"
        return batcher.call("POST", query, file, content_type="text/csv", **headers)

    first, second = send(b"cnpj\n90010001000100\n"), send(b"cnpj\n90010001000100\n")
    assert first.status == second.status == 201
    assert first.json["id"] == second.json["id"]
    assert second.body == first.body
    assert second.headers["x-request-id"] == first.headers["x-request-id"]
    assert "idempotent-replayed" not in first.headers
    assert second.headers["idempotent-replayed"] == "true"
    other = send(b"cnpj\n90010002000154\n")
    assert (other.status, other.code) == (400, "IDEMPOTENCY_KEY_REUTILIZADA")
    without = send(b"cnpj\n", None)
    assert (without.status, without.code) == (400, "IDEMPOTENCY_KEY_INVALIDA")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("operacao=sintegra&uf=XX", "UF_INVALIDA"),
        ("operacao=produtor-rural&uf=PR", "UF_INVALIDA"),
        (f"operacao={FEDERAL}&cache_strategy=NENHUMA", "ESTRATEGIA_INVALIDA"),
        ("operacao=suframa&cache=46", "PARAMETRO_INVALIDO"),
        ("operacao=cnpj-receita-federal&cache=ontem", "PARAMETRO_INVALIDO"),
        ("operacao=cnpj-receita-federal&cache_strategy=", "ESTRATEGIA_INVALIDA"),
        ("operacao=sintegra&endereco=", "PARAMETRO_INVALIDO"),
    ],
)
def test_an_invalid_parameter_is_refused_immediately(
    batcher: Batcher, query: str, code: str
) -> None:
    sent = {"content_type": "text/csv", "idempotency_key": "com-parametros"}
    refused = batcher.call("POST", f"?{query}", b"cnpj\n", **sent)
    assert (refused.status, refused.code) == (400, code)
    assert batcher.call("GET", "").json["itens"] == []


def test_a_batch_has_no_cpf_in_its_name(batcher: Batcher) -> None:
    """Nor in its tags (contract 11.1)."""
    for query, headers in (
        ("&nome=900.100.001-00+Fulana", {}),
        ("", {"x_cliente": "a-90010000100"}),
    ):
        refused = batcher.call(
            "POST",
            f"?operacao=cnpj-receita-federal{query}",
            f"cnpj\n{COMPANIES[0]}\n".encode(),
            content_type="text/csv",
            idempotency_key="lote-com-cpf",
            **headers,
        )
        assert (refused.status, refused.code) == (400, "MARCA_COM_CPF")


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda each: each.path)
def test_values_of_rows_need_not_be_given_for_all(batcher: Batcher, operation: Operation) -> None:
    batcher.create("documento\n", f"operacao={operation.path}")
    if "uf" in operation.names:
        batcher.create("documento;uf\n", f"operacao={operation.path}&uf=")
    if operation.path == FEDERAL:  # each row has what makes the two agree
        query = f"operacao={FEDERAL}&cache_strategy=SO_CACHE&atualizar_online=true"
        file = f"cnpj;atualizar_online\n{COMPANIES[0]};false\n"
        assert batcher.until(batcher.create(file, query), "cotado")["linhas"]["validas"] == 1


def test_paths_below_a_batch_are_matched_exactly(batcher: Batcher) -> None:
    number = batcher.create("cnpj\n")
    assert batcher.call("GET", f"/{number}/").code == "ROTA_NAO_ENCONTRADA"
    for below, allowed in (
        ("", "GET, HEAD, DELETE"),
        ("/pausar", "POST"),
        ("/linhas", "GET, HEAD"),
    ):
        refused = batcher.call("POST" if "GET" in allowed else "GET", f"/{number}{below}")
        assert (refused.status, refused.headers["allow"]) == (405, f"{allowed}, OPTIONS")
    strange = batcher.call("GET", "?cursor=outro")
    assert (strange.status, strange.code) == (400, "PARAMETRO_INVALIDO")


def test_commands_that_a_state_forbids(batcher: Batcher) -> None:
    number = batcher.create(f"cnpj\n{COMPANIES[0]}\n")
    body = batcher.until(number, "cotado")
    for verb in ("pausar", "retomar"):
        refused = batcher.call("POST", f"/{number}/{verb}")
        assert (refused.status, refused.code) == (409, "ESTADO_DO_LOTE")
        assert "cotado" in refused.json["message"]
    wrong = {"digest": "outro", "teto_creditos": 1}
    changed = batcher.call("POST", f"/{number}/confirmar", wrong)
    assert (changed.status, changed.code) == (409, "COTACAO_MUDOU")
    assert changed.json["cotacao"]["digest"] == body["cotacao"]["digest"]
    assert batcher.call("POST", f"/{number}/encerrar").status == 200
    body = batcher.until(number, "encerrado")
    assert body["linhas"]["canceladas"] == 1
    refused = batcher.call("POST", f"/{number}/confirmar", wrong)
    assert (refused.status, refused.code) == (409, "ESTADO_DO_LOTE")


def test_another_key_may_not_spend_unless_it_administers(batcher: Batcher) -> None:
    number = batcher.create(f"cnpj\n{COMPANIES[0]}\n")
    digest = batcher.until(number, "cotado")["cotacao"]["digest"]
    word = {"digest": digest, "teto_creditos": 1}
    other = Batcher(batcher.house, batcher.house.another_key(batcher.client))
    for verb, body in (("confirmar", word), ("retomar", {"teto_creditos": 9})):
        refused = other.call("POST", f"/{number}/{verb}", body)
        assert (refused.status, refused.code) == (403, "CHAVE_NAO_ADMINISTRA")
    manager = batcher.house.another_key(
        batcher.client, restrictions=KeyRestrictions(administers=True)
    )
    confirmed = Batcher(batcher.house, manager).call("POST", f"/{number}/confirmar", word)
    assert confirmed.status == 200
    batcher.until(number, "concluido")


def test_a_key_sees_batches_of_its_operations_and_erases_only_its_own(
    batcher: Batcher,
) -> None:
    """A stolen key for one operation is of little use (contract 11.3, 13.2)."""
    house = batcher.house
    number = batcher.create(f"cnpj\n{COMPANIES[0]}\n")
    batcher.confirm(number)
    batcher.until(number, "concluido")

    def key(**rules: Any) -> Batcher:
        desk, account = house.desk, house.desk.account(batcher.client.account_id)
        home, restrictions = Home(house.settings.home), KeyRestrictions(**rules)
        text, made = issue_key(
            desk, home, account, "outra", system_now_ms(), restrictions=restrictions
        )
        return Batcher(house, Client(account.account_id, made.key_id, text))

    stolen = key(operations=("suframa",))
    files = ("resultado.csv", "resultado.xlsx", "resultado.jsonl", "recibos.zip", "linhas")
    for path in ("", *(f"/{name}" for name in files)):
        refused = stolen.call("GET", f"/{number}{path}")
        assert (refused.status, refused.code) == (403, "OPERACAO_NAO_PERMITIDA"), path
    for method, path in (("DELETE", ""), ("POST", "/pausar"), ("POST", "/encerrar")):
        assert stolen.call(method, f"/{number}{path}").code == "OPERACAO_NAO_PERMITIDA"
    assert stolen.call("GET", "").json["itens"] == []

    for rules in ({"operations": ("cnpj-receita-federal",)}, {}):
        other = key(**rules)
        assert other.call("GET", f"/{number}/resultado.csv").status == 200
        assert [each["id"] for each in other.call("GET", "?limite=1").json["itens"]] == [number]
        refused = other.call("DELETE", f"/{number}")
        assert (refused.status, refused.code) == (403, "CHAVE_NAO_ADMINISTRA")
    assert batcher.show(number)["apagado_em"] != "", "nobody has erased it"
    manager = key(operations=("suframa",), administers=True)
    assert manager.call("GET", f"/{number}/linhas").status == 200
    assert manager.call("DELETE", f"/{number}").status == 200


def test_a_changed_tariff_is_quoted_again(
    batcher: Batcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = batcher.create(f"cnpj\n{COMPANIES[0]}\n")
    old = batcher.until(number, "cotado")["cotacao"]
    monkeypatch.setattr("balcao.operations.tariff.version", lambda: "outra")
    wanted = {"digest": old["digest"], "teto_creditos": 1}
    changed = batcher.call("POST", f"/{number}/confirmar", wanted)
    assert (changed.status, changed.code) == (409, "COTACAO_MUDOU")
    new = changed.json["cotacao"]
    assert new["digest"] != old["digest"]
    assert (new["validas"], new["creditos_max"]) == (1, 1)
    assert batcher.show(number)["estado"] == "cotado"
    batcher.confirm(number)
    assert batcher.until(number, "concluido")["creditos_gastos"] == 1


def test_commands_on_a_batch_are_in_the_audit_log(batcher: Batcher) -> None:
    file = "\n".join(("cnpj", "90020003000180", COMPANIES[0], ""))
    number = batcher.create(file, f"operacao={FEDERAL}")
    batcher.confirm(number, 0)
    batcher.until(number, "pausado")
    assert batcher.call("POST", f"/{number}/pausar").status == 200  # it is paused: nothing done
    assert batcher.call("POST", f"/{number}/retomar", {"teto_creditos": 9}).status == 200
    batcher.until(number, "concluido")
    assert batcher.call("POST", f"/{number}/encerrar").status == 409
    other = batcher.call("POST", f"/{number}/repetir", idempotency_key="de-novo-1").json["id"]
    again = batcher.call("POST", f"/{number}/repetir", idempotency_key="de-novo-1")
    assert again.json["request_id"] == again.json["id"] == other
    assert again.headers["idempotent-replayed"] == "true"
    batcher.until(other, "cotado")
    assert batcher.call("POST", f"/{other}/encerrar").status == 200
    batcher.until(other, "encerrado")
    for _ in range(2):
        assert batcher.call("DELETE", f"/{number}").status == 200

    people = batcher.house.desk.people
    entries = people.audit(50, account_id=batcher.client.account_id)
    actions = [(one.action, one.target, one.channel) for one in reversed(entries)]
    assert [one for one in actions if one[0].startswith(("batch", "budget"))] == [
        ("budget.create", f"orçamento do lote {number}, de uma vez", "api"),
        ("budget.change", f"orçamento do lote {number}", "api"),
        ("batch.resume", f"lote {number}", "api"),
        ("batch.repeat", f"lote {number}", "api"),
        ("batch.stop", f"lote {other}", "api"),
        ("batch.erase", f"lote {number}", "api"),
    ]
    by = f"pela chave número {batcher.client.key_id}"
    assert all(one.detail.endswith(by) for one in entries if one.action.startswith("b"))
    repeated = next(one for one in entries if one.action == "batch.repeat")
    assert repeated.detail == f"lote novo {other}; {by}"


def test_deletion_removes_the_data_and_keeps_the_counts(batcher: Batcher) -> None:
    number = batcher.create(f"cnpj\n{COMPANIES[0]}\n")
    batcher.confirm(number)
    batcher.until(number, "concluido")
    assert batcher.call("DELETE", f"/{number}").status == 200
    assert batcher.show(number)["creditos_gastos"] == 1
    for path in ("linhas", "resultado.csv", "recibos.zip"):
        gone = batcher.call("GET", f"/{number}/{path}")
        assert (gone.status, gone.code) == (410, "LOTE_APAGADO")


def test_batches_of_other_accounts_are_not_found(batcher: Batcher, house: Service) -> None:
    number = batcher.create(f"cnpj\n{COMPANIES[0]}\n")
    other = Batcher(house, house.account("outra"))
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/pausar"), ("GET", "/linhas")):
        answer = other.call(method, f"/{number}{path}")
        assert (answer.status, answer.code) == (404, "LOTE_NAO_ENCONTRADO")
    assert other.call("GET", "").json["itens"] == []
    assert [each["id"] for each in batcher.call("GET", "").json["itens"]] == [number]


def test_a_revoked_key_pauses(batcher: Batcher) -> None:
    number = batcher.create(f"cnpj\n{COMPANIES[0]}\n")
    body = batcher.until(number, "cotado")
    desk = batcher.house.desk
    desk.revoke_key(batcher.client.key_id, system_now_ms())
    another = batcher.house.another_key(
        batcher.client, restrictions=KeyRestrictions(administers=True)
    )
    revoked, batcher.client = batcher.client, another
    word = {"digest": body["cotacao"]["digest"], "teto_creditos": 1}
    assert batcher.call("POST", f"/{number}/confirmar", word).status == 200
    body = batcher.until(number, "pausado")
    assert (body["motivo"], body["codigo"]) == ("limite_da_chave", "API_KEY_INVALIDA")
    assert revoked != another


def test_every_row_state_of_the_sandbox(batcher: Batcher, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/sandbox.md, "Batches"."""
    monkeypatch.setattr(running, "SOURCE_RETRY_SECONDS", 0.05)
    documents = ["90010001000100", "90010001000100", "9001000100010", "90010003000107"]
    documents += ["90020003000180", "90020001000190"]
    file = "cnpj;cpf;data_nascimento\n" + "".join(f"{each};;\n" for each in documents)
    number = batcher.create(file, f"operacao={FEDERAL}")
    batcher.confirm(number)
    batcher.until(number, "concluido")
    rows = batcher.rows(number)
    assert [(row["estado"], row["codigo"]) for row in rows] == [
        ("concluida", None), ("repetida", None), ("invalida", rows[2]["codigo"]),
        ("concluida", rows[3]["codigo"]), ("falha", "FALHA_TECNICA"),
        ("falha", "SERVICO_INDISPONIVEL"),
    ]  # fmt: skip
    assert rows[3]["creditos"] > 0
    events = batcher.house.desk.events.after(batcher.client.account_id, 0, 100)
    kinds = [event.kind for event in events if event.kind.startswith("lote.")]
    assert kinds == ["lote.cotado", "lote.pausado", "lote.pausado", "lote.concluido"]
    for event in events:
        msgspec.json.decode(event.body, type=type(EVENT_TYPES[event.kind].example))
    assert json.loads(events[-1].body)["estado"] == "concluido"


def test_an_unavailable_source_pauses_the_batch_that_needs_it(
    batcher: Batcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "SOURCE_RETRY_SECONDS", 3_600.0)
    file = f"cnpj\n90020001000190\n{COMPANIES[0]}\n"
    number = batcher.create(file, f"operacao={FEDERAL}")
    batcher.confirm(number)
    body = batcher.until(number, "pausado")
    assert (body["motivo"], body["codigo"]) == ("fonte", "SERVICO_INDISPONIVEL")
    assert (body["linhas"]["concluidas"], body["linhas"]["pendentes"]) == (1, 1)
    for _ in range(2):
        assert batcher.call("POST", f"/{number}/pausar").json["motivo"] == "usuario"
    assert batcher.call("POST", f"/{number}/encerrar").status == 200
    assert batcher.until(number, "encerrado")["linhas"]["canceladas"] == 1


def test_a_key_that_requires_a_client_refuses_rows_without_one(batcher: Batcher) -> None:
    desk = batcher.house.desk
    client = batcher.house.another_key(
        batcher.client, restrictions=KeyRestrictions(client_required=True)
    )
    batcher.client = client
    file = f"cnpj;cliente\n{COMPANIES[0]};loja-7\n{COMPANIES[1]};\n"
    number = batcher.create(file)
    batcher.confirm(number)
    batcher.until(number, "concluido")
    rows = batcher.rows(number)
    assert [(row["estado"], row["codigo"]) for row in rows] == [
        ("concluida", None), ("recusada", "CLIENTE_OBRIGATORIO"),
    ]  # fmt: skip
    found = desk.operation(client.account_id, rows[0]["request_id"])
    assert found is not None
    assert found.client == "loja-7"


def test_a_row_is_found_by_its_idempotency_key(batcher: Batcher) -> None:
    number = batcher.create(f"cnpj;ref\n{COMPANIES[0]};pedido-9\n")
    batcher.confirm(number)
    batcher.until(number, "concluido")
    (row,) = batcher.rows(number)
    for query in (f"idempotency_key=lote/{number}/2", "referencia=pedido-9"):
        found = batcher.house.get(f"/conta/v1/operacoes?{query}", batcher.client).json["itens"]
        assert [each["operacao_id"] for each in found] == [row["request_id"]]


def test_invalid_bodies_and_paths(batcher: Batcher) -> None:
    cases: Sequence[tuple[str, str, bytes, dict[str, str], int]] = (
        ("POST", "?operacao=nada", b"cnpj\n", {"content_type": "text/csv"}, 400),
        ("POST", "?operacao=suframa", b"cnpj\n", {"content_type": "text/html"}, 415),
        ("GET", "/nada", b"", {}, 404),
        ("GET", f"/{EXAMPLE}/confirmar", b"", {}, 405),
        ("DELETE", f"/{EXAMPLE}/linhas", b"", {}, 405),
        ("POST", f"/{EXAMPLE}/virar", b"", {}, 404),
        ("GET", f"/{EXAMPLE}/linhas?estado=nada", b"", {}, 400),
        (
            "POST",
            f"/{EXAMPLE}/confirmar",
            b'{"digesto": 1}',
            {"content_type": "application/json"},
            400,
        ),
    )
    for method, path, body, headers, status in cases:
        named = {"idempotency_key": "uma-chave-qualquer", **headers}
        assert batcher.call(method, path, body, **named).status == status, (method, path)


EXAMPLE = "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b8"


@pytest.mark.parametrize(
    ("method", "below", "status"),
    [("GET", "/nada", 404), ("GET", "/pausar", 405), ("POST", "/pausar", 401), ("GET", "", 401)],
)
def test_a_path_is_checked_before_the_key(
    batcher: Batcher, method: str, below: str, status: int
) -> None:
    assert batcher.call(method, f"/{EXAMPLE}{below}", x_api_key="nenhuma").status == status


def administered(batcher: Batcher, path: str, body: object, method: str = "PATCH") -> Reply:
    """Make a change by a key that administers."""
    client, content = (
        batcher.house.another_key(batcher.client, restrictions=KeyRestrictions(administers=True)),
        json.dumps(body),
    )
    named = {"x-api-key": client.key, "content-type": "application/json"}
    named["content-length"] = str(len(content))
    app = batcher.house.application.app
    return batcher.house.run(call(app, method, path, named, content.encode()))


def budget_of(batcher: Batcher, number: str) -> Any:
    client = batcher.house.another_key(
        batcher.client, restrictions=KeyRestrictions(administers=True)
    )
    body = batcher.house.get("/conta/v1/orcamentos", client).json["itens"]
    return next(each for each in body if each["de"] == {"tipo": "lote", "id": number})


def test_a_pause_has_the_numbers_of_the_clients_budget(batcher: Batcher) -> None:
    body = {
        "de": {"tipo": "cliente", "valor": "loja-3"}, "periodo": "uma_vez", "teto_creditos": 3,
    }  # fmt: skip
    made = administered(batcher, "/conta/v1/orcamentos", body, "POST")
    assert made.status == 201
    rows = "\n".join(f"{cnpj};loja-3" for cnpj in some_cnpjs(2, 90_048_001))
    number = batcher.create(f"cnpj;cliente\n{rows}\n", f"operacao={FEDERAL}")
    batcher.confirm(number)
    answer = batcher.until(number, "pausado", "concluido")
    assert (answer["motivo"], answer["codigo"]) == ("teto", "TETO_DO_CLIENTE")
    # The other one is being asked, or was.
    used = r"(2 em uso|0 em uso e 2 em reserva), e a linha precisava de 2\. Peça"
    assert re.search(f"Quando o lote parou, o limite era de 3, com {used}", answer["mensagem"])
    raised = {"teto_creditos": 9}
    administered(batcher, f"/conta/v1/orcamentos/{made.json['id']}", raised)
    batcher.call("POST", f"/{number}/retomar")
    assert batcher.until(number, "concluido")["mensagem"] is None


def test_a_batchs_budget_covers_all_of_it(batcher: Batcher) -> None:
    """Its ceilings may be changed (12.2), which the batch reports; it cannot be lifted."""
    number = batcher.create(certificates(*some_cnpjs(4, 90_047_001)), f"operacao={FEDERAL}")
    batcher.confirm(number, 5)
    batcher.until(number, "pausado")
    budget = budget_of(batcher, number)
    one = f"/conta/v1/orcamentos/{budget['id']}"
    for body in (
        {"operacoes": ["cnpj-receita-federal"]},
        {"teto_creditos": None, "teto_consultas": 1_000},
    ):
        refused = administered(batcher, one, body)
        assert (refused.status, refused.code) == (400, "PARAMETRO_INVALIDO"), body
    changed = administered(batcher, one, {"teto_creditos": 6})
    assert (changed.status, changed.json["teto_creditos"]) == (200, 6)
    assert batcher.show(number)["teto_creditos"] == 6
    assert batcher.call("POST", f"/{number}/retomar", {"teto_creditos": 5}).status == 400
    batcher.call("POST", f"/{number}/retomar")
    assert batcher.until(number, "pausado")["creditos_gastos"] == 6
    batcher.call("POST", f"/{number}/encerrar")
    batcher.until(number, "encerrado")


def test_the_name_of_a_file_is_erased_with_its_batch(batcher: Batcher) -> None:
    """File names may contain people's names; budgets and the audit log are kept forever."""
    number = batcher.create(
        certificates(*some_cnpjs(4, 90_048_001)), f"operacao={FEDERAL}&nome=Maria+Apagada.csv"
    )
    batcher.confirm(number, 5)
    batcher.until(number, "pausado")
    assert "Apagada" not in json.dumps(budget_of(batcher, number))
    batcher.call("POST", f"/{number}/encerrar")
    batcher.until(number, "encerrado")
    events = batcher.house.desk.events.after(batcher.client.account_id, 0, 1_000)
    assert not [body for event in events if "Apagada" in (body := event.body)]


def test_invalid_ceilings(batcher: Batcher) -> None:
    number = batcher.create(certificates(*some_cnpjs(4, 90_049_001)), f"operacao={FEDERAL}")
    digest = batcher.until(number, "cotado")["cotacao"]["digest"]
    for ceiling in (-1, 10**12, 10**40):
        word = {"digest": digest, "teto_creditos": ceiling}
        assert batcher.call("POST", f"/{number}/confirmar", word).status == 400, ceiling
    batcher.confirm(number, 5)
    batcher.until(number, "pausado")
    for ceiling in (4, -1, 10**12, 10**40):
        answer = batcher.call("POST", f"/{number}/retomar", {"teto_creditos": ceiling})
        assert answer.status == 400, ceiling
    batcher.call("POST", f"/{number}/encerrar")
    batcher.until(number, "encerrado")


def test_too_many_parameters_are_refused(batcher: Batcher) -> None:
    query = "operacao=cnpj-receita-federal" + "&a=1" * 200
    named = {"content_type": "text/csv", "idempotency_key": "cheia-0001"}
    assert batcher.call("POST", f"?{query}", b"cnpj\n", **named).status == 400


def test_a_person_of_an_invalid_row_is_erased_too(batcher: Batcher) -> None:
    """A CPF without its birth date is invalid, and nevertheless in the file."""
    file = f"cpf;data_nascimento;nome\n{PERSON};;Fulano\n"
    number = batcher.create(file, f"operacao={FEDERAL}")
    batcher.until(number, "cotado")
    assert [row["estado"] for row in batcher.rows(number)] == ["invalida"]
    house = batcher.house
    person = data_subject(Home(house.settings.home).pepper(), Cpf.parse(PERSON))
    house.run(house.desk.data_subjects.erase(person, system_now_ms()))
    result = batcher.call("GET", f"/{number}/resultado.csv").body
    assert b"Fulano" not in result
    assert PERSON.encode() not in result


PERSON = "90010000100"


def test_a_batch_is_a_list_of_items_to_watch(batcher: Batcher, house: Service) -> None:
    file = f"cnpj;ref;cliente\n{COMPANIES[0]};n-1;sul\n{COMPANIES[1]};;\nx;;\n"
    number = batcher.create(file, "operacao=cnpj-receita-federal")
    batcher.until(number, "cotado")
    people = batcher.create(f"cpf;data_nascimento\n{PERSON};1980-01-01\n", f"operacao={FEDERAL}")
    batcher.until(people, "cotado")

    def post(path: str, body: object, by: Client = batcher.client) -> Reply:
        text = json.dumps(body).encode()
        headers = {"content_type": "application/json", "content_length": str(len(text))}
        return house.request("POST", f"/carteira/v1/{path}", by, body=text, **headers)

    made = post(f"itens?lote={number}", {"etiquetas": ["lote"]})
    assert (made.status, made.credits) == (202, 0)
    lines = [(each["linha"], each["novo"], each["codigo"]) for each in made.json["itens"]]
    assert lines == [(2, True, None), (3, True, None), (4, False, "CNPJ_INVALIDO")]
    items = house.get("/carteira/v1/itens?etiqueta=lote", batcher.client).json["itens"]
    assert {(each["documento"], each["ref"], each["cliente"]) for each in items} == {
        (COMPANIES[0], "n-1", "sul"),
        (COMPANIES[1], None, None),
    }
    person = post(f"itens?lote={people}", {"vigiar": ["certidao_federal"]}).json["itens"]
    assert [(each["novo"], each["codigo"]) for each in person] == [(True, None)]
    told = post(f"sincronizar?lote={number}&simular=true", {"cliente": "norte"})
    assert (told.status, told.json["entram"]) == (200, 2)
    done = post(f"sincronizar?lote={people}", {"etiqueta": "lote", "vigiar": ["produtor:SP"]}).json
    assert [done[each] for each in ("entram", "saem", "ficam", "invalidos")] == [1, 2, 0, []]

    assert post(f"itens?lote={number}", {}, house.account("alheia")).code == "LOTE_NAO_ENCONTRADO"
    assert post("itens?lote=1", {}).code == "LOTE_NAO_ENCONTRADO"
    for path, body in (("itens", {"itens": []}), ("sincronizar", {"cliente": "a", "itens": []})):
        assert post(f"{path}?lote={number}", body).code == "PARAMETRO_INVALIDO"
    assert post("sincronizar", {"cliente": "a"}).code == "PARAMETRO_INVALIDO"


def test_a_temporary_file_of_a_dead_process_is_removed(tmp_path: Path) -> None:
    now_ms = system_now_ms()
    parts, secrets = SimpleNamespace(now_ms=lambda: now_ms), single(b"p" * 32)
    context = BatchContext(parts, secrets, tmp_path / "b", str)  # type: ignore[arg-type]
    context.remove_leftovers()  # there is no folder yet
    context.folder.mkdir()
    (context.folder / "workbook").mkdir()
    (context.folder / "workbook" / "rows").write_text(PERSON)
    for name, hours in (("read now", 0), ("left", 2), ("workbook", 2)):
        if name != "workbook":
            (context.folder / name).write_text(PERSON)
        seconds = now_ms / 1000 - hours * 3_600
        os.utime(context.folder / name, (seconds, seconds))
    context.remove_leftovers()
    assert [path.name for path in context.folder.iterdir()] == ["read now"]


def test_open_batches_are_measured(batcher: Batcher) -> None:
    number = batcher.create(f"cnpj\n{COMPANIES[0]}\n")
    batcher.until(number, "cotado")
    assert ("cotado", "", 1) in [
        (state, reason, min(count, 1))
        for state, reason, count in batcher.house.run(batcher.house.desk.batches.counts())
    ]
    page = batcher.house.get("/metrics").body.decode()
    assert "# TYPE balcao_batches gauge" in page


def test_the_same_on_postgresql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "POLL_SECONDS", 0.05)
    address = postgres.new_address()
    with open_service(tmp_path, database=SecretStr(address)) as house:
        batcher = Batcher(house, house.client)
        file = certificates(*some_cnpjs(4), some_cnpjs(1)[0], "123")
        number = batcher.create(file, f"operacao={FEDERAL}")
        batcher.confirm(number, 5)
        body = batcher.until(number, "pausado")
        assert (body["motivo"], body["creditos_gastos"]) == ("teto", 4)
        batcher.call("POST", f"/{number}/retomar", {"teto_creditos": 8})
        body = batcher.until(number, "concluido")
        assert (body["creditos_gastos"], body["creditos_reservados"]) == (8, 0)
        assert body["linhas"]["repetidas"] == body["linhas"]["invalidas"] == 1
        assert batcher.call("GET", f"/{number}/resultado.csv").status == 200
        assert batcher.call("DELETE", f"/{number}").status == 200
        house.assert_books_agree()
