"""A person's CPF is hidden in every text of a record, not in its names alone."""

import msgspec
import pytest

from balcao.core.company import Company, Partner, masked
from balcao.core.documents import Cnpj
from balcao.core.personal import mask_cpf_in_free_text, own_cpfs
from balcao.core.questions import Inquiry
from balcao.core.registration import RegisteredAddress, Registration, Registrations
from balcao.core.suframa import NumberedText, ZoneAddress, ZoneEmail, ZoneRecord

# Impossible ones, of nobody; the last has right check digits.
CPF, OTHER, RIGHT = "12345678901", "98765432100", "90010001000"
NAME = f"FULANA FICTICIA {CPF}"


def digits_of(text: object) -> str:
    return "".join(filter(str.isdigit, msgspec.json.encode(text).decode()))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"fulana{CPF}@example.com", "fulana***456789**@example.com"),
        (f"MEI_{CPF}_1@EXAMPLE.COM", "MEI_***456789**_1@EXAMPLE.COM"),
        ("123.456.789-01@example.com", "***456789**@example.com"),
        ("f123456789@example.com", "f***456789**@example.com"),  # the check digits follow
        ("AOS FUNDOS;CPF 123 456 789 01", "AOS FUNDOS;CPF ***456789**"),
        ("CASA 2;12345678901", "CASA 2;***456789**"),
        (f"ANO{CPF}2024", "ANO***456789**2024"),
        ("11987654321@example.com", "11987654321@example.com"),  # a telephone
        ("LOTE 9876501234 QUADRA 2024", "LOTE 9876501234 QUADRA 2024"),
        ("01310-100", "01310-100"),
        (f"outra{RIGHT}@example.com", "outra***100010**@example.com"),
        ("987.654.321-00", "***654321**"),
        ("“CASA”\u2003１２３４５６７８９０１", "“CASA”\u2003***456789**"),
        ("900.100.010\u201300 – É", "***100010** – É"),
        ("outra 900_100_010_00", "outra ***100010**"),
        ("LOTE 9876501234 – QUADRA 2024", "LOTE 9876501234 – QUADRA 2024"),
        ("contato@example.com", "contato@example.com"),
        ("", ""),
        (None, None),
    ],
)
def test_free_texts(text: str | None, shown: str | None) -> None:
    assert mask_cpf_in_free_text(text, own_cpfs([NAME])) == shown


def test_a_zero_lost_in_front_is_known_by_the_name() -> None:
    own = own_cpfs(["FULANA 01234567890"])
    assert mask_cpf_in_free_text("f1234567890@example.com", own) == "f***345678**@example.com"


def test_a_name_that_is_masked_already_tells_its_cpf() -> None:
    own = own_cpfs(["FULANA ***456789**", None])
    assert mask_cpf_in_free_text(f"f{CPF}@example.com", own) == "f***456789**@example.com"


TEXTS = (
    "tipo_logradouro", "logradouro", "numero", "complemento", "bairro", "endereco_eletronico",
    "ente_federativo_responsavel", "situacao_especial", "nome_fantasia",
)  # fmt: skip


@pytest.mark.parametrize("field", TEXTS)
def test_every_text_of_a_company(field: str) -> None:
    company = msgspec.structs.replace(
        Company(cnpj="90010001000100", nome_empresarial=NAME), **{field: f"X {CPF} Y"}
    )
    shown = masked(company)
    assert getattr(shown, field) == "X ***456789** Y"
    assert CPF not in digits_of(shown)
    assert masked(shown) is shown


def test_a_partners_cpf_in_the_companys_email() -> None:
    partner = Partner(nome="FULANA", cpf_cnpj_socio="***456789**")
    company = Company(cnpj="1", endereco_eletronico=f"f{CPF}@example.com", socios=(partner,))
    assert masked(company).endereco_eletronico == "f***456789**@example.com"


def test_a_company_without_any_is_not_copied() -> None:
    company = Company(
        cnpj="90010001000100",
        nome_empresarial="PADARIA LTDA",
        logradouro="RUA 15 DE NOVEMBRO",
        complemento="QUADRA 02 LOTE 15 ANDAR 3 SALA 1204",
        endereco_eletronico="contato2024@example.com",
    )
    assert masked(company) is company


def test_registrations_and_the_free_trade_zone() -> None:
    cnpj = "90010001000100"
    inquiry = Inquiry("state_registration", Cnpj(cnpj), "SP")
    address = RegisteredAddress("RUA A", "1", f"CPF {CPF}", "CENTRO")
    one = Registration("110042490114", "SP", True, endereco=address)
    shown = Registrations(cnpj, "SP", NAME, inscricoes=(one,)).as_allowed(inquiry)
    assert shown.inscricoes[0].endereco is not None
    assert shown.inscricoes[0].endereco.complemento == "CPF ***456789**"

    zone = ZoneRecord(
        cnpj, "200001019", NAME, True, True, NumberedText(1, "Ativa"),
        endereco=ZoneAddress(logradouro=f"RUA {CPF}"),
        emails=(ZoneEmail(f"f{CPF}@example.com", "example.com"),),
    ).as_allowed(inquiry)  # fmt: skip
    assert CPF not in digits_of(zone)
    assert zone.emails == (ZoneEmail("f***456789**@example.com", "example.com"),)
