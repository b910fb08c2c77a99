"""SERPRO's Consulta CND: polling (`serpro-cnd.md` section 2)."""

import asyncio
import json
from itertools import islice, pairwise

import httpx2
import pytest

from balcao.core.errors import SourceFailed
from balcao.providers.serpro.cnd import SerproCndAdapter, _pauses
from balcao.sources.contract import Issuance
from balcao.sources.oauth import ClientCredentials
from balcao.sources.upstream import ROUNDS_MAX
from tests.sources.adapters import Clock, a_reply, an_upstream, run_conversation
from tests.sources.certificates_world import federal, the_federal
from tests.sources.test_serpro_cnd import KEY, PROCESSING, SAVED, certified, failing, saved


def test_slow_result_is_polled_by_its_key() -> None:
    requests, result = run_conversation(
        SerproCndAdapter().certify(federal()),
        a_reply(201, PROCESSING),
        a_reply(201, {"Status": 7}),
        a_reply(200, saved() | {"Status": 2}),
    )
    assert result is not None
    assert the_federal(result).good
    first, *polls = [json.loads(request.body or b"") for request in requests]
    assert "Chave" not in first
    assert polls == [first | {"Chave": KEY}] * 2, "without it another one might be issued"
    pauses = [request.after_seconds for request in requests]
    assert pauses[0] == 0
    assert all(seconds >= 0.5 for seconds in pauses[1:])


def test_a_new_key_replaces_the_old_one() -> None:
    requests, _ = run_conversation(
        SerproCndAdapter().certify(federal()),
        a_reply(201, PROCESSING),
        a_reply(201, PROCESSING | {"Chave": "another"}),
        a_reply(200, {"Status": 3}),
    )
    assert [json.loads(request.body or b"").get("Chave") for request in requests] == [
        None,
        KEY,
        "another",
    ]


def test_charge_of_any_reply_counts() -> None:
    result = certified(a_reply(201, PROCESSING), a_reply(404, {"Status": 8}))
    assert the_federal(result).provider_billable
    assert not the_federal(certified(a_reply(404, {"Status": 8}))).provider_billable


@pytest.mark.parametrize("key", [None, "", "  "])
def test_polling_requires_a_key(key: str | None) -> None:
    assert "sem chave" in str(failing(a_reply(201, PROCESSING | {"Chave": key})))


@pytest.mark.parametrize("status", [5, 6, 9, 14, 99])
def test_failure_during_polling_is_not_restarted(status: int) -> None:
    failing(a_reply(201, PROCESSING), a_reply(200, {"Status": status}))


def test_pauses_grow_and_rounds_suffice_for_two_minutes() -> None:
    pauses = list(islice(_pauses(), ROUNDS_MAX - 1))
    assert pauses == sorted(pauses)
    assert min(pauses) >= 0.5
    assert max(pauses) == 2.0
    assert sum(pauses) >= 120


def test_a_pause_comes_before_the_request_through_the_token_layer() -> None:
    """It counts towards the time limit, and is made once, even if a refused token is renewed."""
    sent: list[tuple[str, float]] = []
    replies = [(401, {}), (201, PROCESSING), (401, {}), (200, SAVED)]

    async def scenario() -> Issuance | None:
        now = asyncio.get_running_loop().time

        def answer(request: httpx2.Request) -> httpx2.Response:
            sent.append((request.url.path.rpartition("/")[2], now()))
            if request.url.path.endswith("/token"):
                return httpx2.Response(200, json={"access_token": "t", "expires_in": 3600})
            status, body = replies.pop(0)
            return httpx2.Response(status, json=body)

        token = ClientCredentials("acme", key="k", secret="s", clock=Clock())
        return await an_upstream(answer).run(SerproCndAdapter().certify(federal()), layer=token)

    result = asyncio.run(scenario())
    assert result is not None
    assert the_federal(result).good
    names = [name for name, _ in sent]
    assert names == ["token", "certidao", "token", "certidao", "certidao", "token", "certidao"]
    waits = [after - before for (_, before), (_, after) in pairwise(sent)]
    assert [wait >= 0.5 for wait in waits] == [False, False, False, True, False, False]


def test_a_pause_does_not_outlast_the_time_limit() -> None:
    upstream = an_upstream(lambda _: httpx2.Response(201, json=PROCESSING), timeout_seconds=0.1)
    with pytest.raises(SourceFailed, match="tempo esgotado"):
        asyncio.run(upstream.run(SerproCndAdapter().certify(federal())))
