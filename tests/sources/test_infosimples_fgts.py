"""Infosimples: regularity with the FGTS (`infosimples.md` section 9)."""

import asyncio
from typing import Any

import pytest

from balcao.core.check_digits import cnpj_check_digits
from balcao.core.documents import Cnpj
from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.core.fgts_regularity import FgtsRegularity, PastRegularity
from balcao.core.questions import Inquiry
from balcao.providers.infosimples.adapter import InfosimplesAdapter
from balcao.sources.contract import Answer, Found
from balcao.sources.router import SourceRouter
from tests.sources.adapters import CNPJ, NOW
from tests.sources.certificates_world import RECEIPT, SECRETS, TOKEN, certified, enveloped

BRANCH = "11222333000262"
NUMBER, OLDER = "2026110700000000000001", "2026101900000000000002"
UNPROVEN = (
    "As informações disponíveis não são suficientes para a comprovação automática da regularidade"
    " do empregador perante o FGTS."
)
IMPEDED = "Existem impedimentos na CAIXA para a comprovação da regularidade."

SAVED: dict[str, Any] = {
    "crf": NUMBER,
    "datahora": "20/11/2026 10:20:10",
    "endereco": "RUA DAS ACACIAS 100 SALA 2 / CENTRO / FLORIANOPOLIS / SC / 88010-000",
    "historico_cabecalho": [
        "Data de Emissão/Leitura",
        "Data de Validade Início",
        "Data de Validade Fim",
        "Número do CRF",
    ],
    "historico_lista": [
        ["08/11/2026", "07/11/2026", "06/12/2026", NUMBER],
        ["19/10/2026", "19/10/2026", "17/11/2026", OLDER],
    ],
    "inscricao": "11.222.333/0001-81",
    "razao_social": "EMPRESA FICTICIA DE TESTES LTDA",
    "situacao": "REGULAR",
    "validade_inicio_data": "07/11/2026",
    "validade_fim_data": "06/12/2026",
    "site_receipt": RECEIPT,
}
DATELESS = {"validade_inicio_data": "", "validade_fim_data": ""}


def fgts(cnpj: str = CNPJ) -> Inquiry:
    return Inquiry("fgts_regularity", Cnpj.parse(cnpj))


def read(**changes: Any) -> FgtsRegularity:
    return of_reply(200, SAVED | changes)


def of_reply(code: int, *data: Any, **envelope: Any) -> FgtsRegularity:
    found = certified(fgts(), enveloped(code, *data, **envelope)).certificate
    assert isinstance(found, FgtsRegularity)
    return found


def failing(code: int, *data: Any, **envelope: Any) -> SourceError:
    with pytest.raises(SourceError) as caught:
        of_reply(code, *data, **envelope)
    assert not any(secret in str(caught.value) for secret in SECRETS)
    return caught.value


def test_a_regular_employer_is_read_whole() -> None:
    """From the seventh to the sixth are thirty days, since both count."""
    issuance = certified(fgts(), enveloped(200, SAVED))
    assert issuance.receipt == RECEIPT
    assert issuance.certificate == FgtsRegularity(
        registration=CNPJ,
        situation="regular",
        number=NUMBER,
        name="EMPRESA FICTICIA DE TESTES LTDA",
        address="RUA DAS ACACIAS 100 SALA 2 / CENTRO / FLORIANOPOLIS / SC / 88010-000",
        issued_on="2026-11-08",
        valid_from="2026-11-07",
        validity="2026-12-06",
        history=(
            PastRegularity(NUMBER, "2026-11-08", "2026-11-07", "2026-12-06"),
            PastRegularity(OLDER, "2026-10-19", "2026-10-19", "2026-11-17"),
        ),
        queried_at="2026-11-20T10:20:10-03:00",
        provider_code=200,
        provider_billable=True,
        provider_elapsed_ms=4210,
    )


def test_a_part_of_the_data_is_accepted() -> None:
    request = next(InfosimplesAdapter(TOKEN).certify(fgts()))
    assert request.path == "/api/v2/consultas/caixa/regularidade"
    sent = (request.within(25).body or b"").decode()
    assert f"cnpj={CNPJ}&aceita_resultado_parcial=1" in sent
    part = dict.fromkeys(("endereco", "razao_social", "historico_cabecalho", "historico_lista"))
    found = read(**part)
    assert (found.situation, found.validity, found.issued_on) == (
        "regular",
        "2026-12-06",
        "2026-11-07",  # with which the number begins
    )


@pytest.mark.parametrize(
    ("text", "situation"),
    [
        ("REGULAR", "regular"),
        ("Situação regular", "regular"),
        ("IRREGULAR", "irregular"),
        ("Não regular", "irregular"),
        ("NÃO ENCONTRADO", "nao_cadastrado"),
    ],
)
def test_irregular_is_searched_before_regular(text: str, situation: str) -> None:
    found = read(situacao=text)
    assert (found.situation, found.good) == (situation, situation == "regular")
    # Only a certificate has days: those of an irregular employer are of an earlier one.
    assert (found.validity is not None) is found.good


@pytest.mark.parametrize(
    ("changes", "number", "days"),
    [
        (DATELESS, NUMBER, ("2026-11-08", "2026-11-07", "2026-12-06")),
        (DATELESS | {"crf": ""}, NUMBER, ("2026-11-08", "2026-11-07", "2026-12-06")),
        (DATELESS | {"crf": OLDER}, OLDER, ("2026-10-19", "2026-10-19", "2026-11-17")),
        (  # in another order of columns
            DATELESS
            | {
                "historico_cabecalho": ["Número do CRF", "Validade - fim", "Validade - início"],
                "historico_lista": [[NUMBER, "06/12/2026", "07/11/2026"], []],
            },
            NUMBER,
            ("2026-11-07", "2026-11-07", "2026-12-06"),
        ),
    ],
)
def test_the_history_completes_the_certificate(
    changes: dict[str, Any], number: str, days: tuple[str, str, str]
) -> None:
    found = read(**changes)
    assert found.number == number
    assert (found.issued_on, found.valid_from, found.validity) == days


@pytest.mark.parametrize(
    "changes",
    [
        {"situacao": ""},
        {"situacao": "EM ANÁLISE"},
        {"inscricao": ""},
        {"validade_fim_data": "06/11/2026"},  # before it begins
        DATELESS | {"crf": "2026120700000000000003"},  # not in the history
        DATELESS | {"historico_lista": []},
    ],
)
def test_regular_needs_a_registration_and_an_end(changes: dict[str, Any]) -> None:
    assert type(failing(200, SAVED | changes)) is SourceFailed


@pytest.mark.parametrize(
    ("code", "reason", "situation"),
    [
        (620, UNPROVEN, "nao_comprovada"),
        (620, IMPEDED, "irregular"),
        (620, "Empregador não cadastrado.", "nao_cadastrado"),
        (612, "Nenhum registro foi encontrado.", "nao_cadastrado"),
        (612, "", "nao_cadastrado"),
    ],
)
def test_the_reason_of_a_billed_refusal_is_a_result(code: int, reason: str, situation: str) -> None:
    found = of_reply(code, errors=[reason], header={"billable": True})
    assert (found.situation, found.good, found.validity) == (situation, False, None)
    assert (found.registration, found.provider_code, found.provider_billable) == (CNPJ, code, True)


@pytest.mark.parametrize("billable", [True, False])
@pytest.mark.parametrize("reason", ["FGER0419: operação não efetuada.", "Outra coisa.", ""])
def test_an_unknown_620_is_a_failure_that_is_not_repeated(reason: str, *, billable: bool) -> None:
    """`SourceFailed`: batches and routers repeat only what is unavailable."""
    error = failing(620, errors=[reason], header={"billable": billable})
    assert type(error) is SourceFailed
    assert ("cobrada" in error.detail) is billable


@pytest.mark.parametrize("code", [613, 615])
def test_a_blocked_portal_is_unavailable(code: int) -> None:
    assert type(failing(code, errors=[])) is SourceUnavailable


# --- A branch unknown to Caixa ----------------------------------------------------------


class Caixa:
    """A source with an answer for each CNPJ."""

    def __init__(self, **answers: Any) -> None:
        self.name = "infosimples"
        self.parts: frozenset[Any] = frozenset()
        self.answers = answers
        self.asked: list[str] = []

    def serves(self, inquiry: Inquiry) -> bool:
        return True

    async def ask(self, inquiry: Inquiry, deadline: float) -> Answer:
        cnpj = inquiry.document.text
        self.asked.append(cnpj)
        answer = self.answers["c" + cnpj]
        if isinstance(answer, Exception):
            raise answer
        return Found(FgtsRegularity(cnpj, answer), self.name, NOW)


def ask(caixa: Caixa, cnpj: str) -> Answer:
    source: Any = caixa
    return asyncio.run(SourceRouter({"fgts_regularity": [source]}).ask(fgts(cnpj)))


@pytest.mark.parametrize(
    ("of_branch", "of_head_office", "registration", "situation", "asked"),
    [
        ("nao_cadastrado", "regular", CNPJ, "regular", [BRANCH, CNPJ]),
        ("nao_cadastrado", "nao_comprovada", CNPJ, "nao_comprovada", [BRANCH, CNPJ]),
        ("nao_cadastrado", "nao_cadastrado", BRANCH, "nao_cadastrado", [BRANCH, CNPJ]),
        ("irregular", "regular", BRANCH, "irregular", [BRANCH]),
        ("regular", "irregular", BRANCH, "regular", [BRANCH]),
    ],
)
def test_an_unknown_branch_is_answered_by_its_head_office(
    of_branch: Any, of_head_office: Any, registration: str, situation: str, asked: list[str]
) -> None:
    caixa = Caixa(**{"c" + BRANCH: of_branch, "c" + CNPJ: of_head_office})
    answer = ask(caixa, BRANCH)
    assert isinstance(answer, Found)
    assert isinstance(answer.record, FgtsRegularity)
    assert (answer.record.registration, answer.record.situation) == (registration, situation)
    assert caixa.asked == asked


def test_an_unknown_head_office_is_asked_once() -> None:
    caixa = Caixa(**{"c" + CNPJ: "nao_cadastrado"})
    assert isinstance(ask(caixa, CNPJ), Found)
    assert caixa.asked == [CNPJ]


def test_an_unavailable_head_office_is_no_reason_to_repeat_a_billed_branch() -> None:
    down = SourceUnavailable("infosimples: bloqueio pela origem", 20)
    caixa = Caixa(**{"c" + BRANCH: "nao_cadastrado", "c" + CNPJ: down})
    with pytest.raises(SourceFailed):
        ask(caixa, BRANCH)


def test_only_the_asked_registration_or_the_first_establishment_is_accepted() -> None:
    other = "11222333" + "0003"
    other += cnpj_check_digits(other)
    assert FgtsRegularity(CNPJ, "regular").flaw(fgts(BRANCH)) is None
    assert FgtsRegularity(BRANCH, "regular").flaw(fgts(BRANCH)) is None
    assert FgtsRegularity(other, "regular").flaw(fgts(BRANCH)) is not None
    assert FgtsRegularity("90010001000100", "regular").flaw(fgts(BRANCH)) is not None
