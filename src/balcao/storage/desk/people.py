"""Users, their sessions and links, the terms of accounts, and retention of requests' details.

Everything is written in the writer's thread, each call in one commit.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from balcao.core.access import Account
from balcao.core.errors import LastOperator
from balcao.core.freshness import DAY_MS
from balcao.core.people import ROLE_WORDS, Action, LinkPurpose, Role, Signature, User
from balcao.storage.connection import SqlConnection
from balcao.storage.desk import account_admin, users
from balcao.storage.desk.account_admin import signed_transaction
from balcao.storage.desk.folding import before_charged_lookups_go
from balcao.storage.desk.mail import NewMail, queue
from balcao.storage.desk.people_queries import PeopleQueries, failed_sign_ins, find_link, find_user
from balcao.storage.desk.queries import find_account
from balcao.storage.desk.recovery_codes import replace_codes
from balcao.storage.engine import Engine
from balcao.storage.people import NewUser, Terms

PURGED_AT_ONCE = 1000

_LINK_WORDS: Mapping[LinkPurpose, str] = {
    "set_password": "link para definir a senha",
    "reset_password": "link para redefinir a senha, pedido por e-mail",
    "first_operator": "link para definir a senha",
}

_OTHERS_WHO_CAN_ENTER = (
    "SELECT 1 FROM person WHERE role = 'operator' AND password_hash IS NOT NULL"
    " AND suspended_ms IS NULL AND user_id <> ? LIMIT 1"
)
_OPEN_SESSION = (
    "INSERT INTO web_session (token_digest, user_id, opened_ms, seen_ms, browser)"
    " VALUES (?, ?, ?, ?, ?)"
)
# So that a guesser cannot fill the log, which is never shortened.
FAILURES_A_DAY = 10

_SEEN = "UPDATE person SET seen_ms = ? WHERE user_id = ? AND coalesce(seen_ms, 0) < ?"
_PURGES = (
    "DELETE FROM web_session WHERE session_id IN"
    " (SELECT session_id FROM web_session WHERE seen_ms < ? LIMIT ?) RETURNING 1",
    "DELETE FROM one_time_link WHERE token_digest IN"
    " (SELECT token_digest FROM one_time_link WHERE expires_ms <= ? LIMIT ?) RETURNING 1",
)


# Request numbers grow with time, so an account's oldest trace is its first one. An index by age
# would cost every request more than the rest of its trace.
_WITH_OLD_TRACES = (
    "SELECT account_id FROM account WHERE (SELECT opened_ms FROM {table} AS t"
    " WHERE t.account_id = account.account_id ORDER BY request_id LIMIT 1) < ?"
    # Deleting charged lookups locks their accounts: in the same order as batches do.
    " ORDER BY account_id"
)
_OLD_TRACES = (
    "DELETE FROM {table} WHERE account_id = ? AND request_id <= (SELECT max(request_id) FROM"
    " (SELECT request_id FROM {table} WHERE account_id = ? ORDER BY request_id LIMIT ?) AS first)"
    " AND opened_ms < ? RETURNING 1"
)


class People(PeopleQueries):
    """Users, sessions, one-time links, the audit log, and details of requests.

    A signed action is one commit with its entry in the audit log. An action without effect (such as
    suspending a suspended user) is not logged. Changes are durable when a method returns;
    otherwise it raises `StorageFailed`. Only digests of tokens of sessions and links are stored.
    """

    def __init__(self, engine: Engine, forget_callers: Callable[[], None]) -> None:
        super().__init__(engine.connection, engine.open_reader)
        self._engine = engine
        self._run_in_writer = engine.run_in_writer
        self._forget_callers = forget_callers

    # Users.

    async def add_user(self, new: NewUser, signed: Signature, now_ms: int) -> User:
        """Create a user, without a password yet. Raises `EmailTaken`, `FormDone`."""

        def work(connection: SqlConnection) -> User:
            with signed_transaction(connection, signed):
                return users.add(connection, new, signed, now_ms)

        return await self._run_in_writer(work)

    async def change_user(
        self, user_id: int, name: str, role: Role, signed: Signature, now_ms: int
    ) -> None:
        """Change a user's name or role, though never from or to `operator`.

        Open sessions have the new role at once. Raises `LookupError` (also for such a change of
        role), `FormDone`.
        """

        def work(connection: SqlConnection) -> None:
            with signed_transaction(connection, signed):
                user = users.existing(connection, user_id)
                if (role == "operator") != (user.role == "operator"):
                    raise LookupError(user_id)
                changed = []
                if role != user.role:
                    changed.append(f"papel {ROLE_WORDS[user.role]} → {ROLE_WORDS[role]}")
                if name != user.name:
                    changed.append("nome alterado")
                if not changed:
                    return
                connection.execute(
                    "UPDATE person SET name = ?, role = ? WHERE user_id = ?", (name, role, user_id)
                )
                users.log(
                    connection, signed, "user.change", now_ms, user=user, detail="; ".join(changed)
                )

        await self._run_in_writer(work)

    async def suspend_user(
        self, user_id: int, suspended: bool, signed: Signature, now_ms: int
    ) -> None:
        """Suspend a user, which ends their sessions and links, or lift the suspension.

        Raises `LookupError`, `FormDone`, and `LastOperator` if no operator could sign in any more.
        """

        def work(connection: SqlConnection) -> None:
            with signed_transaction(connection, signed):
                user = users.existing(connection, user_id)
                if suspended == (user.suspended_ms is not None):
                    return
                if suspended and user.role == "operator" and user.has_password:
                    others = connection.execute(_OTHERS_WHO_CAN_ENTER, (user_id,)).fetchone()
                    if others is None:
                        raise LastOperator
                connection.execute(
                    "UPDATE person SET suspended_ms = ? WHERE user_id = ?",
                    (now_ms if suspended else None, user_id),
                )
                if suspended:
                    users.end_sessions_and_links(connection, user_id)
                action: Action = "user.suspend" if suspended else "user.resume"
                users.log(connection, signed, action, now_ms, user=user)

        await self._run_in_writer(work)

    async def set_password(
        self, user_id: int, password_hash: str, signed: Signature, now_ms: int
    ) -> None:
        """Set a password, which ends the user's sessions and links.

        Raises `LookupError`, `FormDone`.
        """

        def work(connection: SqlConnection) -> None:
            with signed_transaction(connection, signed):
                user = users.existing(connection, user_id)
                users.set_password(connection, user, password_hash)
                users.log(
                    connection, signed, "user.password", now_ms, user=user, detail="senha alterada"
                )

        await self._run_in_writer(work)

    async def rehash_password(
        self, user_id: int, password_hash: str, *, replaces: str, now_ms: int
    ) -> None:
        """Store the same password hashed with newer parameters; ends and logs nothing.

        Does nothing if the hash is no longer `replaces`: another password was set meanwhile.
        """
        await self._run_in_writer(
            lambda connection: connection.execute(
                "UPDATE person SET password_hash = ? WHERE user_id = ? AND password_hash = ?"
                " RETURNING 1",
                (password_hash, user_id, replaces),
            ).fetchall()
        )

    async def set_totp(
        self,
        user_id: int,
        sealed: bytes | None,
        signed: Signature,
        now_ms: int,
        *,
        recovery: Sequence[bytes] = (),
    ) -> None:
        """Turn the second factor on, with digests of recovery codes, or off (None).

        Raises `LookupError`, `FormDone`."""

        def work(connection: SqlConnection) -> None:
            with signed_transaction(connection, signed):
                user = users.existing(connection, user_id)
                # The last used step stays: steps depend on the time, not on the secret.
                connection.execute(
                    "UPDATE person SET totp_secret = ? WHERE user_id = ?", (sealed, user_id)
                )
                replace_codes(connection, user_id, recovery)
                detail = "segundo fator desligado" if sealed is None else "segundo fator ligado"
                users.log(connection, signed, "user.totp", now_ms, user=user, detail=detail)

        await self._run_in_writer(work)

    async def use_totp_step(self, user_id: int, step: int) -> bool:
        """Mark a time step as used. False: it, or a later one, was used before."""
        taken = await self._run_in_writer(
            lambda connection: connection.execute(
                "UPDATE person SET totp_step = ? WHERE user_id = ? AND totp_step < ? RETURNING 1",
                (step, user_id, step),
            ).fetchall()
        )
        return bool(taken)

    # Sessions.

    async def open_session(
        self,
        user_id: int,
        token_digest: bytes,
        signed: Signature,
        now_ms: int,
        browser: str | None = None,
    ) -> None:
        """Store a new session. The sign-in of an operator is logged.

        `browser`: a description for the user. Does nothing if the user was suspended meanwhile.
        Raises `LookupError`, `FormDone`.
        """

        def work(connection: SqlConnection) -> None:
            with signed_transaction(connection, signed):
                user = users.existing(connection, user_id)
                if user.suspended_ms is not None:
                    return
                connection.execute(_OPEN_SESSION, (token_digest, user_id, now_ms, now_ms, browser))
                connection.execute(_SEEN, (now_ms, user_id, now_ms))
                if user.role == "operator":
                    users.log(connection, signed, "user.sign_in", now_ms, user=user)

        await self._run_in_writer(work)

    async def note_failed_sign_in(self, user_id: int, reason: str, facts: str, now_ms: int) -> None:
        """Log a failed sign-in, at most `FAILURES_A_DAY` of a reason for a person in 24 hours.

        The last one announces that. `facts`: the network and the browser. Does nothing for an
        unknown user.
        """

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                user = find_user(connection, user_id)
                if user is None:
                    return
                earlier = failed_sign_ins(connection, user_id, 2 * FAILURES_A_DAY)
                alike = [one for one in earlier if one.detail.startswith(reason)]
                today = sum(one.at_ms > now_ms - DAY_MS for one in alike[:FAILURES_A_DAY])
                if today >= FAILURES_A_DAY:
                    return
                detail = f"{reason} ({facts})" if facts else reason
                if today == FAILURES_A_DAY - 1:
                    detail += "; outras nas próximas horas não são registradas"
                signed = Signature("web")
                users.log(
                    connection, signed, "user.sign_in_failed", now_ms, user=user, detail=detail
                )

        await self._run_in_writer(work)

    async def touch_session(self, session_id: int, now_ms: int) -> None:
        """Record that a session was used. Called about once a minute."""

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                used: Any = connection.execute(
                    "UPDATE web_session SET seen_ms = CASE WHEN seen_ms < ? THEN ? ELSE seen_ms END"
                    " WHERE session_id = ? RETURNING user_id",
                    (now_ms, now_ms, session_id),
                ).fetchall()
                for (user_id,) in used:
                    connection.execute(_SEEN, (now_ms, user_id, now_ms))

        await self._run_in_writer(work)

    async def close_session(self, token_digest: bytes) -> None:
        """End a session, if there is one."""
        await self._run_in_writer(
            lambda connection: connection.execute(
                "DELETE FROM web_session WHERE token_digest = ? RETURNING 1", (token_digest,)
            ).fetchall()
        )

    async def close_other_sessions(self, user_id: int, token_digest: bytes) -> int:
        """End all other sessions of a user. Return the count."""
        closed = await self._run_in_writer(
            lambda connection: connection.execute(
                "DELETE FROM web_session WHERE user_id = ? AND token_digest <> ? RETURNING 1",
                (user_id, token_digest),
            ).fetchall()
        )
        return len(closed)

    async def close_one_session(self, user_id: int, session_id: int) -> bool:
        """End one session of a user. False: it is not theirs, or has ended."""
        closed = await self._run_in_writer(
            lambda connection: connection.execute(
                "DELETE FROM web_session WHERE user_id = ? AND session_id = ? RETURNING 1",
                (user_id, session_id),
            ).fetchall()
        )
        return bool(closed)

    # One-time links.

    async def make_link(
        self,
        token_digest: bytes,
        purpose: LinkPurpose,
        user_id: int | None,
        *,
        signed: Signature,
        now_ms: int,
        expires_ms: int,
        message: NewMail | None = None,
    ) -> None:
        """Store a link; earlier ones for the same purpose and user are void.

        `message`: with the link, to be sent. Raises `FormDone`, `LookupError` for an unknown user.
        """

        def work(connection: SqlConnection) -> None:
            with signed_transaction(connection, signed):
                user = None if user_id is None else users.existing(connection, user_id)
                connection.execute(
                    "DELETE FROM one_time_link"
                    " WHERE purpose = ? AND user_id IS NOT DISTINCT FROM ?",
                    (purpose, user_id),
                )
                connection.execute(
                    "INSERT INTO one_time_link (token_digest, purpose, user_id, made_ms,"
                    " expires_ms) VALUES (?, ?, ?, ?, ?)",
                    (token_digest, purpose, user_id, now_ms, expires_ms),
                )
                users.log(
                    connection,
                    signed,
                    "user.link",
                    now_ms,
                    user=user,
                    detail=_LINK_WORDS[purpose],
                )
                if message is not None:
                    queue(connection, [message])

        await self._run_in_writer(work)

    async def note_sign_in_link(self, user_id: int, signed: Signature, now_ms: int) -> None:
        """Log that a sign-in link was made. Raises `LookupError`, `FormDone`."""

        def work(connection: SqlConnection) -> None:
            with signed_transaction(connection, signed):
                user = users.existing(connection, user_id)
                users.log(
                    connection, signed, "user.link", now_ms, user=user, detail="link para entrar"
                )

        await self._run_in_writer(work)

    async def claim_link(
        self, token_digest: bytes, password_hash: str, now_ms: int, operator: NewUser | None = None
    ) -> User | None:
        """Use a link, once: set the password of its user, or create the first operator.

        In one commit; the user's sessions end. None: the link is not valid any more. Raises
        `EmailTaken`; then the link stays valid.
        """

        def work(connection: SqlConnection) -> User | None:
            with connection.transaction():
                link = find_link(connection, token_digest, now_ms)
                if link is None:
                    return None
                connection.execute(
                    "DELETE FROM one_time_link WHERE token_digest = ?", (token_digest,)
                )
                user = link.user
                if user is None:
                    assert operator is not None, "the first operator has a name"
                    assert operator.role == "operator", "and is one"
                    user = users.add(connection, operator, None, now_ms)
                users.set_password(connection, user, password_hash)
                by = Signature("web", user.user_id)
                users.log(
                    connection,
                    by,
                    "user.password",
                    now_ms,
                    user=user,
                    detail="senha definida pelo link",
                )
                return find_user(connection, user.user_id)

        return await self._run_in_writer(work)

    # Accounts.

    async def change_account(
        self, account_id: int, terms: Terms, signed: Signature, now_ms: int
    ) -> Account:
        """Change an account's terms; in force everywhere within a second.

        Raises `TermsRefused` (a prepaid plan with debts, a ceiling below what is spent),
        `LookupError`, `FormDone`.
        """

        def work(connection: SqlConnection) -> Account:
            account_admin.change_account(connection, account_id, terms, now_ms, signed)
            return find_account(connection, account_id)

        account = await self._run_in_writer(work)
        self._forget_callers()
        return account

    async def suspend_account(
        self, account_id: int, suspended: bool, signed: Signature, now_ms: int
    ) -> Account:
        """Suspend an account, so that its lookups are refused, or resume it; within a second.

        Raises `LookupError`, `FormDone`.
        """

        def work(connection: SqlConnection) -> Account:
            account_admin.suspend_account(connection, account_id, suspended, now_ms, signed)
            return find_account(connection, account_id)

        account = await self._run_in_writer(work)
        self._forget_callers()
        return account

    # Retention.

    async def purge_people(
        self,
        now_ms: int,
        oldest_trace_ms: int,
        oldest_session_ms: int,
        oldest_certificate_ms: int,
    ) -> int:
        """Remove some expired sessions, links and traces. Return the count; 0: none are left.

        Sessions unused since `oldest_session_ms`, traces before `oldest_trace_ms`, and traces with
        a certificate before `oldest_certificate_ms`; oldest first.
        """
        before = (oldest_session_ms, now_ms)
        oldest = {
            "charged_lookup": oldest_trace_ms,  # a trigger keeps the charge, as an entry
            "trace": oldest_trace_ms,
            "certificate_trace": oldest_certificate_ms,
        }

        def work(connection: SqlConnection) -> int:
            gone = 0
            with connection.transaction():
                for sql, before_ms in zip(_PURGES, before, strict=True):
                    left = PURGED_AT_ONCE - gone
                    gone += len(connection.execute(sql, (before_ms, left)).fetchall())
                for table, before_ms in oldest.items():
                    find, remove = (
                        sql.format(table=table) for sql in (_WITH_OLD_TRACES, _OLD_TRACES)
                    )
                    for (account_id,) in connection.execute(find, (before_ms,)).fetchall():
                        if table == "charged_lookup":
                            before_charged_lookups_go(connection, account_id, before_ms)
                        left = PURGED_AT_ONCE - gone
                        values = (account_id, account_id, left, before_ms)
                        gone += len(connection.execute(remove, values).fetchall())
            return gone

        months = await self._engine.drop_traces(oldest_trace_ms)
        return months + await self._run_in_writer(work)
