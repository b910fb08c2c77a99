"""Pass one answer to one reader, and check the invariants of the result."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from balcao.core.errors import SourceError
from balcao.core.outcomes import Delivered
from balcao.core.receipts import ReceiptNumbers
from balcao.core.text import TextTooLong
from balcao.operations import OPERATIONS
from balcao.operations.contract import AnswerContext
from balcao.operations.parameters import Parameters
from balcao.providers.cnpja.adapter import CnpjaAdapter
from balcao.providers.infosimples.adapter import InfosimplesAdapter
from balcao.providers.minha_receita.adapter import MinhaReceitaAdapter
from balcao.providers.sefaz.adapter import SefazAdapter
from balcao.providers.sefaz.settings import UFS_SERVED
from balcao.providers.serpro.adapter import SerproAdapter
from balcao.providers.serpro.cnd import SerproCndAdapter
from balcao.sources.contract import HttpReply, Issuance
from balcao.sources.online import validated, validated_and_masked

NOW_MS = round(datetime.now(UTC).timestamp() * 1000)
NEVER = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

# Errors that a reader may raise: `upstream.py` converts them to one kind of failure.
REFUSALS = (SourceError, msgspec.DecodeError, TextTooLong)

ADAPTERS: dict[str, Any] = {
    "sefaz": SefazAdapter(UFS_SERVED),
    "infosimples": InfosimplesAdapter("t"),
    "cnpja": CnpjaAdapter("k"),
    "serpro": SerproAdapter(),
    "serpro_cnd": SerproCndAdapter(),
    "minha_receita": MinhaReceitaAdapter(),
}


def harness(readers: Sequence[Any]) -> Callable[[bytes], None]:
    """Return the function that the fuzzer calls with every input."""

    def one(data: bytes) -> None:
        if data:
            check(readers[data[0] % len(readers)], data[1:])

    return one


def check(reader: Any, body: bytes) -> None:
    """Read an answer. Raises `AssertionError`, or an error that a reader must not raise."""
    inquiry = reader.inquiry
    try:
        record = _read(reader, HttpReply(200, {}, body))
    except REFUSALS:
        return
    if record is None:
        return
    operation = OPERATIONS[inquiry.subject]
    kept = operation.encode(inquiry, record)
    for text in _texts(json.loads(kept)):
        assert NEVER.search(text) is None, "a control character"
    query = b"cnpj=" + inquiry.document.text.encode() + b"&uf=" + (inquiry.uf or "").encode()
    parameters = Parameters(query, {}, operation.names)
    question = operation.parse(inquiry.document.text, parameters)
    delivered = Delivered(kept, "online", reader.provider, NOW_MS, to_keep=True)
    answer_context = AnswerContext(NOW_MS, 1, ReceiptNumbers(b"s" * 32))
    concluded = operation.conclude(question, [delivered], answer_context)
    fields = json.loads(b"{" + concluded.fields)
    assert fields["error"] is False
    assert concluded.status in (200, 404)


def _read(reader: Any, reply: HttpReply) -> Any:
    certificate = reader.subject.endswith("_certificate")
    federal_by_serpro = reader.provider == "serpro" and certificate
    adapter = ADAPTERS["serpro_cnd" if federal_by_serpro else reader.provider]
    conversation = (adapter.certify if certificate else adapter.converse)(reader.inquiry)
    next(conversation)
    try:
        conversation.send(reply)
    except StopIteration as end:
        found = end.value
    else:
        return None  # it continues with another request
    if found is None:
        return None
    if isinstance(found, Issuance):
        return validated(reader.provider, found.certificate, reader.inquiry)
    return validated_and_masked(reader.provider, found, reader.inquiry)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
