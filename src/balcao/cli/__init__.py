"""The command line, `balcao`: one small module per group of commands.

Modules import little: a command imports what it needs when it runs, so that `--help` and small
commands start at once. Every text is Portuguese. A result is printed by `output.show`. An expected
failure is one sentence on stderr (`failures`) and exit code 1; wrong usage is exit code 2.
"""

import gc
import io
import os
import sys

GC_OBJECTS = 200_000


def main() -> None:
    """Run the command line of this process."""
    # Files hold hashes of keys, documents and balances: only this user may read them.
    os.umask(0o077)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # an encoding without a character prints "?"
            stream.reconfigure(errors="replace")
    # A start creates modules and classes, which stay. To look for garbage among them at Python's
    # usual intervals took a tenth of its time; the service sets its own.
    gc.set_threshold(GC_OBJECTS, 10, 10)
    # Import the tree of commands only when it is used, so that tests may import parts.
    from balcao.cli.app import app

    app(prog_name="balcao")
