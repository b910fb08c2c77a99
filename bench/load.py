"""Load generation with wrk over several servers in turns, and their cost.

A side is a server of ours, a plain hello, or another program. Sides are measured one after another,
forward and then backward, so that other load affects all; a figure is the median of its rounds, a
ratio that of sides in the same round. Processor time is that of all threads and processes of a side
(`schedstat`), divided by the requests of the round.
"""

import contextlib
import os
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from bench.serving import free_port, running

ROUNDS, SECONDS, CONNECTIONS = 5, 3, 64
HELLO = "hello, Granian ASGI"  # full name: other servers' hellos are different references

# Requests are built in advance: the generator only has to send them, or to put a key between the
# two halves of one.
_SCRIPT = """
local paths = {%s}
local keys = {%s}
local new_keys = %s
local requests, halves, at, sent = {}, {}, 0, 0
local prefix = "bench-" .. os.time() .. "-"
init = function(arguments)
  at = tonumber(arguments[1]) or 0
  for i, path in ipairs(paths) do
    if keys[i] then wrk.headers["idempotency-key"] = keys[i] end
    if new_keys then wrk.headers["idempotency-key"] = "HERE" end
    requests[i] = wrk.format("GET", path)
    if new_keys then
      local from, to = requests[i]:find("HERE", 1, true)
      halves[i] = {requests[i]:sub(1, from - 1), requests[i]:sub(to + 1)}
    end
  end
end
request = function()
  at = at %% #requests + 1
  if not new_keys then return requests[at] end
  sent = sent + 1
  return halves[at][1] .. prefix .. sent .. halves[at][2]
end
"""


@dataclass(frozen=True)
class Shot:
    """One round of one side. Times in milliseconds; `us`: processor time per request, by part."""

    requests: int
    per_second: float
    p50_ms: float
    p99_ms: float
    refused: int
    us: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        spent = "".join(f"  {part} {us:.0f} us" for part, us in self.us.items())
        refused = f"  refused {self.refused}" if self.refused else ""
        return (
            f"{self.per_second:8.0f}/s  p50 {self.p50_ms:6.2f}  p99 {self.p99_ms:6.2f} ms"
            f"{spent}{refused}"
        )


@dataclass
class Side:
    """A server and its requests.

    `parts`: its present processes, by printed name. `cold`: each round continues in the script
    where the last one ended.
    """

    name: str
    ports: Sequence[int]
    script: Path
    key: str = "-"
    connections: int = CONNECTIONS
    parts: Mapping[str, Callable[[], Iterable[int]]] = field(default_factory=dict)
    cold: bool = False
    shots: list[Shot] = field(default_factory=list)

    def median(self, of: Callable[[Shot], float]) -> float:
        return statistics.median(map(of, self.shots))


def need_wrk() -> str:
    """Install the load generator from the distribution if it is missing and we may."""
    if shutil.which("wrk") is None and os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        subprocess.run(["apt-get", "install", "-y", "-qq", "wrk"], check=False)
    found = shutil.which("wrk")
    if found is None:
        raise SystemExit("bench precisa do wrk: instale-o (por exemplo, apt-get install wrk)")
    return found


def script_of(
    folder: Path,
    name: str,
    paths: Sequence[str],
    keys: Sequence[str] = (),
    *,
    new_keys: bool = False,
) -> Path:
    """Write a wrk script that requests the paths in turn.

    `keys`: the Idempotency-Key of each path. `new_keys`: every request has a new one.
    """
    path = folder / f"{name}.lua"
    texts = (",".join(f'"{each}"' for each in those) for those in (paths, keys))
    path.write_text(_SCRIPT % (*texts, "true" if new_keys else "false"))
    return path


@contextlib.contextmanager
def hello(size: int, script: Path, name: str = HELLO) -> Iterator[Side]:
    """Serve a fixed answer of so many bytes to every request."""
    port = free_port()
    command = (sys.executable, "-m", "bench.hello", str(size), str(port))
    with running(command, port, {}) as pid:
        yield Side(name, [port], script, parts=only(pid))


def take_turns(sides: Sequence[Side], rounds: int = ROUNDS, seconds: int = SECONDS) -> None:
    """Measure all sides, every second round in the opposite order; prints each shot."""
    for number in range(rounds):
        for side in sides if number % 2 == 0 else reversed(sides):
            shot = shoot(side, seconds)
            print(f"  {number + 1}/{rounds} {side.name:34s} {shot}", flush=True)


def shoot(side: Side, seconds: int = SECONDS) -> Shot:
    """Measure one round of one side, its connections spread over its ports; the slowest counts.

    Repeated when nothing was answered, on an overloaded machine.
    """
    pids = {part: [*of()] for part, of in side.parts.items()}
    before = {part: threads_ns(of) for part, of in pids.items()}
    own = _children_seconds()
    with ThreadPoolExecutor(len(side.ports)) as pool:
        each = [*pool.map(lambda port: _wrk(side, port, seconds), side.ports)]
    requests = sum(shot.requests for shot in each)
    if requests == 0:
        return shoot(side, 2 * seconds)
    us = {part: _spent_ns(before[part], of) / requests / 1e3 for part, of in pids.items()}
    if _children_seconds() - own > 0.9 * seconds:
        print("  ! wrk had no time left: the figure is the generator's", flush=True)
    shot = Shot(
        requests,
        sum(shot.per_second for shot in each),
        max(shot.p50_ms for shot in each),
        max(shot.p99_ms for shot in each),
        sum(shot.refused for shot in each),
        us,
    )
    side.shots.append(shot)
    return shot


def _wrk(side: Side, port: int, seconds: int) -> Shot:
    """Run wrk once, with one thread and kept connections."""
    sent = sum(shot.requests for shot in side.shots) if side.cold else 0
    command = [
        need_wrk(), "-t1", f"-c{side.connections // len(side.ports)}", f"-d{seconds}", "--latency",
        "-H", f"x-api-key: {side.key}", "-s", str(side.script), f"http://127.0.0.1:{port}",
        "--", str(sent),
    ]  # fmt: skip
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    broken = re.search(r"connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
    return Shot(
        int(re.search(r"(\d+) requests in", text)[1]),  # type: ignore[index]
        float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]),  # type: ignore[index]
        _ms(text, "50%"),
        _ms(text, "99%"),
        (int(refused[1]) if refused else 0) + (sum(map(int, broken.groups())) if broken else 0),
    )


def _ms(text: str, label: str) -> float:
    number, unit = re.search(rf"{label}\s+([\d.]+)(us|ms|s)", text).groups()  # type: ignore[union-attr]
    return float(number) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[unit]


def _children_seconds() -> float:
    """Return the processor time of the load generators that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# Processor time of a side.


def family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in task.read_text("ascii").split():
                found += family(int(child))
    return found


def only(pid: int) -> Mapping[str, Callable[[], Iterable[int]]]:
    """Return the parts of a side that is one server with its children."""
    return {"cpu": lambda: family(pid)}


def listener(port: int) -> int | None:
    """Return the process that listens on a local port; None: there is no visible one."""
    inodes = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text("ascii").splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and int(words[1].rpartition(":")[2], 16) == port:
                inodes.add(f"socket:[{words[9]}]")
    for process in sorted(Path("/proc").glob("[0-9]*"), key=lambda each: int(each.name)):
        with contextlib.suppress(OSError):
            if any(str(each.readlink()) in inodes for each in (process / "fd").iterdir()):
                return int(process.name)
    return None


def threads_ns(pids: Iterable[int]) -> dict[str, int]:
    """Return nanoseconds of processor time so far, by thread."""
    found = {}
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError):
                found[str(task)] = int(task.read_text("ascii").split()[0])
    return found


def _spent_ns(before: Mapping[str, int], pids: Iterable[int]) -> int:
    return sum(ns - before.get(thread, 0) for thread, ns in threads_ns(pids).items())


# Output.


def machine(folder: Path | None = None) -> str:
    """Describe the machine and the versions that figures depend on."""
    p50, p99 = flush_ms(folder)
    return (
        f"Python {platform.python_version()}, {interpreter_build()} ({sys.executable});"
        f" hello: Granian {version('granian')}, ASGI, one worker;"
        f"\n{os.cpu_count()} cores, Linux {platform.release()}, load average"
        f" {os.getloadavg()[0]:.1f}; a flush of 8 kB takes {p50:.2f} ms (p99 {p99:.2f})"
    )


def interpreter_build() -> str:
    """Describe how the interpreter was built, as far as that is known.

    Neither `PGO_PROF_USE_FLAG` nor the compiler's flags show whether a profile was used. Debian and
    its derivatives build with one on the common processors, without `--enable-optimizations`.
    """
    arguments = sysconfig.get_config_var("CONFIG_ARGS") or ""
    levels = re.findall(r"-O\w+", sysconfig.get_config_var("CFLAGS") or "")
    compiler = f"{platform.python_compiler()}{f' {levels[-1]}' if levels else ''}"
    if "--enable-optimizations" in arguments:
        return f"{compiler} with PGO"
    package = _package_of(Path(sys.executable).resolve())
    if package and platform.machine() in _PGO_MACHINES:
        return f"{compiler}, package {package}: built with PGO by the distribution"
    return f"{compiler} without PGO, as far as its build is recorded"


_PGO_MACHINES = ("x86_64", "aarch64")


def _package_of(executable: Path) -> str:
    """Return the Debian package of a program, with its version; empty if it is from none."""
    try:
        owner = subprocess.run(
            ["dpkg-query", "-S", str(executable)], capture_output=True, text=True, check=True
        ).stdout.partition(":")[0]
        shown = ["dpkg-query", "-W", "-f", "${Package} ${Version}", owner]
        return subprocess.run(shown, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def flush_ms(folder: Path | None = None, times: int = 300) -> tuple[float, float]:
    """Return milliseconds that the disk takes to sync 8 kB: median and p99."""
    took = []
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        os.pwrite(file.fileno(), b"x" * 8192 * times, 0)
        os.fsync(file.fileno())
        for number in range(times):  # in place, like the database's log
            os.pwrite(file.fileno(), b"y" * 8192, 8192 * number)
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            took.append((time.perf_counter() - began) * 1e3)
    took.sort()
    return statistics.median(took), took[int(times * 0.99)]


def ratio(side: Side, reference: Side) -> float:
    """Return the median ratio of their rates, each from one round."""
    pairs = zip(side.shots, reference.shots, strict=True)
    return statistics.median(one.per_second / other.per_second for one, other in pairs)


def report(title: str, sides: Sequence[Side], reference: Sequence[Side] = ()) -> dict[str, float]:
    """Print the medians, and the ratios to those of `reference`; returns the medians by name."""
    print(f"\n{title}")
    figures: dict[str, float] = {}
    for side in sides:
        rate = side.median(lambda shot: shot.per_second)
        p50 = side.median(lambda shot: shot.p50_ms)
        p99 = side.median(lambda shot: shot.p99_ms)
        refused = sum(shot.refused for shot in side.shots)
        spent = "".join(
            f"  {part} {side.median(lambda shot, part=part: shot.us[part]):5.0f} us"  # type: ignore[misc]
            for part in side.parts
        )
        compared = "".join(
            f"  {ratio(side, other):5.2f} of {other.name.partition(',')[0]}" for other in reference
        )
        print(
            f"  {side.name:34s} {rate:8.0f}/s{compared}  p50 {p50:7.2f} ms  p99 {p99:7.2f} ms"
            f"{spent}  refused {refused}"
        )
        figures |= {side.name: rate, f"{side.name} p50": p50, f"{side.name} p99": p99}
        if side.parts:
            figures[f"{side.name} us"] = side.median(lambda shot: sum(shot.us.values()))
    return figures
