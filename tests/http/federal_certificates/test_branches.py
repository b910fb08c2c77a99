"""The federal certificate is issued to the head office and holds for all establishments (4.13)."""

import pytest

from balcao.core.check_digits import cnpj_check_digits
from balcao.core.documents import Cnpj
from balcao.core.idempotency import digest
from balcao.core.questions import Inquiry
from balcao.operations.parameters import Parameters
from tests.records import OTHER_CNPJ, a_company, a_federal, federal, state
from tests.service import Service

HEAD_OFFICE = "90010007000187"
BRANCH = "90010007000268"
LETTERS = "90010007AB1C"
LETTERS += cnpj_check_digits(LETTERS)


def asked(world: Service) -> list[str]:
    return [inquiry.document.text for inquiry in world.source.inquiries]


def test_a_source_is_asked_with_the_head_office(world: Service) -> None:
    """The answer is about the queried establishment, and names the certified one."""
    answer = world.get(federal(f"cnpj={BRANCH}"))
    assert asked(world) == [HEAD_OFFICE]
    assert (answer.status, answer.credits) == (200, 2)
    assert answer.json["cnpj"] == "90.010.007/0002-68"
    assert answer.json["certificate_cnpj"] == "90.010.007/0001-87"


def test_the_order_of_a_guessed_head_office_has_no_letters(world: Service) -> None:
    """Order 0001, with its own check digits, stands for an unknown head office."""
    world.get(federal(f"cnpj={LETTERS}"))
    assert asked(world) == [HEAD_OFFICE]


def test_lookups_of_people_are_unchanged(world: Service) -> None:
    """`certificate_cnpj` is a company's."""
    answer = world.get(federal("cpf=90010000100&data_nascimento=19800101"))
    assert asked(world) == ["90010000100"]
    assert answer.json["certificate_cnpj"] is None


def test_a_state_certificate_is_for_one_establishment(world: Service) -> None:
    world.get(state(BRANCH))
    assert asked(world) == [BRANCH]


@pytest.mark.parametrize(
    ("first", "second"),
    [(HEAD_OFFICE, BRANCH), (BRANCH, HEAD_OFFICE), (BRANCH, LETTERS)],
)
def test_establishments_share_one_purchase(world: Service, first: str, second: str) -> None:
    """The second one is served from the cache, about itself."""
    bought, kept = (world.get(federal(f"cnpj={cnpj}")) for cnpj in (first, second))
    assert (bought.credits, kept.credits, world.source.asked) == (2, 1, 1)
    assert kept.json["source"] == "cache"
    assert kept.json["cnpj"] == Cnpj(second).punctuated
    assert kept.json["certificate_code"] == bought.json["certificate_code"]
    assert kept.json["certificate_cnpj"] == "90.010.007/0001-87"


def test_concurrent_establishments_are_one_purchase(world: Service) -> None:
    """Each caller pays the price of the source, as for any shared inquiry (4.9)."""
    other = world.account("beto", credits=10)
    replies = world.together(
        federal(f"cnpj={HEAD_OFFICE}"), (federal(f"cnpj={BRANCH}"), other), held=4
    )
    assert world.source.asked == 1
    assert [reply.credits for reply in replies] == [2, 2]
    assert {reply.json["cnpj"] for reply in replies} == {
        "90.010.007/0001-87",
        "90.010.007/0002-68",
    }


def test_a_cached_negative_result_is_the_company_s(world: Service) -> None:
    """For an hour, like the head office's."""
    world.source.finds(a_federal(HEAD_OFFICE, kind="CPD", code=None, validity=None, issued=False))
    assert [world.get(federal(f"cnpj={c}")).credits for c in (HEAD_OFFICE, BRANCH)] == [2, 1]


def test_an_older_entry_of_a_head_office_serves_its_branches(world: Service) -> None:
    """Entries were stored under the whole CNPJ."""
    inquiry = Inquiry("federal_certificate", Cnpj(HEAD_OFFICE))
    assert inquiry.cache_key == f"federal_certificate:{HEAD_OFFICE}:"
    world.keep(a_federal(HEAD_OFFICE))
    answers = [world.get(federal(f"cnpj={cnpj}")) for cnpj in (HEAD_OFFICE, BRANCH)]
    assert [answer.credits for answer in answers] == [1, 1]
    assert world.source.asked == 0


def test_a_head_office_that_moved_keeps_its_certificate(world: Service) -> None:
    """The certificate names the establishment that was the head office."""
    world.get(federal(f"cnpj={HEAD_OFFICE}"))
    world.keep(a_company(BRANCH, identificador_matriz_filial="MATRIZ"))
    answer = world.get(federal(f"cnpj={BRANCH}"))
    assert (answer.credits, world.source.asked) == (1, 1)
    assert answer.json["certificate_cnpj"] == "90.010.007/0001-87"


def test_quotes_use_the_company_s_certificate(world: Service) -> None:
    path = federal(f"cnpj={BRANCH}").removeprefix("/consultas/v2")
    before = world.get(f"/cotacoes/v2{path}").json
    world.get(federal(f"cnpj={HEAD_OFFICE}"))
    after = world.get(f"/cotacoes/v2{path}").json
    assert (before["creditos_min"], before["creditos_max"], before["caminho"]) == (0, 2, "fonte")
    assert (after["creditos_max"], after["exato"], after["caminho"]) == (1, True, "cache")


def test_another_establishment_is_another_request(world: Service) -> None:
    """An idempotency key is bound to the CNPJ that was sent, since the answer repeats it."""
    world.get(federal(f"cnpj={HEAD_OFFICE}"), idempotency_key="pedido-0001")
    again = world.get(federal(f"cnpj={BRANCH}"), idempotency_key="pedido-0001")
    assert again.code == "IDEMPOTENCY_KEY_REUTILIZADA"


def test_fingerprints_are_unchanged(world: Service) -> None:
    """Keys that were bound by the previous version are still replayed."""
    operation = world.parts.operations["federal_certificate"]

    question = operation.parse("", Parameters.of({"cnpj": BRANCH}))
    answer = f"{operation.path} federal_certificate:{BRANCH}: CACHE_PREFERENCIAL False"
    assert operation.fingerprint(question) == digest(answer)


def test_other_companies_have_other_certificates(world: Service) -> None:
    for cnpj in (HEAD_OFFICE, OTHER_CNPJ):
        world.get(federal(f"cnpj={cnpj}"))
    assert asked(world) == [HEAD_OFFICE, OTHER_CNPJ]
