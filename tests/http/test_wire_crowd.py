"""Thousands of clients that send nothing or do not read (contract 9.9), at a server process."""

from pathlib import Path

import httpx2
import pytest
from bench.door import crowd, memory_mb, room_for

from tests.cli.shell import free_port, serving

SILENT, SLOW = 5_000, 1_000
MEMORY_MB = 400  # all of the process


def test_a_crowd_neither_shuts_others_out_nor_fills_the_memory(tmp_path: Path) -> None:
    if not room_for(SILENT + SLOW + 1_000):
        pytest.skip("the limit on open files is too low for the clients (ulimit -n)")
    port = free_port()
    with serving(tmp_path / "dados", port, establishments=20) as server:
        server.wait_until_it_answers()
        with crowd(port) as clients:
            clients.gather(SILENT, SLOW)
            with httpx2.Client(base_url=server.base, timeout=30) as http:
                for path in ("/livez", "/readyz", "/status"):
                    assert http.get(path).status_code == 200
                measured = http.get("/metrics").text
            assert memory_mb(server.process.pid) < MEMORY_MB
            assert "balcao_connections_open " in measured
            # Silent clients cannot be distinguished from others yet; all are accepted.
            assert 'balcao_connections_closed_total{reason="full"}' not in measured
        assert httpx2.get(f"{server.base}/livez").status_code == 200
        assert server.terminate() == 0
        assert "Traceback" not in server.err
