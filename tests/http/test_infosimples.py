"""Infosimples through the whole service: its time, its refusals, and what they cost."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import httpx2
import pytest
from pydantic import SecretStr

from balcao.core.documents import Cnpj
from balcao.core.questions import Inquiry
from balcao.providers.infosimples.settings import InfosimplesSettings
from balcao.service import batching
from tests.http.batcher import FEDERAL, Batcher, certificates
from tests.providers import PROVIDERS
from tests.records import federal_of, sintegra
from tests.service import Service, assert_refused, open_service

CNPJ = "90010001000100"
SECRETS = (CNPJ, "90.010.001/0001-00")


@dataclass
class Infosimples(httpx2.AsyncBaseTransport):
    """A network that gives the same answer to every request."""

    code: int = 620
    reason: str = "O contribuinte 90.010.001/0001-00 não pode ser atendido."
    price: str = "0.26"
    data: list[dict[str, object]] = field(default_factory=list)
    asked: list[dict[str, list[str]]] = field(default_factory=list)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(parse_qs((await request.aread()).decode()))
        header = {"billable": True, "price": self.price, "parameters": {"cnpj": CNPJ}}
        body = {"code": self.code, "errors": [self.reason], "header": header, "data": self.data}
        return httpx2.Response(200, json=body)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Infosimples]]:
    wire = Infosimples()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batching, "POLL_SECONDS", 0.05)
        with open_service(
            tmp_path_factory.mktemp("infosimples"),
            mode="live",
            transport=wire,
            infosimples=InfosimplesSettings(url=f"{PROVIDERS}/i", token=SecretStr("t")),
            federal_certificate_sources=("infosimples",),
            state_registration_sources=("infosimples",),
        ) as house:
            yield house, wire
            house.assert_books_agree()


@pytest.fixture(autouse=True)
def anew(place: tuple[Service, Infosimples]) -> None:
    _, wire = place
    wire.code, wire.reason, wire.data = 620, Infosimples().reason, []
    wire.asked.clear()


def test_single_lookups_wait_as_long_as_the_contract_says(
    place: tuple[Service, Infosimples],
) -> None:
    house, wire = place
    assert_refused(house.get(federal_of(CNPJ)), 400, "FALHA_TECNICA")
    (asked,) = wire.asked
    assert 15 <= int(asked["timeout"][0]) <= 23  # of 25 seconds


def test_a_batch_waits_longer_and_repeats_no_request(
    place: tuple[Service, Infosimples],
) -> None:
    """620 is charged each time, and repeating never helps (contract 9.15)."""
    house, wire = place
    batcher = Batcher(house, house.account("lote", mode="live"))
    number = batcher.create(certificates(CNPJ), f"operacao={FEDERAL}")
    batcher.confirm(number)
    body = batcher.until(number, "concluido")
    assert (body["linhas"]["falhas"], body["creditos_gastos"]) == (1, 0)
    (asked,) = wire.asked
    assert 60 <= int(asked["timeout"][0]) <= 90


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (611, "As informações disponíveis são insuficientes para emitir a certidão."),
        (620, "Há certidão em vigor. Emita a segunda via."),
    ],
)
def test_a_new_certificate_that_is_refused_costs_nothing(
    place: tuple[Service, Infosimples], code: int, reason: str
) -> None:
    house, wire = place
    wire.code, wire.reason = code, reason
    before = house.money()
    answer = house.get(federal_of(CNPJ, "preferencia_emissao=nova"))
    assert_refused(answer, 400, "NOVA_EMISSAO_RECUSADA")
    assert "preferencia_emissao=2via" in answer.json["error_message"]["message"]
    assert wire.asked[-1]["preferencia_emissao"] == ["nova"]
    assert house.money() == before
    assert house.kept(Inquiry("federal_certificate", Cnpj(CNPJ)), "live") is None


def test_an_unreadable_registration_is_counted_and_the_answer_not_cached(
    place: tuple[Service, Infosimples],
) -> None:
    house, wire = place
    wire.code = 201
    wire.data = [
        {"inscricao_estadual": number, "situacao_cadastral": situation, "cnpj": CNPJ}
        for number, situation in (("250000008", "ATIVO - DESDE 05/2003"), ("250000016", "EM BAIXA"))
    ]
    for _ in range(2):
        answer = house.get(sintegra(CNPJ, "uf=SC"))
        assert (answer.status, answer.credits) == (200, 1)
        assert [each["ativa"] for each in answer.json["inscricoes_estaduais"]] == [True]
        assert answer.json["inscricoes_omitidas"] == 1
    assert len(wire.asked) == 2
    del wire.data[1]
    answer = house.get(sintegra(CNPJ, "uf=SC"))
    assert "inscricoes_omitidas" not in answer.json
    assert house.kept(Inquiry("state_registration", Cnpj(CNPJ), "SC"), "live") is not None


def test_their_charges_are_measured_without_personal_data(
    place: tuple[Service, Infosimples],
) -> None:
    house, _ = place
    before = spent(house)
    house.get(federal_of(CNPJ))
    assert spent(house) == pytest.approx(before + 0.26)
    assert not any(secret in house.get("/metrics").body.decode() for secret in SECRETS)


def spent(house: Service) -> float:
    page: Any = house.get("/metrics").body.decode()
    line = re.search(
        r'^balcao_source_cost_brl_total\{source="infosimples",'
        r'subject="federal_certificate",uf=""\} (\S+)$',
        page,
        re.MULTILINE,
    )
    return float(line[1]) if line else 0.0
