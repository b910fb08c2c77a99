"""The generated parts of the clients match the current OpenAPI document."""

import re
from pathlib import Path

import pytest
from tools import generate_clients

import balcao_client
from balcao import __version__
from balcao.http.documentation import document
from balcao.settings import Settings
from balcao_client import runtime

GENERATED = generate_clients.generated()


@pytest.mark.parametrize("file", GENERATED, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_committed_files_are_up_to_date(file: Path) -> None:
    assert file.read_text("utf-8") == GENERATED[file], (
        "the API has changed: run `.venv/bin/python -m tools.generate_clients`"
    )


def test_every_operation_for_callers_has_a_method() -> None:
    named = {
        operation["operationId"]
        for path, operations in document(__version__)["paths"].items()
        for operation in operations.values()
        if not path.startswith("/compat/")  # for clients of other services
    }
    assert {"livez", "readyz", "metrics"} <= named
    script = (generate_clients.CLIENTS / "typescript" / "src" / "client.ts").read_text("utf-8")
    for name in named - {"livez", "readyz", "metrics"}:
        assert callable(getattr(balcao_client.Balcao, name))
        assert callable(getattr(balcao_client.BalcaoAsync, name))
        assert f"  async {generate_clients.camel(name)}(" in script


def test_clients_wait_longer_than_the_sources_are_given() -> None:
    """Contract 6.4: clients receive the answers that they pay for."""
    deadline = Settings.model_fields["source_deadline_seconds"].default
    assert deadline + 2 <= runtime.TIMEOUT_SECONDS
    script = (generate_clients.CLIENTS / "typescript" / "src" / "runtime.ts").read_text("utf-8")
    (seconds,) = re.findall(r"TIMEOUT_SECONDS = (\d+);", script)
    assert int(seconds) == runtime.TIMEOUT_SECONDS
