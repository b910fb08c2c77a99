"""The drills of docs/recovery.md, with an installed release: every command and its output."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import indent
from threading import Timer

import pytest
from bench.failover_pair import Pair

from tests.cli.shell import PATIENCE_SECONDS, free_port
from tests.deploy.files import ROOT
from tests.deploy.wheels import build, checkout, install
from tests.storage import bucket

PAGE = ROOT / "docs" / "recovery.md"
DRILLS = 10


@dataclass(frozen=True)
class Step:
    """A command of the page, and the lines of its output that the page shows."""

    command: str
    output: tuple[str, ...]


def steps_of(page: str) -> list[Step]:
    """Return the commands of a page's console blocks, in order."""
    steps: list[Step] = []
    for block in re.findall(r"^```console\n(.*?)^```", page, re.M | re.S):
        for each in re.split(r"^[$#] ", block, flags=re.M)[1:]:
            command, *output = each.splitlines()
            steps.append(Step(command, tuple(output)))
    return steps


def differences(step: Step, status: int, output: str) -> str | None:
    """Describe how a command's result differs from the page; None: it agrees.

    The shown lines appear in the output, in this order; `…` stands for any text in a line. A
    command without output on the page exits with 0.
    """
    if not step.output and status:
        return f"exit status {status}"
    lines = iter(output.splitlines())
    for shown in step.output:
        pattern = re.compile(".*".join(map(re.escape, shown.split("…"))))
        if not any(pattern.fullmatch(line) for line in lines):
            return f"no line {shown!r}"
    return None


class Bash:
    """One bash that runs commands one after another and returns what they print."""

    _END = "end-of-command"

    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, command: str) -> tuple[int, str]:
        """Run a command; return its exit status and output. One that hangs is killed."""
        hanging = Timer(PATIENCE_SECONDS, self._kill)
        hanging.start()
        try:
            return self._run(command)
        finally:
            hanging.cancel()

    def _run(self, command: str) -> tuple[int, str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f'{command}\nprintf "\\n{self._END} %d\\n" $?\n')
        self._process.stdin.flush()
        lines: list[str] = []
        for line in self._process.stdout:
            if line.startswith(self._END):
                return int(line.split()[1]), "".join(lines)
            lines.append(line)
        raise AssertionError(f"the shell ended: {''.join(lines)}")

    def close(self) -> None:
        """End the shell and everything that it started."""
        self._kill()
        with self._process:  # closes its pipes
            self._process.wait(PATIENCE_SECONDS)

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A primary and its standby, in a folder that their user can reach."""
    with TemporaryDirectory(prefix="balcao-pair-") as folder:
        made = Pair(Path(folder))
        yield made
        made.remove()


def test_the_page_has_a_drill_for_every_fault() -> None:
    page = PAGE.read_text("utf-8")
    rows = re.findall(r"^\| .*\[(\d+)\]\(#([\w-]+)\) \|$", page, re.M)
    assert [int(number) for number, _ in rows] == list(range(1, DRILLS + 1))
    for _, anchor in rows:
        section = re.search(
            rf"^## {anchor.replace('-', ' ')}\n(.*?)(?=^## |\Z)", page, re.M | re.S | re.I
        )
        assert section is not None, anchor
        assert len(steps_of(section[1])) >= 5, anchor


def test_a_wrong_page_is_noticed() -> None:
    assert differences(Step("true", ()), 1, "") == "exit status 1"
    assert differences(Step("x", ("a…", "c")), 0, "a b\nc\n") is None
    assert differences(Step("x", ("c", "a…")), 0, "a b\nc\n") is not None
    assert differences(Step("x", ("200",)), 0, "503\n") is not None


@pytest.mark.nightly
@pytest.mark.skipif(os.getuid() != 0, reason="only root may mount a disk")
@pytest.mark.skipif(
    not any(Path("/usr/lib").rglob("libfaketime.so.1")),
    reason="no faketime here: install it with tools/system-packages faketime",
)
def test_every_drill_works(tmp_path: Path, pair: Pair) -> None:
    wheel = build(checkout(tmp_path / "tree"))[".whl"]
    install(wheel, tmp_path / "release")
    folder = tmp_path / "drill"
    folder.mkdir()
    page = PAGE.read_text("utf-8")
    script = re.search(r"^```sh\n(.*?)^```", page, re.M | re.S)
    assert script is not None
    (folder / "drill.sh").write_text(script[1], "utf-8")
    store = bucket.server()
    exported = {**store.environment, "BALCAO_RECEIPTS": f"s3://{bucket.NAME}/drill"}
    (folder / "bucket.env").write_text(
        "".join(f"export {name}='{value}'\n" for name, value in exported.items()), "utf-8"
    )
    assert pair.standby is not None
    (folder / "database.env").write_text(
        f"export BALCAO_DATABASE='{pair.address('a', 'b')}'\n"
        f"standby='{pair.address_of(pair.standby)}'\n"
        f"primary={pair.primary.process.pid}\n",
        "utf-8",
    )
    variables = {
        "PATH": f"{tmp_path / 'release' / 'bin'}:{os.environ['PATH']}",
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "BALCAO_PORT": str(free_port()),
        "PYTHONNOUSERSITE": "1",
    }
    try:
        with closing(Bash(folder, variables)) as bash:
            for step in steps_of(page):
                status, output = bash.run(step.command)
                wrong = differences(step, status, output)
                log = folder / "log.txt"
                tail = log.read_text("utf-8")[-2_000:] if log.exists() else ""
                assert wrong is None, f"$ {step.command}\n{output}\n{wrong}\n{indent(tail, '  ')}"
    finally:
        if (folder / "small").is_mount():
            subprocess.run(["umount", "--lazy", str(folder / "small")], check=True)
