"""State certificates (specification, endpoint 5, "HTTP status - state certificate", "Credits").

Contract 1, 2.3, 2.10, 3, 4.7, 5, 6. One company and one UF per request; no strategies.
"""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from balcao.core.calendar import to_ms
from balcao.core.documents import Cnpj
from balcao.core.questions import Inquiry
from tests.records import A_PAGE, ALL_UFS, CNPJ, OTHER_CNPJ, a_state, federal, state
from tests.service import Client, FakeSource, Reply, Service, assert_refused, open_with_source

KEY = "pedido-0001"
REFRESH = "uf=SP&atualizar_online=true"
UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
NOT_ISSUED: dict[str, Any] = {
    **{"negative": False, "issued": False, "validity": None, "code": None, "number": None},
    **{"message": "Constam pendências.", "receipt": None},
}
FIELDS: dict[str, type] = {
    "codigo": str,
    "certidao_mensagem": str,
    "certidao_negativa": bool,
    "conseguiu_emitir_certidao_negativa": bool,
    "datahora": str,
    "mensagem": str,
    "numero": str,
    "validade": str,
    "print": str,
}


def brasilia(text: str) -> int:
    """Return an instant of 2026 in Brasília, three hours behind UTC."""
    return to_ms(datetime.fromisoformat(text).replace(tzinfo=UTC)) + 3 * 3_600_000


def money(world: Service, of: Client | None = None) -> tuple[int, int]:
    balance = world.balance(of)
    return balance.balance_credits, balance.held_credits


def inquiry(uf: str = "SP") -> Inquiry:
    return Inquiry("state_certificate", Cnpj.parse(CNPJ), uf)


def assert_result(answer: Reply, status: int, credits: int) -> Any:
    """Check a result's form, whatever its content."""
    body = answer.json
    assert (answer.status, answer.credits) == (status, credits), body
    assert (body["success"], body["error"], body["error_message"]) == (status == 200, False, None)
    assert body["request_id"] == answer.headers["x-request-id"]
    for name, kind in FIELDS.items():
        assert body[name] is None or type(body[name]) is kind, name
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}", body["datahora"], re.ASCII)
    assert answer.headers["cache-control"] == "no-store"
    parts = [part.strip() for part in answer.headers["cache-status"].split(";")]
    assert ("hit" in parts) == (credits == 1)
    assert "age" in answer.headers
    if status == 404:
        assert body["message"]
        assert not re.search("saldo|cr[ée]dito|limite", body["message"], re.IGNORECASE)
    else:
        assert "message" not in body
    return body


# Status and charge.


def test_200_costs_2_online_and_1_from_the_cache(world: Service) -> None:
    """A negative certificate is 200: 2 credits from the source, 1 from the cache."""
    assert_result(world.get(state()), 200, 2)
    world.clock.advance(days=1)
    answer = world.get(state())
    assert_result(answer, 200, 1)

    assert answer.headers["age"] == "86400"
    assert world.source.asked == 1
    assert [(c.credits, c.origin) for c in world.charges()] == [(-2, "online"), (-1, "cache")]
    assert {c.operation for c in world.charges()} == {"certidao-negativa-de-debitos-estadual"}
    assert not world.check().complaints


def test_404_costs_2_each_time(world: Service) -> None:
    """A negative result is a concluded query; it is never cached (contract 4.7)."""
    world.source.finds(a_state(**NOT_ISSUED))

    for _ in range(2):
        answer = assert_result(world.get(state()), 404, 2)
        assert answer["certidao_negativa"] is False
        assert answer["conseguiu_emitir_certidao_negativa"] is False
        assert answer["mensagem"] == "Constam pendências."
        assert (answer["validade"], answer["print"]) == (None, None)

    assert (world.source.asked, money(world)) == (2, (996, 0))


def test_a_404_with_a_validity_is_not_cached_either(world: Service) -> None:
    """Only a positive 200 result is reusable."""
    world.source.finds(a_state(negative=False, issued=False))
    assert_result(world.get(state()), 404, 2)
    assert_result(world.get(state()), 404, 2)


@pytest.mark.parametrize(
    ("says", "status", "code"),
    [("fails", 400, "FALHA_TECNICA"), ("is_down", 503, "SERVICO_INDISPONIVEL")],
)
def test_a_technical_error_releases_the_hold(
    world: Service, says: str, status: int, code: str
) -> None:
    """Nothing is charged, held or cached, and no older certificate replaces it."""
    world.keep(a_state(code="VELHA"))
    getattr(world.source, says)()

    assert_refused(world.get(state(OTHER_CNPJ)), status, code)
    assert_refused(world.get(state(query=REFRESH)), status, code)

    assert money(world) == (1000, 0)
    assert not world.charges()
    assert not world.check().complaints
    assert assert_result(world.get(state()), 200, 1)["codigo"] == "VELHA"


def test_a_timeout_is_a_failure_and_is_not_repeated(tmp_path: Path) -> None:
    """The second source is not asked; a later request finds the certificate."""
    with open_with_source(
        tmp_path, deadline=0.3, sources=lambda fake: [fake, FakeSource(fake.now_ms, "outra")]
    ) as world:
        world.source.waits()
        assert_refused(world.get(state()), 400, "FALHA_TECNICA")
        other = world.parts.environments["live"].sources._routes["state_certificate"].sources[1]
        assert isinstance(other, FakeSource)
        assert (world.source.asked, other.asked, money(world)) == (1, 0, (1000, 0))
        world.source.answers_now()
        assert_result(world.get(state()), 200, 2)


@pytest.mark.parametrize(("says", "asked"), [("fails", 0), ("is_down", 1)])
def test_only_an_unavailable_source_is_followed_by_the_next(
    tmp_path: Path, says: str, asked: int
) -> None:
    """A failed issuance is not asked of the next source; an unavailable one is."""
    with open_with_source(
        tmp_path, sources=lambda fake: [fake, FakeSource(fake.now_ms, "outra")]
    ) as world:
        getattr(world.source, says)()
        other = world.parts.environments["live"].sources._routes["state_certificate"].sources[1]
        assert isinstance(other, FakeSource)
        assert world.get(state()).status == (200 if asked else 400)
        assert (world.source.asked, other.asked) == (1, asked)


def test_a_uf_without_a_source_is_503(world: Service) -> None:
    """No source for the UF: 503 with Retry-After, at no cost (contract 3)."""
    world.source.serves_it = False
    assert_refused(world.get(state(query="uf=AC")), 503, "SERVICO_INDISPONIVEL")
    assert (world.source.asked, money(world)) == (0, (1000, 0))


def test_accounts_with_certificates(world: Service) -> None:
    """Free accounts and contracts without the service get 403 before 400."""
    for client in (
        world.account("a", plan="gratuito", credits=9, certificates=True),
        world.account("b", plan="pos_pago", credits=0),
    ):
        for path in (state(), state("123"), state(query=""), state(query="uf=BR")):
            assert_refused(world.get(path, client), 403, "CND_POS_PAGO_NAO_HABILITADO")
    postpaid = world.account("c", plan="pos_pago", certificates=True, credits=0)
    assert_result(world.get(state(), postpaid), 200, 2)


# Input.

REFUSALS = [
    ("123", "uf=SP", "CNPJ_INVALIDO"),
    ("90010001000101", "uf=SP", "CNPJ_INVALIDO"),
    ("90010000100", "uf=SP", "CNPJ_INVALIDO"),
    (CNPJ, "", "UF_OBRIGATORIA"),
    (CNPJ, "uf=", "UF_OBRIGATORIA"),
    (CNPJ, "uf=%20", "UF_OBRIGATORIA"),
    (CNPJ, "atualizar_online=true", "UF_OBRIGATORIA"),
    *((CNPJ, f"uf={uf}", "UF_INVALIDA") for uf in ("BR", "br", "XX", "S", "SAO", "%C5%BFP", "EX")),
    *((CNPJ, f"uf=SP&atualizar_online={v}", "PARAMETRO_INVALIDO") for v in ("sim", "2", "nova")),
    (CNPJ, "uf=SP&uf=SP", "PARAMETRO_REPETIDO"),
    (CNPJ, "uf=SP&uf=MG", "PARAMETRO_REPETIDO"),
    (CNPJ, "uf=SP&atualizar_online=true&atualizar_online=true", "PARAMETRO_REPETIDO"),
]


def test_every_refusal_has_its_code_and_leaves_nothing_behind(world: Service) -> None:
    """Each is 400 with its code, before any source, at no cost, and binds no key."""
    for document, query, code in REFUSALS:
        answer = world.get(state(document, query), idempotency_key=KEY)
        assert (answer.status, answer.code) == (400, code), (document, query)
        assert_refused(answer, 400, code)
    assert (world.source.asked, money(world)) == (0, (1000, 0))
    assert world.get(state(), idempotency_key=KEY).status == 200


def test_each_of_the_27_ufs(world: Service) -> None:
    """All 26 states and the Federal District; one entry each."""
    for uf in ALL_UFS:
        assert world.get(state(query=f"uf={uf}")).status == 200
    assert [each.uf for each in world.source.inquiries] == list(ALL_UFS)


@pytest.mark.parametrize(
    ("document", "query"),
    [
        ("90.010.001/0001-00", "uf=SP"),
        ("90.010.001%2F0001-00", "uf=sp"),
        (CNPJ, "uf=%20sp%20"),
        (CNPJ, "uf=SP&atualizar_online=false"),
        (CNPJ, "uf=SP&atualizar_online=0"),
        (CNPJ, "uf=SP&cache_strategy=SO_ONLINE&preferencia_emissao=nova&cache=0"),
    ],
)
def test_spellings_of_one_request(world: Service, document: str, query: str) -> None:
    """It is normalised, and there is no strategy here: unknown parameters are ignored."""
    world.keep(a_state())
    first = world.get(state(), idempotency_key=KEY)
    assert_result(world.get(state(document, query)), 200, 1)
    replay = world.get(state(document, query), idempotency_key=KEY)
    assert (replay.body, replay.headers["idempotent-replayed"]) == (first.body, "true")


def test_401_and_429_come_first(world: Service) -> None:
    """They precede reading the request."""
    narrow = world.another_key(world.client, per_minute=1)
    assert world.get(state("1"), narrow).status == 400
    for path in (state(), state("1"), state(query="")):
        assert_refused(world.get(path, None), 401, "API_KEY_INVALIDA")
        assert_refused(world.get(path, narrow), 429, "LIMITE_EXCEDIDO")


# Fields.


def test_all_fields_of_a_certificate(world: Service) -> None:
    """Every field of the table has the source's value in its exact form."""
    world.source.finds(a_state(queried_at="2026-08-05 11:59:58", message="Emitida."))

    answer = assert_result(world.get(state()), 200, 2)

    address = answer.pop("print")
    request_id = answer.pop("request_id")
    assert answer == {
        "success": True,
        "error": False,
        "error_message": None,
        "codigo": "C-0001",
        "certidao_mensagem": "Não constam pendências.",
        "certidao_negativa": True,
        "conseguiu_emitir_certidao_negativa": True,
        "datahora": "2026-08-05 11:59:58",
        "mensagem": "Emitida.",
        "numero": "26080000001-11",
        "validade": "2026-10-04",
    }
    path = "/consultas/v2/certidao-negativa-de-debitos-estadual/print/"
    assert re.fullmatch(path + UUID, address)
    assert request_id not in address


def test_values_that_the_source_lacks_are_null(world: Service) -> None:
    """Nullable fields are null and present."""
    bare = a_state(code=None, number=None, fiscal_message=None, validity=None, receipt=None)
    world.source.finds(bare)
    answer = assert_result(world.get(state()), 200, 2)
    for name in ("codigo", "numero", "certidao_mensagem", "mensagem", "validade", "print"):
        assert answer[name] is None, name


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ("2026-08-05T12:00:00", "2026-08-05 12:00:00"),
        ("2026-08-05T21:30:00", "2026-08-05 21:30:00"),  # the next day in UTC
        ("2026-12-31T23:59:59", "2026-12-31 23:59:59"),
    ],
)
def test_without_the_source_s_time_it_is_ours_in_brasilia(
    world: Service, now: str, told: str
) -> None:
    """`datahora` is in Brasília time, and stays the same from the cache."""
    world.clock.at_ms = brasilia(now)
    world.source.finds(a_state(validity="2027-06-30"))
    assert assert_result(world.get(state()), 200, 2)["datahora"] == told
    world.clock.advance(days=2)
    assert assert_result(world.get(state()), 200, 1)["datahora"] == told


def test_an_html_receipt_is_not_published(world: Service) -> None:
    """The public receipt is a PDF; HTML at the source is `print: null`, the result stays."""
    world.source.finds(a_state(receipt=A_PAGE))
    assert assert_result(world.get(state()), 200, 2)["print"] is None
    assert assert_result(world.get(state()), 200, 1)["print"] is None


def test_the_receipt_is_the_same_for_all(world: Service) -> None:
    """One address per CNPJ, UF and certificate, for all callers; another UF has its own."""
    other = world.account("bia", credits=10)
    mine = world.get(state()).json["print"]
    assert world.get(state(), other).json["print"] == mine
    assert world.get(state(query="uf=MG")).json["print"] != mine
    assert world.get(state(OTHER_CNPJ)).json["print"] != mine


# The cache.


@pytest.mark.parametrize(
    ("fields", "now", "from_cache"),
    [
        ({"validity": "2026-08-07"}, "2026-08-05T12:00:00", True),
        ({"validity": "2026-08-07"}, "2026-08-06T20:59:59", True),
        ({"validity": "2026-08-07"}, "2026-08-06T21:00:00", True),  # the next day in UTC
        ({"validity": "2026-08-07"}, "2026-08-06T23:59:59", True),
        ({"validity": "2026-08-07"}, "2026-08-07T00:00:00", False),  # "expires at the start"
        ({"validity": "2026-08-06"}, "2026-08-05T23:59:59", True),
        ({"validity": "2026-08-05"}, "2026-08-05T12:00:00", False),
        ({"validity": None}, "2026-08-05T12:00:00", False),
        ({"validity": "2026-12-31", "negative": False, "issued": False}, "2026-08-05T12", False),
        ({"validity": "2026-12-31", "code": None, "number": None}, "2026-08-05T12", True),
        ({"validity": "2027-03-01"}, "2027-02-28T23:59:59", True),
        ({"validity": "2027-03-01"}, "2027-03-01T00:00:00", False),
    ],
)
def test_reusable_until_the_end_of_the_day_before(
    world: Service, fields: dict[str, Any], now: str, from_cache: bool
) -> None:
    """The validity date alone decides, and only of a positive result (contract 4.7)."""
    world.keep(a_state(**fields))
    world.clock.at_ms = brasilia(now)
    world.source.finds(a_state(code="NOVA", validity="2028-01-01"))
    answer = assert_result(world.get(state()), 200, 1 if from_cache else 2)
    assert (answer["codigo"] == "NOVA") == (not from_cache)
    assert world.source.asked == (0 if from_cache else 1)


def test_a_refresh_asks_the_source_and_replaces_the_entry(world: Service) -> None:
    """`atualizar_online` costs 2 even with an entry; the next caller has the new one for 1."""
    world.keep(a_state(code="VELHA"))
    world.source.finds(a_state(code="NOVA"))
    assert assert_result(world.get(state(query=REFRESH)), 200, 2)["codigo"] == "NOVA"
    assert assert_result(world.get(state()), 200, 1)["codigo"] == "NOVA"


def test_a_newer_refusal_replaces_a_certificate(world: Service) -> None:
    """After a concluded 404 the older certificate is no longer served as valid."""
    world.keep(a_state())
    world.source.finds(a_state(**NOT_ISSUED))
    assert_result(world.get(state(query=REFRESH)), 404, 2)
    assert_result(world.get(state()), 404, 2)


def test_a_uf_is_part_of_the_key(world: Service) -> None:
    """One UF's certificate is not another's."""
    world.get(state())
    assert_result(world.get(state(query="uf=MG")), 200, 2)
    assert [each.uf for each in world.source.inquiries] == ["SP", "MG"]
    assert world.kept(inquiry("SP")) != world.kept(inquiry("MG"))


# The same request twice.


def test_other_parameters_under_the_same_key_are_refused(world: Service) -> None:
    """Another company, UF, refresh or operation is another request."""
    world.get(state(), idempotency_key=KEY)
    for path in (state(OTHER_CNPJ), state(query="uf=MG"), state(query=REFRESH), federal()):
        answer = world.get(path, idempotency_key=KEY)
        assert (answer.status, answer.code) == (400, "IDEMPOTENCY_KEY_REUTILIZADA"), path
    assert (world.source.asked, money(world)) == (1, (998, 0))
