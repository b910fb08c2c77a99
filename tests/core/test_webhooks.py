"""Webhooks: signatures, bodies, schedule, states, and the addresses they go to (contract 19.4)."""

import json
from ipaddress import ip_network
from typing import Any

import pytest
from standardwebhooks import Webhook

from balcao.core.errors import WebhookAddressRefused
from balcao.core.events import StoredEvent
from balcao.core.webhook_addresses import check_addresses, endpoint_of, is_public
from balcao.core.webhooks import (
    RETRY_SECONDS,
    Attempt,
    body_of_event,
    failed_for_ms,
    headers_of,
    is_wanted,
    open_after,
    retry_after_seconds,
    retry_ms,
    secret_text,
    shown_response,
    signature,
    state_after_failure,
)

HOUR, DAY = 3_600_000, 86_400_000
NOW = 1_793_000_000_000
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def failed(status: int | None = 500, *, after: int | None = None) -> Attempt:
    return Attempt(NOW, 0, status, None, after)


def test_the_vector_of_the_standard() -> None:
    found = signature([SECRET], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_receivers_verify_with_either_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    new, old, other = (secret_text(bytes([number]) * 32) for number in (1, 2, 3))
    body = body_of_event("balcao.ping", "2026-10-25T12:00:00.000-03:00", {"ã": 1})
    headers = dict(headers_of([new, old], "evt_1", NOW, body))
    monkeypatch.setattr("standardwebhooks.webhooks.datetime", _Fixed)
    for secret in (new, old):
        assert Webhook(secret).verify(body, headers)["data"] == {"ã": 1}
    with pytest.raises(Exception, match="No matching signature"):
        Webhook(other).verify(body, headers)


class _Fixed:
    """The judge's clock."""

    from datetime import datetime as real

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return cls.real.fromtimestamp(NOW / 1000, tz)

    @classmethod
    def fromtimestamp(cls, *values: Any, **named: Any) -> Any:
        return cls.real.fromtimestamp(*values, **named)


def test_a_large_body_has_the_first_members() -> None:
    data = {"item": {"id": "i"}, "a": "x" * 12_000, "b": "y" * 12_000, "c": 1}
    body = body_of_event("empresa.socios", "agora", data)
    assert len(body) <= 20_000
    assert [*json.loads(body)["data"]] == ["item", "a", "cortado"]
    assert "cortado" not in json.loads(body_of_event("a.b", "agora", {"c": 1}))["data"]


def test_the_schedule_of_attempts() -> None:
    assert [*RETRY_SECONDS] == [
        *(5, 300, 1800, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600)
    ]
    for random, share in ((0.0, 0.9), (0.5, 1.0), (1.0, 1.1)):
        waits = [retry_ms(n, failed(), random) for n in range(1, 10)]
        assert waits == [NOW + round(share * seconds * 1000) for seconds in RETRY_SECONDS]
    assert retry_ms(10, failed(after=60), 0.5) is None
    assert retry_ms(1, failed(503, after=60), 0.5) == NOW + 60_000
    assert retry_ms(3, failed(503, after=60), 0.5) == NOW + 1_800_000  # the later of the two
    assert retry_ms(1, failed(429, after=999_999), 0.5) == NOW + DAY


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120),
        ("999999999999", 86_400),
        ("Mon, 26 Oct 2026 08:34:20 GMT", 60),
        ("Mon, 26 Oct 2020 08:34:20 GMT", 0),
        ("-5", None),
        ("amanhã", None),
        ("", None),
    ],
)
def test_retry_after(text: str, seconds: int | None) -> None:
    assert retry_after_seconds(text, 1_793_003_600_000) == seconds


def test_states_of_an_endpoint() -> None:
    assert state_after_failure(12 * HOUR - 1, 500) == ("ativo", None)
    assert state_after_failure(12 * HOUR, None) == ("falhando", None)
    assert state_after_failure(5 * DAY, 500) == ("desligado", "sem_sucesso")
    assert state_after_failure(0, 410) == ("desligado", "http_410")


@pytest.mark.parametrize(
    ("days", "failed_days"),
    [
        ([0], 0),
        ([0, 1, 2, 3, 4, 5], 5),  # an attempt a day
        ([0, 5], 1.1),  # the clock jumped
        ([0, 0.5, 1.5, 2.5, 30, 30.5], 4.1),  # quiet since
        ([0, 2, 1, 2], 2.1),  # set back
    ],
)
def test_time_without_attempts_is_no_failure(days: list[float], failed_days: float) -> None:
    lasted, last = 0, None
    for day in days:
        at = NOW + round(day * DAY)
        lasted, last = failed_for_ms(lasted, last, at), at
    assert lasted / DAY == pytest.approx(failed_days, abs=0.001)


def test_an_overloaded_receiver_gets_fewer_at_a_time() -> None:
    assert [open_after(4, failed(status)) for status in (200, 404, 429, 502, None)] == [
        *(4, 4, 2, 2, 2)
    ]
    assert open_after(1, failed(429)) == 1


def test_what_an_endpoint_is_sent() -> None:
    def wanted(event: StoredEvent, **filters: Any) -> bool:
        return is_wanted(event, "w1", filters.get("kinds"), filters.get("clients"))

    event = StoredEvent(1, 7, "certidao.a_vencer", NOW, "{}", client="loja")
    assert wanted(event)
    assert wanted(event, kinds=["certidao.*"], clients=["loja"])
    assert not wanted(event, kinds=["certidao.vencida", "empresa.*"])
    assert not wanted(event, clients=["outra"])
    assert not wanted(StoredEvent(1, 7, "certidao.a_vencer", NOW, "{}", silent=True))
    assert not wanted(StoredEvent(1, 7, "balcao.ping", NOW, "{}", webhook_id="w1"))
    about = [StoredEvent(1, 7, "webhook.falhando", NOW, f'{{"webhook":"w{n}"}}') for n in (1, 2)]
    assert [wanted(each) for each in about] == [False, True]


def test_a_response_is_shown_in_one_line() -> None:
    assert shown_response(b"a\r\n\x00b\xff" + b"c" * 300) == "a   b\ufffd" + "c" * 194


PRIVATE = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))

INNER = [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1",
    "0.0.0.0", "224.0.1.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1",
    "192.88.99.1", "::1", "::", "::7f00:1", "fe80::1", "fe80::1%eth0", "fc00::1", "ff0e::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0:169.254.169.254", "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "2002:7f00:1::1", "2002:a00:1::", "2001:0:1::1",
    "2001:db8::1", "3fff::1", "100::1", "5f00::1", "nome", "",
]  # fmt: skip
OUTER = ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]


def test_only_public_addresses() -> None:
    assert [text for text in INNER if is_public(text)] == []
    assert [text for text in OUTER if not is_public(text)] == []


def test_all_addresses_of_a_name_are_checked() -> None:
    https, http = (endpoint_of(f"{scheme}://erp.test:8443/x") for scheme in ("https", "http"))
    check_addresses(https, OUTER, ())
    check_addresses(https, [*OUTER, "10.0.0.1", "::ffff:10.0.0.1"], PRIVATE)
    check_addresses(http, ["10.0.0.1", "fd00::1"], PRIVATE)
    for endpoint, addresses in (
        (https, []),
        (https, ["8.8.8.8", "127.0.0.1"]),
        (https, ["10.0.0.1"]),
        (http, ["8.8.8.8"]),
    ):
        with pytest.raises(WebhookAddressRefused):
            check_addresses(endpoint, addresses, ())
    with pytest.raises(WebhookAddressRefused):
        check_addresses(http, ["10.0.0.1", "8.8.8.8"], PRIVATE)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.test/", "//a.test/", "https:a.test", "https://", "https:///x", "https://a.test:22/",
        "https://a.test:80/", "https://a.test:0/", "https://a.test:99999/", "https://a.test:x/",
        "https://u@a.test/", "https://u:p@a.test/", "https://@a.test/", "https://a.test/#x",
        "https://a.test\\@127.0.0.1/", "https://a.test /", "https://a.test/\n", "https://ａ.test/",
        "https://①27.0.0.1/", "https://[::1%25lo]/", "https://[::1/", "https://a..%2ftest/",
        "https://a.test/é", "https://a.test/" + "x" * 2_000, "",
    ],
)  # fmt: skip
def test_addresses_that_are_refused_as_written(url: str) -> None:
    with pytest.raises(WebhookAddressRefused):
        endpoint_of(url)


def test_addresses_that_are_accepted() -> None:
    found = endpoint_of("https://Exemplo.com.br/a?b=c")
    assert (found.host, found.port) == ("exemplo.com.br", 443)
    assert endpoint_of("https://[2606:4700::1111]:8443/").host == "2606:4700::1111"
    assert endpoint_of("http://erp.interno/").port == 80
    assert endpoint_of("https://2130706433/").host == "2130706433"  # resolved, then refused
