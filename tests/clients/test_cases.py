"""The two clients behave as in `clients/cases.json`, against a scripted server."""

import asyncio
import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tools.generate_clients import CLIENTS

from balcao_client import Answer, Balcao, BalcaoAsync, BalcaoError
from tests.clients import interpreters
from tests.clients.scripted import RecordedRequest, Script, serve_scripts

Case = Mapping[str, Any]
Outcome = Mapping[str, Any]

SHARED = json.loads((CLIENTS / "cases.json").read_text("utf-8"))
CASES: Mapping[str, Case] = {case["name"]: case for case in SHARED["cases"]}
each = pytest.mark.parametrize("name", CASES)


def scripts() -> Mapping[str, Script]:
    return {name: Script(case["answers"]) for name, case in CASES.items()}


def compare(case: Case, outcome: Outcome, asked: Sequence[RecordedRequest]) -> None:
    """Compare the caller's outcome and the server's requests with the case."""
    assert outcome["waits"] == case["waits"]
    for kind in ("answer", "error"):
        assert (kind in outcome) == (kind in case), outcome
        for field, value in case.get(kind, {}).items():
            assert outcome[kind][field] == value, field
    assert [request.target for request in asked] == case["asked"]
    sent = [request.headers.get("idempotency-key") for request in asked]
    if "keys" in case:
        numbers: dict[str, int] = {}
        found = [key if key is None else numbers.setdefault(key, len(numbers)) for key in sent]
        assert found == case["keys"]
    for header, value in case.get("headers", {}).items():
        assert {request.headers.get(header) for request in asked} == {value}
    if "content" in case:
        assert {
            request.content and json.dumps(json.loads(request.content)) for request in asked
        } == {json.dumps(case["content"])}


def test_every_case_has_one_outcome() -> None:
    for case in CASES.values():
        assert ("answer" in case) != ("error" in case), case["name"]
        assert len(case["asked"]) == len(case["answers"]), case["name"]


# Python


def arguments_of(case: Case) -> Mapping[str, Any]:
    given = dict(case["arguments"])
    if "idempotency_key" in case:
        given["idempotency_key"] = case["idempotency_key"]
    return given


def answer_fields(answer: Answer[Any]) -> Mapping[str, Any]:
    body = answer.body.decode() if isinstance(answer.body, bytes) else answer.body
    return {
        "body": body,
        "status": answer.status,
        "request_id": answer.request_id,
        "credits": answer.credits,
        "replayed": answer.replayed,
    }


def error_fields(error: BalcaoError) -> Mapping[str, Any]:
    fields = ("code", "message", "status", "request_id", "credits", "retry_after", "body")
    return {field: getattr(error, field) for field in fields}


@each
def test_the_python_client(name: str) -> None:
    case, waits = CASES[name], list[float]()
    with serve_scripts({name: (play := Script(case["answers"]))}) as base:
        seconds = case.get("timeout_seconds", 30)
        with Balcao(f"{base}/{name}/", "chave", timeout_seconds=seconds, sleep=waits.append) as it:
            try:
                for _ in range(case.get("times", 1) - 1):
                    getattr(it, case["operation"])(**arguments_of(case))
                answer = getattr(it, case["operation"])(**arguments_of(case))
                outcome = {"waits": waits, "answer": answer_fields(answer)}
            except BalcaoError as error:
                outcome = {"waits": waits, "error": error_fields(error)}
    compare(case, outcome, play.asked)


@each
def test_the_async_python_client(name: str) -> None:
    case, waits = CASES[name], list[float]()

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def run_case(base: str) -> Outcome:
        seconds = case.get("timeout_seconds", 30)
        async with BalcaoAsync(
            f"{base}/{name}", "chave", timeout_seconds=seconds, sleep=sleep
        ) as it:
            try:
                for _ in range(case.get("times", 1) - 1):
                    await getattr(it, case["operation"])(**arguments_of(case))
                answer = await getattr(it, case["operation"])(**arguments_of(case))
                return {"waits": waits, "answer": answer_fields(answer)}
            except BalcaoError as error:
                return {"waits": waits, "error": error_fields(error)}

    with serve_scripts({name: (play := Script(case["answers"]))}) as base:
        outcome = asyncio.run(run_case(base))
    compare(case, outcome, play.asked)


# TypeScript


@pytest.fixture(scope="module")
def typescript() -> tuple[Mapping[str, Any], Mapping[str, Script]]:
    """Run all cases with the TypeScript client; return the outcomes and the requests."""
    script, recorded = CLIENTS / "typescript" / "test" / "cases.ts", scripts()
    with serve_scripts(recorded) as base:
        done = subprocess.run(
            [interpreters.node(), str(script), base],
            input=json.dumps(SHARED).encode(),
            capture_output=True,
            check=False,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout), recorded


@each
def test_the_typescript_client(
    name: str, typescript: tuple[Mapping[str, Any], Mapping[str, Script]]
) -> None:
    result, recorded = typescript
    compare(CASES[name], result["outcomes"][name], recorded[name].asked)


def test_timeouts_exceed_those_of_sources(
    typescript: tuple[Mapping[str, Any], Mapping[str, Script]],
) -> None:
    least = SHARED["timeout_seconds_min"]
    assert typescript[0]["timeout_seconds"] >= least
    with Balcao("http://h", "k") as client:
        assert client.timeout_seconds >= least
