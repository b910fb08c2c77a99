"""The messages of "Consulta Cadastro": writing the question, reading the answer.

`sefaz-consulta-cadastro.md` sections 3 to 5. Treasuries refuse white space between tags (588),
prefixes within `ConsCad` (404, 587) and other encodings (402), so the question is written out
as it travels. Answers come in envelopes that differ by UF; they are read by local names.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Literal, TypeAlias

import msgspec
from lxml import etree

from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import SourceFailed
from balcao.core.federation import IBGE_CODES
from balcao.core.registration import REGISTRATIONS_MAX
from balcao.core.text import clean
from balcao.providers.sefaz import mending

NFE = "http://www.portalfiscal.inf.br/nfe"
SERVICE = f"{NFE}/wsdl/CadConsultaCadastro4"
SOAP = "http://www.w3.org/2003/05/soap-envelope"
VERSION = "2.00"

# The others call it `consultaCadastro4`; most servers go by the body and take either.
_BARE_OPERATION_UFS = frozenset({"BA", "GO", "MS", "MT", "SP"})

# Wrappers that have been seen around the answer; what is escaped in them is read, elsewhere not.
_WRAPPERS = (
    "{*}nfeResultMsg",
    "{*}consultaCadastroResult",
    "{*}consultaCadastro2Result",
    "{*}consultaCadastro4Result",
)

_WRAPPERS_MAX = 3  # one in the other

# Counted before anything is parsed: a registration has some fifty tags.
_TAGS_MAX = 100_000
_FIELDS_MAX = 100  # of one element: the longest that is known has 25

_XML_DECLARATION = re.compile(r"\A<\?xml[^>]*\?>")
_CHARSET = re.compile(r""";\s*charset\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
_UTF_16_MARKS = (b"\xfe\xff", b"\xff\xfe")
_WHITE_SPACE = b" \t\r\n"

# What Mato Grosso wants around `nfeDadosMsg`: its operation (PyNFe), or the same element once more
# (sped-nfe). Both are in current releases of public clients.
MtWrapper: TypeAlias = Literal["consultaCadastro", "nfeDadosMsg"]


class CadastroAddress(msgspec.Struct, frozen=True):
    """`ender`, as it stands there."""

    street: str | None = msgspec.field(name="xLgr", default=None)
    number: str | None = msgspec.field(name="nro", default=None)
    details: str | None = msgspec.field(name="xCpl", default=None)
    district: str | None = msgspec.field(name="xBairro", default=None)
    city_code: str | None = msgspec.field(name="cMun", default=None)
    city: str | None = msgspec.field(name="xMun", default=None)
    zip: str | None = msgspec.field(name="CEP", default=None)


class CadastroEntry(msgspec.Struct, frozen=True):
    """`infCad`: one registration, as it stands there."""

    ie: str | None = msgspec.field(name="IE", default=None)
    cnpj: str | None = msgspec.field(name="CNPJ", default=None)
    cpf: str | None = msgspec.field(name="CPF", default=None)
    uf: str | None = msgspec.field(name="UF", default=None)  # where the taxpayer is located
    situation: str | None = msgspec.field(name="cSit", default=None)
    name: str | None = msgspec.field(name="xNome", default=None)
    changed_on: str | None = msgspec.field(name="dUltSit", default=None)
    closed_on: str | None = msgspec.field(name="dBaixa", default=None)
    address: CadastroAddress = CadastroAddress()


class CadastroReply(msgspec.Struct, frozen=True):
    """`infCons`: the whole answer, as it stands there. Empty elements are None, like missing."""

    code: str | None = msgspec.field(name="cStat", default=None)
    cnpj: str | None = msgspec.field(name="CNPJ", default=None)
    cpf: str | None = msgspec.field(name="CPF", default=None)
    uf: str | None = msgspec.field(name="UF", default=None)
    asked_at: str | None = msgspec.field(name="dhCons", default=None)
    entries: tuple[CadastroEntry, ...] = ()


def request_headers(uf: str) -> Mapping[str, str]:
    """HTTP headers of a question to this UF (SOAP 1.2: the action is a part of the type)."""
    action = f"{SERVICE}/consultaCadastro{'' if uf in _BARE_OPERATION_UFS else '4'}"
    headers = {
        "content-type": f'application/soap+xml; charset=utf-8; action="{action}"',
        "accept": "application/soap+xml, text/xml, application/xml",
    }
    if uf == "PE":  # refuses requests without it, though SOAP 1.2 knows no such header
        headers["soapaction"] = ""
    return headers


def request_body(
    uf: str,
    document: Cnpj | Cpf,
    *,
    with_header: bool,
    mt_wrapper: MtWrapper = "consultaCadastro",
) -> bytes:
    """The question in its envelope. `with_header` adds `nfeCabecMsg`, which version 4 dropped."""
    kind = "CNPJ" if isinstance(document, Cnpj) else "CPF"
    question = (
        f'<ConsCad xmlns="{NFE}" versao="{VERSION}"><infCons><xServ>CONS-CAD</xServ>'
        f"<UF>{uf}</UF><{kind}>{document.text}</{kind}></infCons></ConsCad>"
    )
    outermost = "nfeDadosMsg"
    if uf == "MT":
        question, outermost = f"<nfeDadosMsg>{question}</nfeDadosMsg>", mt_wrapper
    header = (
        f'<soap:Header><nfeCabecMsg xmlns="{SERVICE}"><cUF>{IBGE_CODES[uf]}</cUF>'
        f"<versaoDados>{VERSION}</versaoDados></nfeCabecMsg></soap:Header>"
        if with_header
        else ""
    )
    envelope = (
        '<?xml version="1.0" encoding="UTF-8"?>'
        f'<soap:Envelope xmlns:soap="{SOAP}">{header}<soap:Body>'
        f'<{outermost} xmlns="{SERVICE}">{question}</{outermost}>'
        "</soap:Body></soap:Envelope>"
    )
    return envelope.encode()


def read(source: str, body: bytes, content_type: str = "") -> CadastroReply:
    """The answer of an HTTP 200, with its `Content-Type`.

    Raises `SourceFailed` for what is not one: broken XML, HTML, a DTD, a SOAP fault. No part of
    the body is repeated in the error.
    """
    root = _read_as(source, body, content_type)
    answer = _first(root, "retConsCad")
    if answer is None:
        if _first(root, "Fault") is not None:
            raise SourceFailed(f"{source}: falha SOAP")
        answer = _escaped(source, root)
    told = None if answer is None else _first(answer, "infCons")
    if told is None:
        raise SourceFailed(f"{source}: resposta em outra forma (sem retConsCad)")
    said: dict[str, object] = {**_texts(told)}
    entries = list(islice(_children(told, "infCad"), REGISTRATIONS_MAX + 1))
    if len(entries) > REGISTRATIONS_MAX:
        raise SourceFailed(f"{source}: resposta com inscrições demais")
    said["entries"] = [
        {**_texts(entry), "address": _texts(_first(entry, "ender"))} for entry in entries
    ]
    return msgspec.convert(said, CadastroReply)


class _NotXml(Exception):
    """Not as it is; perhaps without its mistakes."""


def _read_as(source: str, body: bytes, content_type: str) -> etree._Element:
    """The document, in the encoding it is in.

    What is valid UTF-8 is UTF-8, whoever says otherwise: no accent in Latin-1 is so by chance. Else
    the `Content-Type` goes before the declaration (RFC 7303, 3.2), unless it cannot be so. White
    space in front, which XML forbids before a declaration, is passed over; so are other harmless
    mistakes (`mending`).
    """
    body = body.lstrip(_WHITE_SPACE)
    told = _CHARSET.search(content_type)
    if _is_utf_8(body):
        return _mended(source, body, None, encoding="utf-8")
    if told is not None and not body.startswith(_UTF_16_MARKS):
        with suppress(SourceFailed, LookupError, _NotXml):
            return _parsed(source, body, encoding=told[1])
    return _mended(source, body, told[1] if told else None)


def _mended(
    source: str, body: bytes, charset: str | None, *, encoding: str | None = None
) -> etree._Element:
    """The document as it is, or without its harmless mistakes."""
    with suppress(_NotXml):
        return _parsed(source, body, encoding=encoding)
    text = mending.mended(body, charset)
    if text is not None:
        with suppress(_NotXml):
            return _parsed(source, text.encode(), encoding="utf-8")
    raise SourceFailed(f"{source}: resposta não é XML")


def _is_utf_8(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _parsed(source: str, body: bytes, *, encoding: str | None = None) -> etree._Element:
    if body.count(b"<") > _TAGS_MAX:
        raise SourceFailed(f"{source}: resposta com elementos demais")
    # A new parser each time: lxml's may not be shared by threads, and are cheap.
    parser = etree.XMLParser(
        encoding=encoding,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    # SOAP forbids document types. Refused before parsing, no entity is ever declared; asked
    # once more afterwards, since other encodings can hide them.
    if b"<!DOCTYPE" in body:
        raise SourceFailed(f"{source}: resposta com DTD (recusada)")
    try:
        root = etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError):
        raise _NotXml from None
    if root.getroottree().docinfo.internalDTD is not None:
        raise SourceFailed(f"{source}: resposta com DTD (recusada)")
    return root


def _escaped(source: str, root: etree._Element) -> etree._Element | None:
    """The answer, where a server put it into its wrapper as text instead of as elements."""
    for wrapper in islice(root.iter(*_WRAPPERS), _WRAPPERS_MAX):
        # Its own declaration speaks of an encoding that the text no longer is in.
        text = _XML_DECLARATION.sub("", (wrapper.text or "").strip(), count=1).lstrip()
        if text.startswith("<"):
            return _first(_mended(source, text.encode(), None, encoding="utf-8"), "retConsCad")
    return None


def _first(root: etree._Element, name: str) -> etree._Element | None:
    """The first element of this local name, the root included."""
    return next(root.iter(f"{{*}}{name}"), None)


def _children(parent: etree._Element, name: str) -> Iterator[etree._Element]:
    return parent.iterchildren(f"{{*}}{name}")


def _texts(parent: etree._Element | None) -> Mapping[str, str]:
    """Children without children of their own: local name and text, the empty ones left out.

    Before the registrations, and only so many: there are no others that anybody would read.
    """
    texts: dict[str, str] = {}
    for child in () if parent is None else islice(parent.iterchildren("*"), _FIELDS_MAX):
        text = clean(child.text or "")
        if text and len(child) == 0:
            texts.setdefault(etree.QName(child).localname, text)
    return texts
