"""All errors of registrations, Suframa and the company registry that can be provoked.

Status and code (contract 3), envelope (1.1), messages (1.4) and price (none). `test_suframa.py`
has the fields that Suframa's errors must not have.
"""

import re
import uuid
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

import pytest

from balcao.core.errors import StorageFailed
from tests.http.registrations.shared import KEY
from tests.records import CNPJ, CPF, OTHER_CNPJ, company, producer, sintegra, suframa
from tests.service import Client, Reply, Service, open_with_source

STRANGER = Client(0, 0, "balcao_live_" + "x" * 49)
EXHAUSTED = re.compile(r"saldo|cr[eé]dito|limite", re.IGNORECASE)


class Operation(NamedTuple):
    """One of four operations; for two of them, `uf` is an unknown parameter and ignored."""

    path: Callable[..., str]
    document: str
    other: str
    field: str

    def at(self, query: str = "uf=SP") -> str:
        return self.path(self.document, query)


SINTEGRA = Operation(sintegra, CNPJ, OTHER_CNPJ, "cnpj")
PRODUCER = Operation(producer, CPF, "90010000291", "cpf")
SUFRAMA = Operation(suframa, CNPJ, OTHER_CNPJ, "cnpj")
COMPANY = Operation(company, CNPJ, OTHER_CNPJ, "response")

Provocation: TypeAlias = Callable[[Service, Operation], Reply]


def _reused_key(world: Service, of: Operation) -> Reply:
    world.get(of.path(of.other, "uf=SP"), idempotency_key=KEY)
    return world.get(of.at(), idempotency_key=KEY)


def _second_of_a_minute(world: Service, of: Operation) -> Reply:
    narrow = world.another_key(world.client, per_minute=1)
    world.get(of.at(), narrow)
    return world.get(of.at(), narrow)


def _still_running(world: Service, of: Operation) -> Reply:
    return world.meanwhile(of.at(), of.at(), idempotency_key=KEY)[1]


def _died(world: Service, of: Operation) -> Reply:
    world.die(of.at(), idempotency_key=KEY)
    return world.get(of.at(), idempotency_key=KEY)


def _fails(world: Service, of: Operation) -> Reply:
    world.source.fails("segredo")
    return world.get(of.at())


def _has_a_bug(world: Service, of: Operation) -> Reply:
    world.source.has_a_bug(RuntimeError("segredo"))
    return world.get(of.at())


def _is_down(world: Service, of: Operation) -> Reply:
    world.source.is_down(17)
    return world.get(of.at())


def _no_source(world: Service, of: Operation) -> Reply:
    world.source.serves_it = False
    return world.get(of.at())


def _unproven_absence(world: Service, of: Operation) -> Reply:
    world.source.says_absent(conclusive=False)
    return world.get(of.at())


def _full_disk(world: Service, of: Operation) -> Reply:
    async def full(_: object) -> None:
        raise StorageFailed("disk full")

    world.desk.commit = full  # type: ignore[method-assign, assignment]
    return world.get(of.at())


def _no_places(world: Service, of: Operation) -> Reply:
    with open_with_source(world.folder / "cheio", requests_max=0) as busy:
        return busy.get(of.at())


PROVOCATIONS: Mapping[str, tuple[int, str, Provocation]] = {
    "wrong cache": (400, "PARAMETRO_INVALIDO", lambda w, of: w.get(of.at("uf=SP&cache=abc"))),
    "wrong header": (400, "PARAMETRO_INVALIDO", lambda w, of: w.get(of.at(), cache="9999")),
    "repeated": (400, "PARAMETRO_REPETIDO", lambda w, of: w.get(of.at("uf=SP&cache=1&cache=1"))),
    "wrong key": (
        400,
        "IDEMPOTENCY_KEY_INVALIDA",
        lambda w, of: w.get(of.at(), idempotency_key="curta"),
    ),
    "reused key": (400, "IDEMPOTENCY_KEY_REUTILIZADA", _reused_key),
    "no api key": (401, "API_KEY_INVALIDA", lambda w, of: w.get(of.at(), None)),
    "stranger": (401, "API_KEY_INVALIDA", lambda w, of: w.get(of.at(), STRANGER)),
    "no credits": (
        402,
        "SALDO_INSUFICIENTE",
        lambda w, of: w.get(of.at(), w.account("edu", credits=0)),
    ),
    "POST": (405, "METODO_NAO_PERMITIDO", lambda w, of: w.request("POST", of.at())),
    "still running": (409, "OPERACAO_EM_ANDAMENTO", _still_running),
    "died": (409, "RESULTADO_INDISPONIVEL", _died),
    "a body": (413, "REQUISICAO_GRANDE_DEMAIS", lambda w, of: w.get(of.at(), content_length="5")),
    "16 kB": (431, "REQUISICAO_GRANDE_DEMAIS", lambda w, of: w.get(of.at(), x_longo="a" * 17_000)),
    "a second request": (429, "LIMITE_EXCEDIDO", _second_of_a_minute),
    "the source fails": (500, "ERRO_INTERNO", _fails),
    "a bug": (500, "ERRO_INTERNO", _has_a_bug),
    "the source is down": (503, "SERVICO_INDISPONIVEL", _is_down),
    "no source": (503, "SERVICO_INDISPONIVEL", _no_source),
    "absence unproven": (503, "SERVICO_INDISPONIVEL", _unproven_absence),
    "a full disk": (503, "SERVICO_INDISPONIVEL", _full_disk),
    "no places": (503, "SERVICO_INDISPONIVEL", _no_places),
}


def assert_error(
    answer: Reply, status: int, code: str, of: Operation, *, valid: bool = True
) -> None:
    """Check what contract 1.1, 1.3, 1.4 and 1.8 promise of every error of these operations."""
    body = answer.json
    assert (answer.status, answer.code) == (status, code)
    assert body["success"] is False
    assert body["error"] is True
    assert body["error_message"] == {"message": body["message"], "code": code}
    assert isinstance(body["message"], str)
    assert body["message"]
    assert "segredo" not in answer.body.decode()
    assert bool(EXHAUSTED.search(body["message"])) == (status in (402, 429))
    assert body["request_id"] == answer.headers["x-request-id"]
    assert uuid.UUID(body["request_id"]).version == 7
    assert answer.credits == 0
    assert answer.headers["cache-control"] == "no-store"
    assert "age" not in answer.headers
    assert "cache-status" not in answer.headers
    expected = {"request_id", "success", "error", "error_message", "message"}
    assert answer.headers["content-type"].startswith("application/json")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert int(answer.headers["content-length"]) == len(answer.raw)
    if valid or of is COMPANY:
        assert body[of.field] == (of.document if of is not COMPANY else None)
        expected.add(of.field)
    if of in (SINTEGRA, PRODUCER):
        assert body["inscricoes_estaduais"] == []
        expected.add("inscricoes_estaduais")
    if status == 402:
        assert type(body["creditos_necessarios"]) is type(body["creditos_disponiveis"]) is int
        expected |= {"creditos_necessarios", "creditos_disponiveis"}
    assert set(body) == expected
    if status in (429, 503) or code == "OPERACAO_EM_ANDAMENTO":
        assert int(answer.headers["retry-after"]) >= 1


@pytest.mark.parametrize("what", PROVOCATIONS)
@pytest.mark.parametrize(
    "of", [SINTEGRA, PRODUCER, COMPANY], ids=["sintegra", "producer", "company"]
)
def test_every_error_has_the_envelope_of_its_operation(
    world: Service, of: Operation, what: str
) -> None:
    """The document is repeated, the list is empty, and nothing is charged."""
    status, code, provoke = PROVOCATIONS[what]
    assert_error(provoke(world, of), status, code, of)


REFUSED = {
    "uf=XX": "UF_INVALIDA",
    "uf=SP&cache_strategy=SO_CACHE": "ESTRATEGIA_INVALIDA",
    "uf=SP&endereco=talvez": "PARAMETRO_INVALIDO",
    "uf=SP&error_fallback=": "PARAMETRO_INVALIDO",
    "uf=SP&uf=RJ": "PARAMETRO_REPETIDO",
}


@pytest.mark.parametrize("of", [SINTEGRA, PRODUCER], ids=["sintegra", "producer"])
def test_refused_parameters_of_some_operations(world: Service, of: Operation) -> None:
    """Parameters that Suframa does not have are refused in the same form."""
    for query, code in REFUSED.items():
        assert_error(world.get(of.at(query)), 400, code, of)
    assert_error(
        world.get(of.at("uf=BR&x=1"), world.account("edu", credits=0)),
        402,
        "SALDO_INSUFICIENTE",
        of,
    )
    if of is PRODUCER:
        assert_error(world.get(of.at("")), 400, "UF_OBRIGATORIA", of)
        assert_error(world.get(of.at("uf=PR")), 400, "UF_INVALIDA", of)


@pytest.mark.parametrize("of", [SINTEGRA, PRODUCER], ids=["sintegra", "producer"])
def test_an_invalid_document_is_not_repeated(world: Service, of: Operation) -> None:
    """Subject fields are there "when they are known" (contract 1.1): here the list alone."""
    code = f"{of.field.upper()}_INVALIDO"
    assert_error(world.get(of.path("123")), 400, code, of, valid=False)
    assert_error(world.get(of.path("123"), None), 401, "API_KEY_INVALIDA", of, valid=False)
    assert_error(
        world.request("POST", of.path("123")), 405, "METODO_NAO_PERMITIDO", of, valid=False
    )


def test_the_document_is_repeated_in_its_plain_form(world: Service) -> None:
    """Without punctuation and in upper case, on errors too (contract 1.6, 2.2)."""
    world.source.fails()
    for path, field, plain in (
        (sintegra("12.abc.345/01de-35"), "cnpj", "12ABC34501DE35"),
        (producer("900.100.001-00"), "cpf", CPF),
        (suframa("90.010.001%2F0001-00"), "cnpj", CNPJ),
    ):
        for answer in (world.get(path), world.get(path, None)):
            assert answer.json[field] == plain


def test_a_cnpj_that_does_not_exist(world: Service) -> None:
    """404 `CNPJ_NAO_ENCONTRADO` of the state registrations, in one UF or all."""
    world.source.says_absent()
    for query in ("uf=SP", "uf=BR", "uf=BR&endereco=true"):
        assert_error(world.get(SINTEGRA.at(query)), 404, "CNPJ_NAO_ENCONTRADO", SINTEGRA)
    assert (world.balance().balance_credits, world.balance().held_credits) == (1000, 0)


def test_a_person_without_registrations_is_no_404(world: Service) -> None:
    """A valid CPF has registrations or none; no code means that it does not exist."""
    world.source.says_absent()
    answer = world.get(producer())

    assert answer.status in (500, 503)
    assert answer.credits == 0
    assert answer.json["inscricoes_estaduais"] == []


def test_retry_after_is_the_source_s(world: Service) -> None:
    """The seconds on a 503 are correct (contract 1.8)."""
    world.source.is_down(17)
    for of in (SINTEGRA, PRODUCER, SUFRAMA):
        assert world.get(of.at()).headers["retry-after"] == "17"


def test_head_is_405_and_has_no_body(world: Service) -> None:
    """It would cost credits without an answer (contract 1.11)."""
    for of in (SINTEGRA, PRODUCER, SUFRAMA):
        answer = world.request("HEAD", of.at())
        assert (answer.status, answer.raw) == (405, b"")
        assert set(answer.headers["allow"].split(", ")) == {"GET", "OPTIONS"}
    assert world.source.asked == 0
    assert world.balance().balance_credits == 1000
