"""Comparison of two months of the registry for a watched subject (contract 20.3)."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, timedelta
from typing import Literal

import msgspec

from balcao.core.calendar import day_starts_ms
from balcao.core.company_changes import (
    BRANCHES,
    BRANCHES_TOPIC,
    CAME,
    GONE,
    MONTH_TOPICS,
    CompanyChange,
    company_changes,
)
from balcao.core.company_record import RegistryRecord
from balcao.core.item_events import ItemEvent
from balcao.core.month_switch import MonthSwitch
from balcao.core.personal import mask_cpf_in_text

SOURCE = "snapshot"  # `fonte` of its events

# Causes of an item's differences between the last two months, at its creation.
RETROACTIVE = "retroativo"


class WatchedSubject(msgspec.Struct, frozen=True):
    """A company of a portfolio, to be compared.

    `record`: the answer of the last own registry lookup, and the instant of its data.
    """

    document: str  # a CNPJ, or a root
    watched: frozenset[str]
    record: RegistryRecord | None = None
    record_ms: int = 0


class Comparison(msgspec.Struct, frozen=True):
    """The outcome for a subject.

    `registry`: JSON, as in `wallet_item`; None: stays as it is. `head_office`: the CNPJ of a root
    that changed.
    """

    changes: Sequence[CompanyChange] = ()
    is_person: bool = False
    verified: bool = True
    registry: str | None = None
    head_office: str | None = None


class RegistrySummary(msgspec.Struct, frozen=True):
    """The registry data that an item shows (contract 20.3). A day is YYYY-MM-DD."""

    nome_empresarial: str | None
    situacao: str | None
    data_situacao: str | None
    competencia: str | None


_summary = msgspec.json.Decoder(RegistrySummary).decode


def registry_summary(
    name: str | None, status: str | None, status_day: str | None, month: str
) -> str:
    """Return the JSON of an item's registry data, as of a month (YYYY-MM)."""
    name = mask_cpf_in_text(name)
    return msgspec.json.encode(RegistrySummary(name, status, status_day, month)).decode()


def base_ms(extraction: date) -> int:
    """Return the end of the day of a month's data: what is later is newer than the month."""
    return day_starts_ms(extraction + timedelta(days=1))


def watches_month(watched: Collection[str]) -> bool:
    """Return whether any of the topics is compared when the month changes."""
    return not frozenset(MONTH_TOPICS).isdisjoint(watched)


def month_of_registry(registry: str | None) -> str | None:
    """Return the month (YYYY-MM) of an item's registry data."""
    return None if registry is None else _summary(registry).competencia


def starts_with_new_month(
    switch: MonthSwitch, created_ms: int, month: str | None, previous_ms: int
) -> bool:
    """Return whether an item was added with the new month as its baseline.

    Nodes change one after another, and the change is recorded a little later than it is made. So
    the month that the item got when it was added is decisive; None: it is not known. Items that
    were there at the previous change (`previous_ms`) were compared then.
    """
    if created_ms > switch.at_ms:
        return month != switch.from_month
    return created_ms > previous_ms and month == switch.to_month


def stands(subject: WatchedSubject, base: int) -> bool:
    """Return whether the last own lookup is newer than a month's data (`base_ms`)."""
    return subject.record is not None and subject.record_ms > base


State = RegistryRecord | None | Literal["unknown"]


def compare(before: State, after: State, watched: Collection[str]) -> Comparison:
    """Compare a subject's states before and after; None: the registry does not have it.

    `unknown`: it is missing from a month whose completeness is not certain.
    """
    if before == "unknown" or after == "unknown" or before is after is None:
        return Comparison(verified=False)
    if before is None or after is None:
        known = after if before is None else before
        assert isinstance(known, RegistryRecord)
        kind = CAME if before is None else GONE
        return Comparison((CompanyChange(kind, {}),), known.is_person)
    assert isinstance(before, RegistryRecord)
    assert isinstance(after, RegistryRecord)
    changes = [each for each in company_changes(before, after) if each.topic in watched]
    return Comparison(changes, before.is_person or after.is_person)


_CLOSED = frozenset({"01", "08"})  # void, closed


class Branch(msgspec.Struct, frozen=True):
    """An establishment of a company in a month; `status` is the code of its status."""

    cnpj: str
    head_office: bool
    status: str


def branches_changed(before: Collection[Branch], after: Collection[Branch]) -> CompanyChange | None:
    """Return the branches that opened and closed between two months; None: none did."""

    def is_open(several: Collection[Branch]) -> set[str]:
        return {
            each.cnpj for each in several if not each.head_office and each.status not in _CLOSED
        }

    heads = {each.cnpj for each in (*before, *after) if each.head_office}
    old, new = is_open(before) - heads, is_open(after) - heads
    if old == new:
        return None
    return CompanyChange(BRANCHES, {"abertas": sorted(new - old), "baixadas": sorted(old - new)})


def watches_branches(watched: Collection[str]) -> bool:
    """Return whether the branches of the subject's company are watched."""
    return BRANCHES_TOPIC in watched


# A return to the month before is corrected by the contrary event.
CORRECTED: Mapping[str, str] = {CAME: GONE, GONE: CAME}


def cause(item_id: str, kind: str, occasion: int | str) -> str:
    """Return the cause of an item's event: a change of the month, by number, or `RETROACTIVE`."""
    return f"{item_id}/{kind}/{occasion}"


class MonthsRead(msgspec.Struct, frozen=True):
    """The registry data of new subjects, and their changes since the month before.

    The month is YYYY-MM, the day of its data YYYY-MM-DD.
    """

    month: str
    base_date: str
    outcomes: Sequence[Comparison]

    def retroactive_events(self, item_id: str, at: int, now_ms: int) -> Sequence[ItemEvent]:
        """Return the events of a new item about the changes of the subject at this place.

        They are not sent by webhook or e-mail.
        """
        outcome = self.outcomes[at]
        return [
            ItemEvent(
                change.kind,
                cause(item_id, change.kind, RETROACTIVE),
                now_ms,
                SOURCE,
                {**change.data, "retroativo": True},
                outcome.is_person,
                self.base_date,
                self.month,
                silent=True,
                head_office=outcome.head_office,
            )
            for change in outcome.changes
        ]
