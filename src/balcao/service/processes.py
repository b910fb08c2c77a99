"""Child processes of the service. Each has one end of a socket, and ends when it is closed."""

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

    No child inherits our end: it closes when this process ends, even if killed. Raises `OSError`.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        number = theirs.fileno()
        try:
            process = subprocess.Popen(  # noqa: S603 - our own module
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
    """Return the number of the socket's end in such a process, and ignore SIGINT and SIGTERM.

    A terminal or a supervisor sends those to all processes. They are ignored by a handler, not by
    SIG_IGN, which the programs that this process starts would inherit.
    """
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda number, frame: None)
    return int(sys.argv[1])
