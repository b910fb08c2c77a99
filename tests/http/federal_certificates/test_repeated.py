"""A repeated federal certificate is one issuance and one charge (contract 6).

Specification, "States and transitions": recorded result returned, no new charge, no source query.
"""

import pytest

from tests.http.federal_certificates.shared import KEY, PERSON
from tests.records import CNPJ, CPF, OTHER_CNPJ, a_federal, company, federal, state
from tests.service import Service

HOUR = 3600


@pytest.mark.parametrize("query", ["", "&preferencia_emissao=nova", "&atualizar_online=true"])
def test_an_issuance_is_not_bought_twice(world: Service, query: str) -> None:
    """Under one key a new issuance is also asked for only once."""
    path = federal(f"cnpj={CNPJ}{query}")
    bodies = {world.get(path, idempotency_key=KEY).body for _ in range(5)}
    assert len(bodies) == 1
    assert (world.source.asked, len(world.charges())) == (1, 1)


def test_other_parameters_under_the_same_key_are_refused(world: Service) -> None:
    """Another document, strategy, preference or operation is another request."""
    world.get(federal(), idempotency_key=KEY)
    for path in (
        federal(f"cnpj={OTHER_CNPJ}"),
        federal(PERSON),
        federal(f"cnpj={CNPJ}&cache_strategy=SO_ONLINE"),
        federal(f"cnpj={CNPJ}&cache_strategy=CACHE_SE_EXISTIR"),
        federal(f"cnpj={CNPJ}&cache_strategy=SO_CACHE"),
        federal(f"cnpj={CNPJ}&preferencia_emissao=nova"),
        federal(f"cnpj={CNPJ}&atualizar_online=true"),
        company(CNPJ),
        state(CNPJ),
    ):
        answer = world.get(path, idempotency_key=KEY)
        assert (answer.status, answer.code) == (400, "IDEMPOTENCY_KEY_REUTILIZADA"), path
        assert answer.credits == 0
    assert (world.source.asked, world.balance().balance_credits) == (1, 998)


def test_another_birth_date_is_another_request(world: Service) -> None:
    """The birth date is part of the question."""
    world.get(federal(PERSON), idempotency_key=KEY)
    answer = world.get(federal(f"cpf={CPF}&data_nascimento=19800102"), idempotency_key=KEY)
    assert answer.code == "IDEMPOTENCY_KEY_REUTILIZADA"


def test_equivalent_requests_are_the_same(world: Service) -> None:
    """Parameters are compared normalised: punctuation, case, defaults, unknown ones."""
    first = world.get(federal(), idempotency_key=KEY)
    for query in (
        "cnpj=90.010.001/0001-00",
        f"cnpj=%20{CNPJ}",
        f"cnpj={CNPJ}&cache_strategy=CACHE_PREFERENCIAL",
        f"cache_strategy=cache_preferencial&cnpj={CNPJ}",
        f"cnpj={CNPJ}&preferencia_emissao=2via",
        f"cnpj={CNPJ}&atualizar_online=false",
        f"cnpj={CNPJ}&atualizar_online=0",
        f"cnpj={CNPJ}&utm=1",
    ):
        assert world.get(federal(query), idempotency_key=KEY).body == first.body, query
    person = world.get(federal(PERSON), idempotency_key="pedido-0002")
    again = federal("data_nascimento=19800101&cpf=900.100.001-00")
    assert world.get(again, idempotency_key="pedido-0002").body == person.body


def test_an_expired_certificate_is_not_replayed(world: Service) -> None:
    """A replay is 409, and free, from the day after the certificate's effective validity."""
    world.source.finds(a_federal(validity="2026-08-06"))  # tomorrow
    assert world.get(federal(), idempotency_key=KEY).status == 200
    world.clock.advance(days=1)
    assert world.get(federal(), idempotency_key=KEY).status == 200
    world.clock.advance(days=1)
    late = world.get(federal(), idempotency_key=KEY)
    assert (late.status, late.code, late.credits) == (409, "RESULTADO_INDISPONIVEL", 0)
    assert "venceu" in late.json["message"]
    assert world.source.asked == 1


def test_a_newer_certificate_replaces_a_cached_negative_one(world: Service) -> None:
    """Even one that can never be served from the cache."""
    world.source.finds(a_federal(kind="CPD", code=None, validity=None))
    assert world.get(federal()).status == 404
    world.source.finds(a_federal(code=None))
    assert world.get(federal(f"cnpj={CNPJ}&atualizar_online=true")).status == 200
    assert world.get(federal(f"cnpj={CNPJ}&cache_strategy=SO_CACHE")).code == (
        "SEM_RESULTADO_EM_CACHE"
    )


def test_a_failed_issuance_replaces_no_certificate(world: Service) -> None:
    """A CND in force is served until the day before its validity (specification)."""
    assert world.get(federal()).status == 200
    world.source.finds(a_federal(kind=None, title="", code=None, validity=None, issued=False))
    assert world.get(federal(f"cnpj={CNPJ}&atualizar_online=true")).status == 404
    again = world.get(federal())
    assert (again.status, again.json["source"]) == (200, "cache")
