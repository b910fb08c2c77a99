"""`balcao doctor` on worker processes: whether they can run, and have a core each."""

import os
from collections.abc import Iterator

from balcao.core.findings import Finding
from balcao.examination.serving import check_workers
from balcao.home import Home
from balcao.settings import Settings
from balcao.storage.places import place_of

WORKERS = "processos"


def workers(settings: Settings, _: Home) -> Iterator[Finding]:
    """Compare the number of workers with the machine's cores. Raises `BadSettings`."""
    check_workers(settings, place_of(settings))
    count, cores = settings.workers, os.cpu_count() or 1
    if count > cores:
        yield Finding("warn", f"{count} processos em {cores} núcleos custam mais do que trazem")
    elif count == 1:
        yield Finding("ok", "configurado: um processo")
    else:
        yield Finding("ok", f"configurado: {count} processos em {cores} núcleos")
