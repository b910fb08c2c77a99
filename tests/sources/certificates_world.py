"""Helpers for tests of certificates: sample inquiries and replies, and a receipt storage."""

from math import inf
from typing import Any

from balcao.core.certificates import FederalCertificate, StateCertificate, StoredReceipt
from balcao.core.documents import Cnpj, Cpf
from balcao.core.questions import Inquiry
from balcao.providers.infosimples.adapter import InfosimplesAdapter
from balcao.sources.contract import HttpReply, Issuance
from tests.records import CPF
from tests.sources.adapters import CNPJ, a_reply, run_conversation

TOKEN = "the-token-of-infosimples"
BIRTH = "1980-01-01"
BRANCH = "11222333000262"
RECEIPT = "https://storage.example.com/receipts/0001.pdf"
STORED = StoredReceipt("0" * 64, "application/pdf", 10)
SECRETS = (CNPJ, "11.222.333/0001-81", CPF, BIRTH, RECEIPT, TOKEN)


def federal(document: str = CNPJ, *, reissue: bool = False) -> Inquiry:
    if len(document) == len(CPF):
        person = Cpf.parse(document)
        return Inquiry("federal_certificate", person, birth=BIRTH, reissue=reissue)
    return Inquiry("federal_certificate", Cnpj.parse(document), reissue=reissue)


def state(uf: str = "SP", document: str = CNPJ, *, reissue: bool = False) -> Inquiry:
    return Inquiry("state_certificate", Cnpj.parse(document), uf, reissue=reissue)


def enveloped(code: int, *data: Any, status: int = 200, **envelope: Any) -> HttpReply:
    """Return a reply of Infosimples, with errors that contain data which must not be logged."""
    header = {"billable": code in (200, 201, 611, 612), "elapsed_time_in_milliseconds": 4210}
    known = {
        "code": code,
        "code_message": f"Mensagem sobre {CNPJ}",
        "errors": [f"O contribuinte {CNPJ}", f"nascido em {BIRTH}."] if code > 201 else [],
        "header": header | {"parameters": {"cnpj": CNPJ}},
        "data_count": len(data),
        "data": data,
        "site_receipts": [],
    }
    return a_reply(status, known | envelope)


def certified(inquiry: Inquiry, reply: HttpReply) -> Issuance:
    """Return the result of a single reply to a single request."""
    requests, result = run_conversation(InfosimplesAdapter(TOKEN).certify(inquiry), reply)
    assert len(requests) == 1, "an issuance is requested once"
    assert result is not None
    return result


def the_federal(result: Issuance) -> FederalCertificate:
    assert isinstance(result.certificate, FederalCertificate)
    return result.certificate


def the_state(result: Issuance) -> StateCertificate:
    assert isinstance(result.certificate, StateCertificate)
    return result.certificate


class ReceiptRecorder:
    """A receipt storage that records what it is given."""

    def __init__(self) -> None:
        self.given: list[tuple[str, bytes | str]] = []

    async def keep(
        self, source: str, receipt: bytes | str, deadline: float = inf
    ) -> StoredReceipt | None:
        self.given.append((source, receipt))
        return STORED
