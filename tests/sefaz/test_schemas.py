"""Our schemas of the messages are exactly as strict as the official ones.

Cases of requests are in `tests/simulator/test_sefaz_schema.py`.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy

import pytest
from lxml import etree

from balcao.core.federation import IBGE_CODES, UFS
from tests import official
from tests.sefaz.schemas import (
    ANSWER,
    NFE,
    QUESTION,
    SERVICE,
    SOAP,
    accepts,
    envelopes,
    ours,
    theirs,
)

ADDRESS = (
    "<ender><xLgr>RUA DAS AMOREIRAS</xLgr><nro>7</nro><xCpl>FUNDOS</xCpl><xBairro>CENTRO</xBairro>"
    "<cMun>3550308</cMun><xMun>SÃO PAULO</xMun><CEP>1001000</CEP></ender>"
)
ENTRY = (
    "<infCad><IE>110042490114</IE><CNPJ>90010001000100</CNPJ><UF>SP</UF><cSit>1</cSit>"
    "<indCredNFe>2</indCredNFe><indCredCTe>4</indCredCTe><xNome>FABRICA FICTICIA DE SINOS</xNome>"
    "<xFant>SINOS</xFant><xRegApur>NORMAL</xRegApur><CNAE>2599399</CNAE>"
    "<dIniAtiv>2001-02-03</dIniAtiv><dUltSit>2004-05-06</dUltSit><dBaixa>2007-08-09</dBaixa>"
    f"<IEUnica>110042490114</IEUnica><IEAtual>ISENTO</IEAtual>{ADDRESS}</infCad>"
)
FOUND = (
    f'<retConsCad xmlns="{NFE}" versao="2.00"><infCons><verAplic>SP-4.00</verAplic>'
    "<cStat>111</cStat><xMotivo>Uma ocorrencia</xMotivo><UF>SP</UF><CNPJ>90010001000100</CNPJ>"
    f"<dhCons>2026-08-20T09:30:15-03:00</dhCons><cUF>35</cUF>{ENTRY}</infCons></retConsCad>"
)
ASKED = (
    f'<ConsCad xmlns="{NFE}" versao="2.00"><infCons><xServ>CONS-CAD</xServ><UF>SP</UF>'
    "<CNPJ>90010001000100</CNPJ></infCons></ConsCad>"
)


def changed(old: str, new: str, count: int = -1) -> str:
    assert old in FOUND, old
    return FOUND.replace(old, new, count)


@pytest.mark.parametrize(
    "message",
    [
        FOUND,
        changed(ENTRY, ""),
        changed(ENTRY, ENTRY * 3),
        changed("<CNPJ>90010001000100</CNPJ>", "<CPF>191</CPF>"),
        changed("<CNPJ>90010001000100</CNPJ>", "<IE>ISENTO</IE>", 1),
        changed(ADDRESS, "<ender/>"),
        changed('"2.00"', '" 2.00 "'),
        changed("<IEUnica>", "<!-- a --><IEUnica>"),
    ],
)
def test_answers(message: str) -> None:
    assert accepts(ANSWER, message)


@pytest.mark.parametrize(
    "message",
    [
        ASKED,
        changed('"2.00"', '"2.0"'),
        changed(' versao="2.00"', ""),
        changed("<CNPJ>90010001000100</CNPJ>", "", 1),
        changed("<CNPJ>90010001000100</CNPJ>", "<CNPJ>90010001000100</CNPJ><CPF>191</CPF>", 1),
        changed("</IE><CNPJ>90010001000100</CNPJ>", "</IE><IE>ISENTO</IE>"),
        changed("<nro>7</nro><xCpl>FUNDOS</xCpl>", "<xCpl>FUNDOS</xCpl><nro>7</nro>"),
        changed("<xBairro>", "<bairro/><xBairro>"),
        changed("<infCad>", '<infCad Id="1">'),
        changed("<infCad>", "<infCad>text"),
        changed(f"<cUF>35</cUF>{ENTRY}", f"{ENTRY}<cUF>35</cUF>"),
        changed("</infCons>", "</infCons><infCons/>"),
        changed(NFE, "urn:other"),
    ],
)
def test_invalid_replies(message: str) -> None:
    assert not accepts(ANSWER, message)


MANDATORY = {
    *("infCons", "verAplic", "cStat", "xMotivo", "UF", "dhCons", "cUF"),
    *("infCad/IE", "infCad/CNPJ", "infCad/UF", "infCad/cSit", "infCad/xNome"),
    *("infCad/indCredNFe", "infCad/indCredCTe", "CNPJ"),
}


@pytest.mark.parametrize("at", range(1, FOUND.count("</")))
def test_required_and_repeatable_elements(at: int) -> None:
    """Each element is required or optional; only a registration may be repeated."""
    missing, twice = etree.fromstring(FOUND), etree.fromstring(FOUND)
    element, again = list(missing.iter())[at], list(twice.iter())[at]
    _removed(element)
    _repeated(again)
    name, parent = etree.QName(again).localname, etree.QName(_parent(again)).localname
    path = f"infCad/{name}" if parent == "infCad" else name
    assert accepts(ANSWER, etree.tostring(missing)) == (path not in MANDATORY)
    assert accepts(ANSWER, etree.tostring(twice)) == (name == "infCad")


# Valid and invalid texts, by field.
NUMBERS = (
    ["01", "1" * 14, "ISENTO"],
    ["", "1", "1" * 15, " 12", "isento", "ISENTO ", "12.3", "P12"],
)
SCALE = (["0", "1", "2", "3", "4"], ["", "5", " 1", "1 ", "01"])
DATES = (
    ["2001-02-03", "2004-02-29", "2001-02-03-03:00"],
    ["", "2001-02-29", "20010203", "03/02/2001", "2001-02-03T00:00:00"],
)


def words(most: int) -> tuple[list[str], list[str]]:
    """Return valid texts (1 to `most` Latin-1 characters, no blank at either end) and invalid."""
    good = ["7", "A" * most, "D'ÁGUA  Nº 1", "!\u00ff"]
    return good, ["", "A" * (most + 1), " A", "A ", "A\nB", "Ł", "A–B"]


FORMS: Mapping[str, tuple[list[str], list[str]]] = {
    "verAplic": words(20),
    "cStat": (["000", "111", "999"], ["", "11", "1111", " 111", "111 ", "11A"]),
    "xMotivo": words(255),
    "UF": ([*UFS, "SU", " SP "], ["", "EX", "BR", "sp", "S P", "SPP", "35"]),
    "CNPJ": (
        ["90010001000100", "12ABC34501DE35", "ZZZZZZZZZZZZ99"],
        [
            "",
            "9001000100010",
            "900100010001000",
            " 90010001000100",
            "12abc34501de35",
            "12ABC34501DEAA",
        ],
    ),
    "dhCons": (
        ["2026-08-20T09:30:15-03:00", "2026-08-20T09:30:15", "2026-08-20T09:30:15.25Z"],
        ["", "2026-08-20", "2026-08-20 09:30:15", "20/08/2026 09:30", "2026-08-20T25:00:00"],
    ),
    "cUF": (
        [*IBGE_CODES.values()],
        ["", "SP", "10", "18", "20", "30", "34", "40", "44", "49", "54", "91", "035", " 35"],
    ),
    "infCad/IE": NUMBERS,
    "infCad/UF": ([*UFS, "EX"], ["", "SU", "BR", "sp", " SP", "SP "]),
    "infCad/cSit": (["0", "1", " 1 "], ["", "2", "01", "S"]),
    "infCad/indCredNFe": SCALE,
    "infCad/indCredCTe": SCALE,
    "infCad/xNome": words(60),
    "infCad/xFant": words(60),
    "infCad/xRegApur": (
        ["N", "A" * 60, f" {'A' * 60} ", "SIMPLES – ŁÓDŹ"],
        ["", " ", "A" * 61],
    ),
    "infCad/CNAE": (["2599399", "111301", " 2599399 "], ["", "25993", "02599399", "2599-3/99"]),
    "infCad/dIniAtiv": DATES,
    "infCad/dUltSit": DATES,
    "infCad/dBaixa": DATES,
    "infCad/IEUnica": NUMBERS,
    "infCad/IEAtual": NUMBERS,
    "infCad/ender/xLgr": words(255),
    "infCad/ender/nro": words(60),
    "infCad/ender/xCpl": words(60),
    "infCad/ender/xBairro": words(60),
    "infCad/ender/cMun": (["3550308", "9999999"], ["", "7107", "35503080", " 3550308"]),
    "infCad/ender/xMun": words(60),
    "infCad/ender/CEP": (
        ["01001000", "1001000", " 01001000 "],
        ["", "100100", "001001000", "01001-000"],
    ),
}


@pytest.mark.parametrize("field", FORMS)
def test_forms(field: str) -> None:
    path = "/".join(f"{{{NFE}}}{name}" for name in field.split("/"))
    document = etree.fromstring(FOUND)
    element = document[0].find(path)
    assert element is not None
    for verdict, texts in zip((True, False), FORMS[field], strict=True):
        for text in texts:
            element.text = text
            assert accepts(ANSWER, etree.tostring(document)) == verdict, text


@pytest.mark.parametrize("kind", ["IE", "CPF"])
def test_forms_of_other_arguments(kind: str) -> None:
    forms = (
        NUMBERS if kind == "IE" else (["191", "90010000100"], ["", "12", "1" * 12, " 191", "19A"])
    )
    for verdict, texts in zip((True, False), forms, strict=True):
        for text in texts:
            message = changed("<CNPJ>90010001000100</CNPJ>", f"<{kind}>{text}</{kind}>", 1)
            assert accepts(ANSWER, message) == verdict, text


# Boundary cases of the forms of messages.
TEXTS = (
    *UFS,
    *(f"{number:02}" for number in range(9, 56)),
    *("", " ", "0", "1", "2", "4", "5", " 1", "1\n", "111", "1111", " 111", "191", " 191"),
    *("12345", "123456", "1234567", "12345678", "123456789", " 1234567 ", " 12345678 "),
    *("90010000100", "900100001000", "90010001000100", "900100010001000", "12ABC34501DE35"),
    *("12abc34501de35", "12ABC34501DEAA", "9001000100010 ", " 90010001000100", "٩0010001000100"),
    *("ISENTO", " ISENTO", " 12", "1" * 11, "1" * 12, "1" * 14, "1" * 15),
    *(" SP", "sp", "SU", "EX", "BR", " 35", "2.00", " 2.00 ", "2x00", "CONS-CAD", "CONS-CAD "),
    *("A", "A B", "A  B", " A", "A ", "A\tB", "A\nB", "\u00a0", "\u007f", "\u00ff", "\u0100", "–"),
    *("A" * 20, "A" * 21, "A" * 60, "A" * 61, f" {'A' * 60} ", "A" * 255, "A" * 256),
    *("2026-08-05", " 2026-08-05 ", "2026-02-30", "2026-8-5", "2026-08-05Z", "-0001-01-01"),
    *("2026-08-05T10:15:30", "2026-08-05T10:15:30.5-03:00", "2026-08-05T24:00:00Z"),
    *("2026-08-05T25:00:00", "2026-08-05 10:15:30", "05/08/2026"),
)


def spoilt(message: str) -> Iterator[etree._Element]:
    """Yield the message with one change each, of many kinds."""
    whole = etree.fromstring(message)
    for element in whole.iter():
        before = element.text
        for text in TEXTS:
            element.text = text
            yield whole
        element.text = before
    for version in TEXTS:
        whole.set("versao", version)
        yield whole
    del whole.attrib["versao"]
    yield whole
    for at in range(message.count("</")):
        for change in (*CHANGES, *MOVES) if at else CHANGES:
            copy = etree.fromstring(message)
            change(list(copy.iter())[at])
            yield copy


def _marked(element: etree._Element) -> None:
    element.set("a", "1")


def _renamed(element: etree._Element) -> None:
    element.tag = f"{element.tag}x"


def _in_no_namespace(element: etree._Element) -> None:
    element.tag = etree.QName(element).localname


def _with_one_more(element: etree._Element) -> None:
    etree.SubElement(element, f"{{{NFE}}}IE").text = "12"


def _removed(element: etree._Element) -> None:
    _parent(element).remove(element)


def _repeated(element: etree._Element) -> None:
    element.addnext(deepcopy(element))


def _moved_on(element: etree._Element) -> None:
    following = element.getnext()
    if following is not None:
        following.addnext(element)


def _moved_to_the_end(element: etree._Element) -> None:
    _parent(element).append(element)


def _parent(element: etree._Element) -> etree._Element:
    parent = element.getparent()
    assert parent is not None
    return parent


CHANGES = (_marked, _renamed, _in_no_namespace, _with_one_more)
MOVES = (_removed, _repeated, _moved_on, _moved_to_the_end)  # of elements below the root


@pytest.mark.parametrize(("name", "message"), [(QUESTION, ASKED), (ANSWER, FOUND)])
def test_schemas_agree_on_changed_messages(name: str, message: str) -> None:
    official.needed(official.SCHEMAS)
    mine, other = ours(name), theirs(name)
    assert other is not None
    cnpj = "<CNPJ>90010001000100</CNPJ>"
    verdicts: dict[bool, int] = {True: 0, False: 0}
    for argument in (cnpj, "<CPF>90010000100</CPF>", "<IE>110042490114</IE>"):
        for document in spoilt(message.replace(cnpj, argument, 1)):
            verdict = mine.validate(document)
            assert other.validate(document) == verdict, etree.tostring(document, encoding="unicode")
            verdicts[verdict] += 1
    assert verdicts[False] > verdicts[True] > 100


def enveloped(inside: str, header: str = "") -> str:
    return (
        f'<soap:Envelope xmlns:soap="{SOAP}" xmlns:s="{SERVICE}">{header}'
        f"<soap:Body>{inside}</soap:Body></soap:Envelope>"
    )


DATA = f"<s:nfeDadosMsg>{ASKED}</s:nfeDadosMsg>"
HEADER = (
    "<soap:Header><s:nfeCabecMsg><s:cUF>35</s:cUF><s:versaoDados>2.00</s:versaoDados>"
    "</s:nfeCabecMsg></soap:Header>"
)
RESULT = f"<s:nfeResultMsg>{FOUND}</s:nfeResultMsg>"
FAULT = (
    "<soap:Fault><soap:Code><soap:Value>soap:Sender</soap:Value></soap:Code><soap:Reason>"
    '<soap:Text xml:lang="en">No.</soap:Text></soap:Reason></soap:Fault>'
)


@pytest.mark.parametrize(
    "envelope",
    [
        enveloped(DATA),
        enveloped(DATA, HEADER),
        enveloped(f"<s:nfeDadosMsg>{DATA}</s:nfeDadosMsg>"),
        enveloped(f"<s:consultaCadastro>{DATA}</s:consultaCadastro>"),
        enveloped(RESULT),
        enveloped(RESULT.replace("nfeResultMsg", "consultaCadastroResult")),
        enveloped(RESULT.replace("nfeResultMsg", "consultaCadastro4Result")),
        enveloped("<s:nfeResultMsg>&lt;retConsCad/&gt;</s:nfeResultMsg>"),
        enveloped(FAULT),
    ],
)
def test_envelopes(envelope: str) -> None:
    assert envelopes().validate(etree.fromstring(envelope)), envelopes().error_log


@pytest.mark.parametrize(
    "envelope",
    [
        enveloped(""),
        enveloped(ASKED),
        enveloped(DATA * 2),
        enveloped("<s:nfeDadosMsg/>"),
        enveloped(f"<s:nfeDadosMsg>{ASKED * 2}</s:nfeDadosMsg>"),
        enveloped(f"<s:nfeDadosMsg>text{ASKED}</s:nfeDadosMsg>"),
        enveloped(
            f"<s:nfeDadosMsg>{DATA.join(['<s:nfeDadosMsg>', '</s:nfeDadosMsg>'])}</s:nfeDadosMsg>"
        ),
        enveloped(f"<s:consultaCadastro>{ASKED}</s:consultaCadastro>"),
        enveloped(f"<s:consultaCadastro4>{DATA}</s:consultaCadastro4>"),
        enveloped(f"<s:other>{DATA}</s:other>"),
        enveloped(DATA, HEADER.replace("35", "SP")),
        enveloped(DATA, HEADER.replace("2.00", "4.00")),
        enveloped(DATA, "<soap:Header/>"),
        enveloped(RESULT.replace("nfeResultMsg", "retConsCad")),
        enveloped(FAULT + RESULT),
        enveloped(FAULT.replace("soap:Sender", "Sender")),
        enveloped(FAULT.replace(' xml:lang="en"', "")),
        enveloped(DATA).replace(SOAP, "http://schemas.xmlsoap.org/soap/envelope/"),
        enveloped(DATA).replace(SERVICE, f"{NFE}/wsdl/CadConsultaCadastro2"),
    ],
)
def test_invalid_envelopes(envelope: str) -> None:
    assert not envelopes().validate(etree.fromstring(envelope))
