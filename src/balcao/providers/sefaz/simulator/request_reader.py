"""Reader of requests to a treasury, with its checks of form."""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from lxml import etree

SOAP = "http://www.w3.org/2003/05/soap-envelope"
SOAP_1_1 = "http://schemas.xmlsoap.org/soap/envelope/"
SERVICE = "http://www.portalfiscal.inf.br/nfe/wsdl/CadConsultaCadastro4"
NFE = "http://www.portalfiscal.inf.br/nfe"

# A request has less than 1 000 bytes.
MESSAGE_BYTES_MAX = 10_240

_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")
_ENCODING = re.compile(rb"""\s*<\?xml[^>]*\sencoding\s*=\s*["']([^"']+)["']""")
_CHARSET = re.compile(r""";\s*charset\s*=\s*"?([^";\s]+)""", re.IGNORECASE)
_WRAPPERS = frozenset({f"{{{SERVICE}}}consultaCadastro", f"{{{SERVICE}}}nfeDadosMsg"})
_DATA = f"{{{SERVICE}}}nfeDadosMsg"


@dataclass(frozen=True, slots=True)
class CadastroRequest:
    """The requested UF and document."""

    uf: str
    kind: str  # IE, CNPJ or CPF
    argument: str


class RejectedRequest(Exception):
    """The message breaks a rule of the service; `question` is its readable content, if any."""

    def __init__(self, status: int, question: CadastroRequest | None = None) -> None:
        super().__init__(status)
        self.status = status
        self.question = question


class SoapFault(Exception):
    """The message is not SOAP, or not of this service; the reply is a SOAP fault."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def read_request(body: bytes, content_type: str, *, needs_wrapper: bool) -> CadastroRequest:
    """Read the request in an HTTP body. Raises `RejectedRequest` or `SoapFault`."""
    if len(body) > MESSAGE_BYTES_MAX:
        raise RejectedRequest(214)
    _check_encoding(body, content_type)
    data = _data(_body(body), needs_wrapper=needs_wrapper)
    messages = list(data.iterchildren(tag=etree.Element))
    if not messages:
        raise RejectedRequest(516)
    message = messages[0]
    if status := _broken_rule(data, message):
        raise RejectedRequest(status, _best_effort(message))
    if len(messages) > 1 or not _schema().validate(message):
        raise RejectedRequest(215, _best_effort(message))
    return _parsed_request(message)


def _check_encoding(body: bytes, content_type: str) -> None:
    declared = [found[1].decode("latin-1") for found in [_ENCODING.match(body)] if found]
    declared += _CHARSET.findall(content_type)
    if body.startswith(_BYTE_ORDER_MARKS) or any(name.lower() != "utf-8" for name in declared):
        raise RejectedRequest(402)
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        raise RejectedRequest(402) from None


def _body(body: bytes) -> etree._Element:
    """Return the only element in the body of a SOAP 1.2 envelope."""
    if b"<!DOCTYPE" in body:
        raise SoapFault("Sender", "A SOAP message must not contain a document type declaration.")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
    )
    try:
        envelope = etree.fromstring(body, parser)
    except etree.XMLSyntaxError:
        raise RejectedRequest(243) from None
    if envelope.tag != f"{{{SOAP}}}Envelope":
        code = "VersionMismatch" if envelope.tag == f"{{{SOAP_1_1}}}Envelope" else "Sender"
        raise SoapFault(code, "The message is not an envelope of SOAP 1.2.")
    bodies = envelope.findall(f"{{{SOAP}}}Body")
    operations = [child for each in bodies for child in each.iterchildren(tag=etree.Element)]
    if len(bodies) != 1 or len(operations) != 1:
        raise SoapFault("Sender", "The envelope must have one body with one element.")
    return operations[0]


def _data(operation: etree._Element, *, needs_wrapper: bool) -> etree._Element:
    """Return the element that contains the message."""
    if not needs_wrapper:
        data: etree._Element | None = operation
    else:
        data = operation.find(_DATA) if operation.tag in _WRAPPERS else None
    if data is None or data.tag != _DATA:
        raise SoapFault("Sender", "The body names no operation of this service.")
    return data


def _broken_rule(data: etree._Element, message: etree._Element) -> int | None:
    """Return the cStat of the first broken rule, or None; the schema is checked afterwards."""
    everything = list(message.iter(tag=etree.Element))
    texts = [
        data.text,
        *(each.text for each in everything),
        *(each.tail for each in message.iter()),
    ]
    if any(text and not text.strip(" \t\r\n") for text in texts):
        return 588
    if any(_has_prefix(each) for each in everything):
        return 404
    root = etree.QName(message)
    if root.localname != "ConsCad":
        return 516
    inherited = set(data.nsmap) - {None}
    if any(
        etree.QName(each).namespace != NFE or set(each.nsmap) - {None} - inherited
        for each in everything
    ):
        return 587
    return 517 if "versao" not in message.attrib else None


def _has_prefix(element: etree._Element) -> bool:
    """Return whether the element or one of its attributes has a prefix."""
    return element.prefix is not None or any(str(name).startswith("{") for name in element.attrib)


@cache
def _schema() -> etree.XMLSchema:
    return etree.XMLSchema(etree.fromstring(_schema_file()))


def _schema_file() -> bytes:
    return files("balcao.providers.sefaz.simulator").joinpath("consulta.xsd").read_bytes()


def _parsed_request(message: etree._Element) -> CadastroRequest:
    """Return the request of a valid message."""
    _, uf, argument = message[0].iterchildren(tag=etree.Element)
    return CadastroRequest(
        (uf.text or "").strip(), etree.QName(argument).localname, argument.text or ""
    )


def _best_effort(message: etree._Element) -> CadastroRequest | None:
    """Return the request of an invalid message, as far as it can be read."""
    found = {etree.QName(each).localname: each.text for each in message.iter(tag=etree.Element)}
    for kind in ("CNPJ", "CPF", "IE"):
        if found.get(kind):
            proper = etree.Element(f"{{{NFE}}}ConsCad", versao="2.00")
            requested = etree.SubElement(proper, f"{{{NFE}}}infCons")
            for name, text in (("xServ", "CONS-CAD"), ("UF", found.get("UF")), (kind, found[kind])):
                etree.SubElement(requested, f"{{{NFE}}}{name}").text = text
            return _parsed_request(proper) if _schema().validate(proper) else None
    return None
