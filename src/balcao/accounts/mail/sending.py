"""Sending by SMTP, over TLS with a verified certificate."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.message import EmailMessage

import aiosmtplib

from balcao.core.mail import MailServer, domain_of

TIMEOUT_SECONDS = 20.0
_PERMANENT = 500


class MailDelayed(Exception):
    """The message was not accepted for now. `reason`: a reply code or the error's class."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class MailRefused(Exception):
    """The server refused this message for good. `code`: its reply."""

    def __init__(self, code: int) -> None:
        super().__init__(str(code))
        self.code = code


@asynccontextmanager
async def connected(server: MailServer) -> AsyncIterator[aiosmtplib.SMTP]:
    """Give a connection with TLS and authentication done.

    Raises `aiosmtplib.SMTPException`, `OSError`, `ssl.SSLError`.
    """
    client = aiosmtplib.SMTP(
        hostname=server.host,
        port=server.port,
        username=server.user or None,
        password=server.password or None,
        local_hostname=domain_of(server.sender),
        timeout=TIMEOUT_SECONDS,
        use_tls=server.tls == "tls",
        start_tls=server.tls == "starttls",
        tls_context=None if server.tls == "none" else ssl.create_default_context(),
    )
    async with client:
        yield client


async def send(server: MailServer, message: EmailMessage) -> None:
    """Send a message. Raises `MailDelayed`, `MailRefused`."""
    accepted = False
    try:
        async with connected(server) as client:
            await client.send_message(message)
            accepted = True
    except aiosmtplib.SMTPRecipientsRefused as error:
        raise _refused(error.recipients[0].code) from None
    except aiosmtplib.SMTPDataError as error:
        raise _refused(error.code) from None
    except aiosmtplib.SMTPResponseException as error:  # of the connection: the settings are wrong
        if not accepted:
            raise MailDelayed(str(error.code)) from None
    except (aiosmtplib.SMTPException, OSError) as error:
        if not accepted:  # afterwards, only the goodbye failed
            raise MailDelayed(type(error).__name__) from None


def _refused(code: int) -> MailDelayed | MailRefused:
    return MailRefused(code) if code >= _PERMANENT else MailDelayed(str(code))
