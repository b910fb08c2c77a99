"""Headers of the answers: limits, credits, age, CORS, compression (contract 1.8 to 1.10)."""

import gzip
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from balcao.http.texts import HEADERS
from balcao.http.write import completed
from balcao.settings import Limits, Settings
from tests.records import CNPJ, company
from tests.service import Reply, Service, open_with_source


def listed(text: str) -> set[str]:
    return {part.strip().lower() for part in text.split(",")}


# RateLimit


class Quota(NamedTuple):
    quota: int
    window: int
    remaining: int
    reset: int


def quotas(answer: Reply) -> Mapping[str, Quota]:
    """Read RateLimit-Policy and RateLimit together (draft-ietf-httpapi-ratelimit-headers)."""
    policies = re.findall(r'"([^"]+)";q=(\d+);w=(\d+)', answer.headers["ratelimit-policy"])
    states = re.findall(r'"([^"]+)";r=(\d+);t=(\d+)', answer.headers["ratelimit"])
    assert [name for name, *_ in policies] == [name for name, *_ in states]
    return {
        policy[0]: Quota(*map(int, policy[1:]), *map(int, state[1:]))
        for policy, state in zip(policies, states, strict=True)
    }


def by_window(answer: Reply, seconds: int) -> Quota:
    (found,) = (each for each in quotas(answer).values() if each.window == seconds)
    return found


def limited(folder: Path, per_minute: int, per_day: int) -> AbstractContextManager[Service]:
    limits = Limits(per_minute=per_minute, per_day=per_day)
    return open_with_source(folder, limits_pre_pago=limits)


def test_the_minute_is_counted_exactly(tmp_path: Path) -> None:
    with limited(tmp_path, 5, 1000) as world:
        answers = [world.get(company()) for _ in range(5)]
        assert [by_window(answer, 60).remaining for answer in answers] == [4, 3, 2, 1, 0]
        assert {by_window(answer, 60).quota for answer in answers} == {5}

        refused = world.get(company())
        assert (refused.status, refused.code) == (429, "LIMITE_EXCEDIDO")
        assert by_window(refused, 60).remaining == 0
        assert world.source.asked == 5

        world.clock.advance(seconds=int(refused.headers["retry-after"]))
        assert world.get(company()).status == 200


def test_a_refused_request_does_not_count(tmp_path: Path) -> None:
    with limited(tmp_path, 5, 1000) as world:
        for _ in range(5):
            world.get(company())
        refused = [world.get(company()) for _ in range(20)]
        assert {answer.status for answer in refused} == {429}
        waits = {answer.headers["retry-after"] for answer in refused}
        assert len(waits) == 1  # asking again does not make it longer
        world.clock.advance(seconds=int(waits.pop()))
        assert world.get(company()).status == 200


def test_a_refusal_by_one_limit_is_not_counted_by_the_other(tmp_path: Path) -> None:
    with limited(tmp_path, 2, 10) as world:
        _, last, refused = (world.get(company()) for _ in range(3))

        assert by_window(last, 86_400).remaining == 8
        assert by_window(refused, 86_400) == by_window(last, 86_400)
        world.clock.advance(seconds=60)
        assert by_window(world.get(company()), 86_400).remaining == 7


def test_after_t_seconds_the_quota_is_full_again(tmp_path: Path) -> None:
    with limited(tmp_path, 5, 1000) as world:
        answers = [world.get(company()) for _ in range(4)]
        world.clock.advance(seconds=by_window(answers[3], 60).reset)
        assert by_window(world.get(company()), 60).remaining == 4


def test_the_day_is_counted_too(tmp_path: Path) -> None:
    with limited(tmp_path, 100, 3) as world:
        answers = [world.get(company()) for _ in range(4)]
        assert [answer.status for answer in answers] == [200, 200, 200, 429]
        assert [by_window(answer, 86_400).remaining for answer in answers] == [2, 1, 0, 0]
        world.clock.advance(seconds=int(answers[3].headers["retry-after"]) - 1)
        assert world.get(company()).status == 429
        world.clock.advance(seconds=1)
        assert world.get(company()).status == 200


def test_limits_are_the_accounts_and_shared_by_its_keys(tmp_path: Path) -> None:
    with limited(tmp_path, 2, 100) as world:
        second = world.another_key(world.client)
        assert world.get(company()).status == 200
        assert world.get(company(), second).status == 200
        assert world.get(company(), second).status == 429
        assert world.get(company()).status == 429
        assert world.get(company(), world.account("bia", credits=9)).status == 200


def test_a_key_may_have_tighter_limits(world: Service) -> None:
    tight = world.another_key(world.client, per_minute=2, per_day=3)
    answers = [world.get(company(), tight) for _ in range(3)]

    assert [answer.status for answer in answers] == [200, 200, 429]
    assert {2, 3} <= {quota.quota for quota in quotas(answers[0]).values()}
    assert world.get(company()).status == 200
    world.clock.advance(seconds=int(answers[2].headers["retry-after"]))
    assert world.get(company(), tight).status == 200
    world.clock.advance(seconds=600)
    refused = world.get(company(), tight)
    assert refused.status == 429
    world.clock.advance(seconds=int(refused.headers["retry-after"]))
    assert world.get(company(), tight).status == 200


def test_refusals_after_the_limit_carry_it(world: Service) -> None:
    for answer in (
        world.get(company("123")),
        world.get(company(query="optin=1")),
        world.get(company(), world.account("edu", credits=0)),
    ):
        assert {quota.window for quota in quotas(answer).values()} == {60, 86_400}


def test_the_plans_limits_by_default() -> None:
    """Contract 7.1."""
    settings = Settings.model_construct()
    plans = (settings.limits_gratuito, settings.limits_pre_pago, settings.limits_pos_pago)
    assert [(plan.per_minute, plan.per_day) for plan in plans] == [
        (20, 500),
        (300, 50_000),
        (1_200, 500_000),
    ]


# X-Creditos-Cobrados, Age, Cache-Status


def test_an_online_answer(world: Service) -> None:
    answer = world.get(company())

    assert answer.headers["x-creditos-cobrados"] == "1"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["age"] == "0"
    assert "hit" not in answer.headers["cache-status"]
    assert "fwd=" in answer.headers["cache-status"]


def test_a_cached_answer_has_its_age(world: Service) -> None:
    world.keep(days=2)
    world.clock.advance(seconds=5)
    answer = world.get(company(query="cache_strategy=CACHE_PREFERENCIAL"))

    assert answer.headers["age"] == str(2 * 86_400 + 5)
    assert answer.headers["cache-status"].endswith("; hit")
    assert answer.headers["x-creditos-cobrados"] == "1"
    assert answer.headers["cache-control"] == "no-store"


def test_a_fallback_has_its_age(world: Service) -> None:
    world.keep(days=2)
    world.source.fails()
    answer = world.get(company())
    assert answer.headers["age"] == str(2 * 86_400)
    assert answer.headers["cache-status"].endswith("; hit")


def test_errors_have_no_age(world: Service) -> None:
    world.source.fails()
    answer = world.get(company())
    assert "age" not in answer.headers
    assert "cache-status" not in answer.headers


def test_no_header_is_sent_twice(world: Service) -> None:
    for answer in (
        world.get(company()),
        world.get(company("1"), cache="7"),
        world.get("/openapi.json"),
    ):
        names = [name for name, _ in answer.header_list]
        assert len(names) == len(set(names))
        assert names == [name.lower() for name in names]


# CORS


@pytest.mark.parametrize(
    ("path", "methods"),
    [(company(), {"get"}), ("/nada", {"get"}), ("/livez", {"get", "head"})],
)
def test_preflight_needs_no_key(world: Service, path: str, methods: set[str]) -> None:
    answer = world.request(
        "OPTIONS",
        path,
        None,
        origin="https://cliente.example",
        access_control_request_method="GET",
        access_control_request_headers="x-api-key, idempotency-key",
    )

    assert answer.status in (200, 204)
    assert answer.headers["access-control-allow-origin"] == "*"
    assert listed(answer.headers["access-control-allow-methods"]) == methods
    assert listed(answer.headers["access-control-allow-headers"]) == {
        "x-api-key",
        "cache",
        "idempotency-key",
        "x-creditos-maximos",
        "x-cliente",
        "x-referencia",
        "accept",
        "content-type",
        "if-none-match",
    }
    assert world.source.asked == 0
    if answer.status == 204:
        assert answer.raw == b""
        assert "content-length" not in answer.headers  # RFC 9110, 8.6


def test_answers_may_be_read_by_any_origin(world: Service) -> None:
    world.source.fails()
    for answer in (
        world.get(company(query="cache_strategy=SO_ONLINE")),
        world.get(company("1")),
        world.get(company(), None),
        world.get("/nada"),
    ):
        assert answer.headers["access-control-allow-origin"] == "*"
        assert listed(answer.headers["access-control-expose-headers"]) == {
            "x-request-id",
            "retry-after",
            "ratelimit",
            "ratelimit-policy",
            "x-creditos-cobrados",
            "deprecation",
            "sunset",
            "cache-status",
            "age",
            "idempotent-replayed",
            "location",
            "x-cliente",
            "x-referencia",
            "x-codigo-erro",
            "link",
            "etag",
        }


def test_scripts_may_read_every_header_that_the_documentation_names(world: Service) -> None:
    exposed = listed(world.get(company()).headers["access-control-expose-headers"])
    assert {name.lower() for name in HEADERS} <= exposed


# Compression


@pytest.mark.parametrize("accepted", ["gzip", "GZIP", "deflate, gzip;q=0.5, br", "gzip ; q=1"])
def test_compressed_when_asked(world: Service, accepted: str) -> None:
    plain = world.get(company(query="cache_strategy=CACHE_SE_EXISTIR"))
    packed = world.get(company(query="cache_strategy=CACHE_SE_EXISTIR"), accept_encoding=accepted)

    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) == len(packed.raw) < len(plain.raw)
    assert packed.json["response"] == plain.json["response"]


@pytest.mark.parametrize("size", [511, 512, 4_096, 4_097, 70_000])
def test_compressed_bodies_can_be_decompressed(size: int) -> None:
    body = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    headers, packed = completed(200, [], body, gzipped=True)
    assert dict(headers)[b"content-length"] == str(len(packed)).encode()
    assert ((b"content-encoding", b"gzip") in headers) is (size >= 512)
    assert (gzip.decompress(packed) if size >= 512 else packed) == body


@pytest.mark.parametrize("accepted", [None, "", "identity", "br", "gzip;q=0", "gzip; q=0.000"])
def test_not_compressed_unless_asked(world: Service, accepted: str | None) -> None:
    headers: dict[str, Any] = {} if accepted is None else {"accept_encoding": accepted}
    for path in (company(), "/openapi.json"):
        answer = world.get(path, **headers)
        assert "content-encoding" not in answer.headers
        assert int(answer.headers["content-length"]) == len(answer.raw)


def test_vary_is_sent_for_shared_caches(world: Service) -> None:
    assert "accept-encoding" in listed(world.get(company()).headers["vary"])


def test_the_answer_is_utf_8(world: Service) -> None:
    answer = world.get(company(CNPJ[:-1]))
    assert "inválido" in answer.body.decode("utf-8")
    assert answer.headers["content-type"] == "application/json; charset=utf-8"


def test_the_document_is_revalidated_and_not_sent_again(world: Service) -> None:
    first = world.get("/openapi.json", None)
    assert first.headers["cache-control"] == "no-cache"
    # The last: whatever there is (RFC 9110, 13.1.2).
    for known in (first.headers["etag"], f'"other", {first.headers["etag"]}', "*"):
        again = world.get("/openapi.json", None, if_none_match=known)
        assert (again.status, again.raw) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]
    assert world.get("/openapi.json", None, if_none_match='"other"').status == 200
