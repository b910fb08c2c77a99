"""Federal certificates: statuses, prices, fields and headers (specification, endpoint 4).

Specification, "Federal joint tax clearance certificate", "HTTP status - federal certificate",
"Credits"; contract 1, 3, 4.6, 4.9, 5. Checks before a source is asked: `test_input`;
strategies, entries and sources: `test_table`; repeated requests: `test_repeated`.
"""

import re
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from balcao.core.documents import Cnpj, Cpf
from balcao.core.questions import Inquiry
from tests.http.federal_certificates.shared import PERSON, assert_result
from tests.records import A_PAGE, BIRTH, CNPJ, CPF, NAME, OTHER_CNPJ, a_federal, federal
from tests.service import (
    Client,
    FakeSource,
    Reply,
    Service,
    assert_refused,
    open_with_source,
)

NEGATIVES: dict[str, dict[str, Any]] = {
    "CPD": {"kind": "CPD", "title": "CERTIDÃO POSITIVA DE DÉBITOS", "issued": False},
    "impossible": {
        **{"kind": None, "title": "", "code": None, "validity": None, "issued_on": None},
        **{"issued": False, "message": "As informações não permitem emitir.", "receipt": None},
    },
    "unclassified": {
        **{"kind": None, "kind_text": "Certidão de situação diversa", "title": "CERTIDÃO DIVERSA"},
        **{"issued": False},
    },
}
UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


def inquiry(cnpj: str = CNPJ) -> Inquiry:
    return Inquiry("federal_certificate", Cnpj.parse(cnpj))


def money(world: Service, of: Client | None = None) -> tuple[int, int]:
    balance = world.balance(of)
    return balance.balance_credits, balance.held_credits


# Status and charge, row by row.


@pytest.mark.parametrize("kind", ["CND", "CPEND"])
def test_200_costs_2_online_and_1_from_the_cache(world: Service, kind: str) -> None:
    """A CND or CPEND is 200: 2 credits from the source, 1 from the cache."""
    world.source.finds(a_federal(kind=kind))

    assert assert_result(world.get(federal()), 200, "online")["certificate_type"] == kind
    assert money(world) == (998, 0)
    assert assert_result(world.get(federal()), 200, "cache")["certificate_type"] == kind
    assert money(world) == (997, 0)

    assert world.source.asked == 1
    assert [(c.credits, c.origin) for c in world.charges()] == [(-2, "online"), (-1, "cache")]
    assert {c.operation for c in world.charges()} == {"certidao-negativa-de-debitos-federal"}
    assert all(c.rule for c in world.charges())
    assert not world.check().complaints


@pytest.mark.parametrize("case", NEGATIVES)
def test_404_is_a_result_and_costs_2_or_1(world: Service, case: str) -> None:
    """A functional negative is 404 with `error: false`, 2 credits from the source, 1 after."""
    world.source.finds(a_federal(**NEGATIVES[case]))

    online = assert_result(world.get(federal()), 404, "online")
    again = assert_result(world.get(federal()), 404, "cache")

    for body in (online, again):
        assert body["certificate_type"] not in ("CND", "CPEND")
        assert body["valid_until"] == "2026-08-05"
    assert (online["certificate_type"] == "CPD") == (case == "CPD")
    assert world.source.asked == 1
    assert money(world) == (997, 0)


def test_accounts_with_certificates(world: Service) -> None:
    """Prepaid always, postpaid by contract, free accounts never (contract 7.1)."""
    never = [
        world.account("a", plan="gratuito", credits=10),
        world.account("b", plan="gratuito", credits=10, certificates=True),
        world.account("c", plan="pos_pago", credits=0),
    ]
    for client in never:
        assert_refused(world.get(federal(), client), 403, "CND_POS_PAGO_NAO_HABILITADO")
    assert world.source.asked == 0

    postpaid = world.account("d", plan="pos_pago", certificates=True, credits=0)
    assert_result(world.get(federal(), postpaid), 200, "online")
    assert money(world, postpaid) == (-2, 0)


def test_a_postpaid_ceiling_is_402(world: Service) -> None:
    """A monthly ceiling of 1 credit covers a cached certificate and not an online one."""
    client = world.account("d", plan="pos_pago", certificates=True, ceiling_credits=1, credits=0)

    assert world.get(federal(), client).status == 402
    world.keep(a_federal())
    assert world.get(federal(), client).status == 200
    assert world.source.asked == 0


# Fields.


def test_all_fields_of_a_certificate(world: Service) -> None:
    """Every field of the table has the source's value in its exact form."""
    world.source.finds(a_federal(queried_at="2026-08-05T11:59:58-03:00"))

    answer = assert_result(world.get(federal()), 200, "online")

    body = {name: value for name, value in answer.items() if name not in ("request_id", "print")}
    assert body == {
        "success": True,
        "error": False,
        "error_message": {},
        "certificate_type": "CND",
        "certificate": "CERTIDÃO NEGATIVA DE DÉBITOS RELATIVOS AOS TRIBUTOS FEDERAIS",
        "certificate_code": "A1B2.C3D4.E5F6.0789",
        "cnpj": "90.010.001/0001-00",
        "certificate_cnpj": "90.010.001/0001-00",
        "cpf": None,
        "corporate_name": NAME,
        "status": "Válida",
        "issued_at": "2026-06-20",
        "validity": "2026-12-17",
        "extended_validity": None,
        "effective_validity": "2026-12-17",
        "valid_until": "2026-12-16",
        "source_queried_at": "2026-08-05T11:59:58-03:00",
        "served_at": "2026-08-05T12:00:00-03:00",
        "source": "online",
        "issued_successfully": True,
        "rfb_debts": False,
        "pgfn_debts": False,
        "receipt_type": "application/pdf",
        "receipt_verification_code": "A1B2.C3D4.E5F6.0789",
        "provider_code": 200,
        "provider_billable": True,
        "provider_elapsed_time_in_milliseconds": 4210,
        "billing": {"credits": 2, "source": "online"},
    }
    assert re.fullmatch(
        f"/consultas/v2/certidao-negativa-de-debitos-federal/print/{UUID}", answer["print"]
    )
    assert answer["print"].rpartition("/")[2] != answer["request_id"]


def test_a_certificate_of_a_person(world: Service) -> None:
    """The document is a punctuated CPF, and there is no CNPJ."""
    answer = assert_result(world.get(federal(PERSON)), 200, "online")

    assert (answer["cpf"], answer["cnpj"]) == ("900.100.001-00", None)
    assert BIRTH not in str(answer)
    assert world.source.inquiries[0].birth == BIRTH


def test_a_cnpj_with_letters_is_punctuated_like_the_others(world: Service) -> None:
    """An alphanumeric CNPJ keeps its letters."""
    body = world.get(federal("cnpj=12abc34501de35")).json
    assert body["cnpj"] == "12.ABC.345/01DE-35"


@pytest.mark.parametrize(
    ("fields", "effective", "until"),
    [
        # The later of the two dates; usable until the day before it (contract 4.6).
        ({"validity": "2026-08-15", "extended_validity": "2026-09-14"}, "2026-09-14", "2026-09-13"),
        ({"validity": "2026-09-14", "extended_validity": "2026-08-15"}, "2026-09-14", "2026-09-13"),
        # Expired, and extended: in force.
        ({"validity": "2026-07-01", "extended_validity": "2026-09-01"}, "2026-09-01", "2026-08-31"),
        ({"validity": "2026-08-06"}, "2026-08-06", "2026-08-05"),
        ({"validity": "2027-01-01"}, "2027-01-01", "2026-12-31"),
        ({"validity": "2028-03-01"}, "2028-03-01", "2028-02-29"),
        # In force, and no entry that could be used: null.
        ({"validity": "2026-08-05"}, "2026-08-05", None),
        ({"validity": "2026-12-17", "code": None}, "2026-12-17", None),
        ({"validity": None}, None, None),
    ],
)
def test_valid_until(
    world: Service, fields: dict[str, Any], effective: str | None, until: str | None
) -> None:
    """The last day from the cache is the day before the effective validity, or null."""
    world.source.finds(a_federal(**fields))

    answer = assert_result(world.get(federal()), 200, "online")

    assert (answer["effective_validity"], answer["valid_until"]) == (effective, until)
    again = world.get(federal(f"cnpj={CNPJ}&cache_strategy=SO_CACHE"))
    assert again.status == (400 if until is None else 200)


def test_values_that_the_source_lacks_are_null(world: Service) -> None:
    """Nullable fields are null and present; the texts are empty."""
    answer = assert_result(
        _reply_with(
            world,
            code=None,
            issued_on=None,
            validity=None,
            rfb_debts=None,
            pgfn_debts=None,
            receipt=None,
            verification_code="",
        ),
        200,
        "online",
    )
    for name in (
        *("certificate_code", "issued_at", "validity", "extended_validity", "print", "cpf"),
        *("effective_validity", "valid_until", "rfb_debts", "pgfn_debts"),
    ):
        assert answer[name] is None, name


def _reply_with(world: Service, **fields: Any) -> Reply:
    world.source.finds(a_federal(**fields))
    return world.get(federal())


def test_a_cpend_has_its_debts(world: Service) -> None:
    """The indicators of both offices are separate."""
    body = _reply_with(world, kind="CPEND", rfb_debts=True, pgfn_debts=False).json
    assert (body["rfb_debts"], body["pgfn_debts"]) == (True, False)


def test_an_html_receipt_is_in_print(world: Service) -> None:
    """An HTML receipt is a federal receipt like any other."""
    body = _reply_with(world, receipt=A_PAGE).json
    assert body["receipt_type"] == "text/html"
    assert body["print"]


def test_a_positive_result_has_no_message(world: Service) -> None:
    """`message` belongs to errors and negatives (contract 1.1)."""
    assert "message" not in world.get(federal()).json


def test_a_cached_certificate_is_not_presented_as_new(world: Service) -> None:
    """The source's time stays, the delivery has its own, and the age is the difference."""
    first = world.get(federal())
    world.clock.advance(days=3, seconds=5)
    second = world.get(federal())

    before, now = first.json, second.json
    assert before["source_queried_at"] == now["source_queried_at"] == "2026-08-05T12:00:00-03:00"
    assert before["served_at"] == "2026-08-05T12:00:00-03:00"
    assert now["served_at"] == "2026-08-08T12:00:05-03:00"
    assert before["issued_at"] == now["issued_at"] == "2026-06-20"
    assert (first.headers["age"], second.headers["age"]) == ("0", str(3 * 86_400 + 5))
    own = {"request_id", "served_at", "source", "billing"}
    assert {k: v for k, v in before.items() if k not in own} == {
        k: v for k, v in now.items() if k not in own
    }


def test_the_sources_own_time_is_kept(world: Service) -> None:
    """The time in the source's answer survives the cache."""
    body = "2026-08-05T11:48:03-03:00"
    assert _reply_with(world, queried_at=body).json["source_queried_at"] == body
    world.clock.advance(days=1)
    assert world.get(federal()).json["source_queried_at"] == body


def test_the_time_of_a_slow_source_is_when_it_was_asked(world: Service) -> None:
    """Asked at noon and delivered ten seconds later are two times."""

    async def scenario() -> Reply:
        world.source.waits()
        task = world.begin(federal())
        await world.until(lambda: world.source.asked == 1)
        world.clock.advance(seconds=10)
        world.source.answers_now()
        return await task

    body = world.run(scenario()).json
    assert body["source_queried_at"] == "2026-08-05T12:00:00-03:00"
    assert body["served_at"] == "2026-08-05T12:00:10-03:00"


def test_receipts_have_a_number_per_account(world: Service) -> None:
    """Two accounts have two addresses for one receipt, and each always the same one."""
    other = world.account("bia", credits=10)
    mine = [world.get(federal()).json["print"] for _ in range(2)]
    theirs = [world.get(federal(), other).json["print"] for _ in range(2)]

    assert mine[0] == mine[1] != theirs[0] == theirs[1]


# The cache.


def test_a_birth_date_is_part_of_the_key(world: Service) -> None:
    """One CPF with two birth dates has two entries (contract 4.6)."""
    other = f"cpf={CPF}&data_nascimento=19800102"
    world.get(federal(PERSON))

    assert world.get(federal(other + "&cache_strategy=SO_CACHE")).status == 400
    assert_result(world.get(federal(other)), 200, "online")
    assert_result(world.get(federal(PERSON)), 200, "cache")
    assert [i.birth for i in world.source.inquiries] == ["1980-01-01", "1980-01-02"]
    person = Inquiry("federal_certificate", Cpf.parse(CPF), birth="1980-01-03")
    assert world.kept(person) is None


def test_a_newer_negative_replaces_a_certificate(world: Service) -> None:
    """After an online CPD the older CND is no longer served as valid."""
    world.get(federal())
    world.source.finds(a_federal(**NEGATIVES["CPD"]))
    assert_result(world.get(federal(f"cnpj={CNPJ}&atualizar_online=true")), 404, "online")

    assert_result(world.get(federal()), 404, "cache")
    world.source.fails()
    fallback = world.get(federal(f"cnpj={CNPJ}&cache_strategy=ONLINE_PREFERENCIAL"))
    assert_refused(fallback, 400, "FALHA_TECNICA")


# Who is asked, and how often.


def another(fake: FakeSource) -> FakeSource:
    """Return another source, in addition to `world.source`."""
    return FakeSource(fake.now_ms, "outra")


def two(tmp_path: Path) -> AbstractContextManager[Service]:
    """Open a service with a source before `world.source`."""
    return open_with_source(tmp_path, sources=lambda fake: [another(fake), fake])


def first_of(world: Service) -> FakeSource:
    route = world.parts.environments["live"].sources._routes["federal_certificate"]
    source = route.sources[0]
    assert isinstance(source, FakeSource)
    return source


@pytest.mark.parametrize("says", ["fails", "refuses"])
def test_a_failed_issuance_is_not_bought_from_the_next(tmp_path: Path, says: str) -> None:
    """The second source is not asked if the first failed or refused the data."""
    with two(tmp_path) as world:
        getattr(first_of(world), says)()

        assert world.get(federal()).status == 400

        assert (first_of(world).asked, world.source.asked) == (1, 0)


def test_an_unavailable_source_is_followed_by_the_next(tmp_path: Path) -> None:
    """The second source is asked if the first is out of service, at one price."""
    with two(tmp_path) as world:
        first_of(world).is_down()

        assert_result(world.get(federal()), 200, "online")

        assert (first_of(world).asked, world.source.asked) == (1, 1)
        assert money(world) == (998, 0)


@pytest.mark.parametrize(
    ("says", "status", "code"),
    [("fails", 400, "FALHA_TECNICA"), ("is_down", 503, "SERVICO_INDISPONIVEL")],
)
def test_the_worst_of_two_decides(tmp_path: Path, says: str, status: int, code: str) -> None:
    """Unavailable and failed is a failure; both unavailable is 503."""
    with two(tmp_path) as world:
        first_of(world).is_down()
        getattr(world.source, says)()
        assert_refused(world.get(federal()), status, code)


def test_nova_goes_to_a_source_that_can_reissue(tmp_path: Path) -> None:
    """A source that only finds certificates in force is not asked for a new one."""
    with two(tmp_path) as world:
        first_of(world).reissues = False

        assert_result(world.get(federal(f"cnpj={CNPJ}&preferencia_emissao=nova")), 200, "online")
        assert (first_of(world).asked, world.source.asked) == (0, 1)
        assert world.source.inquiries[0].reissue

        assert world.get(federal(f"cnpj={OTHER_CNPJ}")).status == 200
        assert (first_of(world).asked, world.source.asked) == (1, 1)
        assert not first_of(world).inquiries[0].reissue


def test_without_a_source_that_reissues_it_is_503(world: Service) -> None:
    """No source is asked for a second copy in place of a new certificate."""
    world.source.reissues = False
    assert_refused(
        world.get(federal(f"cnpj={CNPJ}&preferencia_emissao=nova")), 503, "SERVICO_INDISPONIVEL"
    )
    assert (world.source.asked, money(world)) == (0, (1000, 0))


def test_a_reissued_certificate_is_served_to_the_next_caller(world: Service) -> None:
    """The new certificate replaces the old one in the cache."""
    world.keep(a_federal(code="VELHA"), days=30)
    world.source.finds(a_federal(code="NOVA"))
    new = world.get(federal(f"cnpj={CNPJ}&preferencia_emissao=nova"))

    assert assert_result(new, 200, "online")["certificate_code"] == "NOVA"
    assert assert_result(world.get(federal()), 200, "cache")["certificate_code"] == "NOVA"


def test_a_refresh_keeps_asking_for_a_second_copy(world: Service) -> None:
    """`atualizar_online` asks the source, but for no new issuance."""
    world.keep(a_federal())
    assert_result(world.get(federal(f"cnpj={CNPJ}&atualizar_online=true")), 200, "online")
    assert [i.reissue for i in world.source.inquiries] == [False]


def test_a_timeout_is_not_repeated_and_a_later_second_copy_finds_the_certificate(
    tmp_path: Path,
) -> None:
    """A source that never answers is asked once, costs nothing, and may be asked again later."""
    with open_with_source(
        tmp_path, deadline=0.3, sources=lambda fake: [fake, another(fake)]
    ) as world:
        world.source.waits()
        refused = world.get(federal())
        assert_refused(refused, 400, "FALHA_TECNICA")
        assert (world.source.asked, world.source.answered) == (1, 0)
        other = world.parts.environments["live"].sources._routes["federal_certificate"].sources[1]
        assert isinstance(other, FakeSource)
        assert other.asked == 0
        assert money(world) == (1000, 0)
        assert world.kept(inquiry()) is None

        world.source.answers_now()
        assert_result(world.get(federal()), 200, "online")
        assert [i.reissue for i in world.source.inquiries] == [False, False]
        assert other.asked == 0


def test_two_concurrent_reissues_are_one(world: Service) -> None:
    """`nova` asked by two at the same time is bought once; `2via` does not join it."""
    nova = federal(f"cnpj={CNPJ}&preferencia_emissao=nova")
    for answer in world.together(nova, nova, federal(), held=6, asked=2):
        assert_result(answer, 200, "online")
    assert sorted(i.reissue for i in world.source.inquiries) == [False, True]


def test_birth_dates_do_not_share_a_flight(world: Service) -> None:
    """Two birth dates of one CPF are two questions."""
    paths = [federal(f"cpf={CPF}&data_nascimento={day}") for day in ("19800101", "19800102")]
    for answer in world.together(*paths, held=4, asked=2):
        assert answer.status == 200
