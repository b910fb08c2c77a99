"""A store, a share and a clock that only sleeping advances: for tests and `bench fetch`."""

import io
import random
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

from balcao.core.calendar import BRASILIA, to_ms
from balcao.opendata.errors import OpenDataError
from balcao.opendata.fetching.state import FetchState
from balcao.opendata.fetching.story import FetchContext, fetch
from balcao.opendata.generator import generate
from balcao.opendata.snapshot import current_edition
from tests.opendata.share import Fault, Share

OCTOBER, NOVEMBER = date(2026, 10, 10), date(2026, 11, 10)
NIGHT = datetime(2026, 11, 22, 3, 30, tzinfo=BRASILIA)
HOUR_MS = 3_600_000

Zips = Mapping[str, bytes]


class Killed(BaseException):
    """Simulates the death of the process: no cleanup runs."""


def zips_of(
    folder: Path, day: date, seed: int = 7, establishments: int = 40, *, tax_regimes: bool = False
) -> Zips:
    """Generate a small month; return its zips by name."""
    month = generate(
        folder, establishments, seed, clean=True, extraction_date=day, tax_regimes=tax_regimes
    )
    return {file.name: file.read_bytes() for file in month.files}


@dataclass
class World:
    """Fetches into a store, from a share, while time passes only by sleeping."""

    store: Path
    share: Share
    now_ms: int = to_ms(NIGHT)
    slept: list[float] = field(default_factory=list)
    # Scheduled events: instant and callback.
    to_come: list[tuple[int, Callable[[], None]]] = field(default_factory=list)
    addresses: Sequence[str] = ()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.pass_time(round(seconds * 1000))

    def pass_time(self, milliseconds: int) -> None:
        """Advance the clock and run the events that are due."""
        self.now_ms += milliseconds
        due = sorted((each for each in self.to_come if each[0] <= self.now_ms), key=lambda e: e[0])
        self.to_come = [each for each in self.to_come if each[0] > self.now_ms]
        for _, happen in due:
            happen()

    def later(self, milliseconds: int, happen: Callable[[], None]) -> None:
        self.to_come.append((self.now_ms + milliseconds, happen))

    def fetch(self, **more: Any) -> FetchState:
        """Run one fetch. Its errors are raised."""
        context = FetchContext(
            self.store,
            self.addresses or [self.share.address],
            self.share.client,
            lambda: self.now_ms,
            self.sleep,
            lambda path: 1 << 40,
            workers=1,
        )
        return fetch(replace(context, **more))

    def in_use(self) -> date | None:
        try:
            return current_edition(self.store).extraction_date
        except OpenDataError:
            return None


@dataclass
class BadDay:
    """Random faults of a share on a bad day; none is permanent."""

    chance: random.Random
    share: Share
    sizes: Mapping[str, int]
    left: int = 60  # faults left; then the share works, so that every run can succeed
    corrupted: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)

    def fault(self, name: str, start: int) -> Fault:
        """Return the fault of a GET that begins at `start`."""
        if self.left <= 0 or self.chance.random() < 0.3:
            return Fault()
        self.left -= 1
        size, chance = self.sizes.get(name, 1), self.chance
        kind = chance.choice(("cut", "cut", "stall", "whole", "416", "503", "shift", "kill", "bad"))
        self.counts[kind] = self.counts.get(kind, 0) + 1
        at = chance.randrange(size)
        match kind:
            case "cut":
                return Fault(cut_at=at)
            case "stall":
                return Fault(stall_at=at)
            case "whole":
                return Fault(whole=True, cut_at=at)
            case "416" | "503":
                return Fault(status=int(kind))
            case "shift":
                return Fault(shift=1 + chance.randrange(9))
            case "kill":
                raise Killed(at)
            case _ if name not in self.corrupted:
                self.corrupted.add(name)  # once: a zip that stays damaged is never accepted
                return Fault(flip_at=at)
            case _:
                return Fault()


def bad_day(seed: int, store: Path, before: Zips, right: Zips, wrong: Zips) -> dict[str, int]:
    """Fetch November from a share on a bad day, as often as the service would, until it is in use.

    `before`: October's zips, which are published too; `wrong`: of another extraction of November,
    published first and replaced file by file. Raises `AssertionError` if anything but November as
    last published is in use, or ever was. Returns the faults by kind.
    """
    chance = random.Random(seed)
    share = Share(folder=chance.choice(("", "Dados/Cadastros/CNPJ")))
    world = World(store, share)
    faults = BadDay(chance, share, {name: len(content) for name, content in right.items()})
    share.fault = faults.fault
    share.webdav = chance.random() < 0.7
    published: dict[str, bytes] = {}
    share.months = {"2026-10": dict(before), "2026-11": published}
    _appear(chance, world, published, right, wrong)
    if chance.random() < 0.5:
        new = f"novo{seed}"
        moved = Share(token=new, folder=share.folder)
        world.addresses = [share.address, moved.address]
        world.later(chance.randrange(3 * HOUR_MS), lambda: setattr(share, "token", new))
    kept = dict.fromkeys(("looks", "failed", "killed", "incomplete"), 0)
    for _ in range(200):
        kept["looks"] += 1
        try:
            state = world.fetch(keep_zips=True, retry_refused=False)
        except Killed:
            kept["killed"] += 1
        except OpenDataError:
            kept["failed"] += 1
            world.pass_time(24 * HOUR_MS)
        else:
            assert world.in_use() in (None, NOVEMBER)
            if state.standing == "trocado":
                break
            kept["incomplete"] += 1
            again = state.again_at
            world.pass_time(24 * HOUR_MS if again is None else to_ms(again) - world.now_ms)
    assert world.in_use() == NOVEMBER, "November was never published"
    zips = {file.name: file.read_bytes() for file in (store / "fetched/2026-11").iterdir()}
    assert set(zips) == set(right)
    for name, content in right.items():
        assert _inside(zips[name]) == _inside(content), f"{name} is not what was published"
    return faults.counts | kept


def _inside(content: bytes) -> tuple[str, bytes]:
    """Return name and content of a zip's entry; its other bytes may differ, such as a time."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        (entry,) = archive.infolist()
        return entry.filename, archive.read(entry)


def _appear(
    chance: random.Random, world: World, published: dict[str, bytes], right: Zips, wrong: Zips
) -> None:
    """Schedule the month's files over some minutes: empty, partial, of another extraction, good."""
    for name, content in right.items():
        stages: list[bytes] = [content]
        if chance.random() < 0.2:
            stages.insert(0, content[: chance.randrange(len(content))])
        if chance.random() < 0.3:
            stages.insert(0, wrong[name])
        if chance.random() < 0.2:
            stages.insert(0, b"")
        at = 0
        for stage in stages:
            if at:
                world.later(at, lambda name=name, stage=stage: published.update({name: stage}))  # type: ignore[misc]
            else:
                published[name] = stage
            at += chance.randrange(1, 40 * 60_000)
