"""The page of each error code: none is missing, and its steps really produce the error."""

import asyncio
import functools
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urljoin

import pytest

from balcao.core import idempotency
from balcao.core.errors import BalcaoError, errors_by_code
from balcao.core.problems import PAGES
from balcao.http import documentation as openapi
from balcao.http.wire.head import read_head
from balcao.service import batching
from balcao.web.pages.docs import codes
from balcao.web.pages.docs.codes import CodePage, SandboxStep
from balcao.web.pages.docs.contents import build
from tests.cli.shell import Shell
from tests.service import PATIENCE_SECONDS, Reply, Service, call, open_service

ADDRESS = "https://balcao.test"
CODES = sorted(errors_by_code())
SEEN = [code for code in CODES if codes.words()[code].steps]


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Return a service after a first start, with a search index; commands find its folder."""
    folder = tmp_path_factory.mktemp("casa")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batching, "POLL_SECONDS", 0.05)
        patch.setenv("BALCAO_HOME", str(folder))
        with open_service(folder, establishments=1, opendata_search=True) as house:
            yield house


@pytest.fixture(scope="module")
def pages() -> Mapping[str, CodePage]:
    return build(openapi.document("1"), ADDRESS).codes


def test_every_code_has_its_page(pages: Mapping[str, CodePage]) -> None:
    assert sorted(codes.words()) == CODES
    for code, response in codes.words().items():
        assert bool(response.steps) != bool(response.unseen), code
        page = pages[code]
        assert page.raised_by or page.words.unseen or page.statuses[0] in (400, 404, 405), code


def test_the_steps_are_a_valid_program(pages: Mapping[str, CodePage]) -> None:
    scripts = "\n".join(page.script(ADDRESS) for page in pages.values())
    done = subprocess.run(["bash", "-n"], input=scripts.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("code", SEEN)
def test_it_is_seen_in_the_sandbox(
    sandbox: Service, pages: Mapping[str, CodePage], tmp_path: Path, code: str
) -> None:
    page = pages[code]
    words = page.words
    for novo in (f"{code}-1", f"{code}-2"):  # the steps can be repeated
        setup = [line.replace("{novo}", novo) for line in words.setup]
        key = prepared(tmp_path, setup) or sandbox.issued.get(words.account)
        answer, path = sandbox.run(shown(sandbox, words.steps, key, novo))
        assert (answer.code, answer.credits) == (code, 0)
        assert answer.status in page.statuses
        assert ("retry-after" in answer.headers) == (page.wait_seconds is not None)
        (target,) = re.fullmatch(r'<([^>]+)>; rel="help"', answer.headers["link"]).groups()  # type: ignore[union-attr]
        address = urljoin(ADDRESS + path, target)
        assert address == f"{ADDRESS}{PAGES}{code}"
        explained = sandbox.request("GET", address.removeprefix(ADDRESS), None)
        assert explained.status == 200
        assert f"<code>{code}</code>" in explained.body.decode()


def prepared(folder: Path, setup: Sequence[str]) -> str | None:
    """Run the commands as they are on the page, and return the key that they created."""
    shell, key = Shell(folder), None
    for line in setup:
        kept = re.fullmatch(r"BALCAO_KEY=\$\(balcao (.+)\)", line)
        response = shell(kept[1] if kept else line.removeprefix("balcao "))
        key = response.out.strip() if kept else key
    return key


async def shown(
    house: Service, steps: Sequence[SandboxStep], key: str | None, novo: str
) -> tuple[Reply, str]:
    """Return the last answer, and the path it was requested at."""
    taken, last = "", []
    running: list[asyncio.Future[Reply]] = []
    for step in steps:
        sent, *texts = (
            text.replace("{novo}", novo).replace("{id}", taken)
            for text in (step.path, step.body, *step.headers.values())
        )
        body = texts[0].encode()
        headers = dict(zip(step.headers, texts[1:], strict=True))
        headers |= {"x-api-key": key} if key else {}
        headers |= {"content-type": step.type} if step.type else {}
        headers |= {"content-length": str(len(body))} if body else {}
        ask = functools.partial(asked, house, step.method, sent, headers, body)
        if step.meanwhile:
            running.append(asyncio.ensure_future(ask()))
            await begun(house, headers["Idempotency-Key"])
            continue
        answer = await ask()
        while step.until and answer.json["estado"] != step.until:
            await asyncio.sleep(0.01)
            answer = await ask()
        if step.take:
            value = answer.json
            for name, at in re.findall(r"\.(\w+)(?:\[(-?\d+)\])?", step.take):
                value = value[name][int(at)] if at else value[name]
            taken = value
        last = [(answer, sent)]
    for other in running:
        other.cancel()
    (found,) = last
    return found


async def begun(house: Service, key: str) -> None:
    """Start a lookup of the usual account under this key."""
    desk, digest = house.desk, idempotency.digest(key)
    (account,) = (each for each in desk.accounts() if each.name == "pre-pago")
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await desk.find_attempt(account.account_id, digest, 0) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def asked(
    house: Service, method: str, path: str, headers: dict[str, str], body: bytes
) -> Reply:
    """Return one answer; requests that the server refuses are answered by the server."""
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    try:
        read_head(f"{method} {path} HTTP/1.1\r\nHost: balcao.test\r\n{head}\r\n".encode())
    except BalcaoError as error:
        status, pairs, content = house.front.refuse(error, path.partition("?")[0])
        listed = [(name.decode(), value.decode()) for name, value in pairs]
        return Reply(status, dict(listed), listed, content)
    return await call(house.application.app, method, path, headers, body)
