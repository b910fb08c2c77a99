"""Checks of a service that is running on this data folder."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx2

from balcao.core.errors import RouteNotFound
from balcao.core.findings import Finding
from balcao.examination.wording import when, whole
from balcao.home import Home
from balcao.settings import Settings
from balcao.storage.places import place_of

NETWORK_SECONDS = 5.0
# `/readyz` writes: it takes six seconds and more while commits wait for a standby.
READY_SECONDS = 20.0

CLOCK = "relógio do serviço"
DISK_RESERVE = "reserva no disco"
WORK = "trabalhos periódicos"
METRICS = "medidas"


def running_address(settings: Settings, home: Home) -> str | None:
    """Return the address of a running service: the recorded one, else the configured one.

    Ignores the record of a service that was killed.
    """
    addresses = [settings.own_address]
    with suppress(OSError, UnicodeError):
        addresses.insert(0, home.serving.read_text("utf-8"))
    return next((each for each in addresses if _get_json(each, "/livez") == {"status": "ok"}), None)


def service(settings: Settings, home: Home) -> Iterator[Finding]:
    """Report a running service's clock, its periodic work, and its disk reserve."""
    address = running_address(settings, home)
    if address is None:
        return
    ready = _get_json(address, "/readyz", READY_SECONDS)
    clock = ready.get("relógio") if isinstance(ready, dict) else None
    if clock == "certo":
        yield Finding("ok", "certo", CLOCK)
    elif clock is not None:
        yield Finding("warn", f"{clock}. Acerte o da máquina (NTP)", CLOCK)
    elif isinstance(ready, dict) and ready.get("error_message"):
        message = ready["error_message"]["message"]
        yield Finding("fail", f"não está pronto: {message}")
    elif not isinstance(ready, dict):
        yield Finding("fail", "não está pronto: /readyz não respondeu")
    yield from _work(address, settings.metrics_token.get_secret_value())
    reserve = place_of(settings).disk_reserve(settings.disk_reserve_mb)
    if not reserve.size_bytes:
        return
    if reserve.exists:
        yield Finding("ok", f"{settings.disk_reserve_mb} MB", DISK_RESERVE)
    else:
        yield Finding(
            "warn",
            "liberada ou nunca criada por falta de espaço. Volta sozinha quando houver"
            f" {whole(2 * settings.disk_reserve_mb)} MB livres",
            DISK_RESERVE,
        )


def _work(address: str, token: str) -> Iterator[Finding]:
    """Report periodic work that is failing, by the metrics."""
    measured: dict[str, dict[str, float]] = {}
    from prometheus_client.parser import text_string_to_metric_families

    page = _get_text(address, "/metrics", NETWORK_SECONDS, token)
    if RouteNotFound.code in page:
        yield Finding("warn", "não podem ser lidas desta máquina: veja metrics_token", METRICS)
        return
    try:
        for family in text_string_to_metric_families(page):
            for sample in family.samples:
                measured.setdefault(sample.name, {})[sample.labels.get("work", "")] = sample.value
    except ValueError:
        measured.clear()
    if not measured:
        yield Finding("warn", "/metrics não respondeu com medições", WORK)
        return
    failing = measured.get("balcao_work_failing", {})
    for name, failures in sorted(failing.items()):
        if failures:
            at = when(round(1000 * measured["balcao_work_last_failure_seconds"][name]))
            text = f"{name} falhou {whole(int(failures))} vezes seguidas, a última em {at}"
            yield Finding("warn", f"{text}. Veja o motivo no log do serviço", WORK)
    if failing and not any(failing.values()):
        yield Finding("ok", f"{whole(len(failing))}, nenhum falhando", WORK)


def _get_json(address: str, path: str, seconds: float = NETWORK_SECONDS) -> Any:
    """Get JSON from our own service; None: there is none."""
    try:
        return json.loads(_get_text(address, path, seconds))
    except ValueError:
        return None


def _get_text(address: str, path: str, seconds: float, token: str = "") -> str:
    """Get a text from our own service. Its certificate is not verified."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    try:
        with httpx2.Client(verify=False, timeout=seconds, trust_env=False) as client:
            return client.get(f"{address}{path}", headers=headers).text
    except (httpx2.HTTPError, httpx2.InvalidURL):
        return ""
