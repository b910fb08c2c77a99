"""Actions of operators on accounts and keys, each committed together with its audit entry.

Functions on a connection: `Desk` calls some synchronously, `People` others in the writer's thread.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from balcao.core.access import UNRESTRICTED, KeyRestrictions
from balcao.core.calendar import civil_month, from_ms
from balcao.core.errors import FormDone, InvalidParameter, NameTaken, TermsRefused
from balcao.core.ledger import Audit
from balcao.core.people import Action, Signature
from balcao.storage.batch import audit_row
from balcao.storage.connection import SqlConnection
from balcao.storage.contract import NewAccount, NewKey
from balcao.storage.desk.rows import restrictions_of, restrictions_row
from balcao.storage.people import Terms

_NOTE = (
    "INSERT INTO audit_entry (at_ms, channel, user_id, form_id, action, account_id, target, detail)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
# A ceiling is compared with the spending of the month, so the month advances first: the spending
# of July must not refuse a ceiling for August.
_CHANGE = (
    "UPDATE account SET plan = ?, certificates = ?, partner_optin = ?, ceiling_credits = ?,"
    " month_credits = CASE WHEN ? > month THEN 0 ELSE month_credits END, "
    " month = CASE WHEN ? > month THEN ? ELSE month END"
    " WHERE account_id = ?"
)


@contextmanager
def signed_transaction(connection: SqlConnection, signed: Signature) -> Iterator[None]:
    """Open a transaction for a signed action.

    Raises `FormDone` before any other check: the answer to a repeated form is that it was carried
    out, not that its name is taken.
    """
    with connection.transaction():
        if signed.form_id is not None:
            done = connection.execute(
                "SELECT 1 FROM audit_entry WHERE form_id = ?", (signed.form_id,)
            ).fetchall()
            if done:
                raise FormDone
        yield


def write_audit(
    connection: SqlConnection,
    signed: Signature,
    action: Action,
    now_ms: int,
    *,
    account_id: int | None,
    target: str,
    detail: str = "",
) -> None:
    """Write an entry of the audit log, within the transaction of its action."""
    entry = Audit(signed, action, account_id, target, detail, now_ms)
    connection.execute(_NOTE, audit_row(entry))


_NEW_ACCOUNT = (
    "INSERT INTO account (account_id, name, plan, mode, certificates, partner_optin,"
    " ceiling_credits, created_ms) VALUES ({number}, ?, ?, ?, ?, ?, ?, ?) RETURNING account_id"
)
_NEW_KEY = (
    "INSERT INTO api_key (key_id, account_id, name, prefix, hash, created_ms, expires_ms,"
    " per_minute, per_day, networks, operations, client_required, administers, secret_id)"
    " VALUES ({number}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING key_id"
)


def create_account(
    connection: SqlConnection, new: NewAccount, now_ms: int, signed: Signature
) -> int:
    """Open an account and return its number. Raises `NameTaken`, `FormDone`."""
    terms = Terms(new.plan, new.certificates, new.partner_optin, new.ceiling_credits)
    kind = "produção" if new.mode == "live" else "teste"
    with signed_transaction(connection, signed):
        if connection.execute("SELECT 1 FROM account WHERE name = ?", (new.name,)).fetchone():
            raise NameTaken(new.name)
        number = connection.new_number.format(table="account", column="account_id")
        row: Any = connection.execute(
            _NEW_ACCOUNT.format(number=number),
            (
                new.name,
                new.plan,
                new.mode,
                int(new.certificates),
                int(new.partner_optin),
                new.ceiling_credits,
                now_ms,
            ),
        ).fetchall()
        ((account_id,),) = row
        detail = "; ".join(f"{what} {value}" for what, value in _in_words(terms))
        write_audit(
            connection,
            signed,
            "account.create",
            now_ms,
            account_id=account_id,
            target=f"conta {new.name}",
            detail=f"{detail}; tipo {kind}",
        )
    return int(account_id)


def change_account(
    connection: SqlConnection, account_id: int, terms: Terms, now_ms: int, signed: Signature
) -> None:
    """See `storage.desk.people.People`."""
    month = civil_month(now_ms)
    with signed_transaction(connection, signed):
        name, plan, certificates, optin, ceiling, _ = _account(connection, account_id)
        before = Terms(plan, bool(certificates), bool(optin), ceiling)
        if before == terms:
            return
        try:
            connection.execute(
                _CHANGE,
                (
                    terms.plan,
                    int(terms.certificates),
                    int(terms.partner_optin),
                    terms.ceiling_credits,
                    month,
                    month,
                    month,
                    account_id,
                ),
            )
        except connection.broken_rule:
            raise TermsRefused from None
        changed = "; ".join(
            f"{what} {old} → {new}"
            for (what, old), (_, new) in zip(_in_words(before), _in_words(terms), strict=True)
            if old != new
        )
        write_audit(
            connection,
            signed,
            "account.change",
            now_ms,
            account_id=account_id,
            target=f"conta {name}",
            detail=changed,
        )


def suspend_account(
    connection: SqlConnection, account_id: int, suspended: bool, now_ms: int, signed: Signature
) -> None:
    """See `storage.desk.people.People`."""
    with signed_transaction(connection, signed):
        name, *_, suspended_ms = _account(connection, account_id)
        if suspended == (suspended_ms is not None):
            return
        connection.execute(
            "UPDATE account SET suspended_ms = ? WHERE account_id = ?",
            (now_ms if suspended else None, account_id),
        )
        write_audit(
            connection,
            signed,
            "account.suspend" if suspended else "account.resume",
            now_ms,
            account_id=account_id,
            target=f"conta {name}",
        )


def create_key(connection: SqlConnection, new: NewKey, now_ms: int, signed: Signature) -> None:
    """Issue a key.

    Raises `FormDone`, and `InvalidParameter` for a compatible API's key without networks.
    """
    with signed_transaction(connection, signed):
        _refuse_open_face(new.restrictions)
        number = connection.new_number.format(table="api_key", column="key_id")
        row: Any = connection.execute(
            _NEW_KEY.format(number=number),
            (
                new.account_id,
                new.name,
                new.prefix,
                new.hash,
                now_ms,
                new.expires_ms,
                new.per_minute,
                new.per_day,
                *restrictions_row(new.restrictions),
                new.secret_id,
            ),
        ).fetchall()
        ((key_id,),) = row
        words = [f"número {key_id}"]
        if new.expires_ms is not None:
            words.append(f"vale até {from_ms(new.expires_ms - 1):%d/%m/%Y %H:%M}")
        for limit, window in ((new.per_minute, "minuto"), (new.per_day, "dia")):
            if limit is not None:
                words.append(f"até {limit} por {window}")
        usual = dict(_restrictions_in_words(None))
        words += [
            f"{what} {value}"
            for what, value in _restrictions_in_words(new.restrictions)
            if value != usual[what]
        ]
        write_audit(
            connection,
            signed,
            "key.create",
            now_ms,
            account_id=new.account_id,
            target=f"chave {new.name}",
            detail="; ".join(words),
        )


def change_restrictions(
    connection: SqlConnection,
    key_id: int,
    restrictions: KeyRestrictions | None,
    now_ms: int,
    signed: Signature,
) -> bool:
    """Change a key's restrictions. False: no such key. Raises `FormDone`.

    A compatible API's key can only change its networks, and needs some: otherwise raises
    `InvalidParameter` (contract 16.4).
    """
    with signed_transaction(connection, signed):
        row: Any = connection.execute(
            "SELECT account_id, name, networks, operations, client_required, administers"
            " FROM api_key WHERE key_id = ?",
            (key_id,),
        ).fetchone()
        if row is None:
            return False
        account_id, name, *columns = row
        before = restrictions_of(*columns)
        if before is not None and before.compat_api is not None:
            restrictions = KeyRestrictions(
                (restrictions or UNRESTRICTED).networks, before.operations
            )
            _refuse_open_face(restrictions)
        if (before or UNRESTRICTED) == (restrictions or UNRESTRICTED):
            return True
        connection.execute(
            "UPDATE api_key SET networks = ?, operations = ?, client_required = ?, administers = ?"
            " WHERE key_id = ?",
            (*restrictions_row(restrictions), key_id),
        )
        changed = "; ".join(
            f"{what} {old} → {new}"
            for (what, old), (_, new) in zip(
                _restrictions_in_words(before), _restrictions_in_words(restrictions), strict=True
            )
            if old != new
        )
        write_audit(
            connection,
            signed,
            "key.change",
            now_ms,
            account_id=account_id,
            target=f"chave {name}",
            detail=f"número {key_id}; {changed}",
        )
    return True


def _refuse_open_face(restrictions: KeyRestrictions | None) -> None:
    if (
        restrictions is not None
        and restrictions.compat_api is not None
        and not restrictions.networks
    ):
        raise InvalidParameter("ips: uma chave de face vale só nos endereços que se dizem.")


def revoke_key(connection: SqlConnection, key_id: int, now_ms: int, signed: Signature) -> bool:
    """Revoke a key, unless it is revoked. False: no such key. Raises `FormDone`."""
    with signed_transaction(connection, signed):
        row: Any = connection.execute(
            "SELECT account_id, name, revoked_ms FROM api_key WHERE key_id = ?", (key_id,)
        ).fetchone()
        if row is None:
            return False
        account_id, name, revoked_ms = row
        if revoked_ms is None:
            connection.execute(
                "UPDATE api_key SET revoked_ms = ? WHERE key_id = ?", (now_ms, key_id)
            )
            write_audit(
                connection,
                signed,
                "key.revoke",
                now_ms,
                account_id=account_id,
                target=f"chave {name}",
                detail=f"número {key_id}",
            )
    return True


def _account(connection: SqlConnection, account_id: int) -> Any:
    row = connection.execute(
        "SELECT name, plan, certificates, partner_optin, ceiling_credits, suspended_ms"
        " FROM account WHERE account_id = ?",
        (account_id,),
    ).fetchone()
    if row is None:
        raise LookupError(account_id)
    return row


def _restrictions_in_words(restrictions: KeyRestrictions | None) -> list[tuple[str, str]]:
    restrictions = restrictions or UNRESTRICTED
    operations = (
        "todas"
        if restrictions.operations is None
        else ", ".join(restrictions.operations) or "nenhuma"
    )
    return [
        ("endereços", ", ".join(restrictions.networks) or "todos"),
        ("operações", operations),
        ("exige cliente", "sim" if restrictions.client_required else "não"),
        ("administra", "sim" if restrictions.administers else "não"),
    ]


def _in_words(terms: Terms) -> list[tuple[str, str]]:
    ceiling = terms.ceiling_credits
    return [
        ("plano", terms.plan),
        ("certidões", "sim" if terms.certificates else "não"),
        ("CPF dos sócios", "sim" if terms.partner_optin else "não"),
        ("teto", "nenhum" if ceiling is None else str(ceiling)),
    ]
