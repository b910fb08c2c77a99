"""A year of certificates that renew themselves, with faults, in simulated time.

The pure decisions alone (`core/renewals.py`, `core/paper_updates.py`, `core/paper_notices.py`), in
the order in which the service makes them: 10,000 items with three certificates each, sources that
fail for hours or days, or return the same certificate, processes that die after an answer, a clock
that is set back by a week, an act that extends everything, and days on which zones change. It
fails if a validity is charged more than twice, the month's ceiling is passed, a notice is written
twice or never, or a certificate expires although its source answered for an hour of the window.

    python -m bench year [--items N] [--seed N] [--start YYYY-MM-DD] [--ceiling N]
"""

import argparse
import heapq
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final

import msgspec

from balcao.core.calendar import HOUR_MS, civil_day, civil_month, day_starts_ms
from balcao.core.certificates import CertificateSummary
from balcao.core.extensions import Extension
from balcao.core.observations import Observation, ObservedCertificate
from balcao.core.paper_notices import EXPIRED, failure_event, notice_due, notice_event
from balcao.core.paper_updates import extension_event, paper_update, with_acts
from balcao.core.papers import BOUGHT_BY, Paper, PaperKey, PaperKind, days_left
from balcao.core.purchases import MINUTE_MS
from balcao.core.renewals import (
    POSTPONED_MS,
    PURCHASES_MAX,
    Renews,
    after_failure,
    confirmed_ms,
    plan_of,
    query_of,
    renewal_key,
)
from balcao.core.wallet import Renewal

DAYS: Final = 365
NOTICES: Final = (10, 5, 1)
TERMS: Final = Renewal()
LIVES: Final = {"certidao_federal": 180, "certidao_trabalhista": 180, "regularidade_fgts": 30}
KINDS: Final[Sequence[PaperKind]] = (
    "certidao_federal",
    "certidao_trabalhista",
    "regularidade_fgts",
)
PRICE: Final = 2
BACK_DAYS: Final = 7  # the clock is set back
SECONDS_MAX: Final = 60.0
_FAILS_IN_A_ROW = 5  # before a circuit opens
_PROBE_MS = MINUTE_MS  # of a circuit that is open


@dataclass(slots=True)
class Source:
    """The source of a kind: when it answers, and its circuit."""

    outages: frozenset[int]  # hours since 1970
    failures: int = 0
    probed_ms: int = 0
    prober: str = ""  # the certificate that is tried every half hour while it is down

    def answers(self, at_ms: int) -> bool:
        return at_ms // HOUR_MS not in self.outages

    def is_down(self, at_ms: int) -> bool:
        """Whether the circuit is open, and no probe of it is due."""
        return self.failures >= _FAILS_IN_A_ROW and at_ms < self.probed_ms + _PROBE_MS


@dataclass
class Year:
    """The certificates of a portfolio, and what has become of them."""

    items: int
    seed: int = 1
    start: date = date(2018, 1, 1)  # the last year with daylight saving time
    ceiling: int = 10**9
    reissues: bool = True
    attempts: int = 0
    charged: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    spent: Counter[str] = field(default_factory=Counter)
    notices: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    questions: Counter[tuple[str, str, bool]] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)
    expired: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.begins_ms = day_starts_ms(self.start)
        self.now_ms = self.begins_ms
        self.acts: list[Extension] = []
        self.sources = {kind: Source(self._outages()) for kind in KINDS}
        self.papers: dict[str, Paper] = {}
        self.by_day: defaultdict[str, set[str]] = defaultdict(set)
        self.failing: defaultdict[PaperKind, set[str]] = defaultdict(set)
        self.queue: list[tuple[int, str]] = []
        self.answered: dict[str, bool] = {}  # outcomes by idempotency key
        self.stopped_until_ms = 0
        self.same_until: dict[str, str] = {}  # sources that return the same until a day

    def _outages(self) -> frozenset[int]:
        """Return hours that fail, and spells of 15 days with an hour of answers in three days."""
        found: set[int] = set()
        spells = {self.random.randrange(DAYS) for _ in range(5)}
        for number in range(DAYS + 30):
            day_ms = day_starts_ms(self.start + timedelta(days=number))
            begun = [number - first for first in spells if 0 <= number - first < 15]
            first = day_ms // HOUR_MS
            if begun:
                found.update(range(first, first + 24))
                if begun[0] % 3 == 2:
                    found.discard(first + self.random.randrange(8, 19))
            elif self.random.random() < 0.3:
                found.add(first + self.random.randrange(24))
        return frozenset(found)

    def run(self) -> None:
        """Live through the year, and check it."""
        self._fill()
        back_day, act_day = self.start + timedelta(days=200), self.start + timedelta(days=120)
        number, went_back = 0, False
        while number < DAYS:
            day = self.start + timedelta(days=number)
            if day == back_day and not went_back:
                went_back, number = True, number - BACK_DAYS
                continue
            if day == act_day and not self.acts:
                self._extend(day)
            self._write_notices(day)
            self._renew_until(day_starts_ms(day + timedelta(days=1)))
            number += 1
        self._check()

    def _fill(self) -> None:
        for number in range(self.items):
            for kind in KINDS:
                life = LIVES[kind]
                end = self.start + timedelta(days=self.random.randrange(1, life))
                paper = Paper(
                    f"{number}-{kind}", 1, kind, "", f"{number:08d}", None, None, "CND",
                    (end - timedelta(days=life)).isoformat(), end.isoformat(), None, None,
                    end.isoformat(), 1, None, None, None, 0, 0, 0, None, None, 0, None, 0,
                )  # fmt: skip
                if self.random.random() < 0.02:
                    later = end + timedelta(days=self.random.randrange(2, 6))
                    self.same_until[paper.paper_id] = later.isoformat()
                self._put(paper)

    def _put(self, paper: Paper) -> None:
        """Store a certificate, planned if it has to be."""
        before = self.papers.get(paper.paper_id)
        if before is not None and before.last_day is not None:
            self.by_day[before.last_day].discard(paper.paper_id)
        if paper.next_ms == 0:
            plan = plan_of(paper, TERMS, self.now_ms, reissues=self.reissues)
            paper = msgspec.structs.replace(paper, next_ms=plan.at_ms, reason=plan.reason)
        self.papers[paper.paper_id] = paper
        if paper.last_day is not None:
            self.by_day[paper.last_day].add(paper.paper_id)
        if paper.next_ms is not None:
            heapq.heappush(self.queue, (paper.next_ms, paper.paper_id))

    def _extend(self, day: date) -> None:
        act = Extension(
            "federal_certificate", None, "2000-01-01", day.isoformat(), None, 30, "Portaria 1"
        )
        self.acts.append(act)
        for before in [*self.papers.values()]:
            after = with_acts(before, self.acts)
            if after.last_day != before.last_day:
                self.events["certidao.prorrogada"] += extension_event(before, after) is not None
                self._put(msgspec.structs.replace(after, next_ms=0, told=None))
                self._notice(self.papers[after.paper_id], day)

    def _write_notices(self, day: date) -> None:
        days = range(-1, max(NOTICES) + 1)
        for last_day in [(day + timedelta(days=left)).isoformat() for left in days]:
            for paper_id in sorted(self.by_day[last_day]):
                self._notice(self.papers[paper_id], day)

    def _notice(self, paper: Paper, day: date) -> None:
        notice = notice_due(paper, NOTICES, day)
        if notice is None:
            return
        assert paper.last_day is not None
        event = notice_event(paper, notice, day, renews_itself=True)
        self.events[event.kind] += 1
        self.notices[paper.paper_id, paper.last_day, notice] += 1
        self.papers[paper.paper_id] = msgspec.structs.replace(paper, told=notice)
        if notice == EXPIRED:
            self._note_expired(paper, day)

    def _note_expired(self, paper: Paper, today: date) -> None:
        """Note whether a certificate expired although its source answered in time."""
        self.expired += 1
        if paper.purchases or self.ceiling < 10**9 or not self.reissues:
            return  # the source returned the same, there was no room, or it has to expire
        assert paper.last_day is not None
        end = date.fromisoformat(paper.last_day)
        for number in range(1, TERMS.dias_antes - 4):  # business days move the first attempt
            day = end - timedelta(days=number)
            begins, ends = (day_starts_ms(day) + hour * HOUR_MS for hour in (8, 20))
            hours = range(begins, ends, HOUR_MS)
            if any(map(self.sources[paper.kind].answers, hours)):
                self.missed.append(f"{paper.paper_id} {paper.last_day} {today}")
                return

    def _renew_until(self, until_ms: int) -> None:
        while self.queue and self.queue[0][0] < until_ms:
            due_ms, paper_id = heapq.heappop(self.queue)
            paper = self.papers[paper_id]
            if paper.next_ms != due_ms:
                continue  # planned again meanwhile
            if due_ms < self.stopped_until_ms:
                heapq.heappush(self.queue, (self.stopped_until_ms, paper_id))
                self.papers[paper_id] = msgspec.structs.replace(
                    paper, next_ms=self.stopped_until_ms
                )
                continue
            self.now_ms = due_ms
            self._renew(paper)

    def _renew(self, paper: Paper) -> None:
        now_ms, source = self.now_ms, self.sources[paper.kind]
        again_ms = confirmed_ms(paper, TERMS, now_ms, reissues=self.reissues)
        if again_ms != paper.next_ms:
            self._put(msgspec.structs.replace(paper, next_ms=again_ms))
            return
        if source.is_down(now_ms) and paper.failures:
            self._put(msgspec.structs.replace(paper, next_ms=now_ms + POSTPONED_MS))
            return
        month = civil_month(now_ms)
        if self.spent[month] + PRICE > self.ceiling:
            day = civil_day(now_ms).replace(day=1) + timedelta(days=32)
            self.stopped_until_ms = day_starts_ms(day.replace(day=1))
            self.events["carteira.parada"] += 1
            self._put(msgspec.structs.replace(paper, next_ms=self.stopped_until_ms))
            return
        self.attempts += 1
        key = renewal_key("item", paper)
        if key not in self.answered:
            self.answered[key] = not source.is_down(now_ms) and source.answers(now_ms)
            source.probed_ms = now_ms
            if self.answered[key]:
                if source.failures >= _FAILS_IN_A_ROW:
                    self._wake(paper.kind)
                source.failures, source.prober = 0, ""
                self.spent[month] += PRICE
                self.charged[paper.paper_id, paper.validity] += 1
                query = query_of(paper, reissues=self.reissues)
                before_end = (paper.last_day or "") >= civil_day(now_ms).isoformat()
                self.questions[paper.kind, query.get("preferencia_emissao", ""), before_end] += 1
                self._answer(paper)
                return
            source.failures += 1
            if self.random.random() < 0.01:  # the process dies: the attempt is repeated
                self._put(msgspec.structs.replace(paper, next_ms=now_ms + MINUTE_MS))
                return
        failed = after_failure(paper, "FALHA", TERMS, now_ms, reissues=self.reissues)
        if source.failures >= _FAILS_IN_A_ROW:
            source.prober = source.prober or paper.paper_id
            if source.prober == paper.paper_id:
                failed = msgspec.structs.replace(failed, next_ms=now_ms + POSTPONED_MS)
        if failure_event(paper, failed, civil_day(now_ms)) is not None:
            self.events["certidao.nao_renovada"] += 1
        self._put(failed)
        self.failing[paper.kind].add(paper.paper_id)

    def _wake(self, kind: PaperKind) -> None:
        """Let what has failed be tried again: its source answers again."""
        for paper_id in self.failing[kind]:
            paper = self.papers[paper_id]
            if paper.failures and paper.next_ms is not None:
                self._put(msgspec.structs.replace(paper, next_ms=self.now_ms))
        self.failing[kind].clear()

    def _answer(self, paper: Paper) -> None:
        today = civil_day(self.now_ms)
        issued, end = today.isoformat(), today + timedelta(days=LIVES[paper.kind])
        validity: str | None = end.isoformat()
        if self.same_until.get(paper.paper_id, "") > issued:
            issued, validity = paper.issued_on or "", paper.validity
        summary = CertificateSummary("CND", validity, None, None, None, issued)
        key = PaperKey(paper.kind, "", paper.subject, None)
        renews = Renews(paper.paper_id, TERMS, self.reissues)
        seen = Observation(
            1, "live", "q", BOUGHT_BY[paper.kind], None, None, (), self.now_ms,
            ObservedCertificate(key, "fonte", self.now_ms, summary, None, PRICE, None, renews),
        )  # fmt: skip
        updated = paper_update(paper, seen, self.acts)
        assert updated is not None
        if updated.event is not None:
            self.events[updated.event.kind] += 1
        self._put(updated.paper)

    def _check(self) -> None:
        assert max(self.charged.values(), default=0) <= PURCHASES_MAX, self.charged.most_common(3)
        assert max(self.spent.values(), default=0) <= self.ceiling, self.spent
        assert max(self.notices.values(), default=0) <= 1, self.notices.most_common(3)
        assert not self.missed, (len(self.missed), self.missed[:5])
        if not self.reissues:
            early = self.questions["certidao_federal", "", True]
            assert early + self.questions["certidao_federal", "nova", True] == 0, self.questions
        else:
            assert self.questions["certidao_federal", "", True] == 0, self.questions
        # None is left unwritten: those of a certificate that reached a day have that day's notice.
        today = self.start + timedelta(days=DAYS - 1)
        for paper in self.papers.values():
            if paper.last_day is None:
                continue
            left = days_left(paper.last_day, today)
            due = [notice for notice in NOTICES if notice >= left > 0]
            expected = 0 if left < 0 else min(due, default=None)
            if expected is not None and left <= max(NOTICES):
                assert paper.told is not None, paper
                assert paper.told <= expected, paper

    def figures(self) -> Iterator[str]:
        """Yield what happened, a line each."""
        yield f"{self.items * len(KINDS):,} certificates, {sum(self.charged.values()):,} charged"
        yield f"{self.attempts:,} attempts, {self.expired:,} expired, {len(self.missed)} missed"
        yield f"at most {max(self.charged.values(), default=0)} charged per validity"
        yield ", ".join(f"{kind} {count:,}" for kind, count in sorted(self.events.items()))


def main(words: Sequence[str]) -> None:
    options = argparse.ArgumentParser(prog="bench year", description=__doc__)
    options.add_argument("--items", type=int, default=10_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--start", type=date.fromisoformat, default=date(2018, 1, 1))
    options.add_argument("--ceiling", type=int, default=10**9)
    chosen = options.parse_args(words)
    began = time.process_time()
    year = Year(chosen.items, chosen.seed, chosen.start, chosen.ceiling)
    year.run()
    seconds = time.process_time() - began
    for line in year.figures():
        print(line)
    print(f"{seconds:.1f} s")
    assert seconds <= SECONDS_MAX or chosen.items > 10_000, "slower than expected"
