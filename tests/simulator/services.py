"""Clients of all simulated services, with the paths of fields in their replies."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import httpx2
from starlette.types import ASGIApp

from tests.simulator import sefaz
from tests.simulator.certificates import SERVICES
from tests.simulator.world import CNPJA_KEY, get, post, serpro_token


class SimulatedApi(ABC):
    """A service of a provider. `mandatory`: the fields that an incomplete reply lacks."""

    send: Callable[..., httpx2.Response] = staticmethod(post)
    mandatory: frozenset[str]
    other_document = "90010001000100"  # the document of a wrong reply

    def ask(
        self, document: str, uf: str = "SP", app: ASGIApp | None = None, **more: Any
    ) -> httpx2.Response:
        """Ask for a CNPJ or a CPF, and a UF if the service requires one."""
        path, sent = self.request(document, uf)
        return self.send(path, app, **sent, **more)

    @abstractmethod
    def request(self, document: str, uf: str) -> tuple[str, dict[str, Any]]:
        """Return the path and the arguments of a request."""

    def is_down(self, reply: httpx2.Response) -> bool:
        """Return whether the reply is that of maintenance."""
        return reply.status_code == 503

    def failed(self, reply: httpx2.Response) -> bool:
        return reply.status_code == 500

    def content(self, reply: httpx2.Response) -> Any:
        return reply.json()

    @abstractmethod
    def document(self, reply: httpx2.Response) -> str:
        """Return the document of a reply."""


class Registry(SimulatedApi):
    """The company registry of any provider."""

    send = staticmethod(get)

    def __init__(self, path: str, document_at: str, name_at: str) -> None:
        self.path, self.document_at, self.mandatory = path, document_at, frozenset({name_at})

    def request(self, document: str, uf: str) -> tuple[str, dict[str, Any]]:
        headers = serpro_token() if "serpro" in self.path else CNPJA_KEY
        return self.path.format(document, uf), {"headers": headers}

    def document(self, reply: httpx2.Response) -> str:
        assert reply.status_code in (200, 206)
        return str(reply.json()[self.document_at])


class Cnpja(Registry):
    """CNPJá's registrations."""

    def is_down(self, reply: httpx2.Response) -> bool:
        content = {"code": 503, "message": "revenue service is offline"}
        return reply.status_code == 503 and reply.json() == content

    def failed(self, reply: httpx2.Response) -> bool:
        return (reply.status_code, reply.json()["code"]) == (500, 500)


class Infosimples(SimulatedApi):
    """One of Infosimples' services."""

    def __init__(self, service: str, *mandatory: str, with_uf: bool = True) -> None:
        self.service, self.with_uf = service, with_uf
        self.mandatory = frozenset(f"data.{name}" for name in mandatory)

    def request(self, document: str, uf: str) -> tuple[str, dict[str, Any]]:
        sent = {"token": "t"} | ({"uf": uf} if self.with_uf else {})
        if len(document) == 14:
            sent |= {"cnpj": document}
        else:
            sent |= {"cpf": document, "birthdate": "1980-01-01"}
        return SERVICES + self.service, {"data": sent}

    def is_down(self, reply: httpx2.Response) -> bool:
        content = reply.json()
        assert not content["header"]["billable"]
        assert not content["data"]
        return (reply.status_code, content["code"]) == (200, 615)

    def failed(self, reply: httpx2.Response) -> bool:
        return (reply.status_code, reply.json()["code"]) == (500, 600)

    def document(self, reply: httpx2.Response) -> str:
        assert reply.status_code == 200
        found = reply.json()["data"][0]
        return str(found["normalizado_cnpj"] or found["normalizado_cpf"])


class ConsultaCnd(SimulatedApi):
    """SERPRO's certificates."""

    mandatory = frozenset({"Certidao.TipoCertidao", "Certidao.CodigoControle"})

    def request(self, document: str, uf: str) -> tuple[str, dict[str, Any]]:
        kind = 1 if len(document) == 14 else 2
        body = {
            "TipoContribuinte": kind,
            "ContribuinteConsulta": document,
            "CodigoIdentificacao": f"900{kind}",
        }
        return "/serpro/consulta-cnd/v1/certidao", {"json": body, "headers": serpro_token()}

    def is_down(self, reply: httpx2.Response) -> bool:
        return (reply.status_code, reply.json()["Status"]) == (202, 6)

    def failed(self, reply: httpx2.Response) -> bool:
        return (reply.status_code, reply.json()["Status"]) == (500, 99)

    def document(self, reply: httpx2.Response) -> str:
        assert reply.status_code == 200
        return str(reply.json()["Certidao"]["ContribuinteCertidao"])


class Treasury(SimulatedApi):
    """A state's own treasury."""

    mandatory = frozenset({"IE"})

    def request(self, document: str, uf: str) -> tuple[str, dict[str, Any]]:
        kind = "CNPJ" if len(document) == 14 else "CPF"
        body = sefaz.envelope(sefaz.question(uf, kind, document))
        return f"/sefaz{sefaz.PATHS[uf]}", {"content": body, "headers": sefaz.SOAP_12}

    def is_down(self, reply: httpx2.Response) -> bool:
        return sefaz.read(reply).status == 108

    def failed(self, reply: httpx2.Response) -> bool:
        return sefaz.fault_of(reply) == "soap:Receiver"

    def content(self, reply: httpx2.Response) -> Any:
        return sefaz.read(reply).entries[0]

    def document(self, reply: httpx2.Response) -> str:
        content = sefaz.read(reply)
        (entry,) = content.entries
        documents = {content["CNPJ"] or content["CPF"], entry.get("CNPJ") or entry.get("CPF")}
        assert len(documents) == 1
        return str(documents.pop())


MINHA_RECEITA = Registry("/minha-receita/{}", "cnpj", "razao_social")
BRASILAPI = Registry("/brasilapi/api/cnpj/v1/{}", "cnpj", "razao_social")
OFFICE = Cnpja("/cnpja/office/{}", "taxId", "company.name")
RFB = Cnpja("/cnpja/rfb?taxId={}", "taxId", "name")
BASICA = Registry("/serpro/consulta-cnpj-df/v2/basica/{}", "ni", "nomeEmpresarial")
QSA = Registry("/serpro/consulta-cnpj-df/v2/qsa/{}", "ni", "nomeEmpresarial")
EMPRESA = Registry("/serpro/consulta-cnpj-df/v2/empresa/{}", "ni", "nomeEmpresarial")
CCC = Cnpja("/cnpja/ccc?taxId={}&states={}", "taxId", "registrations.number")
SUFRAMA = Cnpja("/cnpja/suframa?taxId={}", "taxId", "number")
SUFRAMA.other_document = "90010002000154"  # one that is registered in the free-trade zone
SINTEGRA = Infosimples("sintegra/unificada", "inscricao_estadual", "normalizado_inscricao_estadual")
PGFN = Infosimples(
    "receita-federal/pgfn",
    "certidao",
    "tipo",
    "certidao_codigo",
    "consulta_comprovante",
    with_uf=False,
)
STATE_CERTIFICATE = Infosimples(
    "sefaz/certidao-debitos",
    "certidao_codigo",
    "certidao_mensagem",
    "certidao_negativa",
    "conseguiu_emitir_certidao_negativa",
    "tipo",
)
CND = ConsultaCnd()
TREASURY = Treasury()

OF_THE_REGISTRY = {
    "minha_receita": MINHA_RECEITA,
    "brasilapi": BRASILAPI,
    "office": OFFICE,
    "rfb": RFB,
    "basica": BASICA,
    "qsa": QSA,
    "empresa": EMPRESA,
}
# Per UF, except the last three.
OF_PEOPLE = {"ccc": CCC, "sintegra": SINTEGRA, "treasury": TREASURY, "pgfn": PGFN, "cnd": CND}
EVERY_API: dict[str, SimulatedApi] = {
    **OF_THE_REGISTRY,
    **OF_PEOPLE,
    "suframa": SUFRAMA,
    "state_certificate": STATE_CERTIFICATE,
}
OF_STATES = {
    "ccc": CCC,
    "sintegra": SINTEGRA,
    "state_certificate": STATE_CERTIFICATE,
    "treasury": TREASURY,
}
