"""The same federal certificate twice is one issuance and one charge (decisions 6).

Specification, "States and transitions": recorded result returned, no new charge, no source query.
"""

import pytest

from tests.world import CNPJ, CPF, OTHER_CNPJ, World, a_federal, company, federal, state

KEY = "pedido-0001"
HOUR = 3600
PERSON = f"cpf={CPF}&data_nascimento=19800101"


def test_a_result_is_replayed_byte_for_byte(world: World) -> None:
    """Body, `print`, request_id and `served_at` are the first ones; nothing is charged or asked."""
    first = world.get(federal(), idempotency_key=KEY)
    world.source.finds(a_federal(code="OUTRA"))
    world.clock.advance(seconds=HOUR)
    replay = world.get(federal(), idempotency_key=KEY)

    assert (replay.status, replay.body) == (200, first.body)
    assert replay.json["print"] == first.json["print"] is not None
    assert replay.headers["x-request-id"] == first.json["request_id"]
    assert replay.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert (first.credits, replay.credits) == (2, 0)
    assert world.source.asked == 1
    assert len(world.charges()) == 1
    assert world.purse().balance_credits == 998


@pytest.mark.parametrize("query", ["", "&preferencia_emissao=nova", "&atualizar_online=true"])
def test_an_issuance_is_not_bought_twice(world: World, query: str) -> None:
    """Under one key a new issuance, too, is asked for once."""
    path = federal(f"cnpj={CNPJ}{query}")
    bodies = {world.get(path, idempotency_key=KEY).body for _ in range(5)}
    assert len(bodies) == 1
    assert (world.source.asked, len(world.charges())) == (1, 1)


def test_a_cached_result_is_replayed(world: World) -> None:
    """A cache delivery is recorded, too, and replayed after its certificate was replaced."""
    world.keep(a_federal(), days=1)
    first = world.get(federal(), idempotency_key=KEY)
    world.get(federal(f"cnpj={CNPJ}&preferencia_emissao=nova"))
    replay = world.get(federal(), idempotency_key=KEY)
    assert (replay.body, replay.credits) == (first.body, 0)
    assert world.purse().balance_credits == 1000 - 1 - 2


def test_a_functional_negative_is_replayed(world: World) -> None:
    """A 404 is a finished execution; after regularization another key brings the new state."""
    world.source.finds(a_federal(kind="CPD", issued=False))
    first = world.get(federal(), idempotency_key=KEY)
    world.source.finds()
    replay = world.get(federal(), idempotency_key=KEY)

    assert (first.status, replay.status, replay.body) == (404, 404, first.body)
    assert (world.source.asked, world.purse().balance_credits) == (1, 998)


@pytest.mark.parametrize(
    ("says", "status", "code"),
    [
        ("fails", 400, "FALHA_TECNICA"),
        ("refuses", 400, "DADOS_RECUSADOS_PELA_FONTE"),
        ("is_down", 503, "SERVICO_INDISPONIVEL"),
    ],
)
def test_a_technical_failure_is_replayed(world: World, says: str, status: int, code: str) -> None:
    """The source is not asked a second time under the same key (decisions 6.2)."""
    getattr(world.source, says)()
    first = world.get(federal(), idempotency_key=KEY)
    world.source.finds()
    replay = world.get(federal(), idempotency_key=KEY)

    assert (first.status, first.code) == (status, code)
    assert (replay.status, replay.body, replay.credits) == (status, first.body, 0)
    assert replay.headers["idempotent-replayed"] == "true"
    assert (world.source.asked, world.purse().balance_credits) == (1, 1000)
    assert world.get(federal(), idempotency_key="pedido-0002").status == 200


def test_while_the_first_runs_the_second_waits(world: World) -> None:
    """409 at once with a Retry-After, no new operation and no credits."""

    async def story() -> None:
        world.source.waits()
        first = world.begin(federal(), idempotency_key=KEY)
        await world.until(lambda: world.source.asked == 1)
        second = await world.aget(federal(), idempotency_key=KEY)
        assert (second.status, second.code) == (409, "OPERACAO_EM_ANDAMENTO")
        assert (second.json["success"], second.json["error"]) == (False, True)
        assert int(second.headers["retry-after"]) >= 1
        assert second.credits == 0
        assert world.purse().held_credits == 2
        world.source.answers_now()
        done = await first
        assert (await world.aget(federal(), idempotency_key=KEY)).body == done.body

    world.run(story())
    assert (world.source.asked, len(world.charges())) == (1, 1)


def test_of_ten_at_the_same_instant_one_is_executed(world: World) -> None:
    """One is asked and charged; the others are told to wait or get its answer."""

    async def story() -> None:
        tasks = [world.begin(federal(), idempotency_key=KEY) for _ in range(10)]
        answers = [await task for task in tasks]
        assert {answer.status for answer in answers} <= {200, 409}
        assert sum(answer.credits for answer in answers) == 2
        assert len({answer.body for answer in answers if answer.status == 200}) == 1

    world.run(story())
    assert (world.source.asked, len(world.charges())) == (1, 1)
    assert not world.check().complaints


def test_an_execution_that_died_with_its_process(world: World) -> None:
    """409 RESULTADO_INDISPONIVEL, its hold given back; another key finds the certificate."""

    async def begin() -> None:
        world.source.waits()
        task = world.begin(federal(), idempotency_key=KEY)
        await world.until(lambda: world.source.asked == 1)
        task.cancel()

    world.run(begin())
    assert world.purse().held_credits == 2
    world.crash()

    assert (world.purse().balance_credits, world.purse().held_credits) == (1000, 0)
    for _ in range(2):
        answer = world.get(federal(), idempotency_key=KEY)
        assert (answer.status, answer.code) == (409, "RESULTADO_INDISPONIVEL")
        assert answer.credits == 0
    assert world.source.asked == 0
    assert world.get(federal(), idempotency_key="pedido-0002").status == 200
    assert [inquiry.reissue for inquiry in world.source.inquiries] == [False]


def test_a_record_survives_its_process(world: World) -> None:
    """What was recorded is on the disk, `print` included."""
    first = world.get(federal(), idempotency_key=KEY)
    world.crash()
    assert world.get(federal(), idempotency_key=KEY).body == first.body
    assert world.source.asked == 0


def test_other_parameters_under_the_same_key_are_refused(world: World) -> None:
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
    assert (world.source.asked, world.purse().balance_credits) == (1, 998)


def test_another_birth_date_is_another_request(world: World) -> None:
    """The birth date belongs to what is asked."""
    world.get(federal(PERSON), idempotency_key=KEY)
    answer = world.get(federal(f"cpf={CPF}&data_nascimento=19800102"), idempotency_key=KEY)
    assert answer.code == "IDEMPOTENCY_KEY_REUTILIZADA"


def test_the_same_request_in_other_words_is_the_same(world: World) -> None:
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


def test_another_account_has_keys_of_its_own(world: World) -> None:
    """The same key of another account is another operation."""
    other = world.account("bia", credits=10)
    first = world.get(federal(), idempotency_key=KEY)
    second = world.get(federal(), other, idempotency_key=KEY)
    assert second.json["request_id"] != first.json["request_id"]
    assert "idempotent-replayed" not in second.headers


def test_records_are_kept_for_96_hours(world: World) -> None:
    """A certificate that is cached by then is a new operation."""
    first = world.get(federal(), idempotency_key=KEY)
    world.clock.advance(seconds=96 * HOUR - 1)
    assert world.get(federal(), idempotency_key=KEY).body == first.body
    world.clock.advance(seconds=1)
    later = world.get(federal(), idempotency_key=KEY)
    assert (later.status, later.credits) == (200, 1)


def test_a_replay_tells_how_old_its_content_is(world: World) -> None:
    """Age and Cache-Status on replays, too (decisions 1.8)."""
    world.get(federal(), idempotency_key=KEY)
    world.clock.advance(seconds=90)
    assert world.get(federal(), idempotency_key=KEY).headers["age"] == "90"


def test_an_expired_certificate_is_not_replayed(world: World) -> None:
    """Never delivered as valid: 409 from the day after its effective validity, for no credits."""
    world.source.finds(a_federal(validity="2026-08-06"))  # tomorrow
    assert world.get(federal(), idempotency_key=KEY).status == 200
    world.clock.advance(days=1)
    assert world.get(federal(), idempotency_key=KEY).status == 200
    world.clock.advance(days=1)
    late = world.get(federal(), idempotency_key=KEY)
    assert (late.status, late.code, late.credits) == (409, "RESULTADO_INDISPONIVEL", 0)
    assert "venceu" in late.json["message"]
    assert world.source.asked == 1


def test_what_is_newer_is_believed(world: World) -> None:
    """A good certificate that can never be served puts an end to a kept negative one."""
    world.source.finds(a_federal(kind="CPD", code=None, validity=None))
    assert world.get(federal()).status == 404
    world.source.finds(a_federal(code=None))
    assert world.get(federal(f"cnpj={CNPJ}&atualizar_online=true")).status == 200
    assert world.get(federal(f"cnpj={CNPJ}&cache_strategy=SO_CACHE")).code == (
        "SEM_RESULTADO_EM_CACHE"
    )


def test_that_nothing_could_be_issued_displaces_no_certificate(world: World) -> None:
    """A CND in force is served until the day before its validity (specification)."""
    assert world.get(federal()).status == 200
    world.source.finds(a_federal(kind=None, title="", code=None, validity=None, issued=False))
    assert world.get(federal(f"cnpj={CNPJ}&atualizar_online=true")).status == 404
    again = world.get(federal())
    assert (again.status, again.json["source"]) == (200, "cache")
