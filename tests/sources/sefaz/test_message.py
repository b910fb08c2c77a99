"""The bytes of requests, and readers of all envelopes."""

import html
import re

import pytest
from lxml import etree

from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import SourceFailed
from balcao.core.federation import UFS
from balcao.providers.sefaz import message
from balcao.sources.contract import HttpReply
from tests.sefaz.schemas import ANSWER, accepts, assert_question
from tests.sources.sefaz.world import (
    CNPJ,
    CPF,
    FOUND,
    LETTERS,
    NFE,
    NONE,
    SEFAZ,
    SERVICE,
    SOAP,
    an_answer,
    an_entry,
    an_inquiry,
    ask,
    enveloped,
    run,
)

QUESTION = (
    f'<ConsCad xmlns="{NFE}" versao="2.00"><infCons><xServ>CONS-CAD</xServ>'
    f"<UF>SC</UF><CNPJ>{CNPJ}</CNPJ></infCons></ConsCad>"
)


def sent(uf: str = "SC", document: Cnpj | Cpf | None = None, *, with_header: bool = False) -> str:
    return message.request_body(uf, document or Cnpj(CNPJ), with_header=with_header).decode()


def test_the_question_byte_by_byte() -> None:
    assert sent() == (
        '<?xml version="1.0" encoding="UTF-8"?>'
        f'<soap:Envelope xmlns:soap="{SOAP}"><soap:Body>'
        f'<nfeDadosMsg xmlns="{SERVICE}">{QUESTION}</nfeDadosMsg>'
        "</soap:Body></soap:Envelope>"
    )


def test_mato_grosso_has_another_wrapper() -> None:
    question = QUESTION.replace("<UF>SC", "<UF>MT")
    assert (
        f'<soap:Body><consultaCadastro xmlns="{SERVICE}"><nfeDadosMsg>{question}'
        "</nfeDadosMsg></consultaCadastro></soap:Body>"
    ) in sent("MT")
    other = message.request_body("MT", Cnpj(CNPJ), with_header=False, mt_wrapper="nfeDadosMsg")
    assert (
        f'<soap:Body><nfeDadosMsg xmlns="{SERVICE}"><nfeDadosMsg>{question}'
        "</nfeDadosMsg></nfeDadosMsg></soap:Body>"
    ) in other.decode()


def test_old_header_where_required() -> None:
    assert (
        f'<soap:Header><nfeCabecMsg xmlns="{SERVICE}"><cUF>42</cUF>'
        "<versaoDados>2.00</versaoDados></nfeCabecMsg></soap:Header><soap:Body>"
    ) in sent(with_header=True)
    assert "Header" not in sent()


@pytest.mark.parametrize("document", [Cnpj(CNPJ), Cnpj(LETTERS), Cpf(CPF)])
@pytest.mark.parametrize("uf", UFS)
@pytest.mark.parametrize("with_header", [True, False])
def test_requests_are_valid(uf: str, document: Cnpj | Cpf, with_header: bool) -> None:
    raw = message.request_body(uf, document, with_header=with_header)
    assert raw.startswith(b"<?xml ")  # no BOM
    assert not re.search(rb">\s+<|\s\Z", raw)
    (question,) = etree.fromstring(raw).iter(f"{{{NFE}}}ConsCad")
    assert all(element.prefix is None for element in question.iter("*"))
    assert_question(raw)


@pytest.mark.parametrize("answer", [FOUND, NONE, an_answer("112", an_entry() * 2)])
def test_sample_replies_are_valid(answer: str) -> None:
    assert accepts(ANSWER, answer)


@pytest.mark.parametrize("uf", UFS)
def test_operations_are_named_as_each_state_names_them(uf: str) -> None:
    operation = "consultaCadastro" if uf in "BA GO MS MT SP" else "consultaCadastro4"
    headers = message.request_headers(uf)
    assert headers["content-type"] == (
        f'application/soap+xml; charset=utf-8; action="{SERVICE}/{operation}"'
    )
    assert "xml" in headers["accept"]
    assert headers.get("soapaction") == ("" if uf == "PE" else None)


PREFIXED = re.sub(r"<(/?)(?=[a-zA-Z])", r"<\1n:", FOUND).replace("xmlns=", "xmlns:n=")
DECLARED = '<?xml version="1.0" encoding="utf-16"?>' + FOUND

ENVELOPES = {
    "version 4": enveloped(FOUND),
    "named after the operation": enveloped(FOUND, "consultaCadastro4Result"),
    "two wrappers": enveloped(f"<consultaCadastroResult>{FOUND}</consultaCadastroResult>"),
    "escaped": enveloped(html.escape(FOUND)),
    "escaped, with a declaration of its own": enveloped(html.escape(DECLARED)),
    "escaped, with white space around": enveloped(f"\n  {html.escape(FOUND)}\n"),
    "CDATA": enveloped(f"<![CDATA[{FOUND}]]>"),
    "prefixes": enveloped(PREFIXED),
    "no namespace": enveloped(FOUND.replace(f' xmlns="{NFE}"', ' xmlns=""')),
    "indented": enveloped(FOUND.replace("><", ">\n  <")),
    "comments": enveloped(FOUND.replace("<infCad>", "<!-- x --><infCad><!-- x -->")),
    "SOAP 1.1": enveloped(FOUND).replace(
        SOAP.encode(), b"http://schemas.xmlsoap.org/soap/envelope/"
    ),
    "no envelope": FOUND.encode(),
    "BOM": b"\xef\xbb\xbf" + enveloped(FOUND),
    "white space before the declaration": b"\r\n\t " + enveloped(FOUND),
    "BOM after a line break, and twice": b"\r\n\xef\xbb\xbf\xef\xbb\xbf" + enveloped(FOUND),
    "BOM before white space": b"\xef\xbb\xbf\r\n" + enveloped(FOUND),
    "BOM that was read as Latin-1": "ï»¿".encode() + enveloped(FOUND),
    "NULs at the end": enveloped(FOUND) + b"\x00\x00\r\n",
    "two declarations": b'<?xml version="1.0"?>' + enveloped(FOUND),
    "a declaration in capitals": enveloped(FOUND).replace(b"<?xml", b"<?XML"),
    "an encoding that does not exist": enveloped(FOUND).replace(b"UTF-8", b"UTF8-BR"),
    "Latin-1 that is declared as UTF-8": enveloped(FOUND).decode().encode("latin-1"),
    "an undeclared prefix": enveloped(
        FOUND.replace("retConsCad", "ns2:retConsCad").replace("xmlns=", "xmlns:x=")
    ),
    "a prefix of an attribute": enveloped(
        FOUND.replace("<retConsCad", '<retConsCad xsi:schemaLocation="a b"')
    ),
    "named characters of HTML": enveloped(FOUND.replace("Á", "&Aacute;").replace("Ó", "&Oacute;")),
    "named characters in escaped text": enveloped(html.escape(FOUND.replace("Á", "&Aacute;"))),
    "control characters": enveloped(FOUND.replace("CENTRO", "CEN\x1aTRO\x0b")),
    "Latin-1": enveloped(FOUND).decode().replace("UTF-8", "ISO-8859-1").encode("latin-1"),
}


@pytest.mark.parametrize("envelope", ENVELOPES)
def test_envelopes(envelope: str) -> None:
    assert ask(ENVELOPES[envelope]) == ask(FOUND)


UNDECLARED = enveloped(FOUND).decode().partition("?>")[2]
IN_LATIN_1 = UNDECLARED.encode("latin-1")


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (IN_LATIN_1, "application/soap+xml; charset=ISO-8859-1"),
        (IN_LATIN_1, 'text/xml;charset="windows-1252"; action="x"'),
        (IN_LATIN_1, "text/xml; Charset=iso-8859-1"),
        (b"\n" + IN_LATIN_1, "text/xml; charset=iso-8859-1"),
        (UNDECLARED.encode("utf-16"), "text/xml; charset=utf-16"),
        # with a wrong or unknown charset in the header, the document's own applies
        (ENVELOPES["Latin-1"], "application/soap+xml; charset=utf-8"),
        (ENVELOPES["Latin-1"], "application/soap+xml; charset=there-is-no-such-thing"),
        (ENVELOPES["Latin-1"], "application/soap+xml"),
        # valid UTF-8, which overrides both
        (enveloped(FOUND), "text/xml; charset=ISO-8859-1"),
        (b"\xef\xbb\xbf" + enveloped(FOUND), "text/xml; charset=ISO-8859-1"),
        (enveloped(FOUND).replace(b"UTF-8", b"ISO-8859-1"), "text/xml"),
    ],
)
def test_the_encoding_that_an_answer_is_in(body: bytes, content_type: str) -> None:
    reply = HttpReply(200, {"content-type": content_type}, body)
    assert run(SEFAZ.converse(an_inquiry()), reply) == ask(FOUND)


BOMB = (
    b'<!DOCTYPE b [<!ENTITY a "aaaaaaaaaa">'
    + b"".join(b'<!ENTITY a%d "%s">' % (n, b"&a;" * 10) for n in range(9))
    + b"]><b>&a8;</b>"
)
FILE = b'<!DOCTYPE b [<!ENTITY x SYSTEM "file:///etc/hostname">]><b>&x;</b>'
HIDDEN = f'<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE b [<!ENTITY x "y">]>{FOUND}'

NOT_ANSWERS = {
    "nothing": b"",
    "words": b"Service unavailable",
    "HTML": b"<html><body><p>Em manuten\xc3\xa7\xc3\xa3o<br></body></html>",
    "XHTML": b"<html><body><p>" + CNPJ.encode() + b"</p></body></html>",
    "HTML with a type": b"<!DOCTYPE html><html><body></body></html>",
    "cut short": enveloped(FOUND)[:-40],
    "no answer in it": enveloped("<other/>"),
    "an answer without its part": enveloped(f'<retConsCad xmlns="{NFE}"/>'),
    "words in the wrapper": enveloped("erro interno"),
    "broken text in the wrapper": enveloped(html.escape("<retConsCad><infCons>")),
    "a fault": enveloped(
        f"<s:Fault xmlns:s='{SOAP}'><s:Reason><s:Text>{CNPJ}</s:Text></s:Reason></s:Fault>"
    ),
    "a bomb": BOMB,
    "a bomb in the wrapper": enveloped(html.escape(BOMB.decode())),
    "an external file": FILE,
    "a type in another encoding": HIDDEN.encode("utf-16"),
    "an unknown entity": enveloped("&nbsp;"),
    "an entity that HTML does not know": enveloped(FOUND.replace("CENTRO", "&centro;")),
    "a NUL by reference": enveloped(FOUND.replace("CENTRO", "CENTRO&#0;")),
    "a type after white space and a mark": b"\xef\xbb\xbf\n" + FILE,
    "a type beside a mistake": FILE.replace(b"<b>", b"<b>A & B&nbsp;"),
    "a wrong byte": enveloped(FOUND).replace(b"CENTRO", b"\xff"),
    "too deep": b"<a>" * 5000 + b"</a>" * 5000,
}


def test_bare_ampersand() -> None:
    result = ask(FOUND.replace("EMPRESA FICTICIA", "COMERCIO & FILHOS & CIA"))
    assert result.nome == "COMERCIO & FILHOS & CIA DE TESTES LTDA"


@pytest.mark.parametrize("body", NOT_ANSWERS)
def test_invalid_replies(body: str) -> None:
    with pytest.raises(SourceFailed) as caught:
        message.read("sefaz", NOT_ANSWERS[body])
    assert CNPJ not in caught.value.detail
    assert "hostname" not in caught.value.detail


@pytest.mark.parametrize(
    "body", ["a bomb", "an external file", "a type in another encoding", "a type beside a mistake"]
)
def test_document_types_are_refused_as_such(body: str) -> None:
    with pytest.raises(SourceFailed, match="DTD"):
        message.read("sefaz", NOT_ANSWERS[body])
