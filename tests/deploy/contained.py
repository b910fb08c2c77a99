"""`python -m balcao serve` as in the image, as far as possible without Docker.

Another user without capabilities, no HOME, `/` as the working folder, and, where mounts are allowed
(as root), only the data folder writable.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import balcao
from tests.cli.shell import Server, free_port

UID = "10001"  # deploy/Dockerfile

# The test run's files may be in memory, on a separate mount.
_READ_ONLY = """
mount --bind "$0" "$0" && mount -o remount,ro,bind / || exit
if mountpoint -q /dev/shm; then mount -o remount,ro,bind /dev/shm || exit; fi
exec "$@"
"""


def _works(command: Sequence[str]) -> bool:
    tried = subprocess.run(command, capture_output=True, check=False, timeout=60, cwd="/")
    return tried.returncode == 0


def _user() -> Sequence[str]:
    """Return the command prefix that switches to another user with minimal rights."""
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        return ()
    other = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "--no-new-privs"]
    plain = [*other, "--inh-caps=-all", "--bounding-set=-all"]
    # Allow reading, for an interpreter in a folder that only root may enter, such as /root.
    sees = "-all,+dac_read_search"
    reading = [*other, f"--inh-caps={sees}", f"--ambient-caps={sees}", f"--bounding-set={sees}"]
    for words in (plain, reading):
        if _works([*words, "sh", "-c", 'exec "$0" -c "import balcao"', sys.executable]):
            return words
    return ()


class Contained(Server):
    """A server that can write only to its data folder."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.data.mkdir(mode=0o700)
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self._out, self._err = folder / "out", folder / "err"
        self.user = _user()
        self.read_only = False
        command = [*self.user, sys.executable, "-m", "balcao", "serve"]
        if self.user:
            shutil.chown(self.data, int(UID), int(UID))
            for above in folder.parents:  # pytest's folders are private
                if str(above).startswith("/tmp/pytest-"):
                    above.chmod(above.stat().st_mode | 0o011)
            folder.chmod(0o711)
            inside = ["unshare", "-m", "sh", "-c", _READ_ONLY, str(self.data)]
            if _works(
                [*inside, "sh", "-c", f'! touch "{folder}/x" && touch "$0/x"', str(self.data)]
            ):
                (self.data / "x").unlink()
                self.read_only = True
                command = [*inside, *command]
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd="/",
                umask=0o022,
                env={
                    "PATH": "/usr/bin:/bin",
                    "PYTHONPATH": str(Path(balcao.__file__).parents[1]),
                    "PYTHONDONTWRITEBYTECODE": "1",
                    "PYTHONUNBUFFERED": "1",
                    "BALCAO_HOME": str(self.data),
                    "BALCAO_HOST": "127.0.0.1",
                    "BALCAO_PORT": str(self.port),
                    "BALCAO_SANDBOX_ESTABLISHMENTS": "300",
                },
            )


@contextmanager
def contained(folder: Path) -> Iterator[Contained]:
    """Run the server; always stopped afterwards."""
    server = Contained(folder)
    try:
        server.wait_until_it_answers()
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()
