"""The table of routes: lookup, request bodies, and its listing."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from importlib import import_module
from pathlib import Path

import pytest

from balcao.core.errors import BalcaoError, InvalidRequest, RequestTooLarge, UnsupportedMediaType
from balcao.http.read import BodyLimit, Request, pieces_of
from balcao.http.routes import Answer, Route, Routes, lookups
from balcao.operations import OPERATIONS
from balcao.service.route_list import list_routes
from tests.service import Reply, Service, call, open_service

TAKEN = BodyLimit(20, (b"application/json", b"text/csv"))


async def told(request: Request) -> Answer:
    """Return the request, as a handler."""
    body = b'{"conta":%d,"corpo":"%b"}' % (request.account_id, request.body)
    return 201, [(b"content-type", b"application/json")], body


async def nothing(request: Request) -> Answer:
    return 204, [], b""


def batches(world: Service) -> None:
    """Replace a route by one that takes bodies."""
    more = [
        Route("/lotes/v1", "lotes", told, needs_key=True),
        Route("/lotes/v1", "lotes", told, "POST", TAKEN, needs_key=True),
    ]
    world.front.routes = Routes(
        [*(each for each in world.front.routes.all if each.path != "/lotes/v1"), *more]
    )


def post(world: Service, body: bytes, kind: str = "application/json", **headers: str) -> Reply:
    named = {"content-type": kind, "x-api-key": world.client.key, **headers}
    if "content-length" not in headers and "transfer-encoding" not in headers:
        named["content-length"] = str(len(body))
    return world.run(call(world.front, "POST", "/lotes/v1", named, body))


def code(reply: Reply) -> str:
    return str(reply.json["error_message"]["code"])


def test_a_route_with_a_body_receives_it(world: Service) -> None:
    batches(world)
    for kind in ("application/json", "text/csv; charset=utf-8", "TEXT/CSV"):
        reply = post(world, b"12345678901234567890", kind)
        assert reply.status == 201, reply.body
        assert reply.json["corpo"] == "12345678901234567890"
        assert reply.json["conta"] == world.client.account_id
        assert next(iter(reply.json)) == "request_id"
        assert "ratelimit" in reply.headers
    assert post(world, b"1", **{"transfer-encoding": "chunked"}).json["corpo"] == "1"
    assert post(world, b"").json["corpo"] == ""


def test_a_body_longer_than_declared_is_refused(world: Service) -> None:
    batches(world)
    for headers in ({}, {"content-length": "21"}, {"transfer-encoding": "chunked"}):
        reply = post(world, b"1" * 21, **headers)
        assert (reply.status, code(reply)) == (413, "REQUISICAO_GRANDE_DEMAIS")
        assert "20 bytes" in reply.json["error_message"]["message"]
    assert post(world, b"1", **{"content-length": "9" * 400}).status == 413


def test_a_type_that_is_not_declared_is_refused(world: Service) -> None:
    batches(world)
    for kind in ("text/plain", "", "application/jsonx"):
        reply = post(world, b"1", kind)
        assert (reply.status, code(reply)) == (415, "TIPO_NAO_SUPORTADO")


def test_the_key_comes_before_the_body(world: Service) -> None:
    """Without a valid key, nothing of the body is read (contract 2.10)."""
    batches(world)
    named = {"content-type": "text/plain", "content-length": "1000000"}
    assert world.run(call(world.front, "POST", "/lotes/v1", named, b"1")).status == 401


def test_other_routes_and_methods_refuse_a_body(world: Service) -> None:
    batches(world)
    named = {"content-type": "application/json", "content-length": "1"}
    named["x-api-key"] = world.client.key
    for method, path, status in (
        ("GET", "/lotes/v1", 413),
        ("GET", "/conta/v1/saldo", 413),
        ("GET", "/livez", 413),
        ("OPTIONS", "/lotes/v1", 413),
        ("PUT", "/lotes/v1", 405),
        ("POST", "/lotes/v2", 404),
        ("POST", "/livez", 405),
        ("POST", "/consultas/v2/sintegra/90010001000100", 405),
    ):
        reply = world.run(call(world.front, method, path, named, b"1"))
        assert reply.status == status, (method, path)
        if status == 405:
            assert reply.headers["allow"] == {
                "/lotes/v1": "GET, HEAD, POST, OPTIONS",
                "/livez": "GET, HEAD, OPTIONS",
            }.get(path, "GET, OPTIONS")


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ([], InvalidRequest),  # the client left
        ([b"1" * 15, b"1" * 15], RequestTooLarge),
    ],
)
def test_an_interrupted_body(
    world: Service, messages: Sequence[bytes], error: type[BalcaoError]
) -> None:
    left = iter(messages)

    async def receive() -> dict[str, object]:
        piece = next(left, None)
        if piece is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": piece, "more_body": True}

    async def scenario() -> None:
        with pytest.raises(error):
            await TAKEN.read({b"content-type": b"text/csv"}, pieces_of(receive))

    world.run(scenario())


def test_a_late_body_is_not_waited_for(world: Service) -> None:
    async def never() -> AsyncIterator[bytes]:

        await asyncio.Event().wait()
        yield b""

    async def scenario() -> None:
        with pytest.raises(InvalidRequest) as told:
            await BodyLimit(9, (b"",), seconds=0).read({}, never())
        assert told.value.status == 408

    world.run(scenario())
    with pytest.raises(UnsupportedMediaType):
        world.run(TAKEN.read({}, never()))


def test_paths_are_found_by_their_longest_route() -> None:
    more = [
        Route("/a", "a", nothing),
        Route("/a/{x}", "below", nothing),
        Route("/a/b/c/{x}", "deep", nothing),
    ]
    routes = Routes([*lookups(OPERATIONS.values()), *more])

    def found(path: str) -> tuple[str, str]:
        route, rest = routes.find(path)
        return ("" if route is None else route.name), rest

    assert found("/a") == ("a", "")
    assert found("/a/") == ("below", "")
    assert found("/a/b/c") == ("below", "b/c")
    assert found("/a/b/c/d/e") == ("deep", "d/e")
    assert found("/b") == found("") == found("a") == found("/") == ("", "")
    lookup = "/consultas/v2/"
    assert found(f"{lookup}sintegra/90.010.001/0001-00") == ("sintegra", "90.010.001/0001-00")
    assert found(f"{lookup}sintegra/") == found(f"{lookup}sintegra") == ("", "")
    federal = "certidao-negativa-de-debitos-federal"
    assert found(f"{lookup}{federal}") == found(f"{lookup}{federal}/") == (federal, "")
    assert found(f"{lookup}{federal}/90010001000100") == ("", "")
    assert found("/" * 16_000) == ("", "")


def test_every_route_is_listed_with_its_handler(tmp_path: Path) -> None:
    listed = list(list_routes())
    by_path = {(one.methods, one.path): one for one in listed}
    assert len(by_path) == len(listed)
    for methods, path, handler, body in (
        ("GET", "/consultas/v2/sintegra/{cnpj}", "balcao.lookup.execution:look_up", 0),
        ("GET, HEAD", "/conta/v1/saldo", "balcao.http.account:AccountRoutes.balance", 0),
        ("GET, HEAD", "/readyz", "balcao.http.health:Probes.ready", 0),
        ("POST", "/app/entrar", "balcao.web.pages.signing.pages:enter", 32_768),
    ):
        one = by_path[methods, path]
        assert (one.handler, one.body_bytes_max) == (handler, body)
    for one in listed:
        module, _, name = one.handler.partition(":")
        found: object = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)


def test_trace_is_refused(tmp_path: Path) -> None:
    with open_service(tmp_path) as service:
        for path in ("/consultas/v2/suframa/90010001000100", "/livez", "/status", "/nada"):
            answer = service.request("TRACE", path, x_mark="not repeated")
            assert answer.status in (404, 405), path
            assert b"not repeated" not in answer.body
