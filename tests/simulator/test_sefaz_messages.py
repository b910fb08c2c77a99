"""Messages that a treasury rejects, and its injected faults."""

from collections.abc import Callable

import pytest

from tests.simulator.sefaz import (
    NFE,
    PATHS,
    SERVICE,
    SOAP,
    SOAP_12,
    SVRS,
    ask,
    ask_raw,
    envelope,
    fault_of,
    question,
    read,
    send,
)

GOOD = question("SP", "CNPJ", "90010001000100")


def in_sp(message: str) -> bytes:
    return envelope(message)


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (GOOD.replace("><infCons>", ">\n<infCons>"), 588),
        (GOOD.replace("<UF>", " <UF>"), 588),
        (GOOD.replace("</infCons></", "</infCons>\t</"), 588),
        (f" {GOOD}", 588),
        (f"{GOOD}\r\n", 588),
        (GOOD.replace("90010001000100", "  "), 588),
        (
            GOOD.replace("xmlns=", "xmlns:n=").replace("<", "<n:").replace("<n:/", "</n:"),
            404,
        ),
        (GOOD.replace("<UF>", f'<n:UF xmlns:n="{NFE}">').replace("</UF>", "</n:UF>"), 404),
        (GOOD.replace(" versao", ' xmlns:x="urn:x" x:a="1" versao'), 404),
        ("", 516),
        ("ConsCad", 516),
        (f"<![CDATA[{GOOD}]]>", 516),
        (GOOD.replace("ConsCad", "consCad"), 516),
        (GOOD.replace(' versao="2.00"', ""), 517),
        (GOOD.replace(f' xmlns="{NFE}"', ""), 587),
        (GOOD.replace(f' xmlns="{NFE}"', ' xmlns="urn:other"'), 587),
        (GOOD.replace("<infCons>", '<infCons xmlns="">'), 587),
        (GOOD.replace(" versao", ' xmlns:xsi="urn:x" versao'), 587),
        (GOOD.replace("2.00", "4.00"), 215),
        (GOOD.replace("CONS-CAD", "CONS-CAD "), 215),
        (GOOD.replace("SP", "XX"), 215),
        (GOOD.replace("90010001000100", "9001000100010"), 215),
        (GOOD.replace("90010001000100", "12abc34501de35"), 215),
        (GOOD.replace("CNPJ", "cnpj"), 215),
        (GOOD.replace("<CNPJ>", "<CPF>90010000100</CPF><CNPJ>"), 215),
        (GOOD.replace("<xServ>CONS-CAD</xServ>", ""), 215),
        (GOOD + GOOD, 215),
    ],
)
def test_messages_that_break_a_rule(message: str, status: int) -> None:
    result = read(send(PATHS["SP"], in_sp(message)))

    assert result.status == status
    assert (result["UF"], result["cUF"]) == ("SP", "35")
    assert result.entries == []


def test_readable_content_is_echoed() -> None:
    result = read(send(SVRS, in_sp(f" {question('SC', 'CNPJ', '90010001000100')}")))
    assert (result.status, result["UF"], result["CNPJ"], result["cUF"]) == (
        588,
        "SC",
        "90010001000100",
        "42",
    )

    result = read(send(SVRS, in_sp(f" {question('XX', 'CNPJ', '1')}")))
    assert (result.status, result["UF"], result["CNPJ"], result["cUF"]) == (588, "RS", None, "43")


@pytest.mark.parametrize(
    "change",
    [
        lambda body: b"\xef\xbb\xbf" + body,
        lambda body: body.decode().encode("utf-16"),
        lambda body: body.replace(b"UTF-8", b"ISO-8859-1"),
        lambda body: body.replace(b'"UTF-8"', b"'windows-1252'"),
        lambda body: body.replace(b"CONS-CAD", b"CONS-C\xc3D"),
    ],
)
def test_another_encoding(change: Callable[[bytes], bytes]) -> None:
    assert read(send(PATHS["SP"], change(in_sp(GOOD)))).status == 402


def test_another_charset_in_the_header() -> None:
    headers = {"content-type": "application/soap+xml; charset=iso-8859-1"}
    assert read(send(PATHS["SP"], in_sp(GOOD), headers=headers)).status == 402

    action = f'application/soap+xml;charset="UTF-8";action="{SERVICE}/consultaCadastro"'
    assert read(send(PATHS["SP"], in_sp(GOOD), headers={"content-type": action})).status == 111


@pytest.mark.parametrize("body", [b"", b"<", b"{}", in_sp(GOOD)[:-1], in_sp(GOOD + "&nada;")])
def test_invalid_xml(body: bytes) -> None:
    assert read(send(PATHS["SP"], body)).status == 243


def test_a_message_that_is_too_long() -> None:
    assert read(send(PATHS["SP"], in_sp(GOOD) + b" " * 10_240)).status == 214
    assert read(send(PATHS["SP"], b" " * 200_000)).status == 214


@pytest.mark.parametrize("content_type", ["", "text/xml; charset=utf-8", "application/json"])
def test_another_content_type(content_type: str) -> None:
    reply = send(PATHS["SP"], in_sp(GOOD), headers={"content-type": content_type})
    assert reply.status_code == 415


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (
            in_sp(GOOD).replace(SOAP.encode(), b"http://schemas.xmlsoap.org/soap/envelope/"),
            "soap:VersionMismatch",
        ),
        (GOOD.encode(), "soap:Sender"),
        (in_sp(GOOD).replace(b"soap:Body", b"soap:Head"), "soap:Sender"),
        (in_sp(GOOD).replace(SERVICE.encode(), b"urn:other"), "soap:Sender"),
        (in_sp(GOOD).replace(b"nfeDadosMsg", b"nfeCabecMsg"), "soap:Sender"),
        (in_sp(GOOD).replace(b"</soap:Body>", b"<a/></soap:Body>"), "soap:Sender"),
        (in_sp(GOOD).replace(b"<soap:Env", b"<!DOCTYPE a><soap:Env", 1), "soap:Sender"),
    ],
)
def test_invalid_soap_is_a_fault(body: bytes, code: str) -> None:
    assert fault_of(send(PATHS["SP"], body)) == code


def test_entities_are_not_resolved() -> None:
    bomb = b'<!DOCTYPE a [<!ENTITY b "bbbbbbbb"><!ENTITY c SYSTEM "file:///etc/hostname">]>'
    body = in_sp(GOOD.replace("CONS-CAD", "&b;&c;")).replace(b"?><", b"?>" + bomb + b"<", 1)

    assert fault_of(send(PATHS["SP"], body)) == "soap:Sender"


def test_a_header_and_whitespace_outside_of_the_message_are_fine() -> None:
    body = in_sp(GOOD).replace(
        b"<soap:Body>",
        b"\n<soap:Header><nfeCabecMsg><cUF>35</cUF></nfeCabecMsg></soap:Header>\n<soap:Body>\n",
    )
    assert read(send(PATHS["SP"], body)).status == 111


def test_maintenance_is_a_status_and_in_one_state_a_page() -> None:
    for uf in PATHS:
        reply = ask_raw(uf, "CNPJ", "90020001000190")
        if uf == "PR":
            assert reply.status_code == 503
            assert reply.headers["content-type"].startswith("text/html")
        else:
            assert read(reply).status == 108


def test_some_states_fail() -> None:
    found = {uf: ask(uf, "CNPJ", "90020008000102").status for uf in PATHS}

    assert {uf for uf, status in found.items() if status == 108} == {"BA", "MG", "RS"}
    assert {status for uf, status in found.items() if uf not in ("BA", "MG", "RS")} == {111}


def test_incomplete_without_registrations() -> None:
    elsewhere = read(ask_raw("MG", "CNPJ", "90020009000157"))
    assert elsewhere.entries == []
    assert elsewhere["cStat"] is None


def test_unreadable_certificate() -> None:
    """On the plain port any client may send the header; the TLS port replaces it."""
    for header in ("x", "!!", "YWJj"):
        result = read(
            send(PATHS["SP"], in_sp(GOOD), headers=SOAP_12 | {"x-ssl-client-cert": header})
        )
        assert result.status == 280
