"""Watched subjects for tests, written as rows."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from balcao.core.company import Company
from balcao.core.company_record import record_bytes, registry_record


def an_item(
    execute: Callable[..., Any],
    account_id: int,
    document: str,
    *watched: str,
    item_id: str = "",
    person: bytes | None = None,
    client: str = "",
    record: Company | None = None,
    record_ms: int = 1,
    registrations: Sequence[Mapping[str, Any]] = (),
    suframa: Mapping[str, Any] | None = None,
    checked: Mapping[str, int] | None = None,
    recheck: Mapping[str, Any] | None = None,
    renew: object = None,
    recheck_ms: int | None = None,
) -> str:
    """Insert an item and return its number. `checked`: instants of its topics' data."""
    item_id = item_id or f"{account_id}-{document}-{client}"
    values = {
        "item_id": item_id,
        "account_id": account_id,
        "document": document,
        "root": None if person else document[:8],
        "document_hash": person,
        "client": client,
        "reference": "r1",
        "tags": "[]",
        "watched": json.dumps(watched),
        "record": None if record is None else record_bytes(registry_record(record)),
        "record_ms": None if record is None else record_ms,
        "registrations": json.dumps(registrations),
        "suframa": None if suframa is None else json.dumps(suframa),
        "checked": json.dumps({topic: {"data_ms": at} for topic, at in (checked or {}).items()}),
        "recheck": None if recheck is None else json.dumps(recheck),
        "renew": None if renew is None else json.dumps(renew),
        "recheck_ms": recheck_ms,
        "created_ms": 1,
    }
    marks = ", ".join("?" * len(values))
    execute(
        f"INSERT INTO wallet_item ({', '.join(values)}) VALUES ({marks})",
        tuple(values.values()),
    )
    return item_id


def registered(active: bool, situation: str = "Sem restrição") -> dict[str, Any]:
    """Return the registration of `records.a_registration` as an item has it."""
    return {
        "uf": "SP",
        "inscricao": "110.042.490.114",
        "ativa": active,
        "situacao_pj": situation,
        "tipo_ie": "IE Normal",
        "verificado_em": None,
    }


def a_paper(
    execute: Callable[..., Any],
    account_id: int,
    kind: str,
    *items: str,
    subject: str | None = None,
    **columns: object,
) -> str:
    """Insert a certificate of items and return its number. `last_day` is the `validity`."""
    values = {
        "paper_id": f"{account_id}-{kind}-{subject}",
        "account_id": account_id,
        "kind": kind,
        "uf": "",
        "subject": subject,
        "last_day": columns.get("validity"),
        "next_ms": 0,
        "created_ms": 1,
        **columns,
    }
    marks = ", ".join("?" * len(values))
    execute(
        f"INSERT INTO wallet_paper ({', '.join(values)}) VALUES ({marks})", tuple(values.values())
    )
    for item_id in items:
        execute(
            "INSERT INTO wallet_item_paper (item_id, paper_id) VALUES (?, ?)",
            (item_id, values["paper_id"]),
        )
    return str(values["paper_id"])
