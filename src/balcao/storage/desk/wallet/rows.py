"""Rows of the portfolio: settings, items, and the columns that a plan of changes needs."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from balcao.core.wallet import (
    ItemTerms,
    Notices,
    OwnRecheck,
    OwnRenewal,
    Recheck,
    RegistryFacts,
    Renewal,
    WalletItem,
    WalletSettings,
)

ITEM_COLUMNS: Final = (
    "item_id", "account_id", "document", "root", "client", "reference", "tags", "watched", "renew",
    "recheck", "registry", "registrations", "suframa", "sequence", "verified_ms", "handled_ms",
    "recheck_ms", "created_ms", "ended_ms", "has_birth",
)  # fmt: skip
KNOWN_COLUMNS: Final = (
    "item_id", "document", "document_hash", "client", "reference", "tags", "watched", "renew",
    "recheck", "has_birth",
)  # fmt: skip
WALLET_COLUMNS: Final = WalletSettings.__struct_fields__

_encode = msgspec.json.Encoder().encode
_texts = msgspec.json.Decoder(tuple[str, ...]).decode
_mappings = msgspec.json.Decoder(list[dict[str, Any]]).decode
_mapping = msgspec.json.Decoder(dict[str, Any]).decode
_registry = msgspec.json.Decoder(RegistryFacts).decode
_renewal = msgspec.json.Decoder(Renewal | Literal[False]).decode
_recheck = msgspec.json.Decoder(Recheck | Literal[False]).decode
_notices = msgspec.json.Decoder(Notices).decode


class NewItemRow(NamedTuple):
    """The row of a new item, before its registry data is known."""

    item_id: str
    account_id: int
    document: str
    root: str | None
    document_hash: bytes | None
    sealed: bytes | None
    has_birth: int
    client: str
    reference: str | None
    tags: str
    watched: str
    renew: str | None
    recheck: str | None
    registrations: str
    recheck_ms: int
    created_ms: int


NEW_COLUMNS: Final = (*NewItemRow._fields, "registry")


class KnownItem(NamedTuple):
    """An item as far as changes of its terms need it, as stored."""

    item_id: str
    document: str
    document_hash: bytes | None
    client: str
    reference: str | None
    tags: str
    watched: str
    renew: str | None
    recheck: str | None
    has_birth: int

    @property
    def key(self) -> str | bytes:
        """Its subject's key within the account."""
        return self.document if self.document_hash is None else self.document_hash

    @property
    def terms(self) -> ItemTerms:
        """The decoded terms."""
        return ItemTerms(
            self.reference,
            _texts(self.tags),
            _texts(self.watched),
            renewal_of(self.renew),
            recheck_of(self.recheck),
        )


def known_item(row: Sequence[Any]) -> KnownItem:
    """Return the item of a row of `KNOWN_COLUMNS`."""
    known = KnownItem(*row)
    hashed = known.document_hash
    return known if hashed is None else known._replace(document_hash=bytes(hashed))


def terms_row(terms: ItemTerms) -> tuple[str | None, str, str, str | None, str | None]:
    """Return the stored form of an item's terms: `reference, tags, watched, renew, recheck`."""
    return (
        terms.reference,
        json_text(terms.tags),
        json_text(terms.watched),
        None if terms.renew is None else json_text(terms.renew),
        None if terms.recheck is None else json_text(terms.recheck),
    )


def json_text(value: object) -> str:
    """Return a value as JSON text."""
    return _encode(value).decode()


def renewal_of(stored: str | None) -> OwnRenewal:
    """Decode `renew` of an item."""
    return None if stored is None else _renewal(stored)


def recheck_of(stored: str | None) -> OwnRecheck:
    """Decode `recheck` of an item."""
    return None if stored is None else _recheck(stored)


def item_of(row: Sequence[Any]) -> WalletItem:
    """Return the item of a row of `ITEM_COLUMNS`."""
    one = dict(zip(ITEM_COLUMNS, row, strict=True))
    return WalletItem(
        **{
            **one,
            "client": one["client"] or None,
            "tags": _texts(one["tags"]),
            "watched": _texts(one["watched"]),
            "renew": renewal_of(one["renew"]),
            "recheck": recheck_of(one["recheck"]),
            "registry": None if one["registry"] is None else _registry(one["registry"]),
            "registrations": _mappings(one["registrations"]),
            "suframa": None if one["suframa"] is None else _mapping(one["suframa"]),
            "has_birth": bool(one["has_birth"]),
        }
    )


def notices_of(stored: str | None) -> Notices:
    """Decode `notices` of a portfolio."""
    return Notices() if stored is None else _notices(stored)


def settings_of(row: Sequence[Any]) -> WalletSettings:
    """Return the settings of a row of `WALLET_COLUMNS`."""
    one = dict(zip(WALLET_COLUMNS, row, strict=True))
    return WalletSettings(
        **{
            **one,
            "renew": renewal_of(one["renew"]) or None,
            "recheck": recheck_of(one["recheck"]) or None,
            "notices": notices_of(one["notices"]),
        }
    )


def pieces(rows: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """Yield consecutive parts of a sequence."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
