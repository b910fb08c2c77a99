"""State registrations and rural producers in the sandbox, as sandbox.md promises them.

Through the whole composition: the generated month, the simulated providers, all stores. Expected
values are written from sandbox.md and from `docs/contract/`, row by row.
"""

import asyncio
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from balcao.core.documents import Cnpj, Cpf
from balcao.core.questions import Inquiry
from tests.records import ALL_UFS, FAILING, company, producer, sintegra
from tests.service import Reply, Service, assert_refused

RURAL_UFS = [uf for uf in ALL_UFS if uf != "PR"]
SILENT = ("BA", "MG", "RS")  # of 90020008000102

NORMAL = "IE Normal"
SUBSTITUTE = "IE Substituto Tributário"
NOT_A_TAXPAYER = "IE Não Contribuinte (Canteiro de Obras, IE Virtual, outros)"
ELSEWHERE = "IE Contribuinte da UF com Endereço em Outra UF"
RURAL = "IE de Produtor Rural"
TYPES = {NORMAL, SUBSTITUTE, NOT_A_TAXPAYER, ELSEWHERE, RURAL, "IE Não Informada"}

FREE = "Sem restrição"
BLOCKED = "Bloqueado como destinatário na UF"
BARRED = "Vedada operação como destinatário na UF"
SITUATIONS = {FREE, BLOCKED, BARRED, "Emitente bloqueado no destino"}


def nothing_is_cached(house: Service, document: str) -> bool:
    """Return whether no UF of this document has an entry in the cache."""
    if len(document) == 11:
        inquiries = [Inquiry("rural_producer", Cpf.parse(document), uf) for uf in ALL_UFS]
    else:
        inquiries = [Inquiry("state_registration", Cnpj.parse(document), uf) for uf in ALL_UFS]
    return all(house.kept(inquiry) is None for inquiry in inquiries)


def origins(answer: Reply) -> Mapping[str, str]:
    """Return where each UF's part of a BR answer came from, after checking their order."""
    ufs = [each["uf"] for each in answer.json["ufs"]]
    assert ufs == sorted(ufs)
    return {each["uf"]: each["origem"] for each in answer.json["ufs"]}


def assert_well_formed(body: Any, *, rural: bool = False, addresses: bool = False) -> None:
    """Check types, spellings and order of a result's registrations (contract 1.6, 1.7, 8)."""
    assert body["success"] is True
    assert body["error"] is False
    assert type(body["is_cache"]) is bool
    assert "error_message" not in body
    those = body["inscricoes_estaduais"]
    for each in those:
        assert isinstance(each["inscricao_estadual"], str)
        assert each["inscricao_estadual"]
        assert each["uf"] in ALL_UFS
        assert type(each["ativa"]) is bool
        assert each.get("tipo_ie", NORMAL) in TYPES
        assert each.get("situacao_pj", FREE) in SITUATIONS
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", each["updated_at"])
        assert ("data_status" in each) <= rural
        if "endereco" in each:
            assert addresses, "an address that was not asked for"
            assert_an_address(each["endereco"], each["uf"], rural=rural)
    assert those == sorted(
        those, key=lambda each: (not each["ativa"], each["uf"], each["inscricao_estadual"])
    )
    text = str(body)
    assert unicodedata.is_normalized("NFC", text)


def assert_an_address(address: Any, uf: str, *, rural: bool) -> None:
    parts = {"logradouro", "numero", "bairro", "municipio", "codigo_municipio_ibge", "uf", "cep"}
    assert set(address) == (parts if rural else parts | {"complemento"})
    assert all(isinstance(address[part], str) for part in parts)
    assert re.fullmatch(r"\d{8}", address["cep"])
    # In MA only Infosimples answers, whose pages know no code of a municipality.
    code = r"\d{7}" if uf != "MA" else r"(\d{7})?"
    assert re.fullmatch(code, address["codigo_municipio_ibge"])
    assert address["uf"] == uf
    assert address["municipio"]


Row = tuple[str, bool, str | None, str | None]  # UF, ativa, and what is promised of the rest


def rows(body: Any) -> list[Row]:
    return [
        (each["uf"], each["ativa"], each["tipo_ie"], each["situacao_pj"])
        for each in body["inscricoes_estaduais"]
    ]


def assert_rows(body: Any, promised: Sequence[Row]) -> None:
    """Check exactly the promised registrations; what a row leaves open may be anything."""
    found = rows(body)
    assert [row[:2] for row in found] == [row[:2] for row in promised]
    for mine, theirs in zip(found, promised, strict=True):
        assert theirs[2] in (None, mine[2])
        assert theirs[3] in (None, mine[3])


# Companies: the table's column "State registrations", in the order of the answer.

ACTIVE_IN_SP: Sequence[Row] = [("SP", True, None, None)]
COMPANIES: Mapping[str, Sequence[Row]] = {
    "90010001000100": [("SP", True, NORMAL, FREE)],
    "90010002000154": [("AM", True, None, None)],
    "90010003000107": [("SP", False, None, None)],
    "90010004000143": [],
    "90010005000198": [("SP", True, None, BLOCKED)],
    "90010006000132": [("MG", True, ELSEWHERE, None), ("SP", True, SUBSTITUTE, None)],
    "90010007000268": [
        *((uf, True, None, None) for uf in ("BA", "MG", "PR", "RJ", "SP")),
        ("RS", False, None, None),
    ],
    "90010008000121": ACTIVE_IN_SP,
    "90010009000176": ACTIVE_IN_SP,
    "90010010000109": ACTIVE_IN_SP,
    "90010011000145": [("SP", True, None, BARRED)],
    "90010012000190": [("SP", True, NOT_A_TAXPAYER, None)],
    "12ABC34501DE35": ACTIVE_IN_SP,
    "00000000E08G12": ACTIVE_IN_SP,
}
HOMES = {cnpj: "AM" if cnpj == "90010002000154" else "SP" for cnpj in COMPANIES}


@pytest.mark.parametrize("cnpj", COMPANIES)
def test_a_company_in_one_uf(sandbox: Service, cnpj: str) -> None:
    """Every UF has its own registrations and no others, for one credit."""
    for uf in {"SP", "AM", "TO", *(row[0] for row in COMPANIES[cnpj])}:
        answer = sandbox.get(sintegra(cnpj, f"uf={uf}&cache_strategy=SO_ONLINE"))
        assert (answer.status, answer.credits) == (200, 1)
        body = answer.json
        assert_well_formed(body)
        assert body["cnpj"] == cnpj
        assert body["is_cache"] is False
        assert "ufs" not in body
        assert_rows(body, [row for row in COMPANIES[cnpj] if row[0] == uf])


@pytest.mark.parametrize("cnpj", COMPANIES)
def test_a_company_in_all_ufs(sandbox: Service, cnpj: str) -> None:
    """BR has all registrations in order and charges 27 UFs, including those without any."""
    answer = sandbox.get(sintegra(cnpj, "uf=BR&cache_strategy=SO_ONLINE"))
    assert (answer.status, answer.credits) == (200, 27)
    assert_well_formed(answer.json)
    assert_rows(answer.json, COMPANIES[cnpj])
    assert answer.json["uf"] == HOMES[cnpj]
    assert origins(answer) == dict.fromkeys(ALL_UFS, "online")
    assert answer.json["is_cache"] is False


@pytest.mark.parametrize("cnpj", COMPANIES)
def test_a_company_without_a_uf(sandbox: Service, cnpj: str) -> None:
    """Without `uf` the company's own UF is meant: one credit, never 27."""
    answer = sandbox.get(sintegra(cnpj, ""))
    assert (answer.status, answer.credits) == (200, 1)
    assert_well_formed(answer.json)
    assert answer.json["uf"] == HOMES[cnpj]
    assert_rows(answer.json, [row for row in COMPANIES[cnpj] if row[0] == HOMES[cnpj]])


@pytest.mark.parametrize("cnpj", COMPANIES)
def test_a_company_with_addresses(sandbox: Service, cnpj: str) -> None:
    """`endereco=true` costs one credit more per request, and types are still included."""
    uf = HOMES[cnpj]
    answer = sandbox.get(sintegra(cnpj, f"uf={uf}&endereco=true&cache_strategy=SO_ONLINE"))
    assert (answer.status, answer.credits) == (200, 2)
    assert_well_formed(answer.json, addresses=True)
    assert_rows(answer.json, [row for row in COMPANIES[cnpj] if row[0] == uf])


def test_the_promised_address_is_the_company_s_own(sandbox: Service) -> None:
    """The address of 90010001000100 equals the one in the company registry."""
    (found,) = sandbox.get(sintegra(query="uf=SP&endereco=1")).json["inscricoes_estaduais"]
    registry = sandbox.get(company()).json["response"]
    address = found["endereco"]
    assert address["logradouro"] == f"{registry['tipo_logradouro']} {registry['logradouro']}"
    for field in ("numero", "complemento", "bairro", "municipio", "uf", "cep"):
        assert address[field] == registry[field]
    plain = sandbox.get(sintegra(query="uf=SP&endereco=false")).json["inscricoes_estaduais"]
    assert "endereco" not in plain[0]


@pytest.mark.parametrize("cnpj", COMPANIES)
def test_the_name_is_the_registry_s(sandbox: Service, cnpj: str) -> None:
    """One company has one name and one UF in every subject."""
    body = sandbox.get(sintegra(cnpj, "")).json
    registry = sandbox.get(company(cnpj)).json["response"]
    assert body["uf"] == registry["uf"]
    assert body["razao_social"] == registry["nome_empresarial"]


def test_a_sole_trader_s_cpf_is_masked(sandbox: Service) -> None:
    """A legal name that ends in a CPF shows it masked, in every uf."""
    for query in ("uf=SP", "uf=BR", "uf=SP&endereco=true"):
        name = sandbox.get(sintegra("90010012000190", query)).json["razao_social"]
        assert re.fullmatch(r".* \*\*\*\d{6}\*\*", name)


@pytest.mark.parametrize("query", ["uf=SP", "", "uf=BR&endereco=true"])
def test_a_company_that_does_not_exist(sandbox: Service, query: str) -> None:
    """It is a 404 in every UF and in all of them, free, and nothing is cached."""
    cnpj, before = "99999999000191", sandbox.money()
    for _ in range(2):
        answer = sandbox.get(sintegra(cnpj, f"{query}&cache_strategy=CACHE_SE_EXISTIR"))
        assert_refused(answer, 404, "CNPJ_NAO_ENCONTRADO", cnpj)
        assert answer.json["inscricoes_estaduais"] == []
    assert sandbox.money() == before
    assert nothing_is_cached(sandbox, cnpj)


@pytest.mark.parametrize("cnpj", ["11222333000181", "33000167000101", "00000000000191"])
def test_every_other_company_has_a_constant_answer(sandbox: Service, cnpj: str) -> None:
    """A valid CNPJ that the sandbox does not fix is always answered alike, in one UF and in all."""
    answers = [sandbox.get(sintegra(cnpj, "uf=BR&cache_strategy=SO_ONLINE")) for _ in range(2)]
    assert [(answer.status, answer.credits) for answer in answers] == [(200, 27)] * 2
    first, again = (rows(answer.json) for answer in answers)
    assert first == again
    home = sandbox.get(sintegra(cnpj, "")).json
    assert home["uf"] == answers[0].json["uf"]
    assert rows(home) == [row for row in first if row[0] == home["uf"]]


# Sources that misbehave

FAILING_PEOPLE = {
    "90020000146": (503, "SERVICO_INDISPONIVEL"),
    "90020000308": (500, "ERRO_INTERNO"),
}
QUERIES = ("uf=SP", "uf=BR&endereco=true")


def assert_free_and_not_cached(
    house: Service, document: str, query: str, status: int, code: str
) -> None:
    """Check the failure, and then a lookup that accepts any cached answer."""
    path = producer if len(document) == 11 else sintegra
    before = house.money()
    for strategy in ("ONLINE_PREFERENCIAL", "SO_ONLINE"):
        answer = house.get(path(document, f"{query}&cache_strategy={strategy}"))
        assert_refused(answer, status, code, document)
        assert answer.json["inscricoes_estaduais"] == []
    fallback = house.get(path(document, f"{query}&error_fallback=true"))
    assert_refused(fallback, status, code, document)
    assert house.money() == before
    assert before[1] == 0
    assert nothing_is_cached(house, document)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize(("document", "expected"), [*FAILING.items(), *FAILING_PEOPLE.items()])
def test_sources_that_misbehave(
    sandbox: Service, document: str, query: str, expected: tuple[int, str]
) -> None:
    """A failing source is never an empty list, costs nothing, and leaves nothing in the cache."""
    assert_free_and_not_cached(sandbox, document, query, *expected)


@pytest.mark.parametrize("cnpj", FAILING)
def test_a_failing_registry_leaves_the_uf_unknown(sandbox: Service, cnpj: str) -> None:
    """Without `uf`, when the registry fails too, it is a 400 and never a silent BR."""
    before = sandbox.money()
    answer = sandbox.get(sintegra(cnpj, ""))
    assert_refused(answer, 400, "UF_OBRIGATORIA", cnpj)
    assert sandbox.money() == before


def test_sources_that_never_answer(hasty: Service) -> None:
    """The deadline ends every form of the question as a failure that costs nothing."""
    cnpj, cpf, before = "90020002000135", "90020000227", hasty.money()
    paths = [sintegra(cnpj, query) for query in (*QUERIES, "")]
    paths += [producer(cpf, query) for query in QUERIES]

    async def scenario() -> tuple[list[Reply], float]:
        now = asyncio.get_running_loop().time
        started = now()
        replies = await asyncio.gather(*(hasty.aget(path) for path in paths))
        return list(replies), now() - started

    answers, seconds = hasty.run(scenario())

    assert seconds < 5
    for path, answer in zip(paths, answers, strict=True):
        if path == sintegra(cnpj, ""):
            assert_refused(answer, 400, "UF_OBRIGATORIA", cnpj)
        else:
            assert_refused(answer, 500, "ERRO_INTERNO", cnpj if "sintegra" in path else cpf)
            assert answer.json["inscricoes_estaduais"] == []
    assert hasty.money() == before
    assert nothing_is_cached(hasty, cnpj)
    assert nothing_is_cached(hasty, cpf)
    hasty.assert_books_agree()


def test_a_slow_source_answers(sandbox: Service) -> None:
    """An answer well after 3 s is waited for, in one UF and in all."""
    cnpj = "90020006000113"

    async def scenario() -> tuple[list[Reply], float]:
        now = asyncio.get_running_loop().time
        started = now()
        queries = ("uf=SP", "uf=BR")
        replies = await asyncio.gather(*(sandbox.aget(sintegra(cnpj, q)) for q in queries))
        return list(replies), now() - started

    (one, everywhere), seconds = sandbox.run(scenario())
    assert seconds > 3
    assert (one.status, one.credits) == (200, 1)
    assert (everywhere.status, everywhere.credits) == (200, 27)
    assert [row[:2] for row in rows(one.json)] == [("SP", True)]


@pytest.mark.parametrize(("query", "credits"), [("uf=SP", 1), ("uf=BR", 27)])
def test_a_source_that_answers_once(fresh: Service, query: str, credits: int) -> None:
    """It answers, then it fails; a cached answer replaces it where the strategy allows that."""
    cnpj = "90020007000168"
    first = fresh.get(sintegra(cnpj, f"{query}&cache_strategy=SO_ONLINE"))
    second = fresh.get(sintegra(cnpj, f"{query}&cache_strategy=SO_ONLINE"))
    stood_in = fresh.get(sintegra(cnpj, query))
    too_old = fresh.get(sintegra(cnpj, f"{query}&cache=0"))
    any_age = fresh.get(sintegra(cnpj, f"{query}&cache=0&error_fallback=true"))

    assert (first.status, first.credits, first.json["is_cache"]) == (200, credits, False)
    assert_refused(second, 500, "ERRO_INTERNO", cnpj)
    assert (stood_in.status, stood_in.credits, stood_in.json["is_cache"]) == (200, credits, True)
    assert rows(stood_in.json) == rows(first.json)
    assert_refused(too_old, 500, "ERRO_INTERNO", cnpj)
    assert (any_age.status, any_age.json["is_cache"]) == (200, True)
    assert len(fresh.charges()) == 3


def test_the_first_time_is_one_per_uf(fresh: Service) -> None:
    """Each UF answers well once (one lookup of all UFs asks 27 times), and then fails."""
    cnpj = "90020007000168"
    for uf in ("SP", "MG"):
        first = fresh.get(sintegra(cnpj, f"uf={uf}&cache_strategy=SO_ONLINE"))
        assert first.status == 200
        second = fresh.get(sintegra(cnpj, f"uf={uf}&cache_strategy=SO_ONLINE"))
        assert_refused(second, 500, "ERRO_INTERNO", cnpj)


SOME = "90020008000102"
SOME_ORIGINS = {uf: "indisponivel" if uf in SILENT else "online" for uf in ALL_UFS}


def test_a_source_that_fails_in_three_ufs(fresh: Service) -> None:
    """BR answers 24 UFs, reports BA, MG and RS as unavailable, and charges 24."""
    answer = fresh.get(sintegra(SOME, "uf=BR"))
    assert (answer.status, answer.credits) == (200, 24)
    assert_well_formed(answer.json)
    assert origins(answer) == SOME_ORIGINS
    assert answer.json["is_cache"] is False
    assert not {row["uf"] for row in answer.json["inscricoes_estaduais"]} & set(SILENT)
    (charge,) = fresh.charges()
    assert (charge.credits, charge.request_id) == (-24, answer.json["request_id"])
    assert fresh.money() == (100_000 - 24, 0)

    again = fresh.get(sintegra(SOME, "uf=BR&cache_strategy=CACHE_SE_EXISTIR"))
    assert (again.status, again.credits, again.json["is_cache"]) == (200, 24, True)
    cached = {uf: "cache" if was == "online" else was for uf, was in SOME_ORIGINS.items()}
    assert origins(again) == cached
    assert again.json["inscricoes_estaduais"] == answer.json["inscricoes_estaduais"]


def test_addresses_where_three_ufs_fail(fresh: Service) -> None:
    """The UFs that answered and the addresses are charged: 24 and 1."""
    answer = fresh.get(sintegra(SOME, "uf=BR&endereco=true"))
    assert (answer.status, answer.credits) == (200, 25)
    assert_well_formed(answer.json, addresses=True)
    assert origins(answer) == SOME_ORIGINS
    assert any("endereco" in each for each in answer.json["inscricoes_estaduais"])


@pytest.mark.parametrize("uf", SILENT)
def test_a_uf_that_fails_alone_is_an_error(sandbox: Service, uf: str) -> None:
    """Asked alone, one of the three is a failure that is free and not cached."""
    before = sandbox.money()
    answer = sandbox.get(sintegra(SOME, f"uf={uf}"))
    assert answer.status in (500, 503)
    assert_refused(answer, answer.status, answer.code, SOME)
    assert sandbox.money() == before
    assert sandbox.kept(Inquiry("state_registration", Cnpj.parse(SOME), uf)) is None


def test_the_other_ufs_answer_alone(sandbox: Service) -> None:
    """Asked alone, every other UF is answered; without `uf` it is the company's own."""
    for uf in ("SP", "AC", "MA"):
        answer = sandbox.get(sintegra(SOME, f"uf={uf}"))
        assert (answer.status, answer.credits) == (200, 1)
        assert {row[0] for row in rows(answer.json)} <= {uf}
    assert sandbox.get(sintegra(SOME, "")).json["uf"] == "SP"


def test_misbehaving_documents_do_not_affect_others(sandbox: Service) -> None:
    """Intended failures open no circuit of the sandbox."""
    for _ in range(10):
        sandbox.get(sintegra("90020003000180", "uf=BR&cache_strategy=SO_ONLINE"))
        sandbox.get(producer("90020000308", "uf=SP&cache_strategy=SO_ONLINE"))
    for path in (sintegra(query="uf=BR&endereco=true"), producer(query="uf=BR&endereco=true")):
        answer = sandbox.get(path + "&cache_strategy=SO_ONLINE")
        assert answer.status == 200
        assert set(origins(answer).values()) == {"online"}


# People: the table's column "Rural producer".

PEOPLE: Mapping[str, Sequence[Row]] = {
    "90010000100": [("SP", True, RURAL, None)],
    "90010000291": [("MG", True, None, None), ("GO", False, None, None)],
    "90010000372": [],
    "90010000453": [("SP", True, NORMAL, None)],
}


@pytest.mark.parametrize("cpf", PEOPLE)
def test_a_producer_in_one_uf(sandbox: Service, cpf: str) -> None:
    """Every UF has its own registrations and no others, for one credit."""
    for uf in ("SP", "MG", "GO", "RS"):
        answer = sandbox.get(producer(cpf, f"uf={uf}&cache_strategy=SO_ONLINE"))
        assert (answer.status, answer.credits) == (200, 1)
        body = answer.json
        assert_well_formed(body, rural=True)
        assert (body["cpf"], body["uf"], body["is_cache"]) == (cpf, uf, False)
        assert "ufs" not in body
        assert_rows(body, [row for row in PEOPLE[cpf] if row[0] == uf])


@pytest.mark.parametrize("cpf", PEOPLE)
def test_a_producer_in_all_ufs(sandbox: Service, cpf: str) -> None:
    """BR is 26 UFs (not PR) and 26 credits, active registrations first."""
    answer = sandbox.get(producer(cpf, "uf=BR&cache_strategy=SO_ONLINE"))
    assert (answer.status, answer.credits) == (200, 26)
    assert_well_formed(answer.json, rural=True)
    assert_rows(answer.json, PEOPLE[cpf])
    assert answer.json["uf"] == "BR"
    assert origins(answer) == dict.fromkeys(RURAL_UFS, "online")

    again = sandbox.get(producer(cpf, "uf=BR&cache_strategy=CACHE_SE_EXISTIR"))
    assert (again.credits, again.json["is_cache"]) == (26, True)
    assert origins(again) == dict.fromkeys(RURAL_UFS, "cache")


@pytest.mark.parametrize("cpf", PEOPLE)
@pytest.mark.parametrize(("uf", "credits"), [("SP", 2), ("BR", 27)])
def test_a_producer_with_addresses(sandbox: Service, cpf: str, uf: str, credits: int) -> None:
    """`endereco=true` costs one credit more per request, and types are still included."""
    answer = sandbox.get(producer(cpf, f"uf={uf}&endereco=true&cache_strategy=SO_ONLINE"))
    assert (answer.status, answer.credits) == (200, credits)
    assert_well_formed(answer.json, rural=True, addresses=True)
    assert_rows(answer.json, [row for row in PEOPLE[cpf] if uf in ("BR", row[0])])


def test_the_promised_producer_has_an_address_and_a_date_of_status(sandbox: Service) -> None:
    """90010000100: an address without `complemento`, and `data_status` as a date."""
    answer = sandbox.get(producer("90010000100", "uf=SP&endereco=true"))
    (found,) = answer.json["inscricoes_estaduais"]
    assert_an_address(found["endereco"], "SP", rural=True)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["data_status"])
    assert isinstance(answer.json["nome"], str)
