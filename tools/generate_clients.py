"""Writes what the OpenAPI document says into the clients in `clients/`: types, and a method each.

    .venv/bin/python -m tools.generate_clients

How requests are sent, repeated and read is written by hand, beside what is generated. What is
generated is committed; `tests/clients/test_generated.py` fails where it is not what this writes.
"""

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from balcao import __version__
from balcao.http.documentation import document

CLIENTS = Path(__file__).parent.parent / "clients"

_WRITTEN_BY = "Written by tools/generate_clients.py of the OpenAPI document: do not edit."
_METHODS = ("get", "post", "patch", "delete")
_NOT_FOR_CALLERS = {"livez", "readyz", "metrics"}
_OF_OTHERS = "/compat/"  # for whoever has a client of somebody else's already
# Header by the argument's name; others are spelled in the query, too.
_HEADERS = {"X-Cliente": "cliente", "X-Referencia": "referencia"}
_ONCE = "Idempotency-Key"
_ONE_FORM_IS_ENOUGH = {"formato"}  # JSON, which is typed
_WIDTH = 96
_VALUES_IN_PLACE = 6  # lists of more values get a name

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Argument:
    """One thing that a method takes."""

    name: str
    where: str
    """`path`, `query`, or the header's name."""
    schema: Schema
    required: bool
    text: str


@dataclass(frozen=True, slots=True)
class Method:
    """One operation of the document."""

    name: str
    verb: str
    path: str
    text: str
    arguments: Sequence[Argument]
    once: bool
    answers: str | None
    """Name of the answer's schema; None: bytes."""
    body: str | None
    body_required: bool
    upload: bool


def methods(api: Mapping[str, Any]) -> Iterator[Method]:
    """What callers may ask, in the document's order."""
    for path, verb, operation in _for_callers(api):
        yield _method(path, verb, operation)


def _for_callers(api: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, operations in api["paths"].items():
        if path.startswith(_OF_OTHERS):
            continue
        for verb in _METHODS:
            if verb in operations and operations[verb]["operationId"] not in _NOT_FOR_CALLERS:
                yield path, verb, operations[verb]


def _method(path: str, verb: str, operation: Mapping[str, Any]) -> Method:
    given = operation.get("parameters", ())
    in_query = {each["name"] for each in given if each["in"] == "query"}
    arguments = [
        Argument(
            _HEADERS.get(each["name"], each["name"]),
            each["name"] if each["in"] == "header" else each["in"],
            each["schema"],
            each.get("required", False),
            each.get("description", ""),
        )
        for each in given
        if each["name"] not in _ONE_FORM_IS_ENOUGH
        and (each["in"] != "header" or each["name"] in _HEADERS)
    ]
    (good,) = (reply for status, reply in operation["responses"].items() if status[0] == "2")
    answer = good["content"].get("application/json", {}).get("schema", {}).get("$ref")
    request = operation.get("requestBody", {})
    sent = request.get("content", {})
    body = sent.get("application/json", {}).get("schema", {}).get("$ref")
    assert in_query <= {each.name for each in arguments} | _ONE_FORM_IS_ENOUGH
    return Method(
        operation["operationId"],
        verb.upper(),
        path,
        f"{operation['summary']}.",
        arguments,
        any(each["name"] == _ONCE for each in given),
        answer and _named(answer),
        body and _named(body),
        request.get("required", False),
        bool(sent) and body is None,
    )


def schemas(api: Mapping[str, Any]) -> Mapping[str, Schema]:
    """What callers are answered with and send, by name, in the document's order."""
    found: set[str] = set()
    waiting: list[object] = [operation for _, _, operation in _for_callers(api)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            waiting += part.values()
            reference = part.get("$ref")
            if isinstance(reference, str) and reference not in found:
                found.add(reference)
                _, _, kind, name = reference.split("/")
                waiting.append(api["components"][kind][name])
    every: Mapping[str, Schema] = api["components"]["schemas"]
    return {name: of for name, of in every.items() if f"#/components/schemas/{name}" in found}


def _named(reference: str) -> str:
    return reference.rpartition("/")[2]


def _types_of(schema: Schema) -> list[str]:
    kinds = schema.get("type", "object")
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _lists(every: Sequence[Method]) -> Mapping[tuple[str, ...], str]:
    """Names of the long lists of values that arguments take: `Uf`, and `Uf2` where it differs."""
    found: dict[tuple[str, ...], str] = {}
    for argument in (argument for method in every for argument in method.arguments):
        values = tuple(argument.schema.get("enum", ()))
        if len(values) > _VALUES_IN_PLACE and values not in found:
            name = camel(f"_{argument.name}")
            number = sum(each.rstrip("0123456789") == name for each in found.values()) + 1
            found[values] = f"{name}{number}" if number > 1 else name
    return found


# Python


def _python_type(schema: Schema, quote: str = '"') -> str:
    if "$ref" in schema:
        return f"{quote}{_named(schema['$ref'])}{quote}"
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_python_type(each, quote) for each in schema["anyOf"]))
    if "enum" in schema:
        values = [value for value in schema["enum"] if value is not None]
        literal = f"Literal[{', '.join(json.dumps(each, ensure_ascii=False) for each in values)}]"
        return f"{literal} | None" if "null" in _types_of(schema) else literal
    words = {
        "string": "str",
        "integer": "int",
        "number": "float",
        "boolean": "bool",
        "null": "None",
        "object": "dict[str, object]",
    }
    return " | ".join(
        f"list[{_python_type(schema['items'], quote)}]" if kind == "array" else words[kind]
        for kind in _types_of(schema)
    )


def python_types(api: Mapping[str, Any]) -> str:
    """`types.py`: a TypedDict of each schema. Fields that are newer are there all the same."""
    lines = [
        f'"""Answers and bodies. {_WRITTEN_BY}"""',
        "from __future__ import annotations",
        "",
        "from typing import Literal, NotRequired, TypedDict",
        "",
    ]
    for name, schema in schemas(api).items():
        fields = schema["properties"]
        needed = set(schema.get("required", ()))
        lines += ["", f"class {name}(TypedDict):", *_docstring(schema.get("description", ""), 4)]
        for field, of in fields.items():
            kind = _python_type(of, "")
            lines.append(f"    {field}: {kind if field in needed else f'NotRequired[{kind}]'}")
            lines += _docstring(of.get("description", ""), 4)
        lines.append("")
    return _formatted("\n".join(lines))


def _docstring(text: str, indent: int) -> list[str]:
    if not text:
        return []
    margin = " " * indent
    text = text.replace("\\", "\\\\")
    lines = textwrap.wrap(text, _WIDTH - indent - 6)
    if len(lines) == 1:
        return [f'{margin}"""{lines[0]}"""']
    return [f'{margin}"""{lines[0]}', *(margin + line for line in lines[1:]), f'{margin}"""']


def python_client(api: Mapping[str, Any]) -> str:
    """`client.py`: both clients, a method for each operation."""
    lines = [
        f'"""Both clients. {_WRITTEN_BY}"""',
        "from typing import Literal",
        "",
        "from balcao_client import types",
        "from balcao_client.runtime import Answer, Awaited, Call, Waiting, as_json",
        "",
    ]
    every = list(methods(api))
    lists = _lists(every)
    for values, name in lists.items():
        lines.append(f"{name} = Literal[{', '.join(map(json.dumps, values))}]")
    for name, base, text, word in (
        ("Balcao", "Waiting", "Asks, and waits for the answer.", ""),
        ("BalcaoAsync", "Awaited", "Asks, and is awaited.", "await "),
    ):
        lines += ["", "", f"class {name}({base}):", f'    """{text}"""', ""]
        for method in every:
            lines += _python_method(method, word, lists)
    return _formatted("\n".join(lines))


def _python_method(
    method: Method, awaiting: str, lists: Mapping[tuple[str, ...], str]
) -> list[str]:
    path = [each for each in method.arguments if each.where == "path"]
    others = [each for each in method.arguments if each.where != "path"]
    words = ["self", *(f"{each.name}: str" for each in path)]
    if method.upload:
        words.append("content: bytes")
    if method.body:
        none = "" if method.body_required else " | None = None"
        words.append(f"body: types.{method.body}{none}")
    types = {
        each.name: lists.get(tuple(each.schema.get("enum", ()))) or _python_type(each.schema)
        for each in others
    }
    named = [f"{each.name}: {types[each.name]}" for each in others if each.required]
    named += ["content_type: str"] * method.upload
    named += [
        f"{each.name}: {types[each.name]} | None = None" for each in others if not each.required
    ]
    named += ["idempotency_key: str | None = None"] * method.once
    if named:
        words += ["*", *named]
    answers = f"types.{method.answers}" if method.answers else "bytes"
    pattern = method.path
    for each in path:
        pattern = pattern.replace(f"{{{each.name}}}", "{}")
    call = [json.dumps(method.verb), json.dumps(pattern)]
    if path:
        call.append(f"documents=({', '.join(each.name for each in path)},)")
    query = [each for each in others if each.where == "query"]
    if query:
        pairs = (f'"{each.name}": {each.name}' for each in query)
        call.append(f"query={{{', '.join(pairs)}}}")
    headers = [each for each in others if each.where != "query"]
    if headers:
        pairs = (f'"{each.where}": {each.name}' for each in headers)
        call.append(f"headers={{{', '.join(pairs)}}}")
    if method.once:
        call.append("once=True, idempotency_key=idempotency_key")
    if method.upload:
        call.append("content=content, content_type=content_type")
    elif method.body:
        call.append("content=as_json(body)")
    if method.answers is None:
        call.append('reads="bytes"')
    about = [method.text]
    about += [f"{each.name}: {each.text}" for each in method.arguments if each.text]
    doc = [line for text in about for line in textwrap.wrap(text.replace("\\", "\\\\"), 84)]
    if len(about) > 1:
        doc.insert(len(textwrap.wrap(about[0], 84)), "")
    return [
        f"    {'async ' if awaiting else ''}def {method.name}({', '.join(words)})"
        f" -> Answer[{answers}]:",
        f'        """{doc[0]}',
        *(f"        {line}".rstrip() for line in doc[1:]),
        '        """',
        f"        return {awaiting}self._ask(Call({', '.join(call)}))",
        "",
    ]


def _formatted(text: str) -> str:
    """As this house formats Python."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", "generated.py", "-"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


# TypeScript


def _typescript_type(schema: Schema, prefix: str = "") -> str:
    if "$ref" in schema:
        return prefix + _named(schema["$ref"])
    if "anyOf" in schema:
        every = (_typescript_type(each, prefix) for each in schema["anyOf"])
        return " | ".join(dict.fromkeys(every))
    if "enum" in schema:
        return " | ".join(json.dumps(each, ensure_ascii=False) for each in schema["enum"])
    words = {
        "string": "string",
        "integer": "number",
        "number": "number",
        "boolean": "boolean",
        "null": "null",
        "object": "Record<string, unknown>",
    }
    return " | ".join(
        f"Array<{_typescript_type(schema['items'], prefix)}>" if kind == "array" else words[kind]
        for kind in _types_of(schema)
    )


def _comment(text: str, indent: int) -> list[str]:
    margin = " " * indent
    lines = textwrap.wrap(text.replace("*/", "* /"), _WIDTH - indent - 7)
    if len(lines) == 1:
        return [f"{margin}/** {lines[0]} */"]
    return [f"{margin}/**", *(f"{margin} * {line}" for line in lines), f"{margin} */"] * bool(lines)


def typescript_types(api: Mapping[str, Any]) -> str:
    """`types.ts`: an interface of each schema."""
    lines = [f"// Answers and bodies. {_WRITTEN_BY}"]
    for name, schema in schemas(api).items():
        needed = set(schema.get("required", ()))
        lines += ["", *_comment(schema.get("description", ""), 0), f"export interface {name} {{"]
        for field, of in schema["properties"].items():
            lines += _comment(of.get("description", ""), 2)
            lines.append(f"  {field}{'' if field in needed else '?'}: {_typescript_type(of)};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def typescript_client(api: Mapping[str, Any]) -> str:
    """`client.ts`: the client, a method for each operation."""
    every = list(methods(api))
    lists = _lists(every)
    lines = [
        f"// The client. {_WRITTEN_BY}",
        'import { asJson, part, Runtime } from "./runtime.ts";',
        'import type { Answer } from "./runtime.ts";',
        'import type * as types from "./types.ts";',
        "",
        *(
            f"export type {name} = {' | '.join(map(json.dumps, values))};"
            for values, name in lists.items()
        ),
        "",
        "/** Asks, and is awaited. Parameters are called as in the API. */",
        "export class Balcao extends Runtime {",
    ]
    for method in every:
        lines += _typescript_method(method, lists)
    while not lines[-1]:
        lines.pop()
    return "\n".join([*lines, "}"]) + "\n"


def _typescript_method(method: Method, lists: Mapping[tuple[str, ...], str]) -> list[str]:
    about = _comment(method.text, 2)
    fields = []
    for each in method.arguments:
        kind = lists.get(tuple(each.schema.get("enum", ()))) or _typescript_type(each.schema)
        fields += _comment(each.text, 4)
        fields.append(f"    {each.name}{'' if each.required else '?'}: {kind};")
    if method.upload:
        fields += [
            "    content: Uint8Array<ArrayBuffer> | Blob | string;",
            "    contentType: string;",
        ]
    if method.body:
        fields.append(f"    body{'' if method.body_required else '?'}: types.{method.body};")
    if method.once:
        fields.append("    idempotencyKey?: string;")
    needed = (
        method.upload or method.body_required or any(each.required for each in method.arguments)
    )
    path = method.path
    for each in method.arguments:
        if each.where == "path":
            path = path.replace(f"{{{each.name}}}", f"${{part(given.{each.name})}}")
    call = [f"      method: {json.dumps(method.verb)},", f"      path: `{path}`,"]
    query = [each.name for each in method.arguments if each.where == "query"]
    if query:
        call.append("      query: {")
        call += [f"        {name}: given.{name}," for name in query]
        call.append("      },")
    headers = [each for each in method.arguments if each.where not in ("path", "query")]
    if headers:
        pairs = ", ".join(f'"{each.where}": given.{each.name}' for each in headers)
        call.append(f"      headers: {{ {pairs} }},")
    if method.once:
        call += ["      once: true,", "      idempotencyKey: given.idempotencyKey,"]
    if method.upload:
        call += ["      content: given.content,", "      contentType: given.contentType,"]
    elif method.body:
        call.append("      content: asJson(given.body),")
    if method.answers is None:
        call.append('      reads: "bytes",')
    answers = f"types.{method.answers}" if method.answers else "Uint8Array<ArrayBuffer>"
    name = camel(method.name)
    if fields:
        opening = [f"  async {name}(given: {{", *fields]
        opening.append(f"  }}{'' if needed else ' = {}'}): Promise<Answer<{answers}>> {{")
    else:
        opening = [f"  async {name}(): Promise<Answer<{answers}>> {{"]
    return [*about, *opening, "    return this.ask({", *call, "    });", "  }", ""]


def camel(name: str) -> str:
    """`lote_novo` → `loteNovo`."""
    first, *others = name.split("_")
    return first + "".join(each.capitalize() for each in others)


def generated() -> Mapping[Path, str]:
    """Every generated file and its text."""
    api = document(__version__)
    python, typescript = CLIENTS / "python" / "balcao_client", CLIENTS / "typescript" / "src"
    return {
        python / "types.py": python_types(api),
        python / "client.py": python_client(api),
        typescript / "types.ts": typescript_types(api),
        typescript / "client.ts": typescript_client(api),
    }


if __name__ == "__main__":
    for file, text in generated().items():
        file.write_text(text, "utf-8")
