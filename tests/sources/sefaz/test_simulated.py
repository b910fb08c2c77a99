"""The adapter against the simulated treasuries, through the HTTP client."""

import asyncio

import httpx2
import pytest

from balcao.core.errors import SourceFailed
from balcao.core.registration import Registrations
from balcao.providers.sefaz.adapter import SefazAdapter
from balcao.providers.sefaz.settings import UFS_SERVED, endpoint
from balcao.providers.simulation.app import create_app
from balcao.sources.contract import Found
from balcao.sources.online import AdapterSource
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
    source = AdapterSource(
        "sefaz", adapter or SefazAdapter(UFS_SERVED), lambda _: upstream, now=lambda: NOW
    )
    answer = asyncio.run(source.ask(an_inquiry(document, uf)))
    assert isinstance(answer, Found)
    assert isinstance(answer.record, Registrations)
    return answer.record


@pytest.mark.parametrize("adapter", [None, SefazAdapter(UFS_SERVED, mt_wrapper="nfeDadosMsg")])
def test_mato_grosso_accepts_both_wrappers(adapter: SefazAdapter | None) -> None:
    (registration,) = ask(OF_EVERY_UF, "MT", adapter).inscricoes
    assert (registration.uf, registration.ativa) == ("MT", True)


def test_invalid_dates_are_absent() -> None:
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
        "90090009000123",  # with an additional item of ISENTO
    ],
)
def test_harmless_forms(cnpj: str) -> None:
    (registration,) = ask(cnpj).inscricoes
    assert len(registration.inscricao_estadual) == 12
    assert registration.ativa
    assert registration.data_status == "2015-03-02"
    assert registration.endereco is not None


def test_charset_only_in_the_content_type() -> None:
    (registration,) = ask("90090004000109").inscricoes
    assert registration.endereco is not None
    assert registration.endereco.municipio == "SÃO PAULO"


def test_contradictory_registration_is_a_failure() -> None:
    with pytest.raises(SourceFailed, match="a mesma inscrição com dados diferentes"):
        ask("90090007000134")


def test_only_exempt_registrations_are_an_empty_list() -> None:
    assert ask("90090008000189").inscricoes == ()


def test_wrong_content_encoding_is_a_failure() -> None:
    with pytest.raises(SourceFailed):
        ask("90090010000158")


def test_registration_held_by_a_producers_company() -> None:
    result = ask("90090000102")
    assert result.documento == "90090000102"
    assert result.nome is None
    assert len(result.inscricoes) == 1


def test_each_form_has_one_document() -> None:
    assert len(ask(PLAIN).inscricoes) == 1
