"""The OpenAPI document describes the operations (contract 3), and its examples are correct."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import openapi_spec_validator
import pytest

from balcao import __version__
from balcao.core.errors import public_errors
from balcao.core.problems import problem_of
from balcao.http import documentation as openapi
from balcao.http.read import Request
from balcao.operations import OPERATIONS, operations
from balcao.operations.contract import Operation
from balcao.settings import Settings
from tests.records import CNPJ, a_company, company
from tests.service import Service, open_service

DOCUMENT = openapi.document(__version__)
ALL = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda each: each.path)

# Contract 2, 3 and 7.4, for the company registry.
OF_THE_REGISTRY = {
    (400, "CNPJ_INVALIDO"),
    (400, "PARAMETRO_INVALIDO"),
    (400, "PARAMETRO_REPETIDO"),
    (400, "ESTRATEGIA_INVALIDA"),
    (400, "CLIENTE_OBRIGATORIO"),
    (400, "MARCA_COM_CPF"),
    (400, "IDEMPOTENCY_KEY_INVALIDA"),
    (400, "IDEMPOTENCY_KEY_REUTILIZADA"),
    (401, "API_KEY_INVALIDA"),
    (402, "SALDO_INSUFICIENTE"),
    (402, "TETO_DA_REQUISICAO"),
    (402, "TETO_DA_CHAVE"),
    (402, "TETO_DO_CLIENTE"),
    (400, "CLIENTE_OBRIGATORIO"),
    (400, "MARCA_COM_CPF"),
    (403, "ENDERECO_NAO_PERMITIDO"),
    (403, "OPERACAO_NAO_PERMITIDA"),
    (403, "OPTIN_NAO_HABILITADO"),
    (404, "CNPJ_NAO_ENCONTRADO"),
    (409, "OPERACAO_EM_ANDAMENTO"),
    (409, "RESULTADO_INDISPONIVEL"),
    (413, "REQUISICAO_GRANDE_DEMAIS"),
    (429, "LIMITE_EXCEDIDO"),
    (431, "REQUISICAO_GRANDE_DEMAIS"),
    (500, "ERRO_INTERNO"),
    (503, "SERVICO_INDISPONIVEL"),
    (503, "COBRANCA_INCERTA"),
}


def address(operation: Operation) -> str:
    path = f"/consultas/v2/{operation.path}"
    return f"{path}/{{{operation.document}}}" if operation.document else path


def described(operation: Operation) -> Any:
    return DOCUMENT["paths"][address(operation)]["get"]


def responses(path: str) -> dict[str, Any]:
    """Return a route's responses by status, resolving shared ones."""
    return of_method(path, "get")


def of_method(path: str, method: str) -> dict[str, Any]:
    """Like `responses`, by a method."""
    answers = DOCUMENT["paths"][path][method]["responses"]
    return {status: resolved(response) for status, response in answers.items()}


def resolved(part: Any) -> Any:
    """Return a part of the document, or the target of its reference."""
    while "$ref" in part:
        place: Any = DOCUMENT
        for step in part["$ref"].removeprefix("#/").split("/"):
            place = place[step]
        part = place
    return part


def contents() -> Iterator[tuple[str, str, Any]]:
    """Yield every response content of the document: where, status, content."""
    for path, methods in DOCUMENT["paths"].items():
        for method in methods:
            for status, response in of_method(path, method).items():
                for content in response["content"].values():
                    yield path, status, content


def schemas_within(part: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a part of the document that may be a schema."""
    if isinstance(part, dict):
        yield part
        for inner in part.values():
            yield from schemas_within(inner)
    if isinstance(part, list):
        for inner in part:
            yield from schemas_within(inner)


def examples_of(content: Any) -> Iterator[Any]:
    if "example" in content:
        yield content["example"]
    for example in content.get("examples", {}).values():
        yield example["value"]


def checker(schema: Any) -> jsonschema.Draft202012Validator:
    """Return a validator that resolves the document's components, and checks formats."""
    whole = {"components": DOCUMENT["components"], **schema}
    return jsonschema.Draft202012Validator(
        whole, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )


def test_it_is_served(world: Service) -> None:
    answer = world.get("/openapi.json", None)

    assert answer.status == 200
    assert answer.headers["content-type"].startswith("application/json")
    assert answer.json["openapi"].startswith("3.1")
    assert answer.json["paths"].keys() == DOCUMENT["paths"].keys()
    assert world.get("/openapi.json", None).body == answer.body


def test_every_operation_and_page_is_described() -> None:
    lookups = set(map(address, OPERATIONS.values()))
    receipts = {
        f"/consultas/v2/certidao-negativa-de-debitos-{of}/print/{{receipt_id}}"
        for of in ("federal", "estadual", "trabalhistas")
    } | {"/consultas/v2/regularidade-fgts/print/{receipt_id}"}
    account = {
        f"/conta/v1/{each}"
        for each in ("saldo", "consumo", "obsoletos", "operacoes", "operacoes/{request_id}")
    }
    pages = {"/livez", "/readyz", "/metrics"}
    quotes = {each.replace("/consultas/v2/", "/cotacoes/v2/") for each in lookups}
    account |= {"/conta/v1/orcamentos", "/conta/v1/orcamentos/{id}"}
    batches = {"/lotes/v1", "/lotes/v1/{id}"} | {
        f"/lotes/v1/{{id}}/{each}"
        for each in (
            *("confirmar", "pausar", "retomar", "encerrar", "repetir", "linhas", "recibos.zip"),
            *("resultado.csv", "resultado.xlsx", "resultado.jsonl"),
        )
    }
    searches = {f"/buscas/v1/{each}" for each in ("empresas", "empresas/contagem", "socios")}
    faces = {
        *(f"/compat/{each}/{{cnpj}}" for each in ("minhareceita", "brasilapi/api/cnpj/v1")),
        *(f"/compat/{each}/{{cnpj}}" for each in ("receitaws/v1/cnpj", "cnpjws/cnpj")),
        "/compat/receitaws/v1/cnpj/{cnpj}/days/{dias}",
    }
    wallet = {"/carteira/v1"} | {
        f"/carteira/v1/{each}"
        for each in ("itens", "itens/{id}", "mudancas", "relogio", "sincronizar", "vencimentos")
    }
    wallet |= {
        f"/carteira/v1/{each}"
        for each in ("calendarios", "calendarios/{id}", "planilha.xlsx", "recibos.zip", "renovar")
    }
    wallet |= {
        f"/carteira/v1/itens/{{id}}/papeis{each}" for each in ("", "/{papel}", "/{papel}/arquivo")
    }
    webhooks = {"/webhooks/v1", "/webhooks/v1/{id}"} | {
        f"/webhooks/v1/{{id}}/{each}"
        for each in ("girar-segredo", "testar", "entregas", "reenviar")
    }
    pages |= {"/eventos/v1", "/eventos/v1/tipos"}
    known = (
        lookups
        | quotes
        | searches
        | faces
        | receipts
        | account
        | pages
        | batches
        | wallet
        | webhooks
    )
    assert DOCUMENT["paths"].keys() == known


@ALL
def test_the_parameters_read_are_those_described(operation: Operation) -> None:
    in_query = [each.name for each in operation.parameters if each.place == "query"]
    assert sorted(in_query) == sorted(operation.names)
    parameters = {(each["name"], each["in"]) for each in described(operation)["parameters"]}
    assert parameters == {(each.name, each.place) for each in operation.parameters} | {
        ("Idempotency-Key", "header")
    }


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_answers_of_probes_are_fully_described(world: Service, path: str) -> None:
    answer = DOCUMENT["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]
    schema = DOCUMENT["components"]["schemas"][answer["schema"]["$ref"].rsplit("/", 1)[1]]
    assert world.get(path, None).json.keys() == schema["properties"].keys()
    assert sorted(schema["required"]) == sorted(schema["properties"])


def test_the_uf_of_the_examples_may_be_disabled() -> None:
    served = {"state_registration": ("AC", "RJ"), "rural_producer": ("AC", "RJ")}
    chosen = operations(served)
    paths = openapi.document(__version__, operations=chosen)["paths"]
    for subject in served:
        one = next(each for each in chosen[subject].parameters if each.name == "uf")
        assert "SP" not in str(one.schema)
        parameters = paths[address(chosen[subject])]["get"]["parameters"]
        (described_uf,) = (each for each in parameters if each["name"] == "uf")
        assert described_uf.get("example", "AC") == "AC"


def test_the_registrys_parameters() -> None:
    """Specification, endpoint 6; contract 2.4, 2.5, 2.7."""
    parameters = {
        (each["name"], each["in"]): each for each in described(OPERATIONS["company"])["parameters"]
    }
    days = {"type": "integer", "minimum": 0, "maximum": 365}
    assert parameters["cache", "query"]["schema"] == days | {"default": 7}
    assert parameters["cache", "header"]["schema"] == days
    assert parameters["cache", "header"]["deprecated"] is True
    assert parameters["cache_strategy", "query"]["schema"]["default"] == "ONLINE_PREFERENCIAL"
    assert set(parameters["cache_strategy", "query"]["schema"]["enum"]) == {
        "CACHE_SE_EXISTIR",
        "CACHE_PREFERENCIAL",
        "SO_ONLINE",
        "ONLINE_PREFERENCIAL",
    }
    assert parameters["optin", "query"]["schema"]["enum"] == ["0", "1"]
    assert parameters["cnpj", "path"]["required"] is True
    key = parameters["Idempotency-Key", "header"]["schema"]
    assert (key["minLength"], key["maxLength"]) == (8, 128)


def test_the_key_goes_into_a_header() -> None:
    (scheme,) = DOCUMENT["components"]["securitySchemes"].items()
    assert (scheme[1]["in"], scheme[1]["name"]) == ("header", "x-api-key")
    assert described(OPERATIONS["company"])["security"] == [{scheme[0]: []}]


def test_every_status_and_code_of_the_registry_has_an_example() -> None:
    shown = {
        (int(status), example["error_message"]["code"])
        for path, status, content in contents()
        if "cnpj-receita-federal" in path
        for example in examples_of(content)
        if example["error"]
    }
    assert shown == OF_THE_REGISTRY


@ALL
def test_every_problem_of_an_operation_has_an_example(operation: Operation) -> None:
    faces = [problem_of(error) for kind in operation.problems for error in kind.samples()]
    shown = {
        (int(status), example["error_message"]["code"])
        for path, status, content in contents()
        if path == address(operation)
        for example in examples_of(content)
        if example["error"]
    }
    assert shown == {(each.status, each.code) for each in faces} | {(500, "ERRO_INTERNO")}


@pytest.mark.parametrize("of", ["federal", "estadual"])
def test_a_certificates_results_are_described(of: str) -> None:
    """200 and the 404 that is no error (contract 3)."""
    shown = {
        (int(status), example["success"])
        for path, status, content in contents()
        if f"certidao-negativa-de-debitos-{of}" in path and "print" not in path
        for example in examples_of(content)
        if not example["error"]
    }
    assert shown == {(200, True), (404, False)}


PAGES_WITH_A_KEY = {
    "/consultas/v2/certidao-negativa-de-debitos-federal/print/{receipt_id}": {404},
    "/conta/v1/saldo": set[int](),
    "/conta/v1/consumo": {400},
    "/conta/v1/operacoes": {400},
    "/conta/v1/operacoes/{request_id}": {404},
}


@pytest.mark.parametrize("path", PAGES_WITH_A_KEY)
def test_routes_that_need_a_key(path: str) -> None:
    page = DOCUMENT["paths"][path]["get"]
    assert page["security"] == [{"chave": []}]
    assert {200, 401, 403, 429} | PAGES_WITH_A_KEY[path] <= set(map(int, responses(path)))
    assert "X-Creditos-Cobrados" not in responses(path)["200"]["headers"]
    named = {each["name"] for each in page["parameters"] if each["in"] == "path"}
    assert named == set(re.findall(r"\{(\w+)\}", path))


def test_receipts_and_their_types() -> None:
    paths = {
        of: f"/consultas/v2/certidao-negativa-de-debitos-{of}/print/{{receipt_id}}"
        for of in ("federal", "trabalhistas", "estadual")
    }
    kinds = {of: set(responses(path)["200"]["content"]) for of, path in paths.items()}
    both = {"application/pdf", "text/html"}
    assert kinds == {"federal": both, "trabalhistas": both, "estadual": {"application/pdf"}}
    public = DOCUMENT["paths"][paths["estadual"]]["get"]
    assert public["security"] == []
    assert not {"401", "429"} & set(public["responses"])


def test_the_accounts_routes_are_as_described(tmp_path: Path) -> None:
    """With receipts: answers of the whole service match the document."""
    with open_service(tmp_path) as house:
        federal = house.get("/consultas/v2/certidao-negativa-de-debitos-federal?cnpj=" + CNPJ)
        state = house.get(f"/consultas/v2/certidao-negativa-de-debitos-estadual/{CNPJ}?uf=SP")
        operation = f"/conta/v1/operacoes/{federal.json['request_id']}"
        asked = {
            "/conta/v1/saldo": "/conta/v1/saldo",
            "/conta/v1/consumo": "/conta/v1/consumo",
            "/conta/v1/consumo?formato=csv": "/conta/v1/consumo",
            operation: "/conta/v1/operacoes/{request_id}",
            operation[:-1]: "/conta/v1/operacoes/{request_id}",
            "/conta/v1/operacoes?referencia=p-1": "/conta/v1/operacoes",
            federal.json["print"]: next(iter(PAGES_WITH_A_KEY)),
            state.json["print"]: next(iter(PAGES_WITH_A_KEY)).replace("federal", "estadual"),
        }
        answers = {at: (house.get(at), path) for at, path in asked.items()}
    for at, (answer, path) in answers.items():
        response = responses(path)[str(answer.status)]
        assert answer.status == (404 if at == operation[:-1] else 200)
        content = response["content"][answer.headers["content-type"].partition(";")[0]]
        if answer.headers["content-type"].startswith("application/json"):
            assert not list(checker(content["schema"]).iter_errors(answer.json)), at
        for name, header in response["headers"].items():
            if header.get("required"):
                assert name.lower() in answer.headers, f"{at} without {name}"
                if "const" in header["schema"]:
                    assert answer.headers[name.lower()] == header["schema"]["const"]


@ALL
def test_every_problem_of_an_operation_is_public(operation: Operation) -> None:
    assert set(operation.problems) <= set(public_errors())
    assert len(set(operation.problems)) == len(operation.problems)


@pytest.mark.parametrize("kind", public_errors(), ids=lambda kind: kind.__name__)
def test_every_problem_has_an_example(kind: Any) -> None:
    for error in kind.samples():
        assert type(error) is kind


def test_all_schemas_are_schemas() -> None:
    for _, _, content in contents():
        jsonschema.Draft202012Validator.check_schema(content["schema"])
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_all_examples_fit_their_schemas() -> None:
    checked = 0
    for path, status, content in contents():
        for example in examples_of(content):
            errors = list(checker(content["schema"]).iter_errors(example))
            assert not errors, f"{path} {status}: {errors[0].message}"
            checked += 1
    assert checked > len(OF_THE_REGISTRY)


@pytest.mark.parametrize(
    "change",
    [
        {"success": "false"},
        {"error": 1},
        {"error_message": None},
        {"error_message": {"message": "x", "code": "outro"}},
        {"response": []},
        {"creditos_necessarios": -1},
        {"request_id": "1"},
        {"message": None},
    ],
)
def test_the_schemas_reject_other_answers(change: dict[str, Any]) -> None:
    content = responses(address(OPERATIONS["company"]))["402"]["content"]["application/json"]
    example, *_ = examples_of(content)
    assert checker(content["schema"]).is_valid(example)
    assert not checker(content["schema"]).is_valid(example | change)


def test_real_answers_have_the_described_type(world: Service) -> None:
    """The type exists only for the document; here it is compared with real bodies."""
    answer = world.get(company())

    operation = OPERATIONS["company"]
    typed = msgspec.json.decode(answer.body, type=operation.answer)
    assert msgspec.json.encode(typed) == answer.body
    content = described(operation)["responses"]["200"]["content"]["application/json"]
    assert not list(checker(content["schema"]).iter_errors(answer.json))


def test_an_examples_body_equals_a_lookups_answer(world: Service) -> None:
    """Every part of the example that does not depend on the request."""
    content = described(OPERATIONS["company"])["responses"]["200"]["content"]["application/json"]
    example = content["examples"]["encontrada"]["value"]
    record = msgspec.convert(example["response"], type(a_company()))
    world.source.finds(record)

    answer = world.get(company(CNPJ)).json

    assert answer["response"] == example["response"]
    assert list(answer) == list(example)


def test_every_field_is_explained() -> None:
    for name, schema in DOCUMENT["components"]["schemas"].items():
        assert schema["description"], name
        for field, of_field in schema["properties"].items():
            if name != "Erro":
                assert of_field["description"], f"{name}.{field}"


def test_no_text_is_left_in_english() -> None:
    """Docstrings of the code must not get into the document."""
    text = msgspec.json.encode(DOCUMENT).decode()
    for word in (" the ", " and ", " of ", " is ", " with "):
        assert word not in text


def test_required_headers_are_there(world: Service) -> None:
    described_here = responses(address(OPERATIONS["company"]))
    world.source.says_absent()
    for answer in (
        world.get(company("1")),
        world.get(company(), None),
        world.get(company(), world.account("edu", credits=0)),
        world.get(company(query="optin=1")),
        world.get(company()),
        world.get(company(), content_length="1"),
    ):
        headers = described_here[str(answer.status)]["headers"]
        for name, header in headers.items():
            if header.get("required"):
                assert name.lower() in answer.headers, f"{answer.status} without {name}"


def test_every_reference_leads_somewhere() -> None:
    references = [each for each in schemas_within(DOCUMENT) if "$ref" in each]
    assert len(references) > 100
    for reference in references:
        assert resolved(reference)


def test_the_public_address_is_a_second_server() -> None:
    servers = openapi.document("1", "https://api.example/", public=True)["servers"]
    assert [server["url"] for server in servers] == ["/", "https://api.example"]
    assert [server["url"] for server in DOCUMENT["servers"]] == ["/"]


# What generators of clients need (ADR 0027); `test_generated_client.py` asks one.


def test_it_is_valid_openapi() -> None:
    openapi_spec_validator.validate(DOCUMENT)


def test_no_const_on_booleans_and_no_null_alone() -> None:
    for schema in schemas_within(DOCUMENT):
        if schema.get("type") == "boolean":
            assert not {"const", "enum"} & schema.keys(), schema
        assert schema.get("type") != "null" or set(schema) == {"type"}, schema
        assert not isinstance(schema.get("const"), bool), schema
        for name, of_field in schema.get("properties", {}).items():
            assert of_field.get("type") != "null", name
            assert "type" in of_field or "$ref" in of_field or "anyOf" in of_field, name


def test_examples_show_the_values_of_success_and_error() -> None:
    """A refusal's `error` is true and its `success` false; a result's `error` is false."""
    for path, status, content in contents():
        error = content["schema"].get("$ref", "").rpartition("/")[2].startswith("Erro")
        for example in examples_of(content):
            if isinstance(example, dict) and "error" in example:
                assert (example["error"], error and example["success"]) == (error, False), (
                    f"{path} {status}"
                )


def test_every_body_is_named_and_open() -> None:
    """Every JSON body is one of few components, and may get new fields."""
    schemas = DOCUMENT["components"]["schemas"]
    for path, status, content in contents():
        if content["schema"].get("type") != "string":
            assert set(content["schema"]) == {"$ref"}, f"{path} {status}"
    assert len(schemas) <= 123
    for name, schema in schemas.items():
        assert schema["additionalProperties"] is True, name
        for of_field in schema["properties"].values():
            assert "properties" not in of_field
            assert "properties" not in of_field.get("items", {})


def test_optional_members_are_never_null() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert schemas["InscricaoEstadual"]["properties"]["updated_at"]["type"] == "string"
    assert set(schemas["RespostaSuframa"]["properties"]["endereco"]) == {"$ref", "description"}
    assert schemas["Empresa"]["properties"]["porte"]["type"] == ["string", "null"]


def test_responses_list_their_codes() -> None:
    """The schema accepts any code, since new ones may follow; texts and examples list them."""
    for path, methods in DOCUMENT["paths"].items():
        for method in methods:
            for status, response in of_method(path, method).items():
                codes = {
                    example["error_message"]["code"]
                    for content in response["content"].values()
                    for example in examples_of(content)
                    if isinstance(example, dict) and example.get("error")
                }
                answer = set(re.findall(r"`([A-Z][A-Z0-9_]+)`", response["description"]))
                assert answer >= codes, f"{method} {path} {status}"


def test_equal_responses_are_shared() -> None:
    seen: dict[bytes, str] = {}
    for path, methods in DOCUMENT["paths"].items():
        every = [part for each in methods.values() for part in each["responses"].items()]
        for status, response in every:
            if "$ref" not in response:
                text = msgspec.json.encode(response)
                assert text not in seen, f"{path} {status} is {seen.get(text)}"
                seen[text] = f"{path} {status}"
    assert DOCUMENT["components"]["responses"]


def test_two_parameters_of_one_name_have_two_names_in_go() -> None:
    for operation in OPERATIONS.values():
        parameters = described(operation)["parameters"]
        names = [each.get("x-go-name", each["name"]) for each in parameters]
        assert len(names) == len(set(names)), operation.path


def test_days_are_plain_strings() -> None:
    """One type for a day and for an empty text, which counts as omitted."""
    parameters = DOCUMENT["paths"]["/conta/v1/consumo"]["get"]["parameters"]
    for name in ("de", "ate"):
        (schema,) = (each["schema"] for each in parameters if each["name"] == name)
        assert set(schema) == {"type", "pattern"}
        assert schema["type"] == "string"
        for text, good in (("2026-08-08", True), ("", True), ("08/08/2026", False)):
            assert (re.search(schema["pattern"], text) is not None) == good


def test_contact_servers_and_licence() -> None:
    here = openapi.document("1", "https://api.example/")
    assert here["info"]["contact"]["url"] == "https://api.example/"
    assert here["info"]["license"] == {"name": "MIT", "identifier": "MIT"}
    assert here["externalDocs"]["url"] == "https://api.example/docs/sandbox"


@pytest.mark.parametrize(
    ("settings", "base"),
    [
        (Settings.model_construct(port=8123), "http://127.0.0.1:8123"),
        (Settings.model_construct(public_url="https://api.example"), "https://api.example"),
    ],
)
def test_links_are_absolute(settings: Settings, base: str) -> None:
    routes = openapi.documentation(openapi.document_of(settings))
    page = {each.path: each.handler for each in routes}["/openapi.json"]

    async def body() -> bytes:
        _, _, content = await page(Request("GET", "/openapi.json", b"", {}))
        assert isinstance(content, bytes)
        return content

    document = msgspec.json.decode(asyncio.run(body()))
    assert document["externalDocs"]["url"] == f"{base}/docs/sandbox"
    assert ("Endereço público" in str(document["servers"])) == bool(settings.public_url)


def test_tags_are_ascii() -> None:
    for tag in DOCUMENT["tags"]:
        assert tag["name"].isascii()
    described = [each for methods in DOCUMENT["paths"].values() for each in methods.values()]
    used = {tag for each in described for tag in each["tags"]}
    assert used == {tag["name"] for tag in DOCUMENT["tags"]}
