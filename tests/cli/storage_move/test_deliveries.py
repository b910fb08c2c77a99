"""A move in the midst of deliveries: each event arrives, with one identifier."""

import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from balcao.core.events import NewEvent
from balcao.service.clock import system_now_ms
from tests.cli.shell import PATIENCE_SECONDS, Shell, free_port, serving
from tests.nodes.harness import until

EVENTS, ACCEPTED = 20, 8


class Receiver:
    """Accepts some deliveries, and refuses the others until `open`."""

    def __init__(self) -> None:
        self.open = False
        self.accepted: dict[int, list[str]] = defaultdict(list)
        self.refused: dict[int, set[str]] = defaultdict(set)
        self.lock = threading.Lock()

    def take(self, number: int, identifier: str) -> int:
        with self.lock:
            if not self.open and len(self.accepted) >= ACCEPTED:
                self.refused[number].add(identifier)
                return 503
            self.accepted[number].append(identifier)
            return 204


@contextmanager
def receiving(receiver: Receiver) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(receiver.take(body["data"]["saldo"], self.headers["webhook-id"]))
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.nightly
def test_each_event_arrives_with_one_identifier(
    shell: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BALCAO_WEBHOOK_PRIVATE_CIDRS", "127.0.0.0/8")
    shell("account create acme --plan pre_pago")
    receiver, port = Receiver(), free_port()
    with receiving(receiver) as there:
        shell(f"webhook create acme http://127.0.0.1:{there}/erp")
        with serving(shell.path, port, establishments=0) as server:
            server.wait_until_it_answers()
            with shell.desk() as desk:
                (account,) = [one for one in desk.accounts() if one.name == "acme"]
                number, now = account.account_id, system_now_ms()
                desk.commit_now(
                    [
                        NewEvent(number, "saldo.baixo", now, json.dumps({"saldo": n}))
                        for n in range(EVENTS)
                    ]
                )
            until(lambda: bool(receiver.refused), PATIENCE_SECONDS, "some are delivered")
            server.kill()
        assert shell(f"storage move --to {address} --final --json").json["ok"]
        receiver.open = True
        monkeypatch.setenv("BALCAO_DATABASE", address)
        with serving(shell.path, port, establishments=0) as server:
            server.wait_until_it_answers()
            until(lambda: len(receiver.accepted) == EVENTS, PATIENCE_SECONDS, "all are delivered")
            server.terminate()
    identifiers = {
        number: {*receiver.accepted[number], *receiver.refused[number]} for number in range(EVENTS)
    }
    assert all(len(each) == 1 for each in identifiers.values())
    assert len(set.union(*identifiers.values())) == EVENTS
