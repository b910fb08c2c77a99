"""The sandbox answers as sandbox.md promises, through the whole composition.

Real here: the first start, the generated month, the simulated providers, all sources and
stores. Expected values are written from sandbox.md.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from balcao.http import documentation as openapi
from tests.records import FAILING, company
from tests.service import CREDITS, Client, Reply, Service, assert_refused


def ask(house: Service, cnpj: str, query: str = "", account: str = "pre-pago") -> Reply:
    """Ask as one of the accounts of the first start."""
    return house.get(company(cnpj, query), Client(0, 0, house.issued[account]))


def balance(house: Service, account: str = "pre-pago") -> int:
    return next(a.balance_credits for a in house.desk.accounts() if a.name == account)


def socios(record: Any) -> list[Any]:
    """Return partners by name, since their order is the month's."""
    return sorted(record["socios"], key=lambda partner: str(partner["nome"]))


# Companies: the table's column "Registry".

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
def test_companies(sandbox: Service, cnpj: str) -> None:
    answer = ask(sandbox, cnpj)

    assert (answer.status, answer.credits) == (200, 1)
    record = answer.json["response"]
    assert record["cnpj"] == cnpj
    for field, value in COMPANIES[cnpj].items():
        assert record[field] == value, field
    if cnpj in FURTHER:
        assert FURTHER[cnpj](record)


def test_partners_of_three_kinds(sandbox: Service) -> None:
    foreign, natural, legal = socios(ask(sandbox, "90010001000100").json["response"])

    assert natural["cpf_cnpj_socio"].startswith("***")
    assert natural["cpf_cnpj_socio"].endswith("**")
    assert len(legal["cpf_cnpj_socio"]) == 14
    assert legal["cpf_cnpj_socio"].isdecimal()
    assert foreign["pais"]
    assert not foreign["cpf_cnpj_socio"]


def test_a_branch_and_its_head_office_are_one_company(sandbox: Service) -> None:
    branch = ask(sandbox, "90010007000268").json["response"]
    head = ask(sandbox, "90010007000187").json["response"]
    for field in ("nome_empresarial", "natureza_juridica", "porte", "socios"):
        assert branch[field] == head[field]


@pytest.mark.parametrize("optin", ["0", "1"])
def test_a_cpf_inside_a_name_is_masked_unless_opted_in(sandbox: Service, optin: str) -> None:
    answer = ask(sandbox, "90010012000190", f"optin={optin}")
    last = answer.json["response"]["nome_empresarial"].rpartition(" ")[2]
    assert last.isdecimal() == (optin == "1")
    assert ("**" in last) == (optin == "0")


def test_the_opt_in_shows_fictitious_cpfs(sandbox: Service) -> None:
    answer = ask(sandbox, "90010001000100", "optin=1")

    assert (answer.status, answer.credits) == (200, 1)
    cpf = socios(answer.json["response"])[1]["cpf_cnpj_socio"]
    assert len(cpf) == 11
    assert cpf.isdecimal()
    plain = ask(sandbox, "90010001000100", "cache_strategy=CACHE_SE_EXISTIR")
    assert cpf not in plain.body.decode()
    assert cpf[3:9] in plain.body.decode()


def test_the_opt_in_needs_the_feature(sandbox: Service) -> None:
    answer = ask(sandbox, "90010001000100", "optin=1", account="pos-pago")
    assert (answer.status, answer.code) == (403, "OPTIN_NAO_HABILITADO")


def test_companies_that_do_not_exist(sandbox: Service) -> None:
    before = balance(sandbox)
    answer = ask(sandbox, "99999999000191")
    assert (answer.status, answer.code, answer.credits) == (404, "CNPJ_NAO_ENCONTRADO", 0)
    assert balance(sandbox) == before


@pytest.mark.parametrize("cnpj", ["11222333000181", "00000000000191", "33000167000101"])
def test_every_other_document_has_a_constant_answer(sandbox: Service, cnpj: str) -> None:
    first = ask(sandbox, cnpj, "cache_strategy=SO_ONLINE")
    again = ask(sandbox, cnpj, "cache_strategy=SO_ONLINE")

    assert first.status == 200
    assert first.json["response"] == again.json["response"]
    assert first.json["response"]["nome_empresarial"]


# Sources that misbehave


@pytest.mark.parametrize(("cnpj", "expected"), FAILING.items())
def test_sources_that_misbehave(sandbox: Service, cnpj: str, expected: tuple[int, str]) -> None:
    before = balance(sandbox)

    answer = ask(sandbox, cnpj)

    assert (answer.status, answer.code) == expected
    assert answer.json["success"] is False
    assert answer.json["response"] is None
    assert balance(sandbox) == before
    assert ("retry-after" in answer.headers) == (answer.status == 503)
    # Nothing was stored.
    assert ask(sandbox, cnpj, "cache_strategy=CACHE_SE_EXISTIR").status == expected[0]


def test_misbehaving_documents_do_not_affect_others(sandbox: Service) -> None:
    for _ in range(10):
        ask(sandbox, "90020003000180", "cache_strategy=SO_ONLINE")
    assert ask(sandbox, "11222333000181", "cache_strategy=SO_ONLINE").status == 200


def test_a_source_that_answers_once(sandbox: Service) -> None:
    first = ask(sandbox, "90020007000168", "cache_strategy=SO_ONLINE")
    second = ask(sandbox, "90020007000168", "cache_strategy=SO_ONLINE")
    stood_in = ask(sandbox, "90020007000168")

    assert (first.status, second.status, stood_in.status) == (200, 500, 200)
    assert stood_in.json["response"] == first.json["response"]
    assert stood_in.headers["cache-status"].endswith("; hit")
    assert (first.credits, second.credits, stood_in.credits) == (1, 0, 1)


def test_a_source_that_fails_for_some_ufs_answers_the_registry(sandbox: Service) -> None:
    assert ask(sandbox, "90020008000102").status == 200


def test_a_slow_source_answers(sandbox: Service) -> None:
    answer = ask(sandbox, "90020006000113")
    assert (answer.status, answer.credits) == (200, 1)


def test_a_source_that_never_answers(hasty: Service) -> None:
    answer = hasty.get(company("90020002000135"))
    assert_refused(answer, 500, "ERRO_INTERNO")
    assert answer.json["response"] is None
    assert hasty.money() == (CREDITS, 0)
    assert hasty.get(company("90020002000135", "cache_strategy=CACHE_SE_EXISTIR")).status == 500


# Accounts of a first start


def test_the_accounts(sandbox: Service) -> None:
    accounts = {account.name: account for account in sandbox.desk.accounts()}

    assert len(sandbox.issued) == 5
    opened = [accounts[name] for name in sandbox.issued]
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
    assert all(key.startswith("balcao_test_") for key in sandbox.issued.values())


def test_the_account_with_one_credit(sandbox: Service) -> None:
    assert ask(sandbox, "90010001000100", account="um-credito").status == 200
    assert ask(sandbox, "90010001000100", account="um-credito").status == 402


def test_every_account_can_ask(sandbox: Service) -> None:
    for account in ("gratuito", "pre-pago", "pos-pago", "pos-pago-certidoes"):
        assert ask(sandbox, "90010002000154", account=account).status == 200


def test_a_live_account_gets_no_sandbox_answers(sandbox: Service) -> None:
    """No source is configured for live accounts here, so they get an error."""
    live = sandbox.account("produção", mode="live", plan="pos_pago", credits=0)
    answer = sandbox.get(company("90010001000100"), live)
    assert (answer.status, answer.code) == (503, "SERVICO_INDISPONIVEL")


def test_the_documentations_example_is_the_sandboxs_answer(sandbox: Service) -> None:
    document = openapi.document("1")
    operation = document["paths"]["/consultas/v2/cnpj-receita-federal/{cnpj}"]["get"]
    content = operation["responses"]["200"]["content"]["application/json"]
    example = content["examples"]["encontrada"]["value"]

    answer = ask(sandbox, "90010001000100", "cache_strategy=SO_ONLINE").json

    assert answer["response"].keys() == example["response"].keys()
    assert answer["response"] == example["response"]
    assert answer["data_base"] == example["data_base"]
    assert answer.keys() == example.keys()
