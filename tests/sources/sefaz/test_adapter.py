"""The adapter of the treasuries, with saved replies."""

import asyncio
from typing import Any

import httpx2
import msgspec
import pytest

from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.core.registration import Registration, Registrations
from balcao.providers.sefaz.adapter import SefazAdapter
from balcao.sources.contract import Answer, Found, HttpReply
from balcao.sources.online import Adapter, AdapterSource
from tests.sources.adapters import NOW, an_upstream
from tests.sources.sefaz.world import (
    ADDRESS,
    CNPJ,
    CPF,
    FOUND,
    LETTERS,
    NONE,
    OTHER_CNPJ,
    REGISTRATIONS,
    SEFAZ,
    a_reply,
    an_answer,
    an_entry,
    an_inquiry,
    ask,
    enveloped,
    run,
)


def test_a_registration_fills_every_field() -> None:
    assert ask(FOUND) == REGISTRATIONS


def test_not_registered_is_an_answer() -> None:
    assert ask(NONE) == Registrations(documento=CNPJ, uf="SC", com_endereco=True)


def test_a_rural_producer_is_asked_by_cpf() -> None:
    inquiry = an_inquiry(CPF, "SP")
    request = next(SEFAZ.converse(inquiry))
    assert request.body is not None
    assert f"<UF>SP</UF><CPF>{CPF}</CPF>".encode() in request.body

    person = {"CNPJ": None, "CPF": CPF}
    entry = an_entry({**person, "UF": "SP", "IE": "P-01100424.3/002"}, None)
    result = ask(an_answer("111", entry, changes={**person, "UF": "SP"}), inquiry)
    assert (result.documento, result.inscricoes[0].inscricao_estadual) == (CPF, "P011004243002")
    assert ask(an_answer("264", changes={**person, "UF": "SP"}), inquiry).inscricoes == ()


def test_request_to_the_full_address() -> None:
    request = next(SEFAZ.converse(an_inquiry(LETTERS, "PE")))
    assert (request.method, request.path, request.query) == ("POST", "", {})
    assert request.headers["soapaction"] == ""
    assert request.body is not None
    assert LETTERS.encode() in request.body
    assert LETTERS not in repr(request)
    assert b"nfeCabecMsg" not in request.body

    adapter = SefazAdapter(frozenset({"PE", "SC"}), header_ufs=frozenset({"PE"}))
    assert b"<cUF>26</cUF>" in (next(adapter.converse(an_inquiry(uf="PE"))).body or b"")
    assert b"nfeCabecMsg" not in (next(adapter.converse(an_inquiry())).body or b"")


def test_several_registrations_some_of_them_closed() -> None:
    closed = an_entry(
        {"IE": "250000016", "cSit": "0", "dUltSit": None, "dBaixa": "2015-02-03"}, None
    )
    # of a taxpayer in another UF: the registration is nevertheless in the requested one
    away = an_entry({"IE": "0012", "UF": "PR", "xNome": "OUTRA GRAFIA"})
    result = ask(an_answer("112", an_entry() + closed + away))
    assert result.nome == "EMPRESA FICTICIA DE TESTES LTDA"
    assert [(each.inscricao_estadual, each.uf, each.ativa) for each in result.inscricoes] == [
        ("250000008", "SC", True),
        ("250000016", "SC", False),
        ("0012", "SC", True),
    ]
    assert result.inscricoes[1].data_status == "2015-02-03"
    assert result.inscricoes[1].endereco is None
    assert result.inscricoes[2].endereco is not None
    assert result.inscricoes[2].endereco.uf == "PR"
    assert all(each.tipo_ie is each.situacao_pj is None for each in result.inscricoes)


def test_minimal_reply() -> None:
    optional = ("indCredNFe", "indCredCTe", "xFant", "xRegApur", "CNAE", "dIniAtiv", "dUltSit")
    entry = an_entry(dict.fromkeys(optional), None).replace("</infCad>", "<IEUnica/></infCad>")
    (registration,) = ask(an_answer("111", entry, changes={"dhCons": None})).inscricoes
    assert registration == Registration("250000008", "SC", True)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ({**ADDRESS, "CEP": "1310100"}, {"cep": "01310100"}),
        ({**ADDRESS, "CEP": "01310-100"}, {"cep": "01310100"}),
        ({**ADDRESS, "CEP": "00000000", "xCpl": ""}, {"cep": "", "complemento": None}),
        ({**ADDRESS, "cMun": "", "xMun": "  "}, {"codigo_municipio_ibge": "", "municipio": ""}),
        ({**ADDRESS, "cMun": "Natal"}, {"codigo_municipio_ibge": ""}),
        ({"xLgr": " ESTRADA   GERAL &amp; VELHA "}, {"logradouro": "ESTRADA GERAL & VELHA"}),
        ({"xMun": "FLORIANO\u0301POLIS"}, {"municipio": "FLORIANÓPOLIS"}),
    ],
)
def test_addresses(address: dict[str, str | None], expected: dict[str, Any]) -> None:
    (registration,) = ask(an_answer("111", an_entry(address=address))).inscricoes
    assert registration.endereco is not None
    assert registration.endereco.uf == "SC"
    assert {name: getattr(registration.endereco, name) for name in expected} == expected


@pytest.mark.parametrize(
    "address", [None, {}, {"xLgr": "", "CEP": "00000000", "cMun": "0000000", "xCpl": " "}]
)
def test_address_without_a_part_is_absent(address: dict[str, str | None] | None) -> None:
    (registration,) = ask(an_answer("111", an_entry(address=address))).inscricoes
    assert registration.endereco is None


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("2026-08-05T10:15:30-03:00", "2026-08-05 10:15:30"),
        ("2026-08-05T09:15:30-04:00", "2026-08-05 10:15:30"),  # a state an hour behind
        ("2026-08-05T13:15:30Z", "2026-08-05 10:15:30"),
        ("2026-08-05T10:15:30", "2026-08-05 10:15:30"),
        ("2026-08-05T10:15:30.1234567-03:00", "2026-08-05 10:15:30"),
        ("2018-12-01T10:15:30-02:00", "2018-12-01 10:15:30"),  # summer time
        ("", None),
        ("ontem", None),
        ("05/08/2026 10:15:30", None),
        ("0001-01-01T00:00:00Z", None),  # before time, in Brasília
    ],
)
def test_time_of_the_query(theirs: str, ours: str | None) -> None:
    (registration,) = ask(an_answer("111", an_entry(), changes={"dhCons": theirs})).inscricoes
    assert registration.updated_at == ours


@pytest.mark.parametrize("date", ["2021-06-15", "2021-06-15-03:00", "2021-06-15T00:00:00"])
def test_dates(date: str) -> None:
    (registration,) = ask(an_answer("111", an_entry({"dUltSit": date}))).inscricoes
    assert registration.data_status == "2021-06-15"


@pytest.mark.parametrize(
    ("changed", "closed", "status"),
    [
        ("15/06/2021", None, None),
        ("2021-02-30", None, None),
        ("ontem", "2015-02-03", "2015-02-03"),
        ("2021-06-15", "03/02/2015", "2021-06-15"),
    ],
)
def test_invalid_date_is_absent(changed: str, closed: str | None, status: str | None) -> None:
    entry = an_entry({"dUltSit": changed, "dBaixa": closed})
    (registration,) = ask(an_answer("111", entry)).inscricoes
    (whole,) = ask(FOUND).inscricoes
    assert registration == msgspec.structs.replace(whole, data_status=status)


@pytest.mark.parametrize("given", ["ISENTO", "ISENTA", "NAO CONTRIBUINTE", "NÃO OBRIGADO"])
def test_number_without_digits_is_ignored(given: str) -> None:
    exempt = an_entry({"IE": given, "cSit": None})
    assert ask(an_answer("111", an_entry({"IE": given}))).inscricoes == ()
    assert ask(an_answer("111", exempt)).inscricoes == ()
    assert ask(an_answer("112", exempt + an_entry())).inscricoes == ask(FOUND).inscricoes
    with pytest.raises(SourceFailed, match="outro documento"):
        ask(an_answer("111", an_entry({"IE": "ISENTO", "CNPJ": OTHER_CNPJ})))


@pytest.mark.parametrize("situation", ["9", None])
def test_unknown_situation_discards_no_others(situation: str | None) -> None:
    unknown = an_entry({"IE": "250000016", "cSit": situation})
    found = ask(an_answer("112", unknown + an_entry()))
    assert found.inscricoes == ask(FOUND).inscricoes
    assert found.omitidas == 1


def test_registration_held_by_a_company_of_the_person() -> None:
    """Rural producers have a CNPJ in some states; the repeated CPF proves it (ADR 0024)."""
    inquiry = an_inquiry(CPF)
    echo: dict[str, str | None] = {"CNPJ": None, "CPF": CPF}
    by_company = an_entry({"xNome": "SITIO FICTICIO"})
    own = an_entry(echo | {"IE": "250000016", "xNome": "PRODUTORA DA FICCAO"})

    result = ask(an_answer("111", by_company, changes=echo), inquiry)
    assert (result.documento, result.nome) == (CPF, None)  # it is the company's name
    assert [each.inscricao_estadual for each in result.inscricoes] == ["250000008"]

    result = ask(an_answer("112", by_company + own, changes=echo), inquiry)
    assert result.nome == "PRODUTORA DA FICCAO"
    assert [each.inscricao_estadual for each in result.inscricoes] == ["250000008", "250000016"]

    for answer in (
        an_answer("111", by_company, changes={"CNPJ": None}),  # no echo
        an_answer("111", by_company),  # an echo of the company
        an_answer("111", an_entry({"CPF": "90010000291"}), changes=echo),
        an_answer("111", an_entry({"CNPJ": None}), changes=echo),
    ):
        with pytest.raises(SourceFailed, match="outro documento"):
            ask(answer, inquiry)


OTHERS = an_entry({"CNPJ": OTHER_CNPJ})
UNUSABLE = {
    "another document": (an_answer("111", OTHERS), "outro documento"),
    "another one among ours": (an_answer("112", an_entry() + OTHERS), "outro documento"),
    "without a document": (an_answer("111", an_entry({"CNPJ": None})), "outro documento"),
    "a person's": (an_answer("111", an_entry({"CNPJ": None, "CPF": CPF})), "outro documento"),
    "none, without a document": (an_answer("259", changes={"CNPJ": None}), "sem documento"),
    "another UF": (an_answer("111", an_entry(), changes={"UF": "PR"}), "outra UF"),
    "no number": (an_answer("111", an_entry({"IE": ""})), "sem IE"),
    "zeros": (an_answer("111", an_entry({"IE": "00000000"})), "sem IE"),
    "no situation": (an_answer("111", an_entry({"cSit": None})), "situação desconhecida"),
    "an unknown situation": (
        an_answer("111", an_entry({"cSit": "9"})),
        "situação desconhecida",
    ),
    "found, and nothing": (an_answer("111"), "não condizem"),
    "none, and one": (an_answer("259", an_entry()), "não condizem"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_unusable_answers(case: str) -> None:
    answer, why = UNUSABLE[case]
    with pytest.raises(SourceFailed, match=why) as caught:
        ask(answer)
    assert CNPJ not in caught.value.detail
    assert OTHER_CNPJ not in caught.value.detail
    assert CPF not in caught.value.detail


def test_leading_zeros_are_restored() -> None:
    cnpj = "00000000000191"
    echo = {"CNPJ": "191"}
    result = ask(an_answer("111", an_entry({"CNPJ": "191"}), changes=echo), an_inquiry(cnpj))
    assert result.documento == cnpj


def test_missing_echo_is_replaced_by_the_registrations() -> None:
    assert ask(an_answer("111", an_entry(), changes={"CNPJ": None})).documento == CNPJ


FAULT = "<Fault><Code><Value>Receiver</Value></Code></Fault>"
REFUSALS: list[tuple[HttpReply, type[SourceError], str]] = [
    (a_reply(b"<html>certificate required</html>", 403), SourceUnavailable, "certificado recusado"),
    (a_reply(b"", 401), SourceUnavailable, "CONFIGURAÇÃO"),
    (a_reply(b"<html>busy</html>", 503), SourceUnavailable, "503"),
    (a_reply(b"", 502), SourceUnavailable, "502"),
    (a_reply(b"", 429), SourceUnavailable, "429"),
    (a_reply(FAULT, 500), SourceFailed, "500"),
    (a_reply(FAULT, 400), SourceFailed, "400"),
    (a_reply(FAULT), SourceFailed, "falha SOAP"),
    (a_reply(b"<html><p>x</p></html>"), SourceFailed, "outra forma"),
    (a_reply(b"", 404), SourceFailed, "404"),
    (a_reply(b"", 301), SourceFailed, "301"),
    (a_reply(b"", 204), SourceFailed, "204"),
]


@pytest.mark.parametrize(("reply", "kind", "why"), REFUSALS)
def test_refusals(reply: HttpReply, kind: type[SourceError], why: str) -> None:
    for conversation in (SEFAZ.converse(an_inquiry()), SEFAZ.probe(an_inquiry())):
        with pytest.raises(SourceError, match=why) as caught:
            run(conversation, reply)
        assert type(caught.value) is kind
        assert CNPJ not in caught.value.detail


def test_capabilities() -> None:
    may = SefazAdapter(frozenset({"SC", "SP"}), cpf_ufs=frozenset({"SP"})).capabilities
    assert may.parts == {"addresses"}
    assert may.include(an_inquiry())
    assert may.include(an_inquiry(LETTERS))
    assert may.include(an_inquiry(CPF, "SP"))
    assert not may.include(an_inquiry(CPF, "SC"))
    assert not may.include(an_inquiry(uf="MA"))
    assert SEFAZ.capabilities.include(an_inquiry(CPF, "SC"))
    assert SEFAZ.conclusive_absence


def test_a_probe_asks_about_ourselves() -> None:
    adapter = SefazAdapter(frozenset({"SC"}), requester_cnpj=OTHER_CNPJ)
    request = next(adapter.probe(an_inquiry()))
    assert request.body is not None
    assert OTHER_CNPJ.encode() in request.body
    assert b"00000000000191" in (next(SEFAZ.probe(an_inquiry())).body or b"")

    # the document of the answer does not matter here
    assert run(adapter.probe(an_inquiry()), a_reply(FOUND)) == "respondeu (cStat 111)"
    assert run(adapter.probe(an_inquiry()), a_reply(NONE)) == "respondeu (cStat 259)"
    with pytest.raises(SourceUnavailable, match="CONFIGURAÇÃO"):
        run(adapter.probe(an_inquiry()), a_reply(an_answer("257")))


def online(adapter: Adapter, asked: list[httpx2.Request], body: bytes) -> AdapterSource:
    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(200, content=body)

    upstream = an_upstream(answer, base_url="https://nfe.test/ws/CadConsultaCadastro4")
    return AdapterSource("sefaz", adapter, lambda inquiry: upstream, now=lambda: NOW)


def test_over_the_network() -> None:
    asked: list[httpx2.Request] = []
    answer: Answer = asyncio.run(online(SEFAZ, asked, enveloped(FOUND)).ask(an_inquiry()))
    assert answer == Found(ask(FOUND), "sefaz", NOW)
    (request,) = asked
    assert str(request.url) == "https://nfe.test/ws/CadConsultaCadastro4"
    assert request.headers["content-type"].startswith("application/soap+xml;")
    assert request.headers["accept"].startswith("application/soap+xml")


def test_empty_header_is_sent() -> None:
    asked: list[httpx2.Request] = []
    answer = an_answer("259", changes={"UF": "PE"})
    asyncio.run(online(SEFAZ, asked, enveloped(answer)).ask(an_inquiry(uf="PE")))
    assert asked[0].headers["soapaction"] == ""


def test_empty_reply_about_another_document_is_a_failure() -> None:
    source = online(SEFAZ, [], enveloped(an_answer("259", changes={"CNPJ": OTHER_CNPJ})))
    with pytest.raises(SourceFailed, match="outro documento"):
        asyncio.run(source.ask(an_inquiry()))


def test_a_probe_over_the_network() -> None:
    source = online(SEFAZ, [], enveloped(NONE))
    assert asyncio.run(source.probe(an_inquiry())) == "respondeu (cStat 259)"
