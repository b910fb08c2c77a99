"""Access to `/metrics`: the machine, private networks, and holders of the token."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from balcao.core.addresses import TrustedProxies
from balcao.http.health import MetricsAccess
from balcao.http.read import Request
from balcao.settings import Settings
from tests.records import company
from tests.service import Service

TOKEN = "um-texto-bem-comprido"
PROXY = "192.168.0.9"


def asked(client: str, headers: Sequence[tuple[bytes, bytes]], server: str = "10.0.0.1") -> Request:
    return Request("GET", "/metrics", b"", dict(headers), client=client, server=server)


def by(address: str) -> tuple[bytes, bytes]:
    return b"x-forwarded-for", address.encode()


BEARER = (b"authorization", f"Bearer {TOKEN}".encode())


@pytest.mark.parametrize(
    ("client", "headers", "open_to", "with_token"),
    [
        ("127.0.0.1", [], True, True),
        ("::1", [], True, True),
        ("::ffff:127.0.0.1", [], True, True),
        ("10.1.2.3", [], True, False),
        ("172.18.0.4", [], True, False),
        ("100.64.0.1", [], True, False),
        ("fd00::1", [], True, False),
        ("8.8.8.8", [], False, False),
        ("2606:4700::1", [], False, False),
        ("", [], False, False),
        ("8.8.8.8", [BEARER], False, True),
        ("8.8.8.8", [(b"authorization", b"Bearer outro")], False, False),
        ("8.8.8.8", [(b"authorization", b"Bearer ")], False, False),
        # Behind a proxy: the address that the proxy reports; other peers are not trusted.
        ("127.0.0.1", [by("8.8.8.8")], False, False),
        ("10.1.2.3", [by("127.0.0.1")], False, False),
        ("127.0.0.1", [(b"forwarded", b"for=8.8.8.8")], False, False),
        (PROXY, [by("8.8.8.8")], False, False),
        (PROXY, [by("8.8.8.8, 10.1.2.3")], True, False),
        (PROXY, [by("8.8.8.8"), BEARER], False, True),
    ],
)
def test_callers_with_and_without_access(
    client: str, headers: Any, open_to: bool, with_token: bool
) -> None:
    proxies = Settings(trusted_proxies=(f"{PROXY}/32",), _env_file=None).proxies
    assert MetricsAccess(proxies).admits(asked(client, headers)) is open_to
    assert MetricsAccess(proxies, TOKEN).admits(asked(client, headers)) is with_token


def test_the_machine_reads_them_by_its_public_address_too() -> None:
    assert MetricsAccess(TrustedProxies()).admits(asked("8.8.8.8", [], server="8.8.8.8"))
    assert not MetricsAccess(TrustedProxies()).admits(asked("8.8.8.8", [by("8.8.8.8")], "8.8.8.8"))


def test_others_get_a_404(house: Service) -> None:
    """The answer is that of any path that does not exist."""
    assert house.get("/metrics").status == 200
    refused = house.get("/metrics", x_forwarded_for="8.8.8.8")
    assert refused.status == 404
    assert json.loads(refused.body)["error_message"]["code"] == house.get("/nada").code


@pytest.mark.parametrize("path", [company(), company("1"), "/conta/v1/saldo", "/livez", "/nada"])
def test_no_content_type_is_sniffed(house: Service, path: str) -> None:
    """`nosniff` on every answer, refusals too, once (contract 1.8)."""
    answer = house.get(path)
    assert answer.headers["x-content-type-options"] == "nosniff"
