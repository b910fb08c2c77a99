"""Callers of the drill, and the judge that compares their answers with the ledger."""

import random
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Literal, TypeAlias

import httpx2
import psycopg

from balcao.storage.postgresql.desk import PostgresDesk
from bench.failover_pair import until
from bench.serving import PREFIX, companies_elsewhere

sys.path.insert(0, str(Path(__file__).parent.parent / "clients" / "python"))
from balcao_client import Balcao, BalcaoError

# One request without a key; one key until it is answered; the project's client for Python.
Kind: TypeAlias = Literal["once", "keyed", "client"]
KINDS: Sequence[Kind] = ("once", "keyed", "client")
Strategy: TypeAlias = Literal["SO_ONLINE", "CACHE_PREFERENCIAL"]
STRATEGIES: Sequence[Strategy] = ("SO_ONLINE", "CACHE_PREFERENCIAL")
WAIT_SECONDS_MAX = 1.0  # limit of `Retry-After`, so that the drill ends in time
KEYED_SECONDS_MAX = 4.0
REPLAYED_AGAIN = 40  # keys of each round that are repeated at its end

_CHARGES = (
    "SELECT request_id, -balance_change, reference FROM ledger_entry"
    " WHERE kind IN ('charge', 'post')"
    " UNION ALL SELECT request_id, credits, reference FROM charged_lookup"
)


@dataclass(frozen=True)
class Answered:
    """A 200 that a caller received."""

    reference: str
    kind: Kind
    request_id: str
    credits: int
    replayed: bool
    at: float  # instant on the monotonic clock
    sent: float


@dataclass
class Verdict:
    """Result of a round."""

    charges: int = 0
    replays: int = 0
    charges_lost: int = 0
    replays_lost: int = 0
    requests_twice: int = 0
    asked_twice: Counter[str] = field(default_factory=Counter)  # questions charged twice, by kind
    other_replays: int = 0  # keys with another answer, or charged again, afterwards
    unanswered: int = 0

    def add(self, other: "Verdict") -> None:
        for name in (
            "charges", "replays", "charges_lost", "replays_lost", "requests_twice",
            "other_replays", "unanswered",
        ):  # fmt: skip
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.asked_twice += other.asked_twice

    @property
    def is_good(self) -> bool:
        return not (
            self.charges_lost
            or self.replays_lost
            or self.requests_twice
            or self.other_replays
            or self.asked_twice
        )

    def __str__(self) -> str:
        twice = ", ".join(f"{many} by {kind}" for kind, many in self.asked_twice.items()) or "0"
        return (
            f"{self.charges} acknowledged charges, {self.charges_lost} lost;"
            f" {self.replays} replays, {self.replays_lost} lost;"
            f" {self.requests_twice} requests in the ledger twice;"
            f" questions charged twice: {twice}; keys answered otherwise: {self.other_replays};"
            f" {self.unanswered} requests without a 200"
        )


class Callers:
    """Callers of several nodes, each in a thread, until they are stopped."""

    def __init__(self, bases: Sequence[str], key: str, seed: int, pause_seconds: float) -> None:
        self.bases = bases
        self._key = key
        self._pause_seconds = pause_seconds
        self._dice = random.Random(seed)
        self._numbers = count(1)
        self._documents = companies_elsewhere(2_000)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._go = threading.Event()
        self._resting = 0  # callers between two questions
        self._threads: list[threading.Thread] = []
        self.asked: dict[str, Kind] = {}  # by reference
        self.answered: list[Answered] = []
        self.statuses: list[tuple[float, int]] = []  # of every request, when it ended
        self.keys: dict[str, tuple[str, str, Strategy]] = {}  # key: request, document, strategy

    def start(self, each: int) -> None:
        """Start so many callers of each kind."""
        self.asked, self.answered, self.statuses, self.keys = {}, [], [], {}
        self._stop.clear()
        self._go.set()
        work = {"once": self._once, "keyed": self._keyed, "client": self._client}
        self._threads = [
            threading.Thread(target=work[kind], daemon=True) for kind in KINDS for _ in range(each)
        ]
        for thread in self._threads:
            thread.start()

    def pause(self) -> None:
        """Let callers finish pending requests and send no new ones."""
        self._go.clear()
        until(lambda: self._resting == len(self._threads), "every caller rests")

    def go_on(self) -> None:
        """Let callers send requests again."""
        self._go.set()

    def warm(self) -> str:
        """Put one document into the cache of all nodes, and return it."""
        _, document, _ = self._question("once")
        with httpx2.Client(timeout=60, trust_env=False) as http:
            for base in self.bases:

                def is_cached(base: str = base) -> bool:
                    reference, _, _ = self._question("once")
                    reply = self.send(
                        http, "once", reference, document, "CACHE_PREFERENCIAL", key=None, base=base
                    )
                    return reply is not None and reply.headers.get("x-creditos-cobrados") == "1"

                until(is_cached, "the document is in the cache")
        return document

    def ask_first(self, document: str) -> None:
        """Send one key to each node, before all others, and repeat it at all of them.

        Charge and answer are one commit, as for cached answers.
        """
        for base in self.bases:
            reference, _, _ = self._question("keyed")
            asking = threading.Thread(
                target=self._repeat, args=(reference, document, base), daemon=True
            )
            asking.start()
            self._threads.append(asking)

    def stop(self) -> None:
        """Let callers finish pending requests and end."""
        self._stop.set()
        self._go.set()
        for thread in self._threads:
            thread.join()

    def first_answer_after(self, instant: float) -> float:
        """Wait for an answered charge after this instant; return the seconds."""

        def came() -> list[Answered]:
            return [one for one in self.answered if one.at > instant and not one.replayed]

        until(came, "a caller is answered")
        return min(one.at for one in came()) - instant

    def _question(self, kind: Kind) -> tuple[str, str, Strategy]:
        with self._lock:
            reference = f"drill-{next(self._numbers):07d}"
            self.asked[reference] = kind
            return reference, self._dice.choice(self._documents), self._dice.choice(STRATEGIES)

    def _base(self) -> str:
        with self._lock:
            return self._dice.choice(self.bases)

    def _rests(self) -> bool:
        """Pause between two questions; return whether to send another one."""
        with self._lock:
            self._resting += 1
        self._stop.wait(self._pause_seconds)
        self._go.wait()
        with self._lock:
            self._resting -= 1
        return not self._stop.is_set()

    def _repeat(self, reference: str, document: str, base: str) -> None:
        with httpx2.Client(timeout=KEYED_SECONDS_MAX, trust_env=False) as http:
            while not self._stop.is_set():
                self.send(
                    http,
                    "keyed",
                    reference,
                    document,
                    "CACHE_PREFERENCIAL",
                    key=f"key-{reference}",
                    base=base,
                )
                base = self._base()
                self._stop.wait(1.0)

    def _once(self) -> None:
        with httpx2.Client(timeout=60, trust_env=False) as http:
            while self._rests():
                self.send(http, "once", *self._question("once"), key=None)

    def _keyed(self) -> None:
        # Impatient: the key is sent to another node while its first commit may still wait.
        with httpx2.Client(timeout=KEYED_SECONDS_MAX, trust_env=False) as http:
            while self._rests():
                reference, document, strategy = self._question("keyed")
                while not self._stop.is_set():
                    reply = self.send(
                        http, "keyed", reference, document, strategy, key=f"key-{reference}"
                    )
                    ended = reply is not None and (
                        reply.status_code == 200
                        or reply.headers.get("idempotent-replayed") == "true"
                        or b"RESULTADO_INDISPONIVEL" in reply.content
                    )
                    if ended or self._stop.wait(0.2):
                        break
                # Repeat at another node: a replay has to be as durable as an answer.
                self.send(http, "keyed", reference, document, strategy, key=f"key-{reference}")

    def _client(self) -> None:
        def wait(seconds: float) -> None:
            self._stop.wait(min(seconds, WAIT_SECONDS_MAX))

        clients = [Balcao(base, self._key, sleep=wait) for base in self.bases]
        while self._rests():
            reference, document, strategy = self._question("client")
            with self._lock:
                client = self._dice.choice(clients)
            sent = time.monotonic()
            try:
                answer = client.cnpj_receita_federal(
                    document, cache_strategy=strategy, referencia=reference
                )
            except BalcaoError as error:
                self.statuses.append((time.monotonic(), error.status))
                continue
            self.statuses.append((time.monotonic(), answer.status))
            request_id, credits = answer.request_id or "", answer.credits or 0
            at = time.monotonic()
            self.answered.append(
                Answered(reference, "client", request_id, credits, answer.replayed, at, sent)
            )
        for client in clients:
            client.close()

    def send(
        self,
        http: httpx2.Client,
        kind: Kind,
        reference: str,
        document: str,
        strategy: Strategy,
        *,
        key: str | None,
        base: str | None = None,
    ) -> httpx2.Response | None:
        """Send one request and record its answer; None: there is none."""
        headers = {"x-api-key": self._key, "x-referencia": reference}
        if key is not None:
            headers["idempotency-key"] = key
        sent = time.monotonic()
        try:
            reply = http.get(
                f"{base or self._base()}{PREFIX}{document}",
                params={"cache_strategy": strategy},
                headers=headers,
            )
        except httpx2.TransportError:
            self.statuses.append((time.monotonic(), 0))
            return None
        at = time.monotonic()
        self.statuses.append((at, reply.status_code))
        if reply.status_code == 200:
            replayed = reply.headers.get("idempotent-replayed") == "true"
            credits = int(reply.headers["x-creditos-cobrados"])
            request_id = reply.headers["x-request-id"]
            self.answered.append(Answered(reference, kind, request_id, credits, replayed, at, sent))
            if key is not None:
                self.keys.setdefault(key, (request_id, document, strategy))
        return reply

    def judge(self, address: str) -> Verdict:
        """Compare all answers with the ledger, after recovery."""
        verdict = Verdict()
        with psycopg.connect(address, autocommit=True) as connection:

            def held() -> int:
                row = connection.execute("SELECT count(*) FROM open_operation").fetchone()
                assert row is not None
                return int(row[0])

            until(lambda: held() == 0, "what was held is given back")
            verdict.other_replays = self._repeat_keys()
            rows = connection.execute(_CHARGES).fetchall()
        found = Counter(request_id for request_id, _, _ in rows)
        credits = {request_id: amount for request_id, amount, _ in rows}
        by_question: defaultdict[str, set[str]] = defaultdict(set)
        for request_id, _, reference in rows:
            by_question[reference].add(request_id)
        verdict.requests_twice = sum(many > 1 for many in found.values())
        for one in self.answered:
            if one.replayed:
                verdict.replays += 1
                verdict.replays_lost += one.request_id not in credits
            else:
                verdict.charges += 1
                verdict.charges_lost += credits.get(one.request_id) != one.credits
        verdict.asked_twice = Counter(
            kind for reference, kind in self.asked.items() if len(by_question[reference]) > 1
        )
        verdict.unanswered = sum(status != 200 for _, status in self.statuses)
        desk = PostgresDesk(address)
        try:
            assert desk.check().complaints == [], desk.check().complaints
        finally:
            desk.close()
        return verdict

    def _repeat_keys(self) -> int:
        """Repeat some keys, and count those whose answers changed."""
        known = list(self.keys.items())
        other = 0
        with httpx2.Client(timeout=60, trust_env=False) as http:
            for key, (request_id, document, strategy) in known[-REPLAYED_AGAIN:]:
                reference = key.removeprefix("key-")
                reply = self.send(http, "keyed", reference, document, strategy, key=key)
                other += (
                    reply is None
                    or reply.status_code != 200
                    or reply.headers["x-request-id"] != request_id
                )
        return other
