"""Calendars of certificates, read by two libraries and line by line (contract 20.7)."""

from datetime import date

import icalendar
import vobject  # type: ignore[import-untyped]

from balcao.core.calendar_feed import (
    CANCELLED_DAYS,
    FeedEvent,
    entries_after,
    feed_of,
    more_event,
)

NOW, DAY_MS = 1_796_000_000_000, 86_400_000
NAME = "AÇOS; FERRO, & FILHOS \\ LTDA – ÇÃÕÉ " * 4


def event(paper_id: str, last_day: str = "2027-01-15", **fields: str) -> FeedEvent:
    given = {
        "summary": f"Vence: certidão federal de {NAME}(00.000.000/0001-91)",
        "description": "Válida até 15/01/2027.\nControle 1234\x07.",
        **fields,
    }
    return FeedEvent(
        paper_id, last_day, url="https://x.test/a", category="certidao-federal", alarms=(10, 1),
        **given,
    )  # fmt: skip


def test_libraries_read_what_is_written() -> None:
    events = [event("a"), event("b", "2026-12-31")]
    changes = entries_after({}, events, NOW)
    content = feed_of(f"Certidões, {NAME}", "x.test", events, changes.entries)
    for line in content.split(b"\r\n"):
        assert len(line) <= 75
        line.decode()  # no character is cut
        assert b"\n" not in line
    assert content.endswith(b"END:VCALENDAR\r\n")
    read = icalendar.Calendar.from_ical(content)
    assert not read.errors
    assert str(read["x-wr-calname"]).startswith("Certidões\\, AÇOS\\; FERRO\\, & FILHOS \\\\ LTDA")
    found = read.walk("VEVENT")
    assert [not each.errors for each in found] == [True, True]
    first = found[0]
    assert (first["uid"], first["sequence"]) == ("certidao-a@x.test", 0)
    assert first.decoded("dtstart") == date(2027, 1, 15)
    assert first.decoded("dtend") == date(2027, 1, 16)
    assert first["summary"] == events[0].summary
    assert first["description"] == "Válida até 15/01/2027.\nControle 1234."
    assert [each["trigger"].to_ical() for each in first.walk("VALARM")] == [
        b"-P10D", b"-P1D",
    ]  # fmt: skip
    again = vobject.readOne(content.decode())
    assert [each.uid.value for each in again.vevent_list] == [each["uid"] for each in found]
    assert again.vevent_list[0].summary.value == events[0].summary
    assert again.vevent_list[1].dtstart.value == date(2026, 12, 31)


def test_a_renewal_moves_its_event_and_a_removal_cancels_it() -> None:
    first = entries_after({}, [event("a"), event("b")], NOW)
    assert len(first.changed) == 2
    assert not entries_after(first.entries, [event("a"), event("b")], NOW + 1).changed
    moved = entries_after(first.entries, [event("a", "2027-07-14"), event("b")], NOW + 5)
    (changed,) = moved.changed
    assert (changed.sequence, changed.last_day, changed.changed_ms) == (1, "2027-07-14", NOW + 5)
    gone = entries_after(moved.entries, [event("b")], NOW + 9)
    content = feed_of("x", "x.test", [event("b")], gone.entries)
    by_id = {str(one["uid"]): one for one in icalendar.Calendar.from_ical(content).walk("VEVENT")}
    cancelled = by_id["certidao-a@x.test"]
    assert (cancelled["status"], cancelled["sequence"]) == ("CANCELLED", 2)
    later = NOW + 9 + CANCELLED_DAYS * DAY_MS
    assert entries_after(gone.entries, [event("b")], later).forgotten == ["a"]
    back = entries_after(gone.entries, [event("a"), event("b")], NOW + 10)
    assert back.entries["a"].sequence == 3
    more = more_event(event("b"), 17, "https://x.test/b")
    assert more.summary == "Mais 17 vencimentos"
