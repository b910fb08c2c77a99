"""Commands of our own, in processes of their own: what takes long gives way to the requests."""

import asyncio
import sys


async def run_apart(*words: str) -> tuple[int, str]:
    """Run `balcao WORDS` to its end: its exit code, and the last line of what it complained of.

    Whoever stops waiting ends it: the next one goes on where it was.
    """
    # Nothing of the folder it is started in is imported.
    line = [sys.executable, "-P", "-m", "balcao", *words]
    process = await asyncio.create_subprocess_exec(
        *line, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    try:
        _, said = await process.communicate()
    finally:
        if process.returncode is None:  # the service ends
            process.terminate()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, "".join(said.decode("utf-8", "replace").strip().splitlines()[-1:])
