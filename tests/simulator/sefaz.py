"""A client of the simulated treasuries."""

from dataclasses import dataclass
from typing import Any

import httpx2
from lxml import etree
from starlette.types import ASGIApp

from tests.sefaz import schemas
from tests.simulator.world import post

SOAP, SERVICE, NFE = schemas.SOAP, schemas.SERVICE, schemas.NFE
SOAP_12 = {"content-type": "application/soap+xml; charset=utf-8"}

SVRS = "/ws/cadconsultacadastro/cadconsultacadastro4.asmx"
PATHS = {
    "AM": "/services2/services/CadConsultaCadastro4",
    "BA": "/webservices/CadConsultaCadastro4/CadConsultaCadastro4.asmx",
    "GO": "/nfe/services/CadConsultaCadastro4",
    "MG": "/nfe2/services/CadConsultaCadastro4",
    "MS": "/ws/CadConsultaCadastro4",
    "MT": "/nfews/v2/services/CadConsultaCadastro4",
    "PE": "/nfe-service/services/CadConsultaCadastro4",
    "PR": "/nfe/CadConsultaCadastro4",
    "SP": "/ws/cadconsultacadastro4.asmx",
} | dict.fromkeys("AC AL AP CE DF ES PA PB PI RJ RN RO RR RS SC SE TO".split(), SVRS)  # noqa: SIM905


def question(uf: str, kind: str, argument: str) -> str:
    """Return a valid `ConsCad`."""
    return (
        f'<ConsCad xmlns="{NFE}" versao="2.00"><infCons><xServ>CONS-CAD</xServ>'
        f"<UF>{uf}</UF><{kind}>{argument}</{kind}></infCons></ConsCad>"
    )


def envelope(message: str, *, wrapper: str = "") -> bytes:
    data = f"<nfeDadosMsg>{message}</nfeDadosMsg>"
    if wrapper:
        data = f"<{wrapper}>{data}</{wrapper}>"
    data = data.replace(">", f' xmlns="{SERVICE}">', 1)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><soap:Envelope xmlns:soap="{SOAP}">'
        f"<soap:Body>{data}</soap:Body></soap:Envelope>"
    ).encode()


@dataclass(frozen=True)
class TreasuryReply:
    """A reply, read as a tolerant client does."""

    reply: httpx2.Response
    message: etree._Element

    def __getitem__(self, name: str) -> str | None:
        return self.message[0].findtext(f"{{{NFE}}}{name}")

    @property
    def status(self) -> int:
        return int(self["cStat"] or 0)

    @property
    def entries(self) -> list[dict[str, Any]]:
        """Every `infCad` as names and texts; an address is a nested dictionary."""
        return [_fields(each) for each in self.message[0].findall(f"{{{NFE}}}infCad")]


def _fields(element: etree._Element) -> dict[str, Any]:
    return {
        etree.QName(each).localname: _fields(each) if len(each) else each.text for each in element
    }


def read(reply: httpx2.Response) -> TreasuryReply:
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "application/soap+xml; charset=utf-8"
    root = etree.fromstring(reply.content)
    wrapper = root[0][0]
    assert etree.QName(wrapper).namespace == SERVICE
    text = wrapper.text
    message = etree.fromstring(text.encode()) if text and text.startswith("<") else wrapper[0]
    assert message.tag == f"{{{NFE}}}retConsCad"
    return TreasuryReply(reply, message)


def wrapper_of(reply: httpx2.Response) -> str:
    return etree.QName(etree.fromstring(reply.content)[0][0]).localname


def fault_of(reply: httpx2.Response) -> str:
    """Return the code of a SOAP fault."""
    assert reply.status_code == 500, reply.text
    schemas.assert_fault(reply.content)
    root = etree.fromstring(reply.content)
    return root.findtext(f".//{{{SOAP}}}Value") or ""


def send(
    path: str, body: bytes, app: ASGIApp | None = None, headers: dict[str, str] | None = None
) -> httpx2.Response:
    return post(f"/sefaz{path}", app, content=body, headers=SOAP_12 if headers is None else headers)


def ask_raw(
    uf: str, kind: str, argument: str, app: ASGIApp | None = None, **headers: str
) -> httpx2.Response:
    """Send a request with the quirks of a state."""
    body = envelope(question(uf, kind, argument), wrapper="consultaCadastro" if uf == "MT" else "")
    schemas.assert_question(body)
    if uf == "PE":
        headers["soapaction"] = ""
    return send(PATHS[uf], body, app, SOAP_12 | headers)


def ask(
    uf: str, kind: str, argument: str, app: ASGIApp | None = None, **headers: str
) -> TreasuryReply:
    """Return the reply to a valid request; checks that it is valid, too."""
    reply = ask_raw(uf, kind, argument, app, **headers)
    schemas.assert_answer(reply.content)
    return read(reply)
