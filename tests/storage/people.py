"""Helpers of the tests of people: users of an account, operators, signatures."""

from collections.abc import Mapping, Sequence

import msgspec

from balcao.core.access import Account
from balcao.core.ledger import Charge, Trace, TracedCharge
from balcao.core.people import Action, Role, Signature, User
from balcao.storage.desk.desk import Desk
from balcao.storage.people import NewUser, TraceFilter
from tests.storage.engines import Engine
from tests.storage.world import NOW, OPERATION

BY = Signature("web", 99)
HOUR_MS = 3_600_000
ALWAYS = TraceFilter(0, NOW * 2)


def a_form(number: str) -> Signature:
    """Return the signature of user 99 on a form with this number."""
    return Signature("web", 99, number)


def a_user(
    engine: Engine,
    desk: Desk,
    account: Account | None,
    name: str = "Lia",
    *,
    role: Role = "consultant",
    password: str | None = None,
) -> User:
    """Create a user with an address of that name; an operator without an account."""
    new = NewUser(
        f"{name}@Exemplo.com.br",
        name,
        role if account else "operator",
        account.account_id if account else None,
    )
    user = engine.run(desk.people.add_user(new, BY, NOW))
    if password is not None:
        engine.run(desk.people.set_password(user.user_id, password, BY, NOW))
    found = desk.people.user(user.user_id)
    assert found is not None
    return found


def a_token(name: str) -> bytes:
    return name.encode().ljust(32, b"\1")


def deeds(desk: Desk, action: Action | None = None) -> Sequence[tuple[str, int | None, str, str]]:
    """Return audit entries (action, account, target, detail), oldest first."""
    found = [
        (entry.action, entry.account_id, entry.target, entry.detail)
        for entry in desk.people.audit(1000, action=action)
    ]
    return found[::-1]


def a_trace(account: Account, request: str, **other: object) -> Trace:
    """Return the trace of a lookup from the cache that cost one credit."""
    values: Mapping[str, object] = {
        "request_id": request,
        "account_id": account.account_id,
        "key_id": account.account_id,
        "user_id": None,
        "operation": OPERATION,
        "document": "90010001000100",
        "document_hash": None,
        "uf": None,
        "strategy": "CACHE_FIRST",
        "refresh": False,
        "key_digest": None,
        "status": 200,
        "code": None,
        "origin": "cache",
        "source": "snapshot",
        "asked_ms": NOW - 5,
        "credits": 1,
        "rule": "consulta",
        "opened_ms": NOW,
        "settled_ms": NOW + 1,
        **other,
    }
    return Trace(**values)  # type: ignore[arg-type]


def together(charge: Charge, trace: Trace) -> TracedCharge:
    """Return charge and trace as one change, as a request commits them."""
    of_both = msgspec.structs.asdict(charge) | msgspec.structs.asdict(trace)
    return TracedCharge(**{name: of_both[name] for name in TracedCharge.__struct_fields__})
