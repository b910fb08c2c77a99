"""Reading a request for a federal certificate, and the order of checks (contract 2.5 to 2.10)."""

from datetime import UTC, datetime

import pytest

from balcao.core.calendar import to_ms
from tests.http.federal_certificates.shared import KEY, PERSON
from tests.records import CNPJ, CPF, OTHER_CNPJ, a_federal, federal
from tests.service import Client, Service, assert_refused

STRANGER = Client(0, 0, "balcao_live_" + "x" * 49)

REFUSALS = [
    ("", "DOCUMENTO_OBRIGATORIO"),
    ("cache_strategy=SO_CACHE", "DOCUMENTO_OBRIGATORIO"),
    ("data_nascimento=19800101", "DOCUMENTO_OBRIGATORIO"),
    (f"cnpj={CNPJ}&cpf={CPF}", "DOCUMENTOS_CONFLITANTES"),
    (f"cnpj={CNPJ}&{PERSON}", "DOCUMENTOS_CONFLITANTES"),
    (f"cnpj={CNPJ}&data_nascimento=19800101", "DOCUMENTOS_CONFLITANTES"),
    (f"cpf={CPF}", "DATA_NASCIMENTO_OBRIGATORIA"),
    *(
        (f"cnpj={cnpj}", "CNPJ_INVALIDO")
        for cnpj in (
            *("123", "9001000100010", "900100010001000", "90010001000101", "00000000000000"),
            *("12ABC34501DE3A", "90-010-001-0001-00", CPF, "%D9%A19001000100010"),
        )
    ),
    *(
        (f"cpf={cpf}&data_nascimento=19800101", "CPF_INVALIDO")
        for cpf in ("123", "9001000010", "90010000101", "11111111111", CNPJ, "9001000010A")
    ),
    *(
        (f"cpf={CPF}&data_nascimento={day}", "DATA_NASCIMENTO_INVALIDA")
        for day in (
            *("1980-01-01", "01011980x", "198001", "198001011", "19800230", "19810229", "19801301"),
            *("19800100", "19800001", "00000101", "abcdefgh", "1980%200101", "%2B1980101"),
            *("01/01/80", "%D9%A1%D9%A99800101", "-1980010", "1980010a"),
        )
    ),
    (f"cpf={CPF}&data_nascimento=20260806", "DATA_NASCIMENTO_FUTURA"),
    (f"cpf={CPF}&data_nascimento=99991231", "DATA_NASCIMENTO_FUTURA"),
    *(
        (f"cnpj={CNPJ}&cache_strategy={name}", "ESTRATEGIA_INVALIDA")
        for name in ("CACHE", "SO-CACHE", "ONLINE", "NOVA", "%C5%BFO_CACHE")
    ),
    *(
        (f"cnpj={CNPJ}&atualizar_online={value}", "PARAMETRO_INVALIDO")
        for value in ("sim", "2", "yes", "truee", "nova")
    ),
    *(
        (f"cnpj={CNPJ}&preferencia_emissao={value}", "PARAMETRO_INVALIDO")
        for value in ("1via", "3via", "true", "nova2")
    ),
    *(
        (f"cnpj={CNPJ}&cache_strategy=SO_CACHE&{rest}", "PARAMETROS_CONFLITANTES")
        for rest in (
            *("atualizar_online=true", "atualizar_online=1", "preferencia_emissao=nova"),
            "preferencia_emissao=nova&atualizar_online=true",
        )
    ),
    (f"cnpj={CNPJ}&cnpj={CNPJ}", "PARAMETRO_REPETIDO"),
    (f"cnpj={CNPJ}&cnpj={OTHER_CNPJ}", "PARAMETRO_REPETIDO"),
    (f"cpf={CPF}&{PERSON}", "PARAMETRO_REPETIDO"),
    (f"{PERSON}&data_nascimento=19800101", "PARAMETRO_REPETIDO"),
    *(
        (f"cnpj={CNPJ}&{name}={value}&{name}={value}", "PARAMETRO_REPETIDO")
        for name, value in (
            ("cache_strategy", "SO_ONLINE"),
            ("preferencia_emissao", "2via"),
            ("atualizar_online", "false"),
        )
    ),
]


def test_every_refusal_has_its_code_and_leaves_nothing_behind(world: Service) -> None:
    """Each is 400 with its code, before any source, at no cost, and binds no key."""
    for query, code in REFUSALS:
        answer = world.get(federal(query), idempotency_key=KEY)
        assert (answer.status, answer.code) == (400, code), query
        assert_refused(answer, 400, code)
    assert world.source.asked == 0
    assert (world.balance().balance_credits, world.balance().held_credits) == (1000, 0)

    corrected = world.get(federal(), idempotency_key=KEY)
    assert corrected.status == 200
    assert "idempotent-replayed" not in corrected.headers


@pytest.mark.parametrize(
    "query",
    [
        f"cnpj={CNPJ}",
        "cnpj=90.010.001/0001-00",
        "cnpj=90.010.001%2F0001-00",
        f"cnpj=%20{CNPJ}%20",
        f"cnpj={CNPJ}&cache_strategy=cache_preferencial",
        f"cnpj={CNPJ}&preferencia_emissao=2via&atualizar_online=false",
        f"cnpj={CNPJ}&atualizar_online=FALSE",
        f"cnpj={CNPJ}&atualizar_online=0",
        f"cnpj={CNPJ}&cache=x&uf=ZZ&uf=ZZ",
    ],
)
def test_spellings_of_one_request(world: Service, query: str) -> None:
    """Punctuation, white space, case, defaults and unknown parameters change nothing."""
    world.keep(a_federal())
    answer = world.get(federal(query))
    assert (answer.status, answer.credits) == (200, 1)


@pytest.mark.parametrize("query", [PERSON, "cpf=900.100.001-00&data_nascimento=19800101"])
def test_a_cpf_with_or_without_punctuation(world: Service, query: str) -> None:
    """A CPF has one entry for both spellings."""
    world.keep(a_federal(CPF))
    assert world.get(federal(query)).json["source"] == "cache"


@pytest.mark.parametrize("value", ["true", "TRUE", "1"])
def test_spellings_of_a_refresh(world: Service, value: str) -> None:
    """`atualizar_online` takes the words of a boolean in any case."""
    world.keep(a_federal())
    assert world.get(federal(f"cnpj={CNPJ}&atualizar_online={value}")).json["source"] == "online"


@pytest.mark.parametrize(
    ("now", "today", "tomorrow"),
    [
        # Brasília is three hours behind: until 03:00 UTC it is still the day before there.
        ("2026-08-05T15:00:00", "20260805", "20260806"),
        ("2026-08-05T23:59:59", "20260805", "20260806"),
        ("2026-08-06T00:00:00", "20260805", "20260806"),
        ("2026-08-06T02:59:59", "20260805", "20260806"),
        ("2026-08-06T03:00:00", "20260806", "20260807"),
        ("2027-01-01T02:59:59", "20261231", "20270101"),
        ("2028-02-29T02:59:59", "20280228", "20280229"),
    ],
)
def test_today_in_brasilia_is_not_future_and_tomorrow_is(
    world: Service, now: str, today: str, tomorrow: str
) -> None:
    """A birth date is compared with the civil day in Brasília, around midnight UTC too."""
    world.clock.at_ms = to_ms(datetime.fromisoformat(now).replace(tzinfo=UTC))
    world.source.finds(a_federal(CPF, validity="2030-01-01"))

    born_today = world.get(federal(f"cpf={CPF}&data_nascimento={today}"))
    born_tomorrow = world.get(federal(f"cpf={CPF}&data_nascimento={tomorrow}"))

    assert born_today.status == 200
    assert_refused(born_tomorrow, 400, "DATA_NASCIMENTO_FUTURA")


@pytest.mark.parametrize("day", ["20000229", "19000101", "18991231"])
def test_old_birth_dates_and_leap_days(world: Service, day: str) -> None:
    """A date that exists is a date."""
    assert world.get(federal(f"cpf={CPF}&data_nascimento={day}")).status == 200


# The order of checks.

BAD = ("", "cnpj=1", f"cnpj={CNPJ}&cache_strategy=X", f"cnpj={CNPJ}&cnpj={CNPJ}")


def test_401_comes_before_everything(world: Service) -> None:
    """Without a key, no parameter is checked."""
    for query in (*BAD, f"cnpj={CNPJ}"):
        for stranger in (STRANGER, None):
            answer = world.get(federal(query), stranger, idempotency_key="curta")
            assert_refused(answer, 401, "API_KEY_INVALIDA")


def test_429_comes_before_403(world: Service) -> None:
    """Limits precede permissions."""
    account = world.account("lia", plan="gratuito", credits=0)
    narrow = world.another_key(account, per_minute=2)
    for _ in range(2):
        assert world.get(federal(), narrow).status == 403
    for query in (*BAD, f"cnpj={CNPJ}"):
        assert_refused(world.get(federal(query), narrow), 429, "LIMITE_EXCEDIDO")


def test_429_comes_before_400_and_binds_nothing(world: Service) -> None:
    """A request over the limit is not read, and its key is not bound."""
    account = world.account("lia", credits=2)
    narrow = world.another_key(account, per_minute=1)
    assert world.get(federal(""), narrow).status == 400
    refused = world.get(federal(""), narrow, idempotency_key=KEY)
    assert_refused(refused, 429, "LIMITE_EXCEDIDO")

    world.clock.advance(seconds=int(refused.headers["retry-after"]))

    assert world.get(federal(), narrow, idempotency_key=KEY).status == 200


def test_403_comes_before_400(world: Service) -> None:
    """An account without certificates gets 403 whatever it sends, and no key is bound."""
    for client in (
        world.account("a", plan="gratuito", credits=0),
        world.account("b", plan="pos_pago", credits=0),
    ):
        for query in (*BAD, f"cnpj={CNPJ}"):
            for key in (KEY, "curta"):
                answer = world.get(federal(query), client, idempotency_key=key)
                assert_refused(answer, 403, "CND_POS_PAGO_NAO_HABILITADO")
    assert world.source.asked == 0


def test_403_comes_before_the_cache(world: Service) -> None:
    """Cached certificates are not for accounts without certificates."""
    world.keep(a_federal())
    assert world.get(federal(), world.account("a", plan="gratuito", credits=9)).status == 403


def test_400_comes_before_idempotency_and_402(world: Service) -> None:
    """An invalid request is refused even with a used key and without credits."""
    assert world.get(federal(), idempotency_key=KEY).status == 200
    poor = world.account("edu", credits=0)
    for query in BAD:
        assert world.get(federal(query), idempotency_key=KEY).code != "IDEMPOTENCY_KEY_REUTILIZADA"
        assert world.get(federal(query), poor).status == 400
    assert world.get(federal(), poor, idempotency_key="curta").code == "IDEMPOTENCY_KEY_INVALIDA"


def test_402_binds_no_key(world: Service) -> None:
    """After a top-up the same key works, for another request too."""
    poor = world.account("edu", credits=1)
    assert world.get(federal(), poor, idempotency_key=KEY).status == 402

    world.top_up(poor, 1)

    assert world.get(federal(f"cnpj={OTHER_CNPJ}"), poor, idempotency_key=KEY).status == 200


def test_so_cache_without_result_binds_no_key(world: Service) -> None:
    """Once there is an entry, the same key gets it."""
    path = federal(f"cnpj={CNPJ}&cache_strategy=SO_CACHE")
    assert world.get(path, idempotency_key=KEY).code == "SEM_RESULTADO_EM_CACHE"

    world.keep(a_federal())

    assert world.get(path, idempotency_key=KEY).status == 200


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "DELETE"])
def test_other_methods_are_405(world: Service, method: str) -> None:
    """A HEAD would cost credits without an answer (contract 1.11)."""
    answer = world.request(method, federal())
    assert (answer.status, answer.headers["allow"]) == (405, "GET, OPTIONS")
    assert world.source.asked == 0


def test_a_document_in_the_path_is_404(world: Service) -> None:
    """The federal document is a parameter of the query."""
    path = federal("").rstrip("?") + f"/{CNPJ}"
    assert world.get(path).code == "ROTA_NAO_ENCONTRADA"
