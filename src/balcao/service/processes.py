"""Processes of our own beside the service: each has one end of a socket, and ends with it."""

import os
import signal
import socket
import subprocess
import sys


def begin(module: str) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start `python -m MODULE NUMBER`, of its end's descriptor; the process, and our end.

    Nobody else inherits that, so it is gone when we are, whatever ended us. Raises `OSError`.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        number = theirs.fileno()
        try:
            process = subprocess.Popen(  # noqa: S603 - it is ourselves
                [sys.executable, "-P", "-m", module, str(number)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[number],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        except OSError:
            ours.close()
            raise
    return process, ours


def descriptor() -> int:
    """In such a process: the number of its end. From here on it hears no signal that a terminal or
    a supervisor sends to all.
    """
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    return int(sys.argv[1])
