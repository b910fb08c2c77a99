"""No CPF leaves the house unless it was opted in (rfb-open-data.md section 9)."""

import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balcao.core.company import (
    Company,
    DatedCompany,
    Partner,
    has_masked_partner,
    masked,
    normalized,
)
from balcao.core.personal import mask_cpf_in_text

# Every form in which people type a CPF into a name, and what is left of it.
FORMS = {
    "12345678901": "***456789**",
    "123.456.789-01": "***456789**",
    "123 456 789 01": "***456789**",
    "177495146-00": "***495146**",
    "1234567890": "***345678**",  # the zero in front was lost: 01234567890
    "12345678-90": "***345678**",
}

# What may stand around it.
AROUND = [
    "{}",
    "MARIA DA SILVA {}",
    "{} MARIA DA SILVA",
    "MARIA {} DA SILVA",
    "MARIA DA SILVA-{}",
    "MARIA DA SILVA - {}",
    "MARIA DA SILVA CPF:{}",
    "MARIA DA SILVA CPF.{}",
    "MARIA DA SILVA/{}",
    "MARIA DA SILVA ({})",
    "MARIA DA SILVA{}",
    "{}-MARIA DA SILVA",
    "{}, MARIA DA SILVA",
    "41.273.592 MARIA DA SILVA {}",  # the company root of a sole trader stays
    "41273592 {}",
]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("form", FORMS)
def test_a_cpf_in_a_name_is_hidden_in_every_form(form: str, around: str) -> None:
    hidden = mask_cpf_in_text(around.format(form))
    assert hidden == around.format(FORMS[form])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("MARIA １２３４５６７８９０１", "MARIA ***456789**"),
        ("MARIA 123.456.789\u201301 “A”", "MARIA ***456789** “A”"),
        ("“A” 123.456.789\u221201 – É", "“A” ***456789** – É"),
        ("MARIA 123\u200b456\u200b78901 E\u200bX", "MARIA ***456789** E\u200bX"),
        ("MARIA 123\u00a0456\u00a0789\u00a001", "MARIA ***456789**"),
        ("MARIA 123\x00456\x0078901", "MARIA ***456789**"),
        ("MARIA 123_456_789_01", "MARIA ***456789**"),
        ("１２３４５６７８９０１ e 987.654.321\u201300", "***456789** e ***654321**"),
        ("“MARIA” – 11\uff0e222\uff0e333", "“MARIA” – 11\uff0e222\uff0e333"),
    ],
)
def test_unusual_characters_hide_no_cpf(text: str, shown: str) -> None:
    assert mask_cpf_in_text(text) == shown


def test_two_in_one_name_are_both_hidden() -> None:
    assert mask_cpf_in_text("12345678901 E 987.654.321-00") == "***456789** E ***654321**"


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "EMPRESA FICTICIA LTDA",
        "41.273.592 MARIA DA SILVA",
        "41273592 MARIA DA SILVA",
        "POSTO BR 101 KM 20",
        "LOJA 24 HORAS 7 DIAS",
        "11222333000181",
        "11.222.333/0001-81",
        "CNPJ 11.222.333/0001-81 LTDA",
        "3M 2000 & CIA",
        "CONSORCIO 123456789012345",
        "***456789** MARIA",
    ],
)
def test_other_numbers_are_left_alone(text: str | None) -> None:
    assert mask_cpf_in_text(text) == text


@given(
    st.text(alphabet="ABC \u00c7-./:(),&'", max_size=12),
    st.from_regex(r"[0-9]{11}|[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}", fullmatch=True),
    st.text(alphabet="ABC \u00c7-./:(),&'", max_size=12),
)
def test_no_eleven_digits_are_left_whatever_stands_around_them(
    before: str, cpf: str, after: str
) -> None:
    hidden = mask_cpf_in_text(before + cpf + after)
    assert hidden is not None
    assert cpf not in hidden
    digits = cpf.replace(".", "").replace("-", "")
    assert hidden == f"{before}***{digits[3:9]}**{after}"


COMPANY = Company(
    cnpj="11222333000181",
    nome_empresarial="MARIA DA SILVA 12345678901",
    nome_fantasia="MARIA 123.456.789-01",
    logradouro="RUA 12345678901",
    socios=(
        Partner(
            nome="JOSE 98765432100",
            cpf_cnpj_socio="98765432100",
            documento_representante_legal="12345678901",
            nome_representante_legal="ANA 123 456 789 01",
        ),
        Partner(nome="HOLDING LTDA", cpf_cnpj_socio="11222333000181"),
        Partner(),
    ),
)


def test_a_company_without_opt_in_shows_no_persons_document() -> None:
    shown = masked(COMPANY)
    assert shown.nome_empresarial == "MARIA DA SILVA ***456789**"
    assert shown.nome_fantasia == "MARIA ***456789**"
    assert shown.socios == (
        Partner(
            nome="JOSE ***654321**",
            cpf_cnpj_socio="***654321**",
            documento_representante_legal="***456789**",
            nome_representante_legal="ANA ***456789**",
        ),
        Partner(nome="HOLDING LTDA", cpf_cnpj_socio="11222333000181"),
        Partner(),
    )
    assert shown.logradouro == "RUA ***456789**"  # the same CPF as in the name
    changed = {"nome_empresarial", "nome_fantasia", "socios", "logradouro"}
    for name in set(Company.__struct_fields__) - changed:
        assert getattr(shown, name) == getattr(COMPANY, name)
    assert masked(shown) == shown


def test_a_masked_partner_is_seen() -> None:
    assert not has_masked_partner(COMPANY)
    assert has_masked_partner(masked(COMPANY))
    only_agent = Partner(documento_representante_legal="***456789**")
    assert has_masked_partner(msgspec.structs.replace(COMPANY, socios=(only_agent,)))
    of_a_company = Partner(cpf_cnpj_socio="11222333000181")
    assert not has_masked_partner(msgspec.structs.replace(COMPANY, socios=(of_a_company,)))


@pytest.mark.parametrize(
    ("name", "masked_name"),
    [
        ("JOSE 123.456.789/01", "JOSE ***456789**"),  # the CIC's old form
        ("JOSE 123456789/01", "JOSE ***456789**"),
        ("JOSE 123-456-789-01", "JOSE ***456789**"),
        ("JOSE 123.456.789 - 01", "JOSE ***456789**"),
        ("JOSE 012.345.678-9", "JOSE ***234567**"),
        ("CASA 2-12345678901", "CASA 2-***456789**"),
        ("LOJA 1.12345678901", "LOJA 1.***456789**"),
        ("12345678901-12345678902", "***456789**-***456789**"),
    ],
)
def test_rarer_forms_of_a_cpf_are_hidden_too(name: str, masked_name: str) -> None:
    assert mask_cpf_in_text(name) == masked_name


NATURAL = Partner(nome="FULANA", cpf_cnpj_socio="***222333**", data_entrada_sociedade="2015-03-02")
SAME_DAY = Partner(nome="ÁGATA", cpf_cnpj_socio="***222333**", data_entrada_sociedade="2015-03-02")
NAMESAKE = Partner(nome="FULANA", cpf_cnpj_socio="***111333**", data_entrada_sociedade="2015-03-02")
LATER = Partner(
    nome="AAA LTDA", cpf_cnpj_socio="90010007000187", data_entrada_sociedade="2018-01-15"
)
NOBODY_KNOWS = Partner(nome="AAA")


@pytest.mark.parametrize("seed", range(10))
def test_partners_stand_in_one_order_whatever_the_source(seed: int) -> None:
    expected = (SAME_DAY, NAMESAKE, NATURAL, LATER, NOBODY_KNOWS)
    said = list(expected)
    random.Random(seed).shuffle(said)
    assert normalized(Company(cnpj="11222333000181", socios=tuple(said))).socios == expected


def test_the_order_is_the_same_with_and_without_the_opt_in() -> None:
    opted = tuple(
        msgspec.structs.replace(each, cpf_cnpj_socio=f"123{each.cpf_cnpj_socio[3:9]}99")
        for each in (NATURAL, NAMESAKE)
        if each.cpf_cnpj_socio
    )
    found = normalized(Company(cnpj="11222333000181", socios=opted)).socios
    assert [each.cpf_cnpj_socio for each in found] == ["12311133399", "12322233399"]


@pytest.mark.parametrize("city", ["MIAMI", "Exterior", None, "EXTERIOR"])
def test_abroad_the_city_is_exterior(city: str | None) -> None:
    abroad = Company(cnpj="11222333000181", uf="EX", municipio=city)
    assert normalized(abroad).municipio == "EXTERIOR"
    here = Company(cnpj="11222333000181", uf="SC", municipio=city)
    assert normalized(here) is here


def test_what_is_dated_stays_dated() -> None:
    dated = DatedCompany(cnpj="11222333000181", uf="EX", data_base="2026-08-08")
    assert normalized(dated) == msgspec.structs.replace(dated, municipio="EXTERIOR")
