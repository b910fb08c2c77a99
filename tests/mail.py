"""A mail server on the loopback for tests: keeps what it accepts, and refuses as it is set to."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import SMTP as POLICY
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from balcao.core.mail import MailServer, MailTls
from tests.certificates import self_signed

USER, PASSWORD = "balcao", "segredo do envio"


class Sink:
    """Accepts messages. `replies` has the reply to the next recipients, by address."""

    def __init__(self) -> None:
        self.accepted: list[EmailMessage] = []
        self.replies: dict[str, str] = {}
        self.port = 0

    async def handle_RCPT(  # noqa: N802 - called by this name
        self, _: SMTP, __: Session, envelope: Envelope, address: str, ___: list[str]
    ) -> str:
        if (refusal := self.replies.get(address)) is not None:
            return refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(  # noqa: N802
        self, _: SMTP, __: Session, envelope: Envelope
    ) -> str:
        assert isinstance(envelope.content, bytes)
        message: Any = BytesParser(policy=POLICY).parsebytes(envelope.content)
        self.accepted.append(message)
        return "250 OK"

    def server(self, tls: MailTls = "none", **values: Any) -> MailServer:
        """Return the settings of a sender."""
        usual: dict[str, Any] = {"sender": "balcao@exemplo.test"}
        host = "127.0.0.1" if tls == "none" else "localhost"
        return MailServer(host, self.port, tls, **usual | values)

    def texts(self, number: int = -1) -> tuple[str, str]:
        """Return the text and the HTML part of an accepted message."""
        message = self.accepted[number]
        parts = [message.get_body((kind,)) for kind in ("plain", "html")]
        first, second = (part.get_content() for part in parts if part is not None)
        return first, second


def _log_in(_: Any, __: Any, ___: Any, ____: str, given: Any) -> AuthResult:
    assert isinstance(given, LoginPassword)
    right = (given.login, given.password) == (USER.encode(), PASSWORD.encode())
    return AuthResult(success=right, handled=False)


@contextmanager
def mail_sink(
    tls: MailTls = "none", folder: Path | None = None, *, name: str = "localhost"
) -> Iterator[Sink]:
    """Run a mail server; with TLS it has a certificate for `name` in the folder."""
    sink, context = Sink(), None
    if tls != "none":
        assert folder is not None
        files = self_signed(folder, name)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)
    loop, host = asyncio.new_event_loop(), "localhost" if context else "127.0.0.1"

    sessions: list[SMTP] = []

    def session() -> SMTP:
        one = SMTP(
            sink,
            hostname="sink.test",  # or it would look up its own
            loop=loop,
            authenticator=_log_in,
            auth_require_tls=tls == "starttls",
            tls_context=context if tls == "starttls" else None,
            require_starttls=tls == "starttls",
        )
        sessions.append(one)
        return one

    implicit = context if tls == "tls" else None
    listening = loop.create_server(session, host, 0, ssl=implicit, family=socket.AF_INET)
    server = loop.run_until_complete(listening)
    sink.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield sink
    finally:
        asyncio.run_coroutine_threadsafe(_ended(server, sessions), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _ended(server: asyncio.Server, sessions: list[SMTP]) -> None:
    """Close every connection and wait for the tasks that serve them."""
    server.close()
    tasks = [each for each in asyncio.all_tasks() if each is not asyncio.current_task()]
    for session in sessions:
        if session.transport is not None:
            session.transport.close()
    if tasks:
        await asyncio.wait(tasks, timeout=5)
