"""Writer of requests and reader of replies of "Consulta Cadastro".

`sefaz-consulta-cadastro.md` sections 3 to 5. Treasuries reject white space between tags (588),
prefixes within `ConsCad` (404, 587) and other encodings (402), so the request is written as text.
Envelopes of replies differ by UF; elements are read by local names.
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
from balcao.providers.sefaz import xml_repair

NFE = "http://www.portalfiscal.inf.br/nfe"
SERVICE = f"{NFE}/wsdl/CadConsultaCadastro4"
SOAP = "http://www.w3.org/2003/05/soap-envelope"
VERSION = "2.00"

# The other UFs name it `consultaCadastro4`; most servers accept either.
_BARE_OPERATION_UFS = frozenset({"BA", "GO", "MS", "MT", "SP"})

# Known wrappers of the answer; escaped XML is read only in these.
_WRAPPERS = (
    "{*}nfeResultMsg",
    "{*}consultaCadastroResult",
    "{*}consultaCadastro2Result",
    "{*}consultaCadastro4Result",
)

_WRAPPERS_MAX = 3  # nested

# Checked before parsing; a registration has some fifty tags.
_TAGS_MAX = 100_000
_FIELDS_MAX = 100  # of one element; the largest known has 25

_XML_DECLARATION = re.compile(r"\A<\?xml[^>]*\?>")
_CHARSET = re.compile(r""";\s*charset\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
_UTF_16_MARKS = (b"\xfe\xff", b"\xff\xfe")
_WHITE_SPACE = b" \t\r\n"

# The element that Mato Grosso requires around `nfeDadosMsg`: its operation (PyNFe), or the same
# element again (sped-nfe). Current releases of public clients have both.
MtWrapper: TypeAlias = Literal["consultaCadastro", "nfeDadosMsg"]


class CadastroAddress(msgspec.Struct, frozen=True):
    """The address element, `ender`, as received."""

    street: str | None = msgspec.field(name="xLgr", default=None)
    number: str | None = msgspec.field(name="nro", default=None)
    details: str | None = msgspec.field(name="xCpl", default=None)
    district: str | None = msgspec.field(name="xBairro", default=None)
    city_code: str | None = msgspec.field(name="cMun", default=None)
    city: str | None = msgspec.field(name="xMun", default=None)
    zip: str | None = msgspec.field(name="CEP", default=None)


class CadastroEntry(msgspec.Struct, frozen=True):
    """The element of one registration, `infCad`, as received."""

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
    """The element of the whole answer, `infCons`, as received.

    Empty and missing elements are None.
    """

    code: str | None = msgspec.field(name="cStat", default=None)
    cnpj: str | None = msgspec.field(name="CNPJ", default=None)
    cpf: str | None = msgspec.field(name="CPF", default=None)
    uf: str | None = msgspec.field(name="UF", default=None)
    asked_at: str | None = msgspec.field(name="dhCons", default=None)
    entries: tuple[CadastroEntry, ...] = ()


def request_headers(uf: str) -> Mapping[str, str]:
    """Return the HTTP headers of a request to a UF (in SOAP 1.2 the type has the action)."""
    action = f"{SERVICE}/consultaCadastro{'' if uf in _BARE_OPERATION_UFS else '4'}"
    headers = {
        "content-type": f'application/soap+xml; charset=utf-8; action="{action}"',
        "accept": "application/soap+xml, text/xml, application/xml",
    }
    if uf == "PE":  # requires this header, which SOAP 1.2 does not have
        headers["soapaction"] = ""
    return headers


def request_body(
    uf: str,
    document: Cnpj | Cpf,
    *,
    with_header: bool,
    mt_wrapper: MtWrapper = "consultaCadastro",
) -> bytes:
    """Return the request's envelope. `with_header` adds `nfeCabecMsg`, absent in version 4."""
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
    """Read the answer of an HTTP 200, with its `Content-Type`.

    Raises `SourceFailed` for anything else: broken XML, HTML, a DTD, a SOAP fault. Errors contain
    no part of the body.
    """
    root = _read_as(source, body, content_type)
    answer = _first(root, "retConsCad")
    if answer is None:
        if _first(root, "Fault") is not None:
            raise SourceFailed(f"{source}: falha SOAP")
        answer = _escaped_answer(source, root)
    info = None if answer is None else _first(answer, "infCons")
    if info is None:
        raise SourceFailed(f"{source}: resposta em outra forma (sem retConsCad)")
    fields: dict[str, object] = {**_texts(info)}
    entries = list(islice(_children(info, "infCad"), REGISTRATIONS_MAX + 1))
    if len(entries) > REGISTRATIONS_MAX:
        raise SourceFailed(f"{source}: resposta com inscrições demais")
    fields["entries"] = [
        {**_texts(entry), "address": _texts(_first(entry, "ender"))} for entry in entries
    ]
    return msgspec.convert(fields, CadastroReply)


class _NotXml(Exception):
    """The document is not well-formed XML; repair may help."""


def _read_as(source: str, body: bytes, content_type: str) -> etree._Element:
    """Parse the document in its actual encoding.

    Valid UTF-8 is UTF-8, also if declared otherwise: accents in Latin-1 are never valid UTF-8.
    Otherwise the `Content-Type` precedes the declaration (RFC 7303, 3.2), unless decoding fails.
    Leading white space, which XML forbids, and other harmless faults (`xml_repair`) are accepted.
    """
    body = body.lstrip(_WHITE_SPACE)
    info = _CHARSET.search(content_type)
    if _is_utf_8(body):
        return _parse_or_repair(source, body, None, encoding="utf-8")
    if info is not None and not body.startswith(_UTF_16_MARKS):
        with suppress(SourceFailed, LookupError, _NotXml):
            return _parse(source, body, encoding=info[1])
    return _parse_or_repair(source, body, info[1] if info else None)


def _parse_or_repair(
    source: str, body: bytes, charset: str | None, *, encoding: str | None = None
) -> etree._Element:
    """Parse the document, if necessary after repairing harmless faults."""
    with suppress(_NotXml):
        return _parse(source, body, encoding=encoding)
    text = xml_repair.repaired(body, charset)
    if text is not None:
        with suppress(_NotXml):
            return _parse(source, text.encode(), encoding="utf-8")
    raise SourceFailed(f"{source}: resposta não é XML")


def _is_utf_8(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _parse(source: str, body: bytes, *, encoding: str | None = None) -> etree._Element:
    if body.count(b"<") > _TAGS_MAX:
        raise SourceFailed(f"{source}: resposta com elementos demais")
    # a new parser each time: lxml's are not thread-safe, and cheap
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
    # SOAP forbids document types. They are rejected before parsing, so that no entity is declared,
    # and again afterwards, since other encodings can hide them.
    if b"<!DOCTYPE" in body:
        raise SourceFailed(f"{source}: resposta com DTD (recusada)")
    try:
        root = etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError):
        raise _NotXml from None
    if root.getroottree().docinfo.internalDTD is not None:
        raise SourceFailed(f"{source}: resposta com DTD (recusada)")
    return root


def _escaped_answer(source: str, root: etree._Element) -> etree._Element | None:
    """Return the answer if it is in a wrapper as escaped text, or None."""
    for wrapper in islice(root.iter(*_WRAPPERS), _WRAPPERS_MAX):
        # its declaration has an encoding that no longer applies
        text = _XML_DECLARATION.sub("", (wrapper.text or "").strip(), count=1).lstrip()
        if text.startswith("<"):
            return _first(
                _parse_or_repair(source, text.encode(), None, encoding="utf-8"), "retConsCad"
            )
    return None


def _first(root: etree._Element, name: str) -> etree._Element | None:
    """Return the first element of a local name, the root included, or None."""
    return next(root.iter(f"{{*}}{name}"), None)


def _children(parent: etree._Element, name: str) -> Iterator[etree._Element]:
    return parent.iterchildren(f"{{*}}{name}")


def _texts(parent: etree._Element | None) -> Mapping[str, str]:
    """Return local name and text of the first leaf children, without empty ones.

    Only the first `_FIELDS_MAX` children count: the fields precede the registrations.
    """
    texts: dict[str, str] = {}
    for child in () if parent is None else islice(parent.iterchildren("*"), _FIELDS_MAX):
        text = clean(child.text or "")
        if text and len(child) == 0:
            texts.setdefault(etree.QName(child).localname, text)
    return texts
