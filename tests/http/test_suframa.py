"""The free-trade-zone registry record: `GET /consultas/v2/suframa/{cnpj}`.

Specification, endpoint 1 and "Free-trade-zone registry record"; contract 1.1, 2.4, 3, 4.3, 5.2, 8.
"""

from typing import Any

import pytest

from balcao.core.documents import Cnpj
from balcao.core.questions import Inquiry
from balcao.core.suframa import (
    Incentive,
    NumberedText,
    ZoneActivity,
    ZoneAddress,
    ZoneCountry,
    ZoneEmail,
    ZonePhone,
)
from balcao.storage.contract import LedgerEntry
from tests.http.registrations.test_errors import PROVOCATIONS, SUFRAMA, assert_error
from tests.http.test_strategy_table import CNPJS
from tests.records import CNPJ, NAME, OTHER_CNPJ, a_zone_record, sintegra, suframa
from tests.service import Service

KEY = "pedido-0001"
OLD = a_zone_record(nome="GUARDADA LTDA")


def kept(world: Service) -> Any:
    return world.kept(Inquiry("suframa", Cnpj.parse(CNPJ)))


def the_charge(world: Service) -> LedgerEntry:
    (charge,) = world.charges()
    return charge


# The answer


def test_the_smallest_record(world: Service) -> None:
    """Values that the source lacks are absent; no `error_message`, no `is_cache` (contract 1.2)."""
    answer = world.get(suframa())

    assert answer.status == 200
    assert answer.json == {
        "request_id": answer.headers["x-request-id"],
        "success": True,
        "error": False,
        "cnpj": CNPJ,
        "inscricao": "200000012",
        "nome": NAME,
        "matriz": True,
        "aprovado": True,
        "status": {"codigo": 1, "descricao": "Ativa"},
    }


def test_the_largest_record(world: Service) -> None:
    """Every field of the specification, in its shape."""
    world.source.finds(
        a_zone_record(
            matriz=False,
            aprovado=False,
            status=NumberedText(5, "Cancelada Ag. Rec."),
            atualizado_em="2026-08-08T13:15:30.120Z",
            desde="2016-05-02",
            data_aprovacao="2016-08-15",
            natureza_juridica=NumberedText(2062, "Sociedade Empresária Limitada"),
            endereco=ZoneAddress(
                codigo_municipio=1302603,
                logradouro="RUA DAS ACACIAS FICTICIAS",
                numero="100",
                bairro="CENTRO",
                cidade="MANAUS",
                estado="AM",
                cep="69000100",
                pais=ZoneCountry("Brasil"),
            ),
            telefones=(ZonePhone("92", "10000001"),),
            emails=(ZoneEmail("contato@example.com", "example.com"),),
            atividade_principal=ZoneActivity(2610800, True, "Fabricação de componentes"),
            atividades_secundarias=(ZoneActivity(4652400, False, "Comércio atacadista"),),
            incentivos=(Incentive("Decreto 7.212", "Isenção", "Consumo Interno", "IPI"),),
        )
    )

    answer = world.get(suframa())

    assert answer.json == {
        "request_id": answer.headers["x-request-id"],
        "success": True,
        "error": False,
        "atualizado_em": "2026-08-08T13:15:30.120Z",
        "cnpj": CNPJ,
        "inscricao": "200000012",
        "nome": NAME,
        "desde": "2016-05-02",
        "matriz": False,
        "aprovado": False,
        "data_aprovacao": "2016-08-15",
        "status": {"codigo": 5, "descricao": "Cancelada Ag. Rec."},
        "natureza_juridica": {"codigo": 2062, "descricao": "Sociedade Empresária Limitada"},
        "endereco": {
            "codigo_municipio": 1302603,
            "logradouro": "RUA DAS ACACIAS FICTICIAS",
            "numero": "100",
            "bairro": "CENTRO",
            "cidade": "MANAUS",
            "estado": "AM",
            "cep": "69000100",
            "pais": {"nome": "Brasil"},
        },
        "telefones": [{"ddd": "92", "numero": "10000001"}],
        "emails": [{"endereco": "contato@example.com", "dominio": "example.com"}],
        "atividade_principal": {
            "codigo": 2610800,
            "atividade_exercida": True,
            "descricao": "Fabricação de componentes",
        },
        "atividades_secundarias": [
            {"codigo": 4652400, "atividade_exercida": False, "descricao": "Comércio atacadista"}
        ],
        "incentivos": [
            {
                "fundamento_legal": "Decreto 7.212",
                "beneficio": "Isenção",
                "finalidade": "Consumo Interno",
                "tributo": "IPI",
            }
        ],
    }
    cached = world.get(suframa())
    assert world.source.asked == 1
    assert cached.json | {"request_id": ""} == answer.json | {"request_id": ""}


def test_a_company_without_registration(world: Service) -> None:
    """404 `INSCRICAO_NAO_ENCONTRADA`: free, not cached, and recorded under its key."""
    world.source.says_absent()

    answer = world.get(suframa(), idempotency_key=KEY)

    assert_error(answer, 404, "INSCRICAO_NAO_ENCONTRADA", SUFRAMA)
    assert kept(world) is None
    assert not world.charges()
    assert (world.balance().balance_credits, world.balance().held_credits) == (1000, 0)
    assert world.get(suframa(), idempotency_key=KEY).body == answer.body
    assert world.source.asked == 1
    assert {about.subject for about in world.source.inquiries} == {"suframa"}


# Errors


def keys_of(value: Any) -> set[str]:
    """Return all names in a body, at any depth."""
    if isinstance(value, dict):
        return set(value) | set().union(*map(keys_of, value.values()))
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    return set()


@pytest.mark.parametrize("what", PROVOCATIONS)
def test_no_error_has_the_key_inscricao(world: Service, what: str) -> None:
    """Clients distinguish records from errors by it (contract 1.1)."""
    status, code, provoke = PROVOCATIONS[what]
    answer = provoke(world, SUFRAMA)
    assert_error(answer, status, code, SUFRAMA)
    assert not keys_of(answer.json) & {"inscricao", "inscricoes_estaduais", "response"}


def test_errors_repeat_only_valid_cnpjs(world: Service) -> None:
    """The CNPJ is in the body if it is valid, and never the text that was sent."""
    for path in ("123", "90010001000101", "900.100.001-00", "%20"):
        answer = world.get(suframa(path))
        assert_error(answer, 400, "CNPJ_INVALIDO", SUFRAMA, valid=False)
        refused = world.get(suframa(path), None)
        assert_error(refused, 401, "API_KEY_INVALIDA", SUFRAMA, valid=False)
    assert world.source.asked == 0


# cache


@pytest.mark.parametrize(("days", "origin"), [(24.9, "cache"), (25, "cache"), (25.1, "online")])
def test_the_default_is_25_days(world: Service, days: float, origin: str) -> None:
    """Without the parameter an entry of 25 days is served and an older one is not."""
    world.keep(OLD, days=days)

    answer = world.get(suframa())

    assert (answer.status, answer.credits) == (200, 1)
    assert answer.json["nome"] == ("GUARDADA LTDA" if origin == "cache" else NAME)
    assert the_charge(world).origin == origin
    assert world.source.asked == (0 if origin == "cache" else 1)


@pytest.mark.parametrize("form", ["header", "query"])
def test_the_greatest_age_in_both_forms(world: Service, form: str) -> None:
    """0 forces a fresh query, otherwise the value is the greatest age (contract 2.4)."""
    for cnpj, (cache, days, origin) in zip(
        CNPJS,
        (
            ("0", 0.0, "online"),
            ("0", 1.0, "online"),
            ("1", 0.9, "cache"),
            ("1", 1.1, "online"),
            ("45", 44.9, "cache"),
            ("45", 45.1, "online"),
        ),
        strict=False,
    ):
        world.keep(a_zone_record(cnpj), days=days)
        if form == "header":
            answer = world.get(suframa(cnpj), cache=cache)
        else:
            answer = world.get(suframa(cnpj, f"cache={cache}"))
        assert (answer.status, answer.credits) == (200, 1)
        assert world.charges()[-1].origin == origin, (cache, days)
        assert "deprecation" not in answer.headers


def test_the_header_is_not_deprecated_here(world: Service) -> None:
    """It is the documented form, unlike elsewhere, on results and on failures."""
    assert "deprecation" not in world.get(suframa(), cache="7").headers
    world.source.fails()
    failed = world.get(suframa(), cache="0")
    assert (failed.status, "deprecation" in failed.headers) == (500, False)
    assert "deprecation" in world.get(sintegra(), cache="7").headers


@pytest.mark.parametrize("says", ["fails", "is_down"])
def test_there_is_no_fallback(world: Service, says: str) -> None:
    """An entry that is too old is not served when the source fails (contract 4.3)."""
    world.keep(OLD, days=26)
    before = kept(world)
    getattr(world.source, says)()
    others = "error_fallback=true&cache_strategy=CACHE_SE_EXISTIR"

    for path in (suframa(), suframa(query="cache=0"), suframa(query=others)):
        answer = world.get(path)
        assert (answer.status, answer.credits) == (500 if says == "fails" else 503, 0)
    assert kept(world) == before


def test_the_parameters_of_other_operations_are_unknown(world: Service) -> None:
    """They are ignored, even repeated and with invalid values (contract 2.6)."""
    query = "uf=XX&uf=YY&endereco=talvez&cache_strategy=NADA&error_fallback=&optin=7&Cache=999"
    answer = world.get(suframa(query=query))
    assert (answer.status, answer.credits) == (200, 1)


# Credits


def test_each_answer_costs_one_credit(world: Service) -> None:
    """Suframa is 1, online or from the cache (contract 5.2)."""
    client = world.account("edu", credits=2)
    online, cached = world.get(suframa(), client), world.get(suframa(), client)
    refused = world.get(suframa(), client)

    assert (online.credits, cached.credits) == (1, 1)
    assert [charge.origin for charge in world.charges(client)] == ["online", "cache"]
    assert {charge.operation for charge in world.charges(client)} == {"suframa"}
    assert_error(refused, 402, "SALDO_INSUFICIENTE", SUFRAMA)
    assert refused.json["creditos_necessarios"] == 1
    assert refused.json["creditos_disponiveis"] == 0
    assert world.source.asked == 1


# Again


def test_equivalent_requests_are_the_same(world: Service) -> None:
    """Punctuation and the default value make no difference, in either form."""
    first = world.get(suframa(), idempotency_key=KEY)
    forms: list[dict[str, Any]] = [{}, {"cache": "25"}]
    for path in (suframa("90.010.001%2F0001-00"), suframa(query="x=1&cache=25&uf=SP")):
        for headers in forms:
            assert world.get(path, idempotency_key=KEY, **headers).body == first.body


def test_different_requests(world: Service) -> None:
    """Another age, another CNPJ or another operation under the same key is refused."""
    world.get(suframa(), idempotency_key=KEY)
    for path in (suframa(query="cache=24"), suframa(OTHER_CNPJ), sintegra()):
        assert world.get(path, idempotency_key=KEY).code == "IDEMPOTENCY_KEY_REUTILIZADA"
    assert world.get(suframa(), cache="0", idempotency_key=KEY).status == 400
