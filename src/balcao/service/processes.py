"""Processes of our own beside the service: each has one end of a socket, and ends with it."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from types import MappingProxyType


def begin(
    module: str, *arguments: str, environment: Mapping[str, str] = MappingProxyType({})
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start `python -m MODULE DESCRIPTOR ARGUMENTS…`; return the process and our end.

    Only we inherit our end, so it closes when this process ends, however. Raises `OSError`.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        number = theirs.fileno()
        try:
            process = subprocess.Popen(  # noqa: S603 - it is ourselves
                [sys.executable, "-P", "-m", module, str(number), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[number],
                env={
                    **os.environ,
                    **environment,
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                },
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
