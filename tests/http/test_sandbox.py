"""The sandbox answers as sandbox.md promises, through the whole composition.

Real here: the first start, the generated month, the simulated providers, all sources and
stores. What is expected is written from sandbox.md.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from balcao.accounts.keys import issue_key
from balcao.home import Home
from balcao.http.openapi import document as openapi
from balcao.service import compose, first_start
from balcao.service.clock import system_now_ms
from balcao.settings import Settings
from balcao.storage.contract import NewAccount
from tests.world import Reply, call, company

SECONDS = 2.0  # the sources' deadline; only "never answers" waits for it


@dataclass
class Sandbox:
    """A house after its first start, and the keys it showed."""

    house: compose.Application
    keys: Mapping[str, str]
    runner: asyncio.Runner

    def ask(self, cnpj: str, query: str = "", account: str = "pre-pago") -> Reply:
        headers = {"x-api-key": self.keys[account]}
        return self.runner.run(call(self.house.front, "GET", company(cnpj, query), headers))

    def balance(self, account: str = "pre-pago") -> int:
        return next(a.balance_credits for a in self.house.desk.accounts() if a.name == account)


def opened(folder: Path, *, deadline: float, size: int = 1) -> Iterator[Sandbox]:
    settings = Settings.model_construct(
        home=folder,
        sandbox_establishments=size,
        source_deadline_seconds=deadline,
        source_timeout_seconds=deadline,
        log_format="json",
    )
    home = Home(folder)
    issued = first_start.prepare(home, settings, now_ms=system_now_ms, say=lambda _: None)
    house = compose.open_house(settings)
    with asyncio.Runner() as runner:
        runner.run(_done(house.front.start()))
        yield Sandbox(house, {one.account.name: one.key for one in issued}, runner)
        runner.run(_done(house.front.stop()))
    house.close()


async def _done(work: Awaitable[None]) -> None:
    await work


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    yield from opened(tmp_path_factory.mktemp("casa"), deadline=SECONDS)


def socios(record: Any) -> list[Any]:
    """Partners by name: their order is the month's."""
    return sorted(record["socios"], key=lambda partner: str(partner["nome"]))


# Companies: what the table's column "Registry" says.

IN_SAO_PAULO: Mapping[str, str] = {"uf": "SP", "municipio": "SAO PAULO"}
COMPANIES: Mapping[str, Mapping[str, str]] = {
    "90010001000100": {
        "situacao_cadastral": "ATIVA",
        "identificador_matriz_filial": "MATRIZ",
        "porte": "DEMAIS",
        **IN_SAO_PAULO,
    },
    "90010002000154": {"situacao_cadastral": "ATIVA", "uf": "AM", "municipio": "MANAUS"},
    "90010003000107": {"situacao_cadastral": "BAIXADA"},
    "90010004000143": {"situacao_cadastral": "SUSPENSA"},
    "90010005000198": {"situacao_cadastral": "INAPTA"},
    "90010006000132": {"situacao_cadastral": "NULA"},
    "90010007000268": {"identificador_matriz_filial": "FILIAL"},
    "90010007000187": {"identificador_matriz_filial": "MATRIZ"},
    "90010008000121": {"situacao_cadastral": "ATIVA"},
    "90010009000176": {"situacao_cadastral": "ATIVA"},
    "90010010000109": {"situacao_cadastral": "ATIVA"},
    "90010011000145": {"situacao_cadastral": "ATIVA"},
    "90010012000190": {"situacao_cadastral": "ATIVA"},
    "12ABC34501DE35": {"situacao_cadastral": "ATIVA"},
    "00000000E08G12": {"situacao_cadastral": "ATIVA"},
}
FURTHER: Mapping[str, Callable[[Any], bool]] = {
    "90010001000100": lambda record: len(record["atividades_economicas_secundarias"]) == 2,
    "90010006000132": lambda record: (
        not record["socios"] and not record["nome_fantasia"] and not record["numero"]
    ),
}


@pytest.mark.parametrize("cnpj", COMPANIES)
@pytest.mark.parametrize("strategy", ["ONLINE_PREFERENCIAL", "CACHE_SE_EXISTIR"])
def test_companies(sandbox: Sandbox, cnpj: str, strategy: str) -> None:
    answer = sandbox.ask(cnpj, f"cache_strategy={strategy}")

    assert (answer.status, answer.credits) == (200, 1)
    record = answer.json["response"]
    assert record["cnpj"] == cnpj
    for field, value in COMPANIES[cnpj].items():
        assert record[field] == value, field
    if cnpj in FURTHER:
        assert FURTHER[cnpj](record)


def test_partners_of_three_kinds(sandbox: Sandbox) -> None:
    foreign, natural, legal = socios(sandbox.ask("90010001000100").json["response"])

    assert natural["cpf_cnpj_socio"].startswith("***")
    assert natural["cpf_cnpj_socio"].endswith("**")
    assert len(legal["cpf_cnpj_socio"]) == 14
    assert legal["cpf_cnpj_socio"].isdecimal()
    assert foreign["pais"]
    assert not foreign["cpf_cnpj_socio"]


def test_a_branch_and_its_head_office_are_one_company(sandbox: Sandbox) -> None:
    branch = sandbox.ask("90010007000268").json["response"]
    head = sandbox.ask("90010007000187").json["response"]
    for field in ("nome_empresarial", "natureza_juridica", "porte", "socios"):
        assert branch[field] == head[field]


@pytest.mark.parametrize("optin", ["0", "1"])
def test_a_cpf_inside_a_name_is_masked_unless_opted_in(sandbox: Sandbox, optin: str) -> None:
    answer = sandbox.ask("90010012000190", f"optin={optin}")
    last = answer.json["response"]["nome_empresarial"].rpartition(" ")[2]
    assert last.isdecimal() == (optin == "1")
    assert ("**" in last) == (optin == "0")


def test_the_opt_in_shows_fictitious_cpfs(sandbox: Sandbox) -> None:
    answer = sandbox.ask("90010001000100", "optin=1")

    assert (answer.status, answer.credits) == (200, 1)
    cpf = socios(answer.json["response"])[1]["cpf_cnpj_socio"]
    assert len(cpf) == 11
    assert cpf.isdecimal()
    plain = sandbox.ask("90010001000100", "cache_strategy=CACHE_SE_EXISTIR")
    assert cpf not in plain.body.decode()
    assert cpf[3:9] in plain.body.decode()


def test_the_opt_in_needs_the_feature(sandbox: Sandbox) -> None:
    answer = sandbox.ask("90010001000100", "optin=1", account="pos-pago")
    assert (answer.status, answer.code) == (403, "OPTIN_NAO_HABILITADO")


def test_what_does_not_exist(sandbox: Sandbox) -> None:
    before = sandbox.balance()
    answer = sandbox.ask("99999999000191")
    assert (answer.status, answer.code, answer.credits) == (404, "CNPJ_NAO_ENCONTRADO", 0)
    assert sandbox.balance() == before


@pytest.mark.parametrize("cnpj", ["11222333000181", "00000000000191", "33000167000101"])
def test_every_other_document_has_an_answer_always_the_same(sandbox: Sandbox, cnpj: str) -> None:
    first = sandbox.ask(cnpj, "cache_strategy=SO_ONLINE")
    again = sandbox.ask(cnpj, "cache_strategy=SO_ONLINE")

    assert first.status == 200
    assert first.json["response"] == again.json["response"]
    assert first.json["response"]["nome_empresarial"]


# Sources that misbehave

FAILING = {
    "90020001000190": (503, "SERVICO_INDISPONIVEL"),
    "90020002000135": (500, "ERRO_INTERNO"),
    "90020003000180": (500, "ERRO_INTERNO"),
    "90020004000124": (500, "ERRO_INTERNO"),
    "90020005000179": (500, "ERRO_INTERNO"),
    "90020009000157": (500, "ERRO_INTERNO"),
    "90020010000181": (500, "ERRO_INTERNO"),
}


@pytest.mark.parametrize(("cnpj", "expected"), FAILING.items())
def test_sources_that_misbehave(sandbox: Sandbox, cnpj: str, expected: tuple[int, str]) -> None:
    before = sandbox.balance()

    answer = sandbox.ask(cnpj)

    assert (answer.status, answer.code) == expected
    assert answer.json["success"] is False
    assert answer.json["response"] is None
    assert sandbox.balance() == before
    assert ("retry-after" in answer.headers) == (answer.status == 503)
    # Nothing was stored.
    assert sandbox.ask(cnpj, "cache_strategy=CACHE_SE_EXISTIR").status == expected[0]


def test_misbehaving_documents_leave_the_others_alone(sandbox: Sandbox) -> None:
    for _ in range(10):
        sandbox.ask("90020003000180", "cache_strategy=SO_ONLINE")
    assert sandbox.ask("11222333000181", "cache_strategy=SO_ONLINE").status == 200


def test_a_source_that_answers_once(sandbox: Sandbox) -> None:
    first = sandbox.ask("90020007000168", "cache_strategy=SO_ONLINE")
    second = sandbox.ask("90020007000168", "cache_strategy=SO_ONLINE")
    stood_in = sandbox.ask("90020007000168")

    assert (first.status, second.status, stood_in.status) == (200, 500, 200)
    assert stood_in.json["response"] == first.json["response"]
    assert stood_in.headers["cache-status"].endswith("; hit")
    assert (first.credits, second.credits, stood_in.credits) == (1, 0, 1)


def test_a_source_that_fails_for_some_ufs_answers_the_registry(sandbox: Sandbox) -> None:
    assert sandbox.ask("90020008000102").status == 200


def test_a_slow_source_answers(tmp_path: Path) -> None:
    for slow in opened(tmp_path, deadline=30.0):
        answer = slow.ask("90020006000113")
        assert (answer.status, answer.credits) == (200, 1)


# Accounts of a first start


def test_the_accounts(sandbox: Sandbox) -> None:
    accounts = {account.name: account for account in sandbox.house.desk.accounts()}

    assert len(sandbox.keys) == 5
    opened = [accounts[name] for name in sandbox.keys]
    assert {account.mode for account in opened} == {"test"}
    assert sorted(account.plan for account in opened) == [
        "gratuito",
        "pos_pago",
        "pos_pago",
        "pre_pago",
        "pre_pago",
    ]
    assert accounts["pos-pago-certidoes"].certificates
    assert not accounts["pos-pago"].certificates
    assert accounts["pre-pago"].partner_optin
    assert all(key.startswith("balcao_test_") for key in sandbox.keys.values())


def test_the_account_with_one_credit(sandbox: Sandbox) -> None:
    assert sandbox.ask("90010001000100", account="um-credito").status == 200
    assert sandbox.ask("90010001000100", account="um-credito").status == 402


def test_every_account_can_ask(sandbox: Sandbox) -> None:
    for account in ("gratuito", "pre-pago", "pos-pago", "pos-pago-certidoes"):
        assert sandbox.ask("90010002000154", account=account).status == 200


def test_a_live_account_never_meets_the_sandbox(sandbox: Sandbox) -> None:
    """Nothing is configured for live accounts here, so they are told so."""
    desk = sandbox.house.desk
    now_ms = system_now_ms()
    live = desk.create_account(NewAccount("produção", "pos_pago", "live"), now_ms)
    home = Home(sandbox.house.settings.home)
    key, issued = issue_key(desk, home, live, "chave", now_ms)

    answer = sandbox.runner.run(
        call(sandbox.house.front, "GET", company("90010001000100"), {"x-api-key": key})
    )
    desk.revoke_key(issued.key_id, now_ms)

    assert (answer.status, answer.code) == (503, "SERVICO_INDISPONIVEL")


def test_the_documentations_example_is_what_the_sandbox_answers(sandbox: Sandbox) -> None:
    document = openapi.document("1")
    operation = document["paths"]["/consultas/v2/cnpj-receita-federal/{cnpj}"]["get"]
    content = operation["responses"]["200"]["content"]["application/json"]
    example = content["examples"]["encontrada"]["value"]

    answer = sandbox.ask("90010001000100", "cache_strategy=SO_ONLINE").json

    assert answer["response"].keys() == example["response"].keys()
    assert answer["response"] == example["response"]
    assert answer["data_base"] == example["data_base"]
    assert answer.keys() == example.keys()


def test_the_books_agree(sandbox: Sandbox) -> None:
    assert not sandbox.house.desk.check().complaints
    assert sandbox.house.desk.check().open_operations == 0
