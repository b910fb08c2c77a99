"""Events of an account: what happened, written in the commit of its cause (contract 19)."""

import re

import msgspec

_NUMBER_DIGITS = 13
_ID = re.compile(rf"evt_(\d{{{_NUMBER_DIGITS},18}})")

# How long events are shown in the feed, and kept.
KEPT_DAYS = 90


class NewEvent(msgspec.Struct, frozen=True, gc=False):
    """An event to write for an account. Never refused.

    `body` is JSON without personal data. A second event of one `cause` is not written.
    """

    account_id: int
    kind: str
    at_ms: int
    body: str
    cause: str | None = None
    item_id: str | None = None  # the watched subject that it is about
    client: str | None = None  # the end client of that subject
    webhook_id: str | None = None  # sent to this endpoint alone, and not in the feed
    silent: bool = False  # in the feed alone: no webhook, no e-mail
    clock_run: int | None = None  # of a test portfolio's clock


class StoredEvent(msgspec.Struct, frozen=True, gc=False):
    """An event as stored. Numbers of an account grow in the order of its commits."""

    number: int
    account_id: int
    kind: str
    at_ms: int
    body: str
    item_id: str | None = None
    client: str | None = None
    webhook_id: str | None = None
    silent: bool = False

    @property
    def event_id(self) -> str:
        """The public identifier."""
        return event_id(self.number)


def event_id(number: int) -> str:
    """Return the public identifier of an event: the same in the feed and in every delivery."""
    return f"evt_{number:0{_NUMBER_DIGITS}d}"


def event_number(identifier: str) -> int | None:
    """Return the number of a public identifier; None: it is none."""
    match = _ID.fullmatch(identifier)
    return None if match is None else int(match[1])
