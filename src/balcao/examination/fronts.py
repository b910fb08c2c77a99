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
    if count == 1:
        yield Finding("ok", "um processo só; em máquinas com 4 núcleos ou mais, veja BALCAO_FRONTS")
    elif count >= cores:
        yield Finding(
            "warn",
            f"{count} frentes e o processo principal em {cores} núcleos: com menos de {count + 1},"
            " custam mais do que trazem",
        )
    else:
        yield Finding("ok", f"{count}, e o processo principal, em {cores} núcleos")
