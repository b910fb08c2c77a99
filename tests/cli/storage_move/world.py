"""Data to move in these tests, and sums to compare."""

import asyncio
from collections.abc import Mapping
from contextlib import closing
from typing import Any

import msgspec
import pytest
from pydantic import SecretStr

from balcao.backup.moving import move as moving
from balcao.core.access import Account
from balcao.core.availability import SourceCounts
from balcao.core.budgets import Budget
from balcao.core.calendar import HOUR_MS
from balcao.core.certificates import CertificateSummary
from balcao.core.deprecations import DeprecatedUse
from balcao.core.documents import Cpf
from balcao.core.extensions import Extension
from balcao.core.freshness import CacheEntry
from balcao.core.ledger import Enqueue
from balcao.core.people import Signature
from balcao.core.rate_limit import Limit
from balcao.core.secrets import secret_id
from balcao.core.wallet import ItemRequest, Watched
from balcao.home import Home, new_secret
from balcao.settings import Settings
from balcao.storage.batches import NewBatch, NewRow
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.exports import StoredExport
from balcao.storage.desk.mail import NewMail
from balcao.storage.desk.wallet import Entry
from balcao.storage.numbers import least_number
from balcao.storage.people import NewUser
from balcao.storage.postgresql.cache import PostgresCache
from balcao.storage.sqlite.cache import SqliteCache
from balcao.storage.sqlite.desk import SqliteDesk
from balcao.storage.totals import Fingerprint
from balcao.storage.transfer.lines import Sum
from balcao.storage.transfer.tables import all_tables
from tests.storage.people import BY, a_token, a_trace, together
from tests.storage.world import NOW, a_bind, a_charge, a_finish, a_hold, a_keep, a_top_up

# Characters that COPY escapes.
ODD = "aba\tlinha\nretorno\rbarra\\ nulo \\N 'aspas\" ção 😀\b\v\f"

BROUGHT = CertificateSummary("CND", "2027-02-15", ODD, "n1", "application/pdf", "2026-08-19")
# Other kinds of charged lookups.
MORE: tuple[dict[str, Any], ...] = (
    {"document": "***", "document_hash": b"\0\2"},
    {"certificate": BROUGHT},
)


def furnish(desk: Desk, home: Home) -> None:
    """Fill every table of a desk that has the accounts acme and beta, and a key.

    A second secret is in use: it joins the first one in the data folder.
    """
    added = new_secret()
    home.replace_secrets([*home.secrets(), added])
    accounts = {account.name: account for account in desk.accounts()}
    acme, beta = accounts["acme"], accounts["beta"]
    desk.commit_now([a_top_up(acme, 1052, reason=ODD)])
    for number in range(200):
        desk.commit_now([a_charge(acme, f"r{number:04}"), a_trace(acme, f"r{number:04}")])
    for at_ms in range(NOW, NOW + 50):
        charged_lookup = f"{least_number(at_ms)}-7abc"
        desk.commit_now(
            [
                together(
                    a_charge(acme, charged_lookup, at_ms=at_ms),
                    a_trace(acme, charged_lookup, opened_ms=at_ms, uf="SP"),
                )
            ]
        )
    for at_ms, kind in enumerate(MORE):
        charged_lookup = f"{least_number(NOW + at_ms)}-7abd"
        desk.commit_now(
            [
                a_charge(acme, charged_lookup, at_ms=NOW + at_ms),
                a_trace(acme, charged_lookup, opened_ms=NOW + at_ms, **kind),
            ]
        )
    desk.commit_now([a_charge(beta, "b1", 7), a_keep(acme, "n1"), a_keep(None, "n2", "outro")])
    desk.commit_now([a_bind(acme, "k1", "x1"), a_finish(acme, "k1", "x1", body=bytes(range(256)))])
    desk.commit_now([a_hold(acme, "h1", 3), a_bind(acme, "k2", "h1")])
    hashed = a_trace(acme, "p1", document="***", document_hash=b"\0\1\xff", uf="SP", code=ODD)
    desk.commit_now([hashed])
    desk.commit_now([a_trace(acme, "p2", certificate=BROUGHT), Enqueue("it", ODD, NOW)])

    async def people() -> None:
        result = desk.people
        op = await result.add_user(NewUser("op@exemplo.com.br", "Op", "operator", None), BY, NOW)
        await desk.memberships.give(op.user_id, acme.account_id, "manager", BY, NOW)
        await result.open_session(op.user_id, a_token("s2"), BY, NOW, ODD)
        worn = result.session(a_token("s2"), NOW, 10**9, 10**9)
        assert worn is not None
        assert await desk.memberships.act_in(worn.session_id, op.user_id, acme.account_id)
        act = Extension("state_certificate", "SP", "2026-05-01", "2026-05-31", None, 90, ODD)
        await desk.extensions.add(act, BY, NOW)
        lia = await result.add_user(
            NewUser("lia@exemplo.com.br", ODD, "manager", acme.account_id), BY, NOW
        )
        await result.set_password(lia.user_id, "argon", BY, NOW)
        await result.open_session(lia.user_id, a_token("s1"), Signature("web", lia.user_id), NOW)
        await result.make_link(
            a_token("l1"), "set_password", lia.user_id, signed=BY, now_ms=NOW, expires_ms=NOW * 2
        )
        await result.set_totp(lia.user_id, b"\0secret", BY, NOW, recovery=[b"\0c1", b"\xffc2"])
        await desk.mail.add(NewMail("m1", ODD, bytes(range(256)), NOW, NOW * 2))
        await desk.mail.set_threshold(acme.account_id, 100, BY, NOW)
        caller = await desk.caller(next(iter(hashes(desk))), NOW)
        assert caller is not None
        await desk.spend(caller, [Limit("minuto", 5, 7, of_key=True)], NOW)

        await _a_batch(desk, acme.account_id)
        await _watch(desk, acme.account_id)
        await _a_budget(desk, acme)
        await _totals(desk, acme.account_id, lia.user_id)
        failed = SourceCounts(NOW, "suframa", "", "cnpja", 9, 0, 1)
        await desk.availability.add("live", [failed])
        await desk.availability.follow("live", NOW + HOUR_MS)
        used = DeprecatedUse(acme.account_id, ODD, caller.key_id or 0, "2026-08-19", 7)
        await desk.deprecated_uses.add([used])
        await desk.receipt_marks.next(None, "marca", NOW)
        assert await desk.secrets.activate(secret_id(added), NOW)

    asyncio.run(people())


async def _totals(desk: Desk, account_id: int, user_id: int) -> None:
    """Add daily totals, a sealed month, and an export that waits for download."""
    await desk.totals.fold(NOW + 25)
    await desk.totals.seal(account_id, "2026-06", Fingerprint(3, "ab" * 32))
    await desk.exports.begin(StoredExport("e", account_id, user_id, "csv", ODD, "{}", 0, None, NOW))
    await desk.exports.keep("e", "a", 0, bytes(range(256)))
    await desk.exports.finish("e", "a", 1, 256)


async def _a_budget(desk: Desk, account: Account) -> None:
    """Add a budget with spending and a warning."""
    budget = Budget(
        0, account.account_id, "teto", ODD, "cliente", "loja-7", "mes", 100, None, None, 1, NOW
    )
    await desk.budgets.make(budget, BY)
    charge = a_charge(account, "de-loja", 5)
    assert desk.commit_now([msgspec.structs.replace(charge, client="loja-7")]) is None


async def _a_batch(desk: Desk, account_id: int) -> None:
    """Add a batch that is being read: its file, a row, and counts."""
    new = NewBatch(
        "lote", account_id, None, None, ODD, "c", "suframa", "", "{}", "text/csv", None, "k",
        "f", NOW,
    )  # fmt: skip
    await desk.batches.store_piece("lote", 0, bytes(range(256)), NOW)
    await desk.batches.receive(new, ())
    await desk.batches.begin("lote")
    row = NewRow(2, "pendente", ODD, None, "***", b"\0h", b"s", 0, 2, False, None, b"\0cells")
    await desk.batches.add_rows("lote", [row])


async def _watch(desk: Desk, account_id: int) -> None:
    """Add a portfolio with an item, a switch of the month and a webhook, each with its rows."""
    request = ItemRequest(tags=(ODD,), watched=("produtor:SP",))
    person = Entry(1, Watched("***", None, Cpf("90030000181")), request, b"\0h", b"\0sealed")
    await desk.wallets.add(account_id, person, 1, lambda: "i1", NOW)
    at = str(NOW)
    statements = (
        (
            f"INSERT INTO month_switch (to_month, establishments, at_ms) VALUES (?, 1, {at})",
            "2026-10",
        ),
        (
            "INSERT INTO month_comparison"
            f" SELECT switch_id, ?, '', 0, 0, 0, {at}, NULL FROM month_switch",
            account_id,
        ),
        (
            "INSERT INTO webhook (webhook_id, account_id, url, state, secret, secret_tail,"
            " created_ms, planned_event)"
            f" VALUES (?, ?, ?, ?, ?, ?, {at}, 0)",
            "w1", account_id, "https://exemplo.com.br/x", "ativo", b"\0s", "abcd",
        ),
        (
            "INSERT INTO webhook_delivery"
            " (webhook_id, event_id, state, attempts, created_ms, next_ms)"
            f" VALUES (?, 1, ?, 0, {at}, {at})",
            "w1", "esperando",
        ),
        ("INSERT INTO event_reader (account_id, user_id) VALUES (?, 1)", account_id),
        (
            "INSERT INTO wallet_paper (paper_id, account_id, kind, uf, name, created_ms)"
            f" VALUES (?, ?, 'outra', '', ?, {at})",
            "p1", account_id, ODD,
        ),
        ("INSERT INTO wallet_item_paper (item_id, paper_id) VALUES (?, ?)", "i1", "p1"),
        (
            "INSERT INTO wallet_item_before"
            f" SELECT item_id, account_id, ?, ?, {at}, '[]', NULL, {at}, '{{}}', NULL, 0"
            " FROM wallet_item",
            ODD, b"\0r",
        ),
        (
            "INSERT INTO wallet_paper_before (paper_id, account_id, act, purchases, attempts,"
            " failures) SELECT paper_id, account_id, ?, 1, 2, 3 FROM wallet_paper",
            ODD,
        ),
        (
            f"INSERT INTO wallet_calendar VALUES (?, ?, 1, ?, NULL, ?, {at})",
            "c1", account_id, ODD, b"\0t",
        ),
        (
            f"INSERT INTO wallet_calendar_entry VALUES (?, ?, ?, ?, 2, {at}, NULL)",
            "c1", "p1", "2026-12-31", b"\0d",
        ),
    )  # fmt: skip
    for sql, *values in statements:
        desk.engine.connection.execute(str(sql), values)


def hashes(desk: Desk) -> list[bytes]:
    assert isinstance(desk, SqliteDesk)
    return [bytes(one) for (one,) in desk.engine.connection.execute("SELECT hash FROM api_key")]


def keep(cache: SqliteCache | PostgresCache, number: int, *, asked_ms: int = NOW) -> None:
    with closing(cache):
        cache.keep(
            [
                (
                    f"empresa:{one}:{ODD if one == 1 else ''}",
                    CacheEntry(b"\0x" * one, asked_ms, "s"),
                )
                for one in range(number)
            ]
        )


def contents(settings: Settings) -> Mapping[str, tuple[int, str]]:
    """Return rows and checksum of every table of the configured storage."""
    with closing(moving.open_source(settings)) as end:
        found = {}
        for table in all_tables():
            total = Sum()
            for line in end.lines(table):
                total.add(line)
            found[table.label] = (total.rows, total.checksum)
        return found


def at(address: str = "") -> Settings:
    return Settings(database=SecretStr(address))


def in_postgres(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("BALCAO_DATABASE", address)


def in_sqlite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BALCAO_DATABASE")


def rows(report: Any, name: str) -> Any:
    return next(one for one in report["tables"] if one["name"] == name)
