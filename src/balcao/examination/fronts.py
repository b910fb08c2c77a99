"""What `balcao doctor` finds of the processes that take clients (decision 0046)."""

import os
from collections.abc import Iterator

from balcao.core.findings import Finding
from balcao.examination.serving import check_fronts
from balcao.home import Home
from balcao.settings import Settings

FRONTS = "frentes"


def fronts(settings: Settings, _: Home) -> Iterator[Finding]:
    """Whether they can be, and have a core each. Raises `Unfit`."""
    check_fronts(settings)
    count, cores = settings.fronts, os.cpu_count() or 1
    if count > cores:
        yield Finding("warn", f"{count} processos em {cores} núcleos custam mais do que trazem")
    elif count == 1:
        yield Finding(
            "ok", "um processo só; com mais núcleos e muitas consultas, veja BALCAO_FRONTS"
        )
    else:
        yield Finding("ok", f"{count} processos em {cores} núcleos")
