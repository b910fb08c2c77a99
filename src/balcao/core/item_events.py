"""Events about a watched subject: their data, with the item's own fields first (contract 19.1)."""

from collections.abc import Mapping, Sequence

import msgspec

from balcao.core.documents import CNPJ_CHARACTERS, first_establishment
from balcao.core.events import NewEvent

_encode = msgspec.json.Encoder(decimal_format="number").encode


class ItemHead(msgspec.Struct, frozen=True, gc=False):
    """The fields of an item that its events show, and the number of its last event."""

    item_id: str
    account_id: int
    document: str  # a CNPJ, a root of 8 characters, or a masked CPF
    is_cpf: bool
    reference: str | None
    client: str | None
    tags: Sequence[str]
    sequence: int


class ItemEvent(msgspec.Struct, frozen=True, gc=False):
    """An event about an item, before it is numbered. `data` has no personal data."""

    kind: str
    cause: str  # unique within the account: what caused it, with the item and the kind
    at_ms: int
    source: str | None  # `fonte`
    data: Mapping[str, object]
    is_person: bool = False  # a CPF, or a company that is one
    data_from: str | None = None  # `dados_de`: day or instant of the source's data
    month: str | None = None  # `competencia`, YYYY-MM
    silent: bool = False
    head_office: str | None = None  # of a root; None: its first establishment


def numbered(head: ItemHead, event: ItemEvent, sequence: int) -> NewEvent:
    """Return an item's event with its number in the item's sequence."""
    cnpj = None
    if not head.is_cpf:
        document = head.document
        if len(document) == CNPJ_CHARACTERS:
            cnpj = document
        else:
            cnpj = event.head_office or first_establishment(document)
    body = {
        "item": {
            "id": head.item_id,
            "ref": head.reference,
            "cliente": head.client,
            "etiquetas": head.tags,
        },
        "cnpj": cnpj,
        "pessoa": head.is_cpf or event.is_person,
        "fonte": event.source,
        "dados_de": event.data_from,
        "competencia": event.month,
        "sequencia": sequence,
        **event.data,
    }
    return NewEvent(
        head.account_id,
        event.kind,
        event.at_ms,
        _encode(body).decode(),
        event.cause,
        head.item_id,
        head.client,
        silent=event.silent,
    )
