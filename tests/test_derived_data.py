"""The process that builds derived data: awaited, its outcome used, ended with the service."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from balcao.home import Home
from balcao.opendata.errors import OpenDataError
from balcao.service import derived_data
from balcao.service.derived_data import DerivedDataBuilder


@pytest.fixture(autouse=True)
def unfinished(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that there is a month without answers."""
    monkeypatch.setattr(derived_data, "_is_unfinished", lambda command, store: True)


def command(script: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a script in place of `balcao opendata answers`."""
    stand_in = folder / "python"
    stand_in.write_text(f"#!/bin/sh\ncd {folder}\n{script}\n")
    stand_in.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(stand_in))


def test_it_is_awaited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command('sleep 0.2; echo "$@" >> done', tmp_path, monkeypatch)
    again: float = asyncio.run(DerivedDataBuilder(Home(tmp_path)).periodic().work())  # type: ignore[arg-type]
    assert again == derived_data.POLL_SECONDS
    assert (tmp_path / "done").read_text().splitlines() == [
        "-P -m balcao.service.command_process opendata search",
        "-P -m balcao.service.command_process opendata search --sandbox",
        "-P -m balcao.service.command_process opendata answers",
        "-P -m balcao.service.command_process opendata answers --sandbox",
    ]


def test_its_failure_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of one of them; the other one is done nevertheless."""
    command('echo x >> done; test "$6" != --sandbox', tmp_path, monkeypatch)
    work = DerivedDataBuilder(Home(tmp_path)).periodic()
    with pytest.raises(OpenDataError) as caught:
        asyncio.run(work.work())  # type: ignore[arg-type]
    assert work.on_failure(caught.value), "it was told already"
    assert (tmp_path / "done").read_text() == "x\nx\nx\nx\n"


def test_it_ends_with_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if ending takes a moment, since nothing else waits for it."""
    ending = "sleep 0.3; echo > ended; exit"
    command(
        f"trap '{ending}' TERM\necho > begun\nwhile :; do sleep 0.05; done", tmp_path, monkeypatch
    )
    is_waited_for = asyncio.Event()

    create = asyncio.create_subprocess_exec

    async def created(*words: str, **options: Any) -> asyncio.subprocess.Process:
        process = await create(*words, **options)
        is_waited_for.set()
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", created)

    async def served() -> None:
        work = asyncio.ensure_future(DerivedDataBuilder(Home(tmp_path)).periodic().work())
        # Who is cancelled while a process is being made kills it.
        await is_waited_for.wait()
        while not (tmp_path / "begun").is_file():  # noqa: ASYNC110  # another process's
            await asyncio.sleep(0.01)
        work.cancel()
        await asyncio.wait([work])
        assert (tmp_path / "ended").is_file()

    asyncio.run(served())
