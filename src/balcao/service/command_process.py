"""Run `balcao` commands in child processes, so that long work does not delay requests."""

import asyncio
import runpy
import sys

from balcao.lifeline import end_with

# Then it is killed: commands resume where they were, however they ended.
_END_SECONDS = 5.0


async def run_command(*words: str) -> tuple[int, str]:
    """Run `balcao WORDS`; return its exit code and the last line of its standard error.

    The command ends when the caller is cancelled or this process ends, for whatever reason. The
    next run resumes where it was.
    """
    # -P: import nothing from the current folder.
    line = [sys.executable, "-P", "-m", "balcao.service.command_process", *words]
    process = await asyncio.create_subprocess_exec(
        *line,
        stdin=asyncio.subprocess.PIPE,  # never written to
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        # Not `communicate`, which closes the input.
        errors = await process.stderr.read()
        await process.wait()
    finally:
        if process.returncode is None:  # the service ends
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), _END_SECONDS)
            except TimeoutError:
                process.kill()
                await process.wait()
        assert process.stdin is not None
        process.stdin.close()
    assert process.returncode is not None
    return process.returncode, "".join(errors.decode("utf-8", "replace").strip().splitlines()[-1:])


if __name__ == "__main__":
    end_with(sys.stdin.fileno())
    sys.argv[0] = "balcao"
    runpy.run_module("balcao", run_name="__main__")
