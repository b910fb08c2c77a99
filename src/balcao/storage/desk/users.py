"""Changes of one user within a transaction of `People`."""

from typing import Any

from balcao.core.errors import EmailTaken
from balcao.core.people import ROLE_WORDS, Action, Signature, User, normal_email
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.account_admin import write_audit
from balcao.storage.desk.people_queries import find_user
from balcao.storage.people import NewUser


def existing(connection: SqlConnection, user_id: int) -> User:
    """Return a user. Raises `LookupError`."""
    user = find_user(connection, user_id)
    if user is None:
        raise LookupError(user_id)
    return user


def add(connection: SqlConnection, new: NewUser, signed: Signature | None, now_ms: int) -> User:
    """Create a user and log it, as done by the user without `signed`. Raises `EmailTaken`."""
    email = new.email.strip()
    known = "SELECT 1 FROM person WHERE email_key = ?"
    if connection.execute(known, (normal_email(email),)).fetchone():
        raise EmailTaken
    row: Any = connection.execute(
        "INSERT INTO person (account_id, email, email_key, name, role, created_ms)"
        " VALUES (?, ?, ?, ?, ?, ?) RETURNING user_id",
        (new.account_id, email, normal_email(email), new.name, new.role, now_ms),
    ).fetchall()
    ((user_id,),) = row
    user = existing(connection, user_id)
    by = signed or Signature("web", user_id)
    log(connection, by, "user.create", now_ms, user=user, detail=f"papel {ROLE_WORDS[new.role]}")
    return user


def set_password(connection: SqlConnection, user: User, password_hash: str) -> None:
    """Set a password, and end the user's sessions and links."""
    connection.execute(
        "UPDATE person SET password_hash = ? WHERE user_id = ?", (password_hash, user.user_id)
    )
    end_sessions_and_links(connection, user.user_id)


def end_sessions_and_links(connection: SqlConnection, user_id: int) -> None:
    """End all sessions and links of a user."""
    connection.execute("DELETE FROM web_session WHERE user_id = ?", (user_id,))
    connection.execute("DELETE FROM one_time_link WHERE user_id = ?", (user_id,))


def log(
    connection: SqlConnection,
    signed: Signature,
    action: Action,
    now_ms: int,
    *,
    user: User | None,
    detail: str = "",
) -> None:
    """Log an action on a user; None: on the future first operator."""
    write_audit(
        connection,
        signed,
        action,
        now_ms,
        account_id=None if user is None else user.account_id,
        target="primeiro operador" if user is None else f"usuário {user.user_id}",
        detail=detail,
    )
