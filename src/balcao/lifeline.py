"""Child processes that end with their parent, even if it was killed."""

import fcntl
import multiprocessing
import os
import select
import signal


def end_with(descriptor: int) -> None:
    """Have the kernel end this process when the other end of a pipe is closed.

    Only the parent has that end, and nothing is ever written to it. The signal (SIGIO, with its
    default action) ends the process even while a library computes and no Python code runs. On
    systems that do not send it, the process outlives its parent.
    """
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(descriptor, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_ASYNC)
    if select.select([descriptor], [], [], 0)[0]:  # closed before the signal was set up
        os._exit(1)


def end_with_parent() -> None:
    """Have a process started by `multiprocessing` end with its parent (see `end_with`)."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        end_with(parent.sentinel)
