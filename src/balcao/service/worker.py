"""A worker process: `python -m balcao.service.worker SOCKET NUMBER` (`service/supervisor.py`)."""

import os
import socket
import sys

from balcao.examination.failures import explain
from balcao.observability import logs
from balcao.service import compose, processes, server
from balcao.settings import Settings


def main() -> int:
    """Serve until the supervisor closes its end of the socket; return the exit code."""
    control = socket.socket(fileno=processes.descriptor())
    number = int(sys.argv[2])
    settings = Settings()
    logs.configure(settings.log_format, settings.log_level)
    try:
        application = compose.open_application(settings)
        try:
            server.serve(application, server.Supervised(control, settings.worker_port(number)))
        finally:
            application.close()
    except Exception as error:
        sentence = explain(error)
        if sentence is None:
            raise
        sys.stderr.write(f"{sentence}\n")
        return 1
    return 0


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)  # threads of libraries may still be releasing Python objects
