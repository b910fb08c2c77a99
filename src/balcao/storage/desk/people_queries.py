"""Queries of users, sessions, the audit log and details of requests, the same on any engine."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from balcao.core.calendar import HOUR_MS
from balcao.core.certificates import CertificateSummary
from balcao.core.ledger import Trace
from balcao.core.people import Action, Credentials, Session, User, normal_email
from balcao.core.result_summary import ResultSummary
from balcao.storage.batch import CERTIFICATE_COLUMNS, GIST_COLUMNS, TRACE_COLUMNS
from balcao.storage.connection import OpenReader, SqlConnection
from balcao.storage.desk.memberships import MEMBERSHIP_COLUMNS, membership_of
from balcao.storage.numbers import NUMBERED_BEFORE_MS_MAX, least_number
from balcao.storage.people import AuditEntry, FailedSignIn, Link, OpenSession, TraceFilter

_USER = (
    "SELECT p.user_id, p.account_id, p.email, p.name, p.role, p.password_hash IS NOT NULL,"
    " p.totp_secret IS NOT NULL, p.created_ms, p.seen_ms, p.suspended_ms"
)
_USERS = f"{_USER} FROM person AS p"
_USER_COLUMNS = _USER.count(",") + 1
_HAS_OPERATOR = "SELECT 1 FROM person WHERE role = 'operator' AND password_hash IS NOT NULL LIMIT 1"
_SESSION = (
    f"{_USER}, s.session_id, s.opened_ms, s.seen_ms, s.browser, {MEMBERSHIP_COLUMNS}"
    " FROM web_session AS s JOIN person AS p USING (user_id)"
    " LEFT JOIN seat AS t ON t.seat_id = s.seat_id AND t.user_id = s.user_id"
    " WHERE s.token_digest = ? AND s.seen_ms > ? AND s.opened_ms > ? AND p.suspended_ms IS NULL"
)
_SESSIONS = (
    "SELECT session_id, opened_ms, seen_ms, browser FROM web_session"
    " WHERE user_id = ? AND seen_ms > ? AND opened_ms > ? ORDER BY seen_ms DESC, session_id DESC"
)
_LINK = (
    f"{_USER}, l.purpose, l.expires_ms"
    " FROM one_time_link AS l LEFT JOIN person AS p USING (user_id)"
    " WHERE l.token_digest = ? AND l.expires_ms > ? AND p.suspended_ms IS NULL"
)
_AUDIT = (
    "SELECT e.entry_id, e.at_ms, e.channel, e.user_id, p.name, e.action, e.account_id, a.name,"
    " e.target, e.detail FROM audit_entry AS e LEFT JOIN person AS p ON p.user_id = e.user_id"
    " LEFT JOIN account AS a ON a.account_id = e.account_id"
)
_FAILED = (
    "SELECT at_ms, detail FROM audit_entry WHERE action = 'user.sign_in_failed' AND target = ?"
    " ORDER BY entry_id DESC LIMIT ?"
)
_TRACE = " ".join(("SELECT", ", ".join(GIST_COLUMNS), "FROM trace AS told WHERE account_id = ?"))
_WITH_CERTIFICATE = " ".join(
    (
        *("SELECT", ", ".join(CERTIFICATE_COLUMNS)),
        ", CASE WHEN told.receipt_id IS NOT NULL THEN",  # most charged lookups have none
        "(SELECT media_type FROM receipt WHERE receipt.receipt_id = told.receipt_id) END,",
        "{brought} FROM {table} AS told WHERE account_id = ?",
    )
)
_BROUGHT = "verdict IS NOT NULL"
_CERTIFICATE = _WITH_CERTIFICATE.format(table="certificate_trace", brought="TRUE")
_CHARGED_LOOKUP = _WITH_CERTIFICATE.format(
    table="(SELECT *, person_hash AS document_hash FROM charged_lookup)", brought=_BROUGHT
)
# Charged lookups about a person or with a certificate, through the partial index of those.
_OF_INDEX = {name: f"few.{name}" for name in ("account_id", "request_id", "verdict")}
_OF_INDEX["document_hash"] = "few.person_hash AS document_hash"
_FEW = " ".join(
    (
        "(SELECT",
        ", ".join(_OF_INDEX.get(name, f"charged_lookup.{name}") for name in CERTIFICATE_COLUMNS),
        "FROM charged_lookup AS few CROSS JOIN charged_lookup",
        "WHERE charged_lookup.account_id = few.account_id",
        "AND charged_lookup.request_id = few.request_id)",
    )
)
_FEW_CHARGED_LOOKUPS = _WITH_CERTIFICATE.format(table=_FEW, brought=_BROUGHT)
# Charges without details (purged, or never stored), from the ledger.
_CHARGE = " ".join(
    (
        *("SELECT", ", ".join(TRACE_COLUMNS), "FROM (SELECT account_id, request_id, key_id,"),
        "CAST(NULL AS BIGINT) AS user_id, operation, '' AS document,",
        "CAST(NULL AS bytea) AS document_hash, CAST(NULL AS TEXT) AS uf, '' AS strategy,",
        "0 AS refresh, CAST(NULL AS TEXT) AS key_digest, 200 AS status,",
        "CAST(NULL AS TEXT) AS code, origin, CAST(NULL AS TEXT) AS source,",
        "CAST(NULL AS BIGINT) AS asked_ms, -balance_change AS credits, rule,",
        "at_ms AS opened_ms, at_ms AS settled_ms, client, reference",
        "FROM ledger_entry AS e WHERE account_id = ? AND at_ms >= ? AND at_ms < ?",
        "AND kind IN ('charge', 'post')",
        *(
            f"AND NOT EXISTS (SELECT 1 FROM {table} AS t"  # noqa: S608 - ours
            " WHERE t.account_id = e.account_id AND t.request_id = e.request_id)"
            for table in ("trace", "certificate_trace")
        ),
        ") AS charge WHERE account_id = ?",
    )
)
# A source takes seconds to answer, and clocks are wrong by hours.
_CHARGED_AFTER_MS_MAX = 48 * HOUR_MS
# The entry has the instant of the charge, which is later than the request if a source was called.
_CHARGED_IN = (
    # Not EXISTS, which PostgreSQL may turn into a join with all the entries of the period.
    "(SELECT 1 FROM ledger_entry AS e WHERE e.request_id = told.request_id"
    " AND e.account_id = told.account_id AND e.kind IN ('charge', 'post')"
    " AND e.at_ms >= ? AND e.at_ms < ? LIMIT 1) IS NOT NULL"
)
# By the primary key, account after account, since the number alone is not a prefix of it.
_OWNER = (
    "SELECT account_id FROM ledger_entry WHERE request_id = ? UNION ALL"
    " SELECT a.account_id FROM account AS a CROSS JOIN charged_lookup AS v"
    " WHERE v.account_id = a.account_id AND v.request_id = ? UNION ALL"
    " SELECT a.account_id FROM account AS a CROSS JOIN trace AS t"
    " WHERE t.account_id = a.account_id AND t.request_id = ? LIMIT 1"
)


class PeopleQueries:
    """Read-only queries.

    The connection is used on the event loop's thread. Slow queries open one of their own.
    """

    def __init__(self, connection: SqlConnection, open_reader: OpenReader) -> None:
        self._open_reader = open_reader
        self._connection = connection

    # Users, their sessions and links.

    def user(self, user_id: int) -> User | None:
        return find_user(self._connection, user_id)

    def users(self, account_id: int | None) -> Sequence[User]:
        """Return an account's users by name; None: the operators."""
        rows: Any = self._connection.execute(
            f"{_USERS} WHERE p.account_id IS NOT DISTINCT FROM ?", (account_id,)
        ).fetchall()
        found = [_user(row) for row in rows]
        return sorted(found, key=lambda user: (user.name.casefold(), user.user_id))

    def everybody(self) -> Sequence[User]:
        """Return all users of accounts, by number. Callable in any thread."""
        with self._open_reader() as reading:
            rows: Any = reading.execute(
                f"{_USERS} WHERE p.account_id IS NOT NULL ORDER BY p.user_id"
            ).fetchall()
        return [_user(row) for row in rows]

    def has_operator(self) -> bool:
        """Return whether any operator has set a password."""
        return has_operator(self._connection)

    def credentials(self, email: str) -> Credentials | None:
        """Find a user by e-mail address, ignoring case. None: unknown or suspended."""
        row: Any = self._connection.execute(
            f"{_USER}, p.password_hash, p.totp_secret, p.totp_step FROM person AS p"
            " WHERE p.email_key = ? AND p.suspended_ms IS NULL",
            (normal_email(email),),
        ).fetchone()
        return None if row is None else Credentials(_user(row), *row[_USER_COLUMNS:])

    def session(
        self, token_digest: bytes, now_ms: int, idle_ms: int, lifetime_ms: int
    ) -> Session | None:
        """Return a session. None: unknown, idle for too long, too old, or its user is suspended."""
        row: Any = self._connection.execute(
            _SESSION, (token_digest, now_ms - idle_ms, now_ms - lifetime_ms)
        ).fetchone()
        if row is None:
            return None
        session_id, opened_ms, seen_ms, browser, *worn = row[_USER_COLUMNS:]
        user, membership = _user(row), membership_of(worn)
        if membership is not None:
            user = replace(user, account_id=membership.account_id, role=membership.role)
        return Session(session_id, user, opened_ms, seen_ms, membership, browser)

    def sessions(
        self, user_id: int, now_ms: int, idle_ms: int, lifetime_ms: int
    ) -> Sequence[OpenSession]:
        """Return a user's open sessions, most recently used first."""
        rows: Any = self._connection.execute(
            _SESSIONS, (user_id, now_ms - idle_ms, now_ms - lifetime_ms)
        ).fetchall()
        return [OpenSession(*row) for row in rows]

    def link(self, token_digest: bytes, now_ms: int) -> Link | None:
        """Return a valid link. None: unknown, used, void, expired, or its user is suspended.

        The first operator's link is void as soon as any operator has a password.
        """
        return find_link(self._connection, token_digest, now_ms)

    # The audit log.

    def audit(
        self,
        limit: int,
        before_id: int | None = None,
        account_id: int | None = None,
        action: Action | None = None,
    ) -> Sequence[AuditEntry]:
        """Return audit entries, newest first, in pages: those before the entry `before_id`."""
        where, values = _matching(
            ("e.entry_id < ?", before_id),
            ("e.account_id = ?", account_id),
            ("e.action = ?", action),
        )
        rows: Any = self._connection.execute(
            f"{_AUDIT} WHERE {where} ORDER BY e.entry_id DESC LIMIT ?", (*values, limit)
        ).fetchall()
        return [AuditEntry(*row) for row in rows]

    def failed_sign_ins(self, user_id: int, limit: int) -> Sequence[FailedSignIn]:
        """Return the logged failures of signing in as a person, newest first."""
        return failed_sign_ins(self._connection, user_id, limit)

    # Details of requests.

    def trace(self, account_id: int, request_id: str) -> Trace | None:
        """Return a request of an account, unless it was refused before a lookup."""
        filters = (account_id, request_id)
        for select in (_CHARGED_LOOKUP, _TRACE, _CERTIFICATE):
            row: Any = self._connection.execute(f"{select} AND request_id = ?", filters).fetchone()
            if row is not None:
                return _trace(row)
        return None

    def traces(
        self, account_id: int, filters: TraceFilter, limit: int, before_id: str | None = None
    ) -> Sequence[Trace]:
        """Return requests of an account, highest number first, in pages: those before `before_id`.

        A rare document is searched in all requests: a second for a million. Callable in any thread.
        """
        where, values = _matching(
            ("request_id < ?", before_id),
            ("operation = ?", filters.operation),
            ("coalesce(key_id, 0) = ?", filters.key_id),
            ("coalesce(user_id, 0) = ?", filters.user_id),
            ("coalesce(uf, '') = ?", filters.uf),
            ("origin = ?", filters.origin),
            ("(source = 'snapshot') = ?", filters.own_copy),
            ("document = ?", filters.document),
            ("document_hash = ?", filters.document_hash),
            ("(code IS NOT NULL) = ?", filters.errors_only or None),
            ("coalesce(client, '') = ?", filters.client),
            ("reference = ?", filters.reference),
        )
        if filters.words:
            named, patterns = _named(account_id, filters.words)
            where, values = f"{where} AND {named}", [*values, *patterns]
        if filters.charged:
            return self._charged(account_id, filters, (where, values), limit)
        opened, instants = _matching(
            # The lower bound of the scan; on PostgreSQL it excludes partitions of older months.
            ("request_id >= ?", least_number(filters.from_ms - NUMBERED_BEFORE_MS_MAX)),
            ("opened_ms >= ?", filters.from_ms),
            ("opened_ms < ?", filters.to_ms),
        )
        where, values = f"{where} AND {opened}", [*values, *instants]
        # In one snapshot, since purging moves old rows from one table to another.
        with self._open_reader() as reading, reading.snapshot():
            rows: list[Any] = []
            for select, condition, codes in (
                _charged_lookups(filters),
                *_traces_by_result(filters.results),
            ):
                rows += reading.execute(
                    f"{select} AND {where} AND {condition} ORDER BY request_id DESC LIMIT ?",
                    (account_id, *values, *codes, limit),
                ).fetchall()
        return _newest(rows, limit)

    def _charged(
        self,
        account_id: int,
        filters: TraceFilter,
        matching: tuple[str, Sequence[Any]],
        limit: int,
    ) -> Sequence[Trace]:
        """Return requests that were charged in the period, with the details that are left."""
        where, values = matching
        instants = (filters.from_ms, filters.to_ms)
        least = least_number(filters.from_ms - NUMBERED_BEFORE_MS_MAX)
        end = least_number(filters.to_ms + NUMBERED_BEFORE_MS_MAX)
        first_number = least_number(filters.from_ms - _CHARGED_AFTER_MS_MAX)
        numbered = "request_id >= ? AND request_id < ?"
        select, condition, codes = _charged_lookups(filters)
        kinds: list[tuple[str, Sequence[Any]]] = [
            (
                f"{select} AND {numbered} AND opened_ms >= ? AND opened_ms < ? AND {condition}",
                (account_id, least, end, *instants, *codes),
            )
        ]
        kinds += [
            (
                f"{select} AND {numbered} AND {_CHARGED_IN} AND {condition}",
                (account_id, first_number, end, *instants, *codes),
            )
            for select, condition, codes in _traces_by_result(filters.results)
        ]
        if not filters.results:  # the result of these is not stored
            kinds.append((_CHARGE, (account_id, *instants, account_id)))
        with self._open_reader() as reading, reading.snapshot():
            rows: list[Any] = []
            for select, given in kinds:
                rows += reading.execute(
                    f"{select} AND credits > 0 AND {where} ORDER BY request_id DESC LIMIT ?",
                    (*given, *values, limit),
                ).fetchall()
        return _newest(rows, limit)

    def certificates(self, account_id: int, user_id: int | None, limit: int) -> Sequence[Trace]:
        """Return the newest requests with a certificate, of all users or one. In any thread."""
        where, values = _matching(("user_id = ?", user_id))
        with self._open_reader() as reading, reading.snapshot():
            rows: list[Any] = []
            for select in (_CERTIFICATE, f"{_FEW_CHARGED_LOOKUPS} AND {_BROUGHT}"):
                rows += reading.execute(
                    f"{select} AND {where} ORDER BY request_id DESC LIMIT ?",
                    (account_id, *values, limit),
                ).fetchall()
        return _newest(rows, limit)

    def owner_of(self, request_id: str) -> int | None:
        """Return the account of a request, for an operator who has its number."""
        row: Any = self._connection.execute(_OWNER, [request_id] * 3).fetchone()
        return None if row is None else row[0]


def find_user(connection: SqlConnection, user_id: int) -> User | None:
    """Return a user, or None."""
    row: Any = connection.execute(f"{_USERS} WHERE p.user_id = ?", (user_id,)).fetchone()
    return None if row is None else _user(row)


def failed_sign_ins(connection: SqlConnection, user_id: int, limit: int) -> Sequence[FailedSignIn]:
    """Return the logged failures of signing in as a person, newest first."""
    rows: Any = connection.execute(_FAILED, (f"usuário {user_id}", limit)).fetchall()
    return [FailedSignIn(*row) for row in rows]


def find_link(connection: SqlConnection, token_digest: bytes, now_ms: int) -> Link | None:
    """Return a valid link, or None. The first operator's is void once there is an operator."""
    row: Any = connection.execute(_LINK, (token_digest, now_ms)).fetchone()
    if row is None:
        return None
    purpose, expires_ms = row[_USER_COLUMNS:]
    if purpose == "first_operator":
        return None if has_operator(connection) else Link(purpose, None, expires_ms)
    return Link(purpose, _user(row), expires_ms)


def has_operator(connection: SqlConnection) -> bool:
    """Return whether any operator has set a password."""
    return connection.execute(_HAS_OPERATOR).fetchone() is not None


def _user(row: Any) -> User:
    number, account_id, email, name, role, password, totp, *rest = row[:_USER_COLUMNS]
    return User(number, account_id, email, name, role, bool(password), bool(totp), *rest)


def _trace(row: Any) -> Trace:
    plain, more = row[: len(TRACE_COLUMNS)], row[len(TRACE_COLUMNS) :]
    trace = dict(zip(TRACE_COLUMNS, plain, strict=True))
    trace["refresh"] = bool(trace["refresh"])
    if len(more) == len(ResultSummary.__struct_fields__):
        return Trace(**trace, result_summary=None if more == (None, None) else ResultSummary(*more))
    return Trace(**trace, certificate=_certificate_of(more) if more else None)


def _certificate_of(columns: Sequence[Any]) -> CertificateSummary | None:
    """Return a request's certificate, without the number of a receipt that was deleted."""
    verdict, validity, name, receipt_id, issued_on, media_type, has_certificate = columns
    if not has_certificate:
        return None
    number = None if media_type is None else receipt_id
    return CertificateSummary(verdict, validity, name, number, media_type, issued_on)


def _newest(rows: Sequence[Any], limit: int) -> Sequence[Trace]:
    """Merge the newest requests of each table, and return the newest of all."""
    newest = sorted(map(_trace, rows), key=lambda trace: trace.request_id, reverse=True)
    return newest[:limit]


def _charged_lookups(filters: TraceFilter) -> tuple[str, str, Sequence[str]]:
    """Return the SELECT of charged lookups, and the condition and values for the wanted results.

    Without a certificate the result of a charged lookup is not stored.
    """
    if filters.results:
        return _FEW_CHARGED_LOOKUPS, f"{_BROUGHT} AND {_verdicts(filters.results)}", filters.results
    return _CHARGED_LOOKUP if filters.document_hash is None else _FEW_CHARGED_LOOKUPS, "TRUE", ()


def _traces_by_result(results: Sequence[str]) -> Sequence[tuple[str, str, Sequence[str]]]:
    """Return SELECT, condition and values of both trace tables for these results; empty: any."""
    if not results:
        return ((_TRACE, "TRUE", ()), (_CERTIFICATE, "TRUE", ()))
    marks = " OR ".join(["result = ? OR result LIKE ?"] * len(results))
    patterns = [text for code in results for text in (code, f"{code}:%")]
    return ((_TRACE, f"({marks})", patterns), (_CERTIFICATE, _verdicts(results), results))


def _verdicts(results: Sequence[str]) -> str:
    return f"verdict IN ({', '.join('?' * len(results))})"


def _named(account_id: int, words: Sequence[str]) -> tuple[str, Sequence[object]]:
    """Return a condition: a request of the account has the company's name with all these words."""
    having = " AND ".join(["account_id = ?", *["upper(name) LIKE ?"] * len(words)])
    tables = [f"SELECT document FROM {name} {having}" for name in _KNOW_NAMES]  # noqa: S608
    patterns = [f"%{word.translate(_NO_WILDCARDS)}%" for word in words]
    return f"document IN ({' UNION '.join(tables)})", [account_id, *patterns] * len(_KNOW_NAMES)


_KNOW_NAMES = ("trace WHERE", "certificate_trace WHERE", f"{_FEW} AS few WHERE {_BROUGHT} AND")
_NO_WILDCARDS = str.maketrans("", "", "%_\\")


def _matching(*conditions: tuple[str, object]) -> tuple[str, list[Any]]:
    """Return the conjunction of the conditions that have a value, and the values."""
    filters = [(sql, value) for sql, value in conditions if value is not None]
    return " AND ".join(["TRUE", *(sql for sql, _ in filters)]), [value for _, value in filters]
