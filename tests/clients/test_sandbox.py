"""Our clients read every operation, a negative result and an error of the sandbox."""

import os
import subprocess
import sys
from collections.abc import Sequence

from bench.clients import LINES
from tools.generate_clients import CLIENTS

from tests.cli.shell import Server, keys_in
from tests.clients import interpreters


def read(command: Sequence[str], server: Server) -> Sequence[str]:
    """Return the lines that a client's program prints."""
    key = keys_in(server.out)["pre-pago"]
    done = subprocess.run(
        command,
        env={**os.environ, "BALCAO_BASE": server.base, "BALCAO_KEY": key},
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().splitlines()


def test_both_clients_read_results_negatives_and_errors(server: Server) -> None:
    script = str(CLIENTS / "typescript" / "test" / "sandbox.ts")
    program = str(CLIENTS / "python" / "read_sandbox.py")
    assert tuple(read([sys.executable, program], server)) == LINES
    assert tuple(read([interpreters.node(), script], server)) == LINES
