"""Who judges messages of "Consulta Cadastro": our schemas, and the official ones where at hand."""

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
    """Our schema of questions (the simulator's), or of answers."""
    if name == QUESTION:
        text = files("balcao.providers.sefaz.simulator").joinpath("consulta.xsd").read_bytes()
        return etree.XMLSchema(etree.fromstring(text))
    return etree.XMLSchema(etree.parse(_HERE / "resposta.xsd"))


@cache
def theirs(name: str) -> etree.XMLSchema | None:
    """The official one; None where it is not at hand."""
    path = official.SCHEMAS / name
    return etree.XMLSchema(etree.parse(path)) if path.is_file() else None


@cache
def envelopes() -> etree.XMLSchema:
    """Of SOAP envelopes around questions and answers, and of faults."""
    return etree.XMLSchema(etree.parse(_HERE / "envelope.xsd"))


def accepts(name: str, message: str | bytes) -> bool:
    """The judges' verdict on a message without its envelope. They must agree."""
    document = etree.fromstring(message)
    verdict = ours(name).validate(document)
    other = theirs(name)
    assert other is None or other.validate(document) == verdict, (
        f"ours says {verdict}, the official one does not: {message!r}"
    )
    return verdict


def assert_question(raw: bytes) -> None:
    """What is sent: the envelope, and the question in it."""
    operation, message = _unwrapped(raw)
    assert operation in _QUESTIONS, operation
    assert accepts(QUESTION, message), ours(QUESTION).error_log


def assert_answer(raw: bytes) -> None:
    """What comes back: the envelope, and the answer in it, be it elements or their text."""
    operation, message = _unwrapped(raw)
    assert operation in _ANSWERS, operation
    assert accepts(ANSWER, message), ours(ANSWER).error_log


def assert_fault(raw: bytes) -> None:
    """A fault of SOAP 1.2."""
    operation, _ = _unwrapped(raw)
    assert operation == "Fault", operation


def _unwrapped(raw: bytes) -> tuple[str, bytes]:
    """Local name of the element in the body, and the message in it (nothing in faults)."""
    envelope = etree.fromstring(raw)
    assert envelope.tag == f"{{{SOAP}}}Envelope", envelope.tag
    assert envelopes().validate(envelope), envelopes().error_log
    (operation,) = envelope[-1]
    message = next(operation.iter(f"{{{NFE}}}*"), None)
    text = (operation.text or "").encode() if message is None else etree.tostring(message)
    return etree.QName(operation).localname, text
