"""Metrics for Prometheus. Labels are few and fixed: operations, statuses, sources.

Requests are counted in plain dictionaries and converted to Prometheus' families when scraped: the
client library's counters take a lock and search the buckets on each use, which costs more than
reading a cached answer.
"""

import platform
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from balcao import __version__
from balcao.core.month_switch import ComparisonFigures

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 25.0)
_CIRCUIT_STATES = ("closed", "open", "half-open")
# State by source, subject and UF.
Circuits: TypeAlias = Mapping[tuple[str, str, str], str]

# Last success and failure in milliseconds since 1970 (None: none yet), and failures since.
WorkOutcome: TypeAlias = tuple[int | None, int | None, int]

# Age in days, or None; the download's state, bytes done and in total, or None.
MonthState: TypeAlias = tuple[int | None, tuple[str, int, int] | None]
FETCH_STATES = ("esperando_mes", "incompleto", "baixando", "importando", "trocado", "falhou")

# See `FileAdmission.figures`.
FileState: TypeAlias = tuple[Iterable[tuple[str, int]], tuple[int, int], tuple[int, int]]

# One answered request: operation, status, origin, seconds, credits.
RequestCount: TypeAlias = tuple[str, int, str, float, int]


WebhookState: TypeAlias = tuple[Sequence[tuple[str, int]], int, int | None, Mapping[str, int]]

_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Tally:
    """A histogram: counts per bucket and the sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def buckets(self) -> list[tuple[str, float]]:
        """Return cumulative counts by upper bound, in Prometheus' form."""
        running, rows = 0, []
        for bound, count in zip([*map(str, self.bounds), "+Inf"], self.counts, strict=True):
            running += count
            rows.append((bound, float(running)))
        return rows


class Metrics:
    """All metrics of one process. Used on the event loop's thread only."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int, str]] = Counter()
        self._credits: Counter[tuple[str, str]] = Counter()
        self._seconds: defaultdict[str, Tally] = defaultdict(partial(Tally, _SECONDS))
        self._calls: Counter[tuple[str, str, str, str]] = Counter()
        self._costs: Counter[tuple[str, str, str]] = Counter()
        self._call_seconds: defaultdict[str, Tally] = defaultdict(partial(Tally, _SECONDS))
        self._batches = Tally(_SIZES)
        self._purged: Counter[tuple[str]] = Counter()
        self._closed: Counter[tuple[str]] = Counter()
        self._over_budget: Counter[tuple[str]] = Counter()
        self._events: Counter[tuple[str]] = Counter()
        self._deprecated: Counter[tuple[str]] = Counter()
        self._rechecks: Counter[tuple[str]] = Counter()
        self._renewals: Counter[tuple[str]] = Counter()
        self._backup_seconds: float | None = None
        # Callbacks for each scrape, replaced by the parts that have the data.
        # Number of open connections.
        self.connections: Callable[[], int] | None = None
        self.circuits: Callable[[], Circuits] = dict
        # Outcomes of periodic work, by its name.
        self.work: Callable[[], Mapping[str, WorkOutcome]] = dict
        # Jobs: kind, state, count, and the instant when the oldest was due (ms).
        self.jobs: Callable[[], Iterable[tuple[str, str, int, int]]] = list
        # Webhooks: endpoints by state, due deliveries, when the oldest was due (ms; None: none is),
        # and attempts by outcome.
        self.webhooks: Callable[[], WebhookState] = lambda: ((), 0, None, {})
        # When the oldest due purchases of portfolios were due: scheduled lookups, renewals.
        self.purchases: Callable[[], tuple[int | None, int | None]] = lambda: (None, None)
        # Number of budgets in force, of all accounts. None: the database is away.
        self.budgets: Callable[[], int | None] = lambda: 0
        # Items in force of all portfolios, and accounts that have some. None: the database is away.
        self.portfolios: Callable[[], tuple[int, int] | None] = lambda: (0, 0)
        # Whether the database answers and can be written to, and how many commits wait for a
        # standby (None: unknown). None: it is a file of this process. Set before each scrape.
        self.database: tuple[bool, int | None] | None = None
        # Age of the month in use, and progress of the next one.
        self.month: Callable[[], MonthState] = lambda: (None, None)
        # The last comparison of portfolios, and its seconds. None: the month never changed.
        self.comparison: Callable[[], tuple[ComparisonFigures, float] | None] = lambda: None
        # Open batches: state, reason and count.
        self.batches: Callable[[], Iterable[tuple[str, str, int]]] = list
        # Refused files by limit; bytes kept and their maximum; bytes free and their minimum.
        self.files: Callable[[], FileState] = lambda: ((), (0, 0), (0, 0))
        # Seconds that the system's clock is ahead, jumps, and whether it is in doubt.
        self.clock: Callable[[], tuple[float, int, bool]] = lambda: (0.0, 0, False)
        # Whether room is set aside on disk, and how often it was given up.
        self.disk_reserve: Callable[[], tuple[bool, int]] = lambda: (False, 0)
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def request(
        self, operation: str, status: int, origin: str, seconds: float, credits: int
    ) -> None:
        self.requests(((operation, status, origin, seconds, credits),))

    def requests(self, answered: Iterable[RequestCount]) -> None:
        """Count requests that were answered together, as if one after the other."""
        tallies = self._seconds
        counts: dict[tuple[str, int, str], int] = {}  # most keys are equal
        paid: dict[tuple[str, str], int] = {}
        for operation, status, origin, seconds, credits in answered:
            key = operation, status, origin
            counts[key] = counts.get(key, 0) + 1
            if credits:
                paid_key = operation, origin
                paid[paid_key] = paid.get(paid_key, 0) + credits
            tally = tallies[operation]
            tally.counts[bisect_left(_SECONDS, seconds)] += 1
            tally.total += seconds
        self._requests.update(counts)
        self._credits.update(paid)

    def answered(self, operations: Collection[str]) -> int:
        """Return the number of answered requests of these operations."""
        return sum(count for key, count in self._requests.items() if key[0] in operations)

    def source_calls(
        self, source: str, subject: str, uf: str, outcome: str, seconds: Sequence[float]
    ) -> None:
        """Count conversations with an upstream that had the same outcome."""
        self._calls[source, subject, uf, outcome] += len(seconds)
        tally = self._call_seconds[source]
        for each in seconds:
            tally.add(each)

    def source_cost(self, source: str, subject: str, uf: str, micros: int) -> None:
        """Add what a provider charges us, in millionths of a real."""
        self._costs[source, subject, uf] += micros

    def batch(self, size: int) -> None:
        """Count one commit and the number of change lists in it."""
        self._batches.add(size)

    def purged(self, kind: str, count: int) -> None:
        self._purged[kind,] += count

    def connection_closed(self, reason: str) -> None:
        """Count a connection that we refused, or ended before its client did."""
        self._closed[reason,] += 1

    def over_budget(self, owner_kind: str) -> None:
        self._over_budget[owner_kind,] += 1

    def deprecated_use(self, feature: str) -> None:
        """Count a request that used a deprecated feature."""
        self._deprecated[feature,] += 1

    def recheck(self, outcome: str) -> None:
        """Count a scheduled lookup of a watched subject."""
        self._rechecks[outcome,] += 1

    def renewal(self, outcome: str) -> None:
        """Count an attempt to renew a certificate of a portfolio."""
        self._renewals[outcome,] += 1

    def event(self, kind: str, count: int) -> None:
        """Count notifications to accounts."""
        self._events[kind,] += count

    def backup(self, at_ms: int) -> None:
        """Set the instant of the newest known backup."""
        self._backup_seconds = at_ms / 1000

    def exposition(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterable[Metric]:
        build = InfoMetricFamily("balcao_build", "Version of the running program.")
        build.add_metric((), {"version": __version__, "python": platform.python_version()})
        yield build
        yield _counter(
            "balcao_requests",
            "Requests answered, by operation, status and origin: cache (these are the cache's"
            " hits), online, or nenhuma without a record.",
            ("operation", "status", "origin"),
            self._requests.items(),
        )
        yield _counter(
            "balcao_credits_charged",
            "Credits charged, by operation and origin.",
            ("operation", "origin"),
            self._credits.items(),
        )
        yield _counter(
            "balcao_source_calls",
            "Calls to upstream sources, by source, subject, UF (BR: all in one) and outcome.",
            ("source", "subject", "uf", "outcome"),
            self._calls.items(),
        )
        yield _counter(
            "balcao_source_cost_brl",
            "Providers' charges for live calls, in reais, where their answers have the price.",
            ("source", "subject", "uf"),
            [(line, micros / 1_000_000) for line, micros in self._costs.items()],
        )
        yield _counter(
            "balcao_purged",
            "Expired records removed, by class.",
            ("class",),
            self._purged.items(),
        )
        yield _counter(
            "balcao_connections_closed",
            "Connections that the service refused (address_full, full) or ended: no_request or idle"
            " for too long, slow_body, slow_reader, no_room for unread answers, broken.",
            ("reason",),
            self._closed.items(),
        )
        if self.connections is not None:
            yield GaugeMetricFamily(
                "balcao_connections_open", "Connections of clients.", value=self.connections()
            )
        yield _gauge(
            "balcao_source_circuit",
            "State of a live source's circuit: 1 for the state it is in, 0 for the others.",
            ("source", "subject", "uf", "state"),
            (
                ((*line, state), state == current)
                for line, current in self.circuits().items()
                for state in _CIRCUIT_STATES
            ),
        )
        yield from _work(self.work())
        jobs = list(self.jobs())
        yield _gauge(
            "balcao_jobs",
            "Durable jobs: waiting, running, or failed for good.",
            ("kind", "state"),
            (((kind, state), count) for kind, state, count, _ in jobs),
        )
        yield _gauge(
            "balcao_jobs_oldest_due_seconds",
            "When the oldest waiting job of a kind was due, in Unix time.",
            ("kind",),
            (((kind,), at_ms / 1000) for kind, state, _, at_ms in jobs if state == "waiting"),
        )
        if (budgets := self.budgets()) is not None:
            yield GaugeMetricFamily(
                "balcao_budgets",
                "Budgets in force, of all accounts; absent while the database is away.",
                value=budgets,
            )
        if (portfolios := self.portfolios()) is not None:
            items, accounts = portfolios
            yield GaugeMetricFamily(
                "balcao_wallet_items",
                "Watched items of all portfolios; absent while the database is away.",
                value=items,
            )
            yield GaugeMetricFamily(
                "balcao_wallets", "Accounts whose portfolios have items.", value=accounts
            )
        if self.database is not None:
            yield from _database(*self.database)
        yield _counter(
            "balcao_budget_refusals",
            "Charges and holds that a budget did not cover, by kind of its owner.",
            ("owner",),
            self._over_budget.items(),
        )
        yield _counter(
            "balcao_deprecated_requests",
            "Requests that used a deprecated feature, by feature.",
            ("feature",),
            self._deprecated.items(),
        )
        yield _counter(
            "balcao_wallet_rechecks",
            "Scheduled lookups of watched subjects: respondida, falha (tried again), recusada (the"
            " key may not), parada (no credits left).",
            ("outcome",),
            self._rechecks.items(),
        )
        yield _counter(
            "balcao_wallet_renewals",
            "Attempts to renew certificates of portfolios, with the outcomes of rechecks.",
            ("outcome",),
            self._renewals.items(),
        )
        yield _counter(
            "balcao_events",
            "Notifications to accounts since this process began, by all nodes: budgets' warnings"
            " (teto.aviso, teto.atingido), and outcomes of batches.",
            ("kind",),
            self._events.items(),
        )
        yield _gauge(
            "balcao_wallet_oldest_due_seconds",
            "When the oldest due purchase of portfolios was due, in Unix time: reconsulta,"
            " renovacao.",
            ("kind",),
            (
                ((kind,), at_ms / 1000)
                for kind, at_ms in zip(("reconsulta", "renovacao"), self.purchases(), strict=True)
                if at_ms is not None
            ),
        )
        yield from _webhooks(*self.webhooks())
        yield from _month(*self.month())
        if (last := self.comparison()) is not None:
            yield from _comparison(*last)
        yield _gauge(
            "balcao_batches",
            "Open batches of lookups, by state and reason of a pause.",
            ("state", "reason"),
            (((state, reason), count) for state, reason, count in self.batches()),
        )
        yield from _files(*self.files())
        ahead_seconds, jumps, in_doubt = self.clock()
        yield GaugeMetricFamily(
            "balcao_clock_system_ahead_seconds",
            "This machine's clock minus the trusted time: the database's, where there is one.",
            value=ahead_seconds,
        )
        yield CounterMetricFamily(
            "balcao_clock_jumps", "Jumps of the clock against the monotonic one.", value=jumps
        )
        yield GaugeMetricFamily(
            "balcao_clock_in_doubt",
            "1 while a jump of the clock is not confirmed, or the ledger contradicts it.",
            value=float(in_doubt),
        )
        exists, times_released = self.disk_reserve()
        yield GaugeMetricFamily(
            "balcao_disk_reserve",
            "1 while room is set aside on disk for when it is full; never with PostgreSQL.",
            value=float(exists),
        )
        yield CounterMetricFamily(
            "balcao_disk_reserve_given_up",
            "Times that the disk was full.",
            value=times_released,
        )
        if self._backup_seconds is not None:
            yield GaugeMetricFamily(
                "balcao_backup_last_success_seconds",
                "When the newest backup was made, in Unix time.",
                value=self._backup_seconds,
            )
        yield _histogram(
            "balcao_request_seconds",
            "Time from a request's arrival to its answer.",
            "operation",
            self._seconds,
        )
        yield _histogram(
            "balcao_source_seconds",
            "Time of one conversation with an upstream source.",
            "source",
            self._call_seconds,
        )
        batches = HistogramMetricFamily(
            "balcao_commit_batch_size", "Change lists that shared one durable commit."
        )
        batches.add_metric((), self._batches.buckets(), self._batches.total)
        yield batches


def _work(outcomes: Mapping[str, WorkOutcome]) -> Iterable[Metric]:
    """Yield the last success, the last failure and the consecutive failures of periodic work."""
    families = (
        (
            "balcao_work_last_success_seconds",
            "When a piece of periodic work was done last, in Unix time.",
            [(name, success_ms) for name, (success_ms, _, _) in outcomes.items()],
        ),
        (
            "balcao_work_last_failure_seconds",
            "When it failed last, in Unix time; absent: never since the start.",
            [(name, failure_ms) for name, (_, failure_ms, _) in outcomes.items()],
        ),
    )
    for name, text, instants in families:
        rows = (((work,), at_ms / 1000) for work, at_ms in instants if at_ms is not None)
        yield _gauge(name, text, ("work",), rows)
    yield _gauge(
        "balcao_work_failing",
        "Consecutive failures.",
        ("work",),
        (((work,), failures) for work, (_, _, failures) in outcomes.items()),
    )


def _files(
    refused: Iterable[tuple[str, int]], kept: tuple[int, int], free: tuple[int, int]
) -> Iterable[Metric]:
    yield _counter(
        "balcao_files_refused",
        "Files that were refused, by limit: an account's unread files, open batches, kept bytes or"
        " results; the kept bytes of all, the disk; given_back: accepted, but dropped unread for"
        " lack of space.",
        ("limit",),
        (((limit,), count) for limit, count in refused),
    )
    for name, text, value in (
        ("kept_bytes", "Bytes of files, rows and answers of batches, of all accounts.", kept[0]),
        ("kept_bytes_max", "Maximum of these.", kept[1]),
        ("free_bytes", "Bytes that are free for files, on the disk and in the database.", free[0]),
        ("free_bytes_min", "Below this no file is accepted.", free[1]),
    ):
        yield GaugeMetricFamily(f"balcao_files_{name}", text, value=value)


def _database(is_up: bool, waiting: int | None) -> Iterable[Metric]:
    yield GaugeMetricFamily(
        "balcao_database_up",
        "1 while PostgreSQL answers this node and can be written to; never with SQLite.",
        value=float(is_up),
    )
    if waiting is not None:
        yield GaugeMetricFamily(
            "balcao_database_commits_waiting",
            "Commits of all nodes that wait for a synchronous standby; absent while the database"
            " is away.",
            value=waiting,
        )


def _month(days: int | None, fetching: tuple[str, int, int] | None) -> Iterable[Metric]:
    if days is not None:
        yield GaugeMetricFamily(
            "balcao_opendata_age_days",
            "Age of the month in use for live accounts, since it was extracted; alarm at 45.",
            value=days,
        )
    if fetching is None:
        return
    state, done, total = fetching
    yield _gauge(
        "balcao_opendata_fetch_state",
        "State or end of the download of a month: 1 for that state, 0 for the others.",
        ("state",),
        (((each,), each == state) for each in FETCH_STATES),
    )
    yield GaugeMetricFamily("balcao_opendata_fetch_bytes", "Bytes of downloaded zips.", value=done)
    yield GaugeMetricFamily(
        "balcao_opendata_fetch_bytes_expected", "Bytes of all zips of that month.", value=total
    )


def _webhooks(
    endpoints: Sequence[tuple[str, int]],
    due: int,
    oldest_due_ms: int | None,
    attempts: Mapping[str, int],
) -> Iterable[Metric]:
    yield _gauge(
        "balcao_webhooks",
        "Webhooks of all accounts by state.",
        ("state",),
        (((state,), count) for state, count in endpoints),
    )
    yield GaugeMetricFamily(
        "balcao_webhook_due", "Deliveries to webhooks whose attempt is due.", value=due
    )
    if oldest_due_ms is not None:
        yield GaugeMetricFamily(
            "balcao_webhook_oldest_due_seconds",
            "When the oldest of these was due, in seconds since 1970; alarm after ten minutes.",
            value=oldest_due_ms / 1000,
        )
    yield _counter(
        "balcao_webhook_attempts",
        "Attempts of this process to deliver events to webhooks.",
        ("outcome",),
        (((outcome,), count) for outcome, count in attempts.items()),
    )


def _comparison(last: ComparisonFigures, seconds: float) -> Iterable[Metric]:
    yield GaugeMetricFamily(
        "balcao_month_comparison_started_seconds",
        "When the month in use last changed, which starts the comparison, in Unix time.",
        value=last.switch.at_ms / 1000,
    )
    yield GaugeMetricFamily(
        "balcao_month_comparison_running",
        "1 while portfolios are being compared after the last change of the month.",
        value=float(last.switch.ended_ms is None),
    )
    yield GaugeMetricFamily(
        "balcao_month_comparison_duration_seconds",
        "Time from that change to the end of the comparison, or to now while it is running.",
        value=seconds,
    )
    yield _gauge(
        "balcao_month_comparison_items",
        "Items of that comparison, by outcome; those com_mudanca are also comparado.",
        ("outcome",),
        (
            (("comparado",), last.compared),
            (("com_mudanca",), last.changed),
            (("nao_verificado",), last.unverified),
        ),
    )


def _counter(
    name: str,
    text: str,
    labels: Sequence[str],
    counts: Iterable[tuple[Sequence[str | int], float]],
) -> CounterMetricFamily:
    family = CounterMetricFamily(name, text, labels=labels)
    for values, count in counts:
        family.add_metric([str(value) for value in values], count)
    return family


def _gauge(
    name: str, text: str, labels: Sequence[str], values: Iterable[tuple[Sequence[str], float]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=labels)
    for of, value in values:
        family.add_metric(of, float(value))
    return family


def _histogram(
    name: str, text: str, label: str, tallies: dict[str, Tally]
) -> HistogramMetricFamily:
    family = HistogramMetricFamily(name, text, labels=(label,))
    for value, tally in tallies.items():
        family.add_metric((value,), tally.buckets(), tally.total)
    return family
