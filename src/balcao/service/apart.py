"""Commands of our own, in processes of their own: what takes long gives way to the requests."""

import asyncio
import runpy
import sys

from balcao.lifeline import end_with

# It goes on where it was the next time, however it ends.
_END_SECONDS = 5.0


async def run_apart(*words: str) -> tuple[int, str]:
    """Run `balcao WORDS` to its end: its exit code, and the last line of what it complained of.

    Whoever stops waiting ends it, and so does the end of this process, whatever ended it: the next
    one goes on where it was.
    """
    # Nothing of the folder it is started in is imported.
    line = [sys.executable, "-P", "-m", "balcao.service.apart", *words]
    process = await asyncio.create_subprocess_exec(
        *line,
        stdin=asyncio.subprocess.PIPE,  # never written to
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        # Not `communicate`, which closes the input.
        said = await process.stderr.read()
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
    return process.returncode, "".join(said.decode("utf-8", "replace").strip().splitlines()[-1:])


if __name__ == "__main__":
    end_with(sys.stdin.fileno())
    sys.argv[0] = "balcao"
    runpy.run_module("balcao", run_name="__main__")
