"""`docs/adding-an-address.md`: its example works, and each address is both served and described."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest

from balcao.http.documentation import declared_routes
from balcao.http.openapi.document import build
from balcao.http.routes import Route, Routes, routes_of
from balcao.operations import OPERATIONS
from balcao.service.compose import open_application
from balcao.settings import Settings
from tests.service import Service, call

PAGE = Path(__file__).parents[2] / "docs" / "adding-an-address.md"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the page's example."""
    (code,) = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    module = ModuleType("an_example")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(code, str(PAGE), "exec"), vars(module))
    return module


def test_the_example_is_served_and_described(world: Service, example: Any) -> None:
    pages = example.PlanRoutes(world.desk)
    world.front.routes = Routes([*world.front.routes.all, *routes_of(pages)])

    reply = world.get("/conta/v1/plano")
    refused = world.run(call(world.front, "POST", "/conta/v1/plano", {}))
    described = build(routes_of(example.PlanRoutes), "1", "http://localhost", 96, public=False)

    assert reply.status == 200
    assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
    assert world.get("/conta/v1/plano", None).status == 401
    components = {"components": described["components"]}
    schema = described["components"]["schemas"]["RespostaPlano"]
    jsonschema.validate(reply.json, {**schema, **components})
    assert [*schema["properties"]] == [*reply.json]
    answers = described["paths"]["/conta/v1/plano"]["get"]["responses"]
    assert answers["200"]["content"]["application/json"]["example"].keys() == reply.json.keys()


def test_the_page_names_all_fields_of_a_description() -> None:
    text = PAGE.read_text("utf-8")
    for name in ("id", "tag", "summary", "text", "parameters", "takes", "gives", "problems"):
        assert name in Route.__dataclass_fields__
        assert f"`{name}`" in text


def test_served_routes_are_described(tmp_path: Path) -> None:
    application = open_application(Settings.model_construct(home=tmp_path))
    application.close()
    served = {
        (route.method, route.path, route.id)
        for route in application.front.routes.all
        if route.path != "/openapi.json"
    }
    assert served == {(route.method, route.path, route.id) for route in declared_routes(OPERATIONS)}


def test_a_parameter_in_the_middle_of_a_path() -> None:
    async def handler(request: object) -> None:
        """Never called."""

    one = Route("/lotes/{id}", "one", handler)
    routes = Routes(
        [
            one,
            replace(one, method="DELETE"),
            Route("/lotes/{id}/pausar", "pause", handler, "POST"),
            Route("/lotes/{id}/linhas", "rows", handler),
            Route("/sem/{id}/fim", "without_end", handler),
        ]
    )

    def found(path: str, method: str = "GET") -> tuple[str, str, str]:
        route, rest = routes.find(path, method)
        return ("", "", rest) if route is None else (route.name, route.method, rest)

    assert found("/lotes/7") == ("one", "GET", "7")
    assert found("/lotes/7", "HEAD") == ("one", "GET", "7")
    assert found("/lotes/7", "DELETE") == ("one", "DELETE", "7")
    assert found("/lotes/7/pausar", "POST") == ("pause", "POST", "7")
    assert found("/lotes/7/pausar") == ("pause", "POST", "7")  # refused with its methods
    assert found("/lotes/7/linhas") == ("rows", "GET", "7")
    assert found("/lotes//linhas") == ("rows", "GET", "")
    for path in ("/lotes/7/", "/lotes/7/virar", "/lotes/7/linhas/", "/lotes/7/linhas/8", "/sem/7"):
        assert found(path) == ("", "", "")
    assert found("/sem/7/fim") == ("without_end", "GET", "7")
    route, _ = routes.find("/lotes/7", "PUT")
    assert route is not None
    assert route.allow == b"GET, HEAD, DELETE, OPTIONS"
    with pytest.raises(AssertionError):
        Routes([one, one])
