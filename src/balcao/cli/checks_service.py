"""What `balcao doctor` learns from a service that is running on this data folder."""

from collections.abc import Iterator
from typing import Any

import httpx2

from balcao.cli.findings import Finding
from balcao.cli.output import whole
from balcao.home import Home
from balcao.settings import Settings
from balcao.storage.places import place_of

NETWORK_SECONDS = 5.0

CLOCK = "relógio do serviço"
BALLAST = "reserva no disco"


def is_balcao(settings: Settings) -> bool:
    """Whether the listener is one of ours."""
    return bool(_asked(settings, "/livez") == {"status": "ok"})


def service(settings: Settings, home: Home) -> Iterator[Finding]:
    """What a running service says of its clock, and whether room is set aside on its disk."""
    if not is_balcao(settings):
        return
    said = _asked(settings, "/readyz")
    clock = said.get("relógio") if isinstance(said, dict) else None
    if clock == "certo":
        yield Finding(CLOCK, "ok", "certo")
    elif clock is not None:
        yield Finding(CLOCK, "warn", f"{clock}. Acerte o da máquina (NTP)")
    elif isinstance(said, dict) and said.get("error_message"):
        message = said["error_message"]["message"]
        yield Finding("serviço", "fail", f"não está pronto: {message}")
    ballast = place_of(settings).ballast(settings.ballast_mb)
    if not ballast.size_bytes:
        return
    if ballast.is_there:
        yield Finding(BALLAST, "ok", f"{settings.ballast_mb} MB")
    else:
        yield Finding(
            BALLAST,
            "warn",
            "liberada, ou nunca feita, por falta de espaço; volta por si quando houver"
            f" {whole(2 * settings.ballast_mb)} MB livres",
        )


def _asked(settings: Settings, path: str) -> Any:
    """The JSON that our own service answers. Its certificate proves nothing here."""
    here = settings.model_copy(update={"public_url": ""}).address
    try:
        with httpx2.Client(verify=False, timeout=NETWORK_SECONDS, trust_env=False) as client:
            return client.get(f"{here}{path}").json()
    except (httpx2.HTTPError, ValueError):
        return None
