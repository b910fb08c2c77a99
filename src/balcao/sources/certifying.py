"""Sources of certificates: what is issued is stored before anybody is told of it.

The record that is answered and kept names the receipt's bytes, so these come first (contract
7.3). Nothing here repeats a call: an issuance may have begun (specification, "Other limits").
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from math import inf
from typing import Protocol, runtime_checkable

import msgspec

from balcao.core.calendar import BRASILIA
from balcao.core.certificates import FederalCertificate, StateCertificate
from balcao.core.documents import Cnpj
from balcao.core.errors import SourceFailed, SourceUnavailable
from balcao.core.personal import mask_cpf_in_text
from balcao.core.questions import Inquiry
from balcao.operations import OPERATIONS
from balcao.sources.contract import (
    Absent,
    Answer,
    Certified,
    Exchange,
    Found,
    HttpRequest,
    ReceiptKeeper,
)
from balcao.sources.online import Adapter, Online, UpstreamFor, sound
from balcao.sources.upstream import Layer, Upstream

BAD_GATEWAY = 502


@runtime_checkable
class CertificateAdapter(Adapter, Protocol):
    """An adapter whose provider issues certificates."""

    def certify(self, inquiry: Inquiry) -> Exchange[Certified]:
        """The conversation about a certificate. Functional negatives are results, too.

        Raises `OriginRefused` where the source refuses the question as such.
        """
        ...


class Certifying(Online):
    """An `OnlineSource` (see `contract.py`) that may be asked for certificates."""

    def __init__(
        self,
        name: str,
        adapter: CertificateAdapter,
        upstream_for: UpstreamFor,
        *,
        now: Callable[[], datetime],
        receipts: ReceiptKeeper,
        through: Layer | None = None,
    ) -> None:
        super().__init__(name, adapter, upstream_for, now=now, through=through)
        self._certificates = adapter
        self._receipts = receipts

    async def ask(self, inquiry: Inquiry, until: float = inf) -> Answer:
        """Ask it. Raises `SourceError` of some kind, nothing else."""
        if not OPERATIONS[inquiry.subject].issues:
            return await super().ask(inquiry, until)
        asked_at = self._now()
        asked: list[HttpRequest] = []
        try:
            said = await self._upstream_for(inquiry).hold(
                _noted(self._certificates.certify(inquiry), asked),
                until,
                through=self._through,
                check=partial(self._usable, inquiry),
                cost_of=self._cost_of,
            )
        except SourceUnavailable as error:
            # Whoever is asked once more after a reply is at work on it: nobody else must be asked.
            if len(asked) > 1:
                raise SourceFailed(f"{error.detail}, com a emissão em andamento") from None
            raise
        if said is None:
            return Absent(self.name, conclusive=self._adapter.conclusive_absence)
        record = said.certificate
        if isinstance(record, FederalCertificate) and not record.provider_elapsed_ms:
            elapsed_ms = round((self._now() - asked_at).total_seconds() * 1000)
            record = msgspec.structs.replace(record, provider_elapsed_ms=elapsed_ms)
        if isinstance(inquiry.document, Cnpj):
            record = _without_cpf(record)
        if said.receipt is not None:
            stored = await self._receipts.keep(self.name, said.receipt, until)
            record = msgspec.structs.replace(record, receipt=stored)
        return Found(record, self.name, asked_at)

    def _usable(self, inquiry: Inquiry, said: Certified) -> Certified:
        """About whom was asked, and not expired: on its last day it is still in force."""
        record = sound(self.name, said.certificate, inquiry)
        last = (
            record.effective_validity if isinstance(record, FederalCertificate) else record.validity
        )
        today = self._now().astimezone(BRASILIA).date().isoformat()
        if record.good and last is not None and last < today:
            raise SourceFailed(f"{self.name}: respondeu com uma certidão vencida")
        return Certified(record, said.receipt)


async def fetch_receipt(upstream: Upstream, address: str, until: float = inf) -> bytes:
    """A receipt from where a provider keeps it for a short time. Raises `SourceError`.

    Whoever asked for the certificate may leave little time: it must not be lost over this. No
    error repeats an address, which is a key to the receipt.
    """
    receipt = await upstream.hold(_receipt(upstream.name, address), until)
    assert receipt is not None
    return receipt


def _receipt(who: str, address: str) -> Exchange[bytes]:
    accepted = {"accept": "application/pdf, text/html"}
    reply = yield HttpRequest("GET", address, headers=accepted)
    if reply.status != 200:
        raise SourceFailed(f"{who}: HTTP {reply.status}")
    if not reply.body:
        raise SourceFailed(f"{who}: vazio")
    return reply.body


def _without_cpf(
    record: FederalCertificate | StateCertificate,
) -> FederalCertificate | StateCertificate:
    """A sole trader's name ends with the CPF, and reasons may repeat it; nobody asked for it."""
    message = mask_cpf_in_text(record.message)
    if isinstance(record, FederalCertificate):
        name = mask_cpf_in_text(record.name) or ""
        return msgspec.structs.replace(record, name=name, message=message)
    fiscal = mask_cpf_in_text(record.fiscal_message)
    return msgspec.structs.replace(record, message=message, fiscal_message=fiscal)


def _noted(conversation: Exchange[Certified], asked: list[HttpRequest]) -> Exchange[Certified]:
    """The same conversation; `asked` is what it has asked so far."""
    try:
        asked.append(next(conversation))
        while True:
            reply = yield asked[-1]
            if reply.status == BAD_GATEWAY:
                # Whoever stands before them passed it on and lost the answer: it may have begun.
                raise SourceFailed("HTTP 502: não se sabe se a emissão começou")
            asked.append(conversation.send(reply))
    except StopIteration as end:
        certified: Certified | None = end.value
        return certified
    finally:
        conversation.close()
