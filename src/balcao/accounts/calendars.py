"""Calendars of certificates: their creation, and what programs that subscribe are sent."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final
from urllib.parse import urlsplit

from balcao.accounts.links import token_digest
from balcao.core.access import new_secret
from balcao.core.calendar import civil_day
from balcao.core.calendar_feed import EVENTS_MAX, FeedEvent, entries_after, feed_of, more_event
from balcao.core.paper_words import title_of
from balcao.core.papers import days_left
from balcao.core.wallet import WalletItem, WalletSettings
from balcao.core.writing import day, document
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.recorded_answer import MakeAnswer
from balcao.storage.desk.wallet.calendars import CalendarFilter, NewCalendar, StoredCalendar
from balcao.storage.desk.wallet.paper_list import ListedPaper, standing_of

FEEDS: Final = "/app/calendario"


@dataclass(frozen=True, slots=True)
class PaperCalendars:
    """The calendars of accounts. Methods raise `StorageFailed`. `base`: the service's address."""

    desk: Desk
    base: str
    now_ms: Callable[[], int]
    new_id: Callable[[], str]

    async def create(
        self,
        account_id: int,
        user_id: int | None,
        name: str | None,
        chosen: CalendarFilter,
        keep: MakeAnswer[StoredCalendar] = lambda made: None,
    ) -> tuple[StoredCalendar, str]:
        """Create a calendar and return it with its address, which is not stored.

        `user_id`: the person who made it, and with whom it ends. Raises `TooManyCalendars`.
        """
        token = new_secret()
        calendar = StoredCalendar(self.new_id(), account_id, user_id, name, chosen, self.now_ms())
        made = await self.desk.calendars.add(NewCalendar(calendar, token_digest(token)), keep)
        return made, f"{self.base}{FEEDS}/{token}.ics"

    async def feed(self, token: str) -> tuple[bytes, str] | None:
        """Return a calendar and its ETag; None: there is none at this address.

        Where it changed since it was last read, the changes are stored first.
        """
        desk, now_ms = self.desk, self.now_ms()
        found = await desk.calendars.by_token(token_digest(token))
        if found is None:
            return None
        calendar, known = found
        account_id = calendar.account_id
        if calendar.user_id is not None:
            caller = await desk.caller_for(account_id, None, calendar.user_id, now_ms)
            if caller is None:
                return None
        settings = desk.wallets.settings(account_id)
        events = await self._events(calendar, settings)
        changes = await asyncio.to_thread(entries_after, known, events, now_ms)
        if changes.changed or changes.forgotten:
            await desk.calendars.write_entries(calendar.calendar_id, changes)
        name = calendar.name or f"Certidões – {desk.account(account_id).name}"
        host = urlsplit(self.base).hostname or "balcao"
        body = await asyncio.to_thread(feed_of, name, host, events, changes.entries)
        return body, f'"{hashlib.blake2b(body, digest_size=16).hexdigest()}"'

    async def _events(
        self, calendar: StoredCalendar, settings: WalletSettings
    ) -> Sequence[FeedEvent]:
        standing = standing_of(settings, self.now_ms())
        read, chosen = self.desk.paper_list.feed, calendar.chosen.papers
        page = await asyncio.to_thread(read, calendar.account_id, chosen, standing, EVENTS_MAX)
        alarms = tuple(sorted(settings.notices.dias, reverse=True))
        waits_ms = _waits_ms(settings, self.now_ms())
        events = [self._event(each, standing.today, alarms, waits_ms) for each in page.papers]
        if page.in_all > len(events):
            url = f"{self.base}/app/carteira/certidoes"
            events.append(more_event(events[-1], page.in_all - len(events), url))
        return events

    def _event(
        self, each: ListedPaper, today: date, alarms: tuple[int, ...], waits_ms: int
    ) -> FeedEvent:
        paper, item = each.paper, each.item
        assert paper.last_day is not None, "it was chosen by its last day"
        title, past = title_of(paper), days_left(paper.last_day, today) < 0
        parts = [f"{'Valeu' if past else 'Válida'} até {day(paper.last_day)}."]
        if paper.act:
            parts.append(f"Prorrogada por {paper.act}.")
        at_risk = not past and 0 < (paper.next_ms or 0) <= waits_ms
        if at_risk:
            parts.append("A renovação automática está parada; veja a carteira.")
        elif paper.next_ms and not past:
            parts.append(f"Renovação automática a partir de {day(civil_day(paper.next_ms))}.")
        if each.items > 1:
            parts.append(f"Vale também para mais {each.items - 1} itens da carteira.")
        verb = "Venceu" if past else "Em risco" if at_risk else "Vence"
        return FeedEvent(
            paper.paper_id,
            paper.last_day,
            f"{verb}: {title[:1].lower()}{title[1:]} de {_subject(item)}",
            " ".join(parts),
            f"{self.base}/app/carteira/itens/{item.item_id}",
            paper.kind.replace("_", "-"),
            () if past else alarms,
        )


def _waits_ms(settings: WalletSettings, now_ms: int) -> int:
    """Return the instant up to which renewals that are due wait for the portfolio to resume.

    0: none does. A source that is down resumes too soon to move events of calendars.
    """
    if settings.stopped_reason in {None, "fonte"}:
        return 0
    return now_ms if settings.clock_ms is None else settings.clock_ms


def _subject(item: WalletItem) -> str:
    """Return whose certificate it is: of a person neither name nor CPF, masked or not."""
    if item.is_person:
        return f"pessoa física ({item.reference})" if item.reference else "pessoa física"
    name = item.registry.nome_empresarial if item.registry else None
    written = document(item.document)
    return f"{name} ({written})" if name else written
