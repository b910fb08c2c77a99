"""Sources of certificates, which store a receipt before they return its record.

The record names the stored receipt, so the receipt comes first (contract 7.3). No call is
repeated: an issuance may have begun (specification, "Other limits").
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from math import inf
from typing import Protocol, runtime_checkable

import msgspec

from balcao.core.calendar import BRASILIA
from balcao.core.documents import Cnpj
from balcao.core.errors import SourceFailed, SourceUnavailable
from balcao.core.questions import Inquiry
from balcao.operations import OPERATIONS
from balcao.sources.contract import (
    Absent,
    Answer,
    Exchange,
    Found,
    HttpRequest,
    Issuance,
    ReceiptStorage,
)
from balcao.sources.online import Adapter, AdapterSource, UpstreamFor, validated
from balcao.sources.upstream import Layer, Upstream

BAD_GATEWAY = 502


@runtime_checkable
class CertificateAdapter(Adapter, Protocol):
    """An adapter for a provider that issues certificates."""

    def certify(self, inquiry: Inquiry) -> Exchange[Issuance]:
        """Converse about a certificate. A refusal to issue one is a result, too.

        Raises `SourceRefused` if the source rejects the data of the inquiry.
        """
        ...


class CertificateSource(AdapterSource):
    """An `OnlineSource` (see `contract.py`) that also issues certificates."""

    def __init__(
        self,
        name: str,
        adapter: CertificateAdapter,
        upstream_for: UpstreamFor,
        *,
        now: Callable[[], datetime],
        receipts: ReceiptStorage,
        layer: Layer | None = None,
    ) -> None:
        super().__init__(name, adapter, upstream_for, now=now, layer=layer)
        self._certificate_adapter = adapter
        self._receipt_storage = receipts

    async def ask(self, inquiry: Inquiry, deadline: float = inf) -> Answer:
        if not OPERATIONS[inquiry.subject].issues:
            return await super().ask(inquiry, deadline)
        asked_at = self._now()
        requests: list[HttpRequest] = []
        try:
            said = await self._upstream_for(inquiry).run(
                _recorded(self._certificate_adapter.certify(inquiry), requests),
                deadline,
                layer=self._layer,
                check=partial(self._checked, inquiry),
                cost_of=self._cost_of,
            )
        except SourceUnavailable as error:
            # after one reply the source is already issuing: no other source may be asked
            if len(requests) > 1:
                raise SourceFailed(f"{error.detail}, com a emissão em andamento") from None
            raise
        if said is None:
            return Absent(self.name, conclusive=self._adapter.conclusive_absence)
        elapsed_ms = round((self._now() - asked_at).total_seconds() * 1000)
        record = said.certificate.timed(elapsed_ms)
        if isinstance(inquiry.document, Cnpj):
            record = record.without_cpf()
        if said.receipt is not None:
            stored = await self._receipt_storage.keep(self.name, said.receipt, deadline)
            record = msgspec.structs.replace(record, receipt=stored)
        return Found(record, self.name, asked_at)

    def _checked(self, inquiry: Inquiry, result: Issuance) -> Issuance:
        """Check that the certificate is about the inquiry and not expired before today."""
        record = validated(self.name, result.certificate, inquiry)
        last, today = record.last_day, self._now().astimezone(BRASILIA).date().isoformat()
        if record.good and last is not None and last < today:
            raise SourceFailed(f"{self.name}: respondeu com uma certidão vencida")
        return Issuance(record, result.receipt)


async def fetch_receipt(upstream: Upstream, address: str, deadline: float = inf) -> bytes:
    """Fetch a receipt from the address where its provider hosts it. Raises `SourceError`.

    `deadline` may be short: the certificate must not be lost over its receipt. Errors never
    contain the address, which gives access to the receipt.
    """
    receipt = await upstream.run(_receipt(upstream.name, address), deadline)
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


def _recorded(conversation: Exchange[Issuance], requests: list[HttpRequest]) -> Exchange[Issuance]:
    """Delegate to the conversation and append each of its requests to `requests`."""
    try:
        requests.append(next(conversation))
        while True:
            reply = yield requests[-1]
            if reply.status == BAD_GATEWAY:
                # a proxy forwarded the request and lost the answer: issuance may have begun
                raise SourceFailed("HTTP 502: não se sabe se a emissão começou")
            requests.append(conversation.send(reply))
    except StopIteration as end:
        certified: Issuance | None = end.value
        return certified
    finally:
        conversation.close()
