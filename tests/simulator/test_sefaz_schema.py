"""The simulator's request schema is correct, and its replies are valid.

`accepts` compares our verdicts with those of the official schemas, if these are available.
"""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from balcao.core.federation import UFS
from balcao.fiction import registrations_of, registrations_of_person
from balcao.fiction.digits import cnpj as cnpj_of
from tests.sefaz.schemas import QUESTION, accepts, assert_answer
from tests.simulator.sefaz import NFE, PATHS, ask, ask_raw, question
from tests.simulator.world import an_app


@pytest.mark.parametrize("uf", [*UFS, "SU"])
@pytest.mark.parametrize(
    ("kind", "argument"),
    [
        ("CNPJ", "90010001000100"),
        ("CNPJ", "12ABC34501DE35"),
        ("CPF", "90010000100"),
        ("CPF", "191"),
        ("IE", "ISENTO"),
        ("IE", "01"),
        ("IE", "12345678901234"),
    ],
)
def test_questions(uf: str, kind: str, argument: str) -> None:
    assert accepts(QUESTION, question(uf, kind, argument))


GOOD = question("SP", "CNPJ", "90010001000100")


@pytest.mark.parametrize(
    "message",
    [
        *(
            question("SP", "CNPJ", argument)
            for argument in (
                "",
                "9001000100010",
                "900100010001000",
                "90010001000100 ",
                " 90010001000100",
                "12abc34501de35",
                "12ABC34501DEAA",
                "90.010.001/0001-00",
                "٩0010001000100",
                "123",
            )
        ),
        *(
            question("SP", "CPF", argument)
            for argument in ("", "12", "123456789012", "1234567890A", "900.100.001-00", " 191")
        ),
        *(
            question("SP", "IE", argument)
            for argument in ("", "1", "123456789012345", "isento", "ISENTO ", "P1234", "12.3")
        ),
        *(question(uf, "CNPJ", "90010001000100") for uf in ("", "sp", "BR", "EX", "AN", "S P")),
        question("SP", "cnpj", "90010001000100"),
        question("SP", "IEST", "90010001000100"),
        GOOD.replace("2.00", "1.00"),
        GOOD.replace("2.00", "2,00"),
        GOOD.replace("2.00", "2x00"),
        GOOD.replace("2.00", "2.0"),
        GOOD.replace(' versao="2.00"', ""),
        GOOD.replace(' versao="2.00"', ' versao="2.00" Id="a"'),
        GOOD.replace("CONS-CAD", "cons-cad"),
        GOOD.replace("CONS-CAD", "CONS-CAD "),
        GOOD.replace("CONS-CAD", ""),
        GOOD.replace("<xServ>CONS-CAD</xServ>", ""),
        GOOD.replace("<UF>SP</UF>", ""),
        GOOD.replace("<UF>SP</UF>", "<UF>SP</UF><UF>SP</UF>"),
        GOOD.replace("<CNPJ>90010001000100</CNPJ>", ""),
        GOOD.replace("</CNPJ>", "</CNPJ><CPF>90010000100</CPF>"),
        GOOD.replace("</infCons>", "</infCons><infCons/>"),
        GOOD.replace("<infCons>", "<infCons>text"),
        GOOD.replace("<infCons>", '<infCons a="1">'),
        GOOD.replace("<UF>", '<UF xmlns="">'),
        GOOD.replace("<UF>", "<UF><b/>"),
        GOOD.replace(NFE, "urn:other"),
        GOOD.replace("ConsCad", "consCad"),
        GOOD.replace("</infCons>", "").replace("<infCons>", ""),
        f'<ConsCad xmlns="{NFE}" versao="2.00"/>',
    ],
)
def test_invalid_requests(message: str) -> None:
    assert not accepts(QUESTION, message)


@pytest.mark.parametrize(
    "message",
    [
        GOOD.replace("2.00", " 2.00 "),
        GOOD.replace("<UF>SP", "<UF>\n SP "),
        GOOD.replace("<UF>", "<!-- a --><UF>"),
        GOOD.replace("><", ">\n  <"),
        GOOD.replace("<", "<n:").replace("<n:/", "</n:").replace("xmlns=", "xmlns:n="),
    ],
)
def test_accepted_variations(message: str) -> None:
    assert accepts(QUESTION, message)


_NAMES = st.sampled_from(["xServ", "UF", "IE", "CNPJ", "CPF", "infCons", "versao"])
_TEXTS = st.one_of(
    st.sampled_from(["CONS-CAD", "SP", "SU", "ISENTO", "90010001000100", "90010000100", "", " "]),
    st.from_regex(r"[0-9A-Z]{12}[0-9]{2}", fullmatch=True),
    st.text("0123456789ABZaz .-\u00e7\n", max_size=16),
    st.integers(0, 10**15).map(str),
)

ARGUMENTS = {
    "IE": r"[0-9]{2,14}|ISENTO",
    "CNPJ": r"[0-9A-Z]{12}[0-9]{2}",
    "CPF": r"[0-9]{3,11}",
}


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.tuples(_NAMES, _TEXTS), max_size=4),
    st.sampled_from(["2.00", " 2.00", "2.00\n", "2.000", "4.00", ""]),
    st.booleans(),
)
def test_anything(fields: list[tuple[str, str]], version: str, begins_well: bool) -> None:
    root = etree.Element(f"{{{NFE}}}ConsCad", versao=version)
    asked = etree.SubElement(root, f"{{{NFE}}}infCons")
    if begins_well:
        fields = [("xServ", "CONS-CAD"), ("UF", "SP"), *fields]
    for name, text in fields:
        etree.SubElement(asked, f"{{{NFE}}}{name}").text = text
    assert accepts(QUESTION, etree.tostring(root)) == _is_a_question(fields, version)


def _is_a_question(fields: list[tuple[str, str]], version: str) -> bool:
    """Check the rules without a schema."""
    match fields:
        case [("xServ", "CONS-CAD"), ("UF", uf), (kind, argument)] if kind in ARGUMENTS:
            argued = re.fullmatch(ARGUMENTS[kind], argument)
            return bool(argued) and uf.strip() in (*UFS, "SU") and version.strip() == "2.00"
    return False


EVERY_CNPJ = st.builds(
    cnpj_of,
    st.text("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=8, max_size=8),
    st.sampled_from(["0001", "0002", "A1B2"]),
)


@settings(max_examples=60, deadline=None)
@given(EVERY_CNPJ)
def test_replies_about_companies_are_valid(cnpj: str) -> None:
    app = an_app()
    registrations = registrations_of(cnpj)
    for uf in {each.uf for each in registrations} | {"SP"}:
        if uf not in PATHS:
            continue
        result = ask(uf, "CNPJ", cnpj, app)  # also validates the reply
        expected = [(each.number, str(int(each.active))) for each in registrations if each.uf == uf]
        assert [(entry["IE"], entry["cSit"]) for entry in result.entries] == expected


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 999_999_999))
def test_answers_about_people_are_valid(number: int) -> None:
    app = an_app()
    cpf = _cpf(number)
    for uf in {each.uf for each in registrations_of_person(cpf)} | {"SP"}:
        if uf in PATHS:
            result = ask(uf, "CPF", cpf, app)
            assert result.status in ((262,) if uf in ("AM", "PE") else (111, 112, 263, 264))


def _cpf(number: int) -> str:
    text = f"{number:09d}"
    for _ in range(2):
        weighted = sum((len(text) + 1 - i) * int(digit) for i, digit in enumerate(text))
        text += str(-weighted % 11 % 10)
    return text


@pytest.mark.parametrize("uf", PATHS)
def test_quirks_are_valid(uf: str) -> None:
    for cnpj in ("90020008000102", "90010004000143", "90020001000190", "90010001000101"):
        reply = ask_raw(uf, "CNPJ", cnpj)
        if reply.status_code == 200:
            assert_answer(reply.content)
