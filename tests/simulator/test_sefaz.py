"""The state treasuries as `sefaz-consulta-cadastro.md`, sections 4 to 8, describes them."""

from datetime import date, datetime
from urllib.parse import urlsplit

import pytest

from balcao.core.federation import IBGE_CODES, UFS
from balcao.fiction import establishment_of
from balcao.fiction.records import RegistrationFiction
from balcao.providers.sefaz.simulator import response_writer
from balcao.providers.sefaz.simulator.request_reader import CadastroRequest
from balcao.providers.sefaz.simulator.taxpayers import Taxpayer
from balcao.providers.sefaz.simulator.treasuries import TREASURIES
from tests.sefaz.addresses import ADDRESSES
from tests.simulator.sefaz import (
    NFE,
    PATHS,
    SVRS,
    ask,
    ask_raw,
    envelope,
    fault_of,
    question,
    read,
    send,
    wrapper_of,
)
from tests.simulator.world import NOW, get


def test_a_registration_that_is_not_active() -> None:
    (entry,) = ask("SP", "CNPJ", "90010003000107").entries

    assert entry["cSit"] == entry["indCredNFe"] == "0"
    assert entry["dUltSit"] == entry["dBaixa"] == "2021-06-30"


@pytest.mark.parametrize(
    ("cnpj", "regime"),
    [("90010001000100", "NORMAL"), ("90010012000190", "MICROEMPREENDEDOR INDIVIDUAL")],
)
def test_the_regime(cnpj: str, regime: str) -> None:
    assert ask("SP", "CNPJ", cnpj).entries[0]["xRegApur"] == regime


def test_rural_producers_are_asked_for_by_cpf() -> None:
    result = ask("MG", "CPF", "90010000291")
    (entry,) = result.entries

    assert result.status == 111
    assert result["CPF"] == entry["CPF"] == "90010000291"
    assert entry["xNome"] == "PRODUTOR DA FICCAO MINEIRO"
    assert entry["xRegApur"] == "PRODUTOR RURAL"
    assert entry["cSit"] == "1"
    assert ask("GO", "CPF", "90010000291").entries[0]["cSit"] == "0"
    assert ask("SP", "CPF", "90010000291").status == 264
    assert ask("SP", "CPF", "90010000372").status == 264


@pytest.mark.parametrize(
    ("uf", "kind", "argument", "status"),
    [
        ("SP", "CNPJ", "90010004000143", 259),
        ("MG", "CNPJ", "90010001000100", 259),
        ("SP", "CNPJ", "99999999000191", 259),
        ("SP", "CNPJ", "90010001000101", 258),
        ("SP", "CNPJ", "12ABC34501DE36", 258),
        ("SP", "CPF", "90010000101", 263),
        ("SP", "CPF", "11111111111", 263),
        ("SP", "CPF", "123", 263),
        ("SP", "IE", "123456789", 261),
        ("SP", "IE", "ISENTO", 260),
        ("AM", "CPF", "90010000100", 262),
        ("PE", "CPF", "90010000101", 262),
    ],
)
def test_absent_or_unsupported(uf: str, kind: str, argument: str, status: int) -> None:
    result = ask(uf, kind, argument)

    assert result.status == status
    assert (result["xMotivo"] or "").startswith("Rejeicao: ")
    assert result[kind] == argument
    assert result.entries == []


def test_a_cnpj_with_letters_and_a_cpf_without_its_zeros() -> None:
    assert ask("SP", "CNPJ", "12ABC34501DE35").status == 111
    assert ask("SP", "CPF", "191").status == 264  # 000.000.001-91


def test_several_registrations_in_one_state() -> None:
    one = RegistrationFiction("110042490114", "SP", True, 1, 1, date(2020, 1, 2), None)
    other = RegistrationFiction("110042490115", "SP", False, 1, 1, date(2021, 1, 2), None)
    holder = Taxpayer("CNPJ", "90010001000100", 259, "A" * 80, "", "", "", "", (one, other))
    replies = response_writer.TreasuryReplies(
        TREASURIES[PATHS["SP"]], CadastroRequest("SP", "CNPJ", "90010001000100"), NOW
    )
    reply = replies.registrations_reply(holder)

    assert b"<cStat>112</cStat>" in reply.body
    assert reply.body.count(b"<infCad>") == 2
    assert f"<xNome>{'A' * 60}</xNome>".encode() in reply.body
    assert b"<ender>" not in reply.body


def test_registered_here_and_located_elsewhere() -> None:
    elsewhere = establishment_of("90010002000154").address  # Manaus
    registration = RegistrationFiction("001", "MG", True, 4, 1, date(2020, 1, 2), elsewhere)
    holder = Taxpayer("CNPJ", "90010002000154", 259, "A", "", "", "", "", (registration,))
    replies = response_writer.TreasuryReplies(
        TREASURIES[PATHS["MG"]], CadastroRequest("MG", "CNPJ", "90010002000154"), NOW
    )
    body = replies.registrations_reply(holder).body

    assert b"<UF>MG</UF><CNPJ>" in body
    assert b"<UF>AM</UF><cSit>" in body


def test_paths_are_the_published_ones() -> None:
    assert {uf: urlsplit(production).path for uf, (production, _) in ADDRESSES.items()} == PATHS


@pytest.mark.parametrize(
    ("path", "uf", "owner"),
    [
        (PATHS["SP"], "MG", "35"),
        (SVRS, "SP", "43"),
        (PATHS["GO"], "SU", "52"),
        (SVRS, "MA", "43"),
    ],
)
def test_a_state_that_is_asked_for_another(path: str, uf: str, owner: str) -> None:
    result = read(send(path, envelope(question(uf, "CNPJ", "90010001000100"))))

    assert (result.status, result["UF"], result["cUF"]) == (265, uf, owner)


def test_wrappers_differ() -> None:
    found = {uf: wrapper_of(ask_raw(uf, "CNPJ", "90010004000143")) for uf in PATHS}

    assert {uf: name for uf, name in found.items() if name != "nfeResultMsg"} == {
        "AM": "consultaCadastro4Result",
        "BA": "consultaCadastroResult",
        "MG": "consultaCadastro4Result",
        "MS": "consultaCadastroResult",
        "MT": "consultaCadastroResult",
        "PE": "consultaCadastro4Result",
    }


def test_state_with_escaped_replies() -> None:
    assert "&lt;retConsCad" in ask_raw("MS", "CNPJ", "90020008000102").text
    assert ask("MS", "CNPJ", "90020008000102").status == 111


def test_state_with_a_required_wrapper() -> None:
    message = question("MT", "CNPJ", "90020008000102")

    for wrapper in ("consultaCadastro", "nfeDadosMsg"):
        assert read(send(PATHS["MT"], envelope(message, wrapper=wrapper))).status == 111
    assert fault_of(send(PATHS["MT"], envelope(message))) == "soap:Sender"
    in_sp = envelope(question("SP", "CNPJ", "90020008000102"), wrapper="consultaCadastro")
    assert fault_of(send(PATHS["SP"], in_sp)) == "soap:Sender"


def test_state_with_a_required_header() -> None:
    message = envelope(question("PE", "CNPJ", "90020008000102"))

    assert fault_of(send(PATHS["PE"], message)) == "soap:Sender"
    assert ask("PE", "CNPJ", "90020008000102").status == 111


def test_states_without_offset_or_address() -> None:
    times = {uf: ask(uf, "CNPJ", "90010004000143")["dhCons"] or "" for uf in PATHS}
    naive = [uf for uf, text in times.items() if datetime.fromisoformat(text).tzinfo is None]
    assert naive == ["BA"]

    # the company is registered in every UF, and three UFs fail for it
    found = {
        uf: ask(uf, "CNPJ", "90020008000102").entries[0]
        for uf in PATHS
        if uf not in ("BA", "MG", "RS")
    }
    assert [uf for uf, entry in found.items() if "ender" not in entry] == ["PB"]
    assert [uf for uf, entry in found.items() if "IEUnica" in entry] == ["GO"]
    assert found["PB"]["dUltSit"] == "2015-03-02"


def test_unknown_paths_and_methods() -> None:
    body = envelope(question("SP", "CNPJ", "90010001000100"))

    assert send("/ws/other.asmx", body).status_code == 404
    assert send("", body).status_code == 404
    reply = get(f"/sefaz{PATHS['SP']}?wsdl")
    assert reply.status_code == 405
    assert reply.headers["content-type"].startswith("text/html")


def test_no_prefix_is_used_in_answers() -> None:
    for element in ask("SP", "CNPJ", "90010001000100").message.iter(f"{{{NFE}}}*"):
        assert element.prefix is None


def test_every_state_answers_at_its_path() -> None:
    for uf, path in PATHS.items():
        result = ask(uf, "CNPJ", "90010004000143")
        assert (result.status, result["UF"], result["cUF"]) == (259, uf, IBGE_CODES[uf])
        assert path in TREASURIES
    assert set(PATHS) == set(UFS) - {"MA"}
