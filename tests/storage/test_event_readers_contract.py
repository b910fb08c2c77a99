"""Messages about a portfolio and visits of its changes, on every engine."""

import datetime
import json

import pytest

from balcao.accounts.mail.outbox import Outbox, unsubscribing
from balcao.accounts.seal import Seal
from balcao.core.access import Account
from balcao.core.calendar import BRASILIA, to_ms
from balcao.core.events import NewEvent
from balcao.core.mail import MailText, Message
from balcao.core.secrets import single
from balcao.service.digests import Digests
from balcao.storage.connection import SqlConnection
from balcao.storage.desk import event_readers
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.event_readers import VISIT_MS
from balcao.storage.desk.events import write_events
from tests.storage.engines import Engine
from tests.storage.people import BY, a_user
from tests.storage.world import NOW

OUTBOX = Outbox(Seal(single(b"p" * 32)), "https://balcao.test")
MORNING = to_ms(datetime.datetime(2026, 8, 10, 9, tzinfo=BRASILIA))
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


class Readers:
    """An account with one person in its notices, and processes that check for messages."""

    def __init__(self, engine: Engine, desk: Desk, account: Account) -> None:
        self.engine, self.desk, self.number = engine, desk, account.account_id
        self.now_ms = MORNING
        self.user = a_user(engine, desk, account)
        engine.run(desk.people.set_password(self.user.user_id, "hash", BY, NOW))
        engine.sql(
            "INSERT INTO wallet (account_id, notices, created_ms) VALUES (?, ?, 0) RETURNING 1",
            *(self.number, json.dumps({"pessoas": [self.user.user_id]})),
        )

    def add_item(self, number: str, **values: object) -> None:
        usual = {
            "item_id": number, "account_id": self.number, "document": "90010001000100",
            "root": "90010001", "client": number, "tags": "[]", "watched": "[]",
            "registrations": "[]", "created_ms": 0,
            "registry": json.dumps({"nome_empresarial": "ALFA LTDA"}),
        }  # fmt: skip
        row = usual | values
        places = ", ".join("?" * len(row))
        self.engine.sql(
            f"INSERT INTO wallet_item ({', '.join(row)}) VALUES ({places}) RETURNING 1",
            *row.values(),
        )

    def write(self, item: str | None, kind: str = "empresa.nome", **data: object) -> None:
        silent = bool(data.pop("silent", False))
        event = NewEvent(
            self.number,
            kind,
            self.now_ms,
            json.dumps(data, separators=(",", ":")),
            item_id=item,
            silent=silent,
        )

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                write_events(connection, [event])

        self.engine.run(self.desk.engine.run_in_writer(work))

    def check(self, desk: Desk | None = None) -> list[MailText]:
        """Run the check once and return the messages that it queued."""
        before = self._queued()
        self.engine.run(Digests(desk or self.desk, OUTBOX, lambda: self.now_ms).run())
        texts = []
        for number, content in self._queued().items():
            if number not in before:
                opened = OUTBOX.open(bytes(content))
                assert isinstance(opened, Message)
                assert opened.to == self.user.email
                texts.append(opened.text)
        return texts

    def _queued(self) -> dict[str, bytes]:
        return dict(self.engine.sql("SELECT mail_id, content FROM mail"))


@pytest.fixture
def readers(engine: Engine, desk: Desk, ana: Account) -> Readers:
    return Readers(engine, desk, ana)


def test_a_week_of_downtime_is_one_digest(readers: Readers) -> None:
    readers.write(None, "saldo.baixo", saldo=1)  # before the person is a reader
    assert readers.check() == []
    other = readers.engine.open()  # another node
    for number in ("one", "handled", "removed"):
        readers.add_item(number)
    readers.engine.sql(
        "UPDATE wallet_item SET handled_ms = 1 WHERE item_id = 'handled' RETURNING 1"
    )
    readers.engine.sql("UPDATE wallet_item SET ended_ms = 1 WHERE item_id = 'removed' RETURNING 1")
    for _ in range(7):
        readers.now_ms += DAY_MS
        readers.write("one", "empresa.situacao", de="ATIVA", para="INAPTA", grave=True)
        for number in ("one", "handled", "removed"):
            readers.write(number, de="ALFA", para="BETA")
        readers.write("one", silent=True)
    (digest,) = [*readers.check(other), *readers.check(), *readers.check(other)]
    assert digest.subject == "Carteira: 14 novidades em 1 item"
    assert digest.unsubscribe.startswith("https://balcao.test/app/avisos/")
    token = digest.unsubscribe.rpartition("/")[2]
    assert unsubscribing(OUTBOX.seal, token) == (readers.number, readers.user.user_id)
    assert unsubscribing(OUTBOX.seal, f"9{token}") is None
    # The next morning there is nothing new, and so no message.
    readers.now_ms += DAY_MS
    assert readers.check() == []
    # At once, by day.
    readers.now_ms += HOUR_MS
    readers.write("one", "empresa.situacao", de="ATIVA", para="BAIXADA", grave=True)
    readers.write("one")
    (urgent,) = readers.check() + readers.check(other)
    assert urgent.subject == "ALFA LTDA: Situação cadastral: ATIVA → BAIXADA"
    readers.now_ms += DAY_MS
    (digest,) = readers.check()
    assert digest.subject == "Carteira: 1 novidade em 1 item"


def test_many_events_hide_no_grave_one(readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_readers, "EVENTS_AT_ONCE", 3)
    readers.add_item("one")
    assert readers.check() == []
    for _ in range(4):
        readers.write("one")
    readers.write("one", "empresa.situacao", de="ATIVA", para="INAPTA", grave=True)
    readers.write("one")
    readers.write(None, "carteira.parada", motivo="saldo")
    (urgent,) = readers.check()
    assert urgent.subject == "Carteira: 2 avisos importantes"
    readers.now_ms += DAY_MS
    (digest,) = readers.check()  # without those that were sent at once
    assert digest.subject == "Carteira: 3 novidades em 1 item"


def test_people_who_left_the_notices_get_no_backlog(readers: Readers) -> None:
    def choose(*people: int) -> None:
        readers.engine.sql(
            "UPDATE wallet SET notices = ? RETURNING 1", json.dumps({"pessoas": people})
        )

    user = readers.user.user_id
    assert readers.check() == []
    choose()
    readers.check()
    readers.write(None, "saldo.baixo", saldo=1)
    choose(user)
    readers.now_ms += DAY_MS
    assert readers.check() == []
    readers.write(None, "saldo.baixo", saldo=1)
    readers.engine.run(readers.desk.people.suspend_user(user, True, BY, NOW))
    readers.now_ms += DAY_MS
    assert readers.check() == []
    readers.engine.run(readers.desk.people.suspend_user(user, False, BY, NOW))
    assert len(readers.check()) == 1


def test_a_visit_shows_changes_since_the_one_before(readers: Readers) -> None:
    desk, account, user = readers.desk.event_readers, readers.number, readers.user.user_id

    def visit(now_ms: int) -> int:
        return readers.engine.run(desk.visit(account, user, now_ms))

    readers.add_item("one")
    readers.write("one")
    assert (readers.engine.run(desk.unseen(account, user)), visit(NOW)) == (1, 0)
    assert (readers.engine.run(desk.unseen(account, user)), visit(NOW + VISIT_MS)) == (0, 0)
    readers.write("one")
    readers.write(None, "saldo.baixo")
    assert readers.engine.run(desk.unseen(account, user)) == 1
    first = visit(NOW + 3 * VISIT_MS)
    assert first > 0
    assert visit(NOW + 4 * VISIT_MS) == first
