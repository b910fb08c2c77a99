"""The metrics, logs and health records of one process."""

import time
from dataclasses import dataclass
from typing import Literal

from balcao.observability import logs
from balcao.observability.health import Health
from balcao.observability.metrics import Metrics
from balcao.observability.requests import RequestLog
from balcao.observability.source_log import SourceLog


@dataclass(frozen=True, slots=True)
class Observers:
    """Metrics, logs and health of one process."""

    metrics: Metrics
    request_log: RequestLog
    source_log: SourceLog
    health: Health


def build(
    log_format: Literal["auto", "json", "console"],
    log_level: str,
    request_log: type[RequestLog] = RequestLog,
) -> Observers:
    """Return the observers of one process; `request_log`: its class, with spans or without."""
    return Observers(
        Metrics(),
        request_log(as_json=logs.is_json(log_format), level=log_level),
        SourceLog(time.monotonic, level=log_level),
        Health(),
    )
