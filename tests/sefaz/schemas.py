"""Validation of "Consulta Cadastro" messages, by our schemas and the official ones if available."""

from functools import cache
from importlib.resources import files
from pathlib import Path

from lxml import etree

from tests import official

NFE = "http://www.portalfiscal.inf.br/nfe"
SERVICE = f"{NFE}/wsdl/CadConsultaCadastro4"
SOAP = "http://www.w3.org/2003/05/soap-envelope"

QUESTION, ANSWER = "consCad_v2.00.xsd", "retConsCad_v2.00.xsd"  # official names

_HERE = Path(__file__).parent
_QUESTIONS = {"nfeDadosMsg", "consultaCadastro"}
_ANSWERS = {"nfeResultMsg", "consultaCadastroResult", "consultaCadastro4Result"}


@cache
def ours(name: str) -> etree.XMLSchema:
    """Return our schema of requests (the simulator's) or of replies."""
    if name == QUESTION:
        text = files("balcao.providers.sefaz.simulator").joinpath("consulta.xsd").read_bytes()
        return etree.XMLSchema(etree.fromstring(text))
    return etree.XMLSchema(etree.parse(_HERE / "resposta.xsd"))


@cache
def theirs(name: str) -> etree.XMLSchema | None:
    """Return the official schema, or None if it is not available."""
    path = official.SCHEMAS / name
    return etree.XMLSchema(etree.parse(path)) if path.is_file() else None


@cache
def envelopes() -> etree.XMLSchema:
    """Return the schema of SOAP envelopes with requests, replies or faults."""
    return etree.XMLSchema(etree.parse(_HERE / "envelope.xsd"))


def accepts(name: str, message: str | bytes) -> bool:
    """Validate a message without its envelope. Our and the official schema must agree."""
    document = etree.fromstring(message)
    verdict = ours(name).validate(document)
    other = theirs(name)
    assert other is None or other.validate(document) == verdict, (
        f"our verdict is {verdict}, the official one is not: {message!r}"
    )
    return verdict


def assert_question(raw: bytes) -> None:
    """Validate a request: the envelope, and the message in it."""
    operation, message = _unwrapped(raw)
    assert operation in _QUESTIONS, operation
    assert accepts(QUESTION, message), ours(QUESTION).error_log


def assert_answer(raw: bytes) -> None:
    """Validate a reply: the envelope, and the message in it, as elements or escaped."""
    operation, message = _unwrapped(raw)
    assert operation in _ANSWERS, operation
    assert accepts(ANSWER, message), ours(ANSWER).error_log


def assert_fault(raw: bytes) -> None:
    """Validate a fault of SOAP 1.2."""
    operation, _ = _unwrapped(raw)
    assert operation == "Fault", operation


def _unwrapped(raw: bytes) -> tuple[str, bytes]:
    """Return the local name of the body's element, and the message in it (none in faults)."""
    envelope = etree.fromstring(raw)
    assert envelope.tag == f"{{{SOAP}}}Envelope", envelope.tag
    assert envelopes().validate(envelope), envelopes().error_log
    (operation,) = envelope[-1]
    message = next(operation.iter(f"{{{NFE}}}*"), None)
    text = (operation.text or "").encode() if message is None else etree.tostring(message)
    return etree.QName(operation).localname, text
