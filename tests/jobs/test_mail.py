"""Sending queued messages: over TLS, with retries, refusals and expiry; nothing personal logged."""

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import closing
from email.message import EmailMessage
from pathlib import Path

import aiosmtplib
import pytest
from structlog.testing import capture_logs

from balcao.accounts.links import token_digest
from balcao.accounts.mail.outbox import RESET_MINUTES, Outbox
from balcao.accounts.mail.rendering import mime_message
from balcao.accounts.mail.sending import MailDelayed, MailRefused, send
from balcao.accounts.seal import Seal
from balcao.core.mail import (
    PORTS,
    MailLine,
    MailSection,
    MailServer,
    MailText,
    MailTls,
    retry_seconds,
    trial,
)
from balcao.core.people import Signature, User, is_email
from balcao.core.secrets import single
from balcao.service.mail_delivery import MailDelivery
from balcao.storage.contract import NewAccount
from balcao.storage.people import NewUser
from balcao.storage.sqlite.desk import SqliteDesk
from tests.mail import PASSWORD, USER, Sink, mail_sink

# Handshakes that the client ends leave sockets of the sink to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

NOW = 1_786_158_000_000
TO = "ana@empresa.test"
TEXT = MailText(
    "Assunto com ç",
    ("Olá, <Ana> & família.",),
    sections=(MailSection("Mudanças", (MailLine("A & B", "https://b.test/1", ("x → y",)),)),),
    unsubscribe="https://b.test/app/avisos/1-2-ab",
)


def a_message(to: str = TO) -> EmailMessage:
    return mime_message("ab12", "balcao@exemplo.test", to, TEXT, NOW)


def test_both_parts_have_the_text() -> None:
    with mail_sink() as sink:
        asyncio.run(send(sink.server(), a_message()))
        (message,) = sink.accepted
        plain, page = sink.texts()
    assert (message["Subject"], message["To"]) == ("Assunto com ç", TO)
    assert message["From"] == "Balcão <balcao@exemplo.test>"
    assert message["Message-ID"] == "<ab12@exemplo.test>"
    assert message["Auto-Submitted"] == "auto-generated"
    # One request without signing in stops them (RFC 8058).
    assert message["List-Unsubscribe"] == "<https://b.test/app/avisos/1-2-ab>"
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    plain = plain.replace("\r\n", "\n")
    assert "MUDANÇAS\n\n- A & B\n  x → y\n  https://b.test/1\n" in plain
    assert 'href="https://b.test/1" style="color:#1d5c43">A &amp; B</a><br>x → y</li>' in page
    assert "Olá, <Ana> & família." in plain
    assert "Olá, &lt;Ana&gt; &amp; família." in page


@pytest.mark.parametrize("tls", ["tls", "starttls"])
def test_certificates_are_verified(
    tls: MailTls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mail_sink(tls, tmp_path) as sink:
        server = sink.server(tls, user=USER, password=PASSWORD)
        with pytest.raises(MailDelayed):  # its issuer is unknown
            asyncio.run(send(server, a_message()))
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "fullchain.pem"))
        asyncio.run(send(server, a_message()))
        with pytest.raises(MailDelayed, match="535"):
            asyncio.run(send(sink.server(tls, user=USER, password="outra"), a_message()))
        assert len(sink.accepted) == 1
    (tmp_path / "other").mkdir()
    with mail_sink(tls, tmp_path / "other", name="outro.test") as sink:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "other" / "fullchain.pem"))
        with pytest.raises(MailDelayed):  # trusted, for another name
            asyncio.run(send(sink.server(tls), a_message()))
        assert sink.accepted == []


def test_a_server_without_tls_gets_nothing() -> None:
    with mail_sink() as sink:
        for tls in PORTS.keys() - {"none"}:
            server = MailServer("127.0.0.1", sink.port, tls, "balcao@exemplo.test")
            with pytest.raises(MailDelayed):
                asyncio.run(send(server, a_message()))
        assert sink.accepted == []


def test_refusals_for_now_and_for_good() -> None:
    with mail_sink() as sink:
        sink.replies[TO] = "451 mais tarde"
        with pytest.raises(MailDelayed, match="451"):
            asyncio.run(send(sink.server(), a_message()))
        sink.replies[TO] = "550 desconhecido"
        with pytest.raises(MailRefused, match="550"):
            asyncio.run(send(sink.server(), a_message()))
    with pytest.raises(MailDelayed):  # the port is closed
        asyncio.run(send(sink.server(), a_message()))


class World:
    """A desk with one manager, and the delivery of its messages to a sink."""

    def __init__(self, desk: SqliteDesk, sink: Sink) -> None:
        self.desk, self.sink, self.now_ms = desk, sink, NOW
        self.outbox = Outbox(Seal(single(b"p" * 32)), "https://balcao.test")
        self.delivery = MailDelivery(desk, self.outbox, sink.server(), lambda: self.now_ms)
        account = desk.create_account(NewAccount("ana", "pre_pago", "test"), NOW)
        self.user = asyncio.run(self._add(account.account_id))

    async def _add(self, account_id: int) -> User:
        new = NewUser(TO, "Ana Souza", "manager", account_id)
        user = await self.desk.people.add_user(new, Signature("cli"), NOW)
        await self.desk.people.set_password(user.user_id, "hash", Signature("cli"), NOW)
        return user

    async def queue(self, to: str = TO) -> str:
        one = self.outbox.message("invitation", to, trial(), self.now_ms, hours=1)
        await self.desk.mail.add(one)
        return one.mail_id


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with mail_sink() as sink, closing(SqliteDesk(tmp_path / "balcao.db")) as desk:
        yield World(desk, sink)


def test_a_message_is_sent_once(world: World) -> None:
    async def story() -> None:
        number = await world.queue()
        assert await world.delivery.deliver(number) is None
        assert await world.delivery.deliver(number) is None  # a job may run again

    with capture_logs() as logs:
        asyncio.run(story())
    assert len(world.sink.accepted) == 1
    assert logs == [{"event": "mail.sent", "kind": "invitation", "log_level": "info"}]


def test_a_delayed_message_is_tried_later_and_then_expires(world: World) -> None:
    async def story() -> None:
        number = await world.queue()
        world.sink.replies[TO] = "451 mais tarde"
        delays = [await world.delivery.deliver(number) for _ in range(2)]
        assert delays == [retry_seconds(1), retry_seconds(2)] == [60.0, 300.0]
        world.now_ms += 3_600_000
        assert await world.delivery.deliver(number) is None
        assert await world.desk.mail.find(number) is None

    with capture_logs() as logs:
        asyncio.run(story())
    assert world.sink.accepted == []
    assert [each["event"] for each in logs] == ["mail.delayed", "mail.delayed", "mail.expired"]
    assert TO not in str(logs)


def test_a_refused_message_loses_its_content(world: World) -> None:
    async def story() -> None:
        number = await world.queue()
        world.sink.replies[TO] = "550 desconhecido"
        assert await world.delivery.deliver(number) is None
        (count,) = await world.desk.mail.counts()
        assert (count.refusal, count.count) == (550, 1)
        del world.sink.replies[TO]
        assert await world.delivery.deliver(number) is None

    asyncio.run(story())
    assert world.sink.accepted == []


@pytest.mark.parametrize("to", ["a..b@empresa.test", "a,b@empresa.test", "a@empresa..test"])
def test_a_message_to_an_impossible_address_is_refused(world: World, to: str) -> None:
    assert is_email(to)

    async def story() -> None:
        assert await world.delivery.deliver(await world.queue(to)) is None
        (count,) = await world.desk.mail.counts()
        assert (count.refusal, count.count) == (553, 1)

    asyncio.run(story())


def test_without_a_server_messages_wait(world: World) -> None:
    delivery = MailDelivery(world.desk, world.outbox, None, lambda: world.now_ms)

    async def story() -> None:
        number = await world.queue()
        assert await delivery.deliver(number) == retry_seconds(1)
        assert await world.delivery.deliver(number) is None

    asyncio.run(story())
    assert len(world.sink.accepted) == 1
    assert [one.name for one in delivery.periodic_tasks()] == ["low_balance"]
    account = world.user.account_id
    assert account is not None
    asyncio.run(world.desk.mail.set_threshold(account, 9, Signature("cli"), NOW))
    asyncio.run(delivery.notify())  # an event alone
    assert [one.kind for one in world.desk.events.after(account, 0, 9)] == ["saldo.baixo"]
    assert asyncio.run(world.desk.mail.counts()) == []


def test_a_reset_is_sent_only_to_a_person(world: World) -> None:
    async def story(*emails: str) -> None:
        for email in emails:
            one = world.outbox.password_reset(email, world.now_ms)
            await world.desk.mail.add(one)
            assert await world.delivery.deliver(one.mail_id) is None
            assert await world.desk.mail.find(one.mail_id) is None

    asyncio.run(story("ninguem@empresa.test", TO.upper()))
    (message,) = world.sink.accepted
    assert message["To"] == TO
    plain, page = world.sink.texts()
    token = plain.partition("https://balcao.test/app/convite/")[2].split()[0]
    assert f"/app/convite/{token}" in page
    people = world.desk.people
    link = people.link(token_digest(token), NOW)
    assert link is not None
    assert (link.purpose, link.user and link.user.user_id) == (
        "reset_password",
        world.user.user_id,
    )
    assert people.link(token_digest(token), NOW + RESET_MINUTES * 60_000) is None
    suspend = people.suspend_user(world.user.user_id, True, Signature("cli"), NOW)
    asyncio.run(suspend)
    asyncio.run(story(TO))
    assert len(world.sink.accepted) == 1


def test_managers_receive_the_notice(world: World) -> None:
    async def story() -> None:
        account = world.user.account_id
        assert account is not None
        await world.desk.mail.set_threshold(account, 9, Signature("cli"), NOW)
        for _ in range(2):
            await world.delivery.notify()
        (count,) = await world.desk.mail.counts()
        assert (count.kind, count.count) == ("low_balance", 1)
        jobs = await world.desk.jobs.claim("mail", "me", NOW, NOW + 1, 9, 8)
        for job in jobs:
            await world.delivery.deliver(job.about)

    asyncio.run(story())
    plain, _ = world.sink.texts()
    assert "A conta ana tem 0 créditos disponíveis, menos que os 9 créditos do seu aviso." in plain


def test_the_library_reports_tls_as_assumed() -> None:
    """`send` depends on these relations."""
    assert issubclass(ssl.SSLError, OSError)
    assert issubclass(aiosmtplib.SMTPAuthenticationError, aiosmtplib.SMTPResponseException)
    assert not issubclass(aiosmtplib.SMTPRecipientsRefused, aiosmtplib.SMTPResponseException)
