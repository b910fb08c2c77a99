"""The adapter against the simulated treasuries, through the client that speaks HTTP."""

import asyncio

import httpx2
import pytest

from balcao.core.errors import SourceFailed
from balcao.core.registration import Registrations
from balcao.providers.sefaz.adapter import SefazAdapter
from balcao.providers.sefaz.settings import UFS_SERVED, endpoint
from balcao.providers.simulation.app import create_app
from balcao.sources.contract import Found
from balcao.sources.online import Online
from balcao.sources.upstream import Upstream
from tests.sources.adapters import NOW
from tests.sources.sefaz.world import an_inquiry

PLAIN = "90010001000100"
OF_EVERY_UF = "90020008000102"


def ask(document: str, uf: str = "SP", adapter: SefazAdapter | None = None) -> Registrations:
    upstream = Upstream(
        "sefaz",
        f"http://sandbox.test/sefaz{httpx2.URL(endpoint('production', uf) or '').path}",
        timeout_seconds=20.0,
        answer_bytes_max=1_000_000,
        transport=httpx2.ASGITransport(create_app()),
        subject="state_registration",
        uf=uf,
    )
    source = Online(
        "sefaz", adapter or SefazAdapter(UFS_SERVED), lambda _: upstream, now=lambda: NOW
    )
    answer = asyncio.run(source.ask(an_inquiry(document, uf)))
    assert isinstance(answer, Found)
    assert isinstance(answer.record, Registrations)
    return answer.record


@pytest.mark.parametrize("adapter", [None, SefazAdapter(UFS_SERVED, mt_wrapper="nfeDadosMsg")])
def test_mato_grosso_answers_both_ways_of_asking(adapter: SefazAdapter | None) -> None:
    (registration,) = ask(OF_EVERY_UF, "MT", adapter).inscricoes
    assert (registration.uf, registration.ativa) == ("MT", True)


def test_dates_in_another_form_cost_nothing_but_themselves() -> None:
    (registration,) = ask("90090001000167").inscricoes
    assert registration.data_status is None
    assert registration.endereco is not None
    assert registration.updated_at is not None


@pytest.mark.parametrize(
    "cnpj",
    [
        "90090002000101",  # gzip
        "90090003000156",  # deflate
        "90090005000145",  # white space
        "90090006000190",  # the same registration twice
        "90090009000123",  # an item of ISENTO beside
    ],
)
def test_forms_that_cost_nothing(cnpj: str) -> None:
    (registration,) = ask(cnpj).inscricoes
    assert len(registration.inscricao_estadual) == 12
    assert registration.ativa
    assert registration.data_status == "2015-03-02"
    assert registration.endereco is not None


def test_a_charset_that_only_the_content_type_tells() -> None:
    (registration,) = ask("90090004000109").inscricoes
    assert registration.endereco is not None
    assert registration.endereco.municipio == "SÃO PAULO"


def test_a_registration_of_two_minds_is_a_failure() -> None:
    with pytest.raises(SourceFailed, match="a mesma inscrição com dados diferentes"):
        ask("90090007000134")


def test_exempt_alone_is_an_empty_list() -> None:
    assert ask("90090008000189").inscricoes == ()


def test_what_is_said_to_be_compressed_and_is_not_is_a_failure() -> None:
    with pytest.raises(SourceFailed):
        ask("90090010000158")


def test_a_producer_s_registration_that_a_company_holds() -> None:
    said = ask("90090000102")
    assert said.documento == "90090000102"
    assert said.nome is None
    assert len(said.inscricoes) == 1


def test_every_form_is_of_one_document_alone() -> None:
    assert len(ask(PLAIN).inscricoes) == 1
