"""A page for each operation of the OpenAPI document: what it takes, answers and refuses.

Made once, of that document alone. What only lookups have is put beside it when the page is shown.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

from markupsafe import Markup

from balcao.http import texts
from balcao.web.kit.snippets.one_request import of_request
from balcao.web.pages.docs import markdown
from balcao.web.pages.docs.navigation import Chapter, Leaf

Json: TypeAlias = Mapping[str, Any]

ADDRESS = "/docs/operacoes"
# Tags are ASCII in the document.
_TITLES: Mapping[str, str] = {texts.TAG_BUDGETS: "Orçamentos"}
_PLACES: Mapping[str, str] = {"path": "no caminho", "query": "na consulta", "header": "cabeçalho"}
_TYPES: Mapping[str, str] = {
    "string": "texto",
    "integer": "inteiro",
    "number": "número",
    "boolean": "sim ou não",
    "array": "lista",
    "object": "objeto",
}
_FORMATS: Mapping[str, str] = {
    "date": "data",
    "date-time": "data e hora",
    "uuid": "UUID",
    "binary": "arquivo",
    "cnpj": "CNPJ",
    "cpf": "CPF",
    "uri": "endereço",
}
_CODE = re.compile(r"`([A-Z][A-Z0-9_]+)`")
_CODES_FOLLOW = "`error_message.code`:"
# Of two documents one is sent; neither is required by itself.
_DOCUMENTS = ("cnpj", "cpf")
# Addresses that take many parameters, need none by name, and refuse who sends none.
_SOUGHT: Mapping[str, Mapping[str, str]] = {
    "/buscas/v1/empresas": {"uf": "SP", "nome": "padaria"},
    "/buscas/v1/empresas/contagem": {"uf": "SP", "nome": "padaria"},
    "/buscas/v1/socios": {"nome": "maria silva"},
    "/conta/v1/operacoes": {"referencia": "pedido-123"},
}
_CHOICES_MAX = 6
# Of the one header that some operations require, `Idempotency-Key`.
_EXAMPLE_KEY = "pedido-0001"


@dataclass(frozen=True, slots=True)
class Described:
    """A parameter, a header, or a field of a body or an answer."""

    name: str
    kind: str
    text: Markup
    place: str = ""
    required: bool = False
    deprecated: bool = False


@dataclass(frozen=True, slots=True)
class DescribedAnswer:
    """The answer with one status."""

    status: int
    text: Markup
    kinds: Sequence[str]  # media types
    examples: Sequence[tuple[str, str]]  # what each shows, and the body
    fields: Sequence[Described]


@dataclass(frozen=True, slots=True)
class DescribedRefusal:
    """A code that it may refuse a request with, or fail with."""

    status: int
    code: str
    text: str  # for people; empty: the document has no example


@dataclass(frozen=True, slots=True)
class Entry:
    """One operation, for its page."""

    name: str
    title: str
    tag: str
    note: str  # of all that have its tag
    method: str
    path: str
    text: Markup
    keyed: bool
    parameters: Sequence[Described]
    body_kinds: Sequence[str]
    body: Sequence[Described]
    answers: Sequence[DescribedAnswer]
    refusals: Sequence[DescribedRefusal]
    headers: Sequence[Described]
    requests: Sequence[tuple[str, str]]  # the same one, by language
    cnpj: str  # that stands in them; empty: none does

    @property
    def leaf(self) -> Leaf:
        """Its place in the navigation."""
        found_by = (self.parameters, self.body, *(each.fields for each in self.answers))
        names = dict.fromkeys(one.name for each in found_by for one in each)
        codes = dict.fromkeys(each.code for each in self.refusals)
        words = " ".join((self.path, self.text.striptags(), *names, *codes))
        return Leaf(f"{ADDRESS}/{self.name}", self.title, f"{self.method} {self.path}", words)


def entries(document: Json, address: str) -> Mapping[str, Entry]:
    """Return the operations of the document, by the name in the page's address."""
    reader = _Reader(document, address)
    found = {}
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            entry = reader.entry(path, method.upper(), told)
            found[entry.name] = entry
    return found


def chapters(document: Json, found: Mapping[str, Entry]) -> Sequence[Chapter]:
    """One for each tag, in the document's order; only the lookups lie open."""
    return [
        Chapter(
            _TITLES.get(tag["name"], tag["name"]),
            [each.leaf for each in found.values() if each.tag == tag["name"]],
            folded=tag["name"] != texts.TAG_LOOKUPS,
        )
        for tag in document["tags"]
    ]


class _Reader:
    def __init__(self, document: Json, address: str) -> None:
        self._document = document
        self._address = address
        self._notes = {tag["name"]: tag["description"] for tag in document["tags"]}

    def entry(self, path: str, method: str, told: Json) -> Entry:
        responses = {int(status): self._there(each) for status, each in told["responses"].items()}
        done = {status: each for status, each in responses.items() if not _codes(each)}
        body = told.get("requestBody", {"content": {}})["content"]
        keyed = bool(told.get("security"))
        return Entry(
            told["operationId"].replace("_", "-"),
            told["summary"],
            told["tags"][0],
            self._notes[told["tags"][0]],
            method,
            path,
            markdown.article(told.get("description", "")),
            keyed,
            [self._parameter(each) for each in told.get("parameters", ())],
            [*body],
            [*self._fields(_schema_of(body))],
            [
                DescribedAnswer(
                    status,
                    markdown.line(each["description"]),
                    [*each.get("content", ())],
                    [*_examples(each)],
                    [*self._fields(_schema_of(each.get("content", {})))],
                )
                for status, each in done.items()
            ],
            [*self._refusals(responses)],
            [
                Described(
                    name,
                    "",
                    markdown.line(self._there(header)["description"]),
                    required=bool(header.get("required")),
                )
                for name, header in next(iter(done.values()))["headers"].items()
            ],
            self._requests(path, method, told, body, keyed=keyed),
            next(
                (
                    str(each["example"])
                    for each in told.get("parameters", ())
                    if each["name"] == "cnpj" and "example" in each
                ),
                "",
            ),
        )

    def _there(self, told: Json) -> Json:
        """Resolve a reference; return anything else as it is."""
        if "$ref" not in told:
            return told
        found: Any = self._document
        for name in told["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        return self._there(found)

    def _parameter(self, told: Json) -> Described:
        return Described(
            told["name"],
            self._kind(told["schema"]),
            markdown.line(told["description"]),
            _PLACES[told["in"]],
            told["required"],
            bool(told.get("deprecated")),
        )

    def _fields(
        self, schema: Json, above: str = "", within: frozenset[str] = frozenset()
    ) -> Iterator[Described]:
        """Every field, those of objects inside by their whole path."""
        name = schema.get("$ref", "")
        if name in within:  # of its own kind again
            return
        within |= {name} if name else frozenset()
        there = self._there(schema)
        for field, told in there.get("properties", {}).items():
            text = told.get("description") or self._there(told).get("description", "")
            whole = f"{above}{field}"
            yield Described(whole, self._kind(told), markdown.line(text))
            yield from self._fields(*self._inside(told, whole), within)

    def _inside(self, told: Json, name: str) -> tuple[Json, str]:
        """The schema of what is in a field, and what its own fields' names begin with."""
        for each in told.get("anyOf", ()):
            if each != {"type": "null"}:
                return self._inside(each, name)
        items = self._there(told).get("items")
        return (items, f"{name}[].") if items else (told, f"{name}.")

    def _kind(self, schema: Json) -> str:
        for each in schema.get("anyOf", ()):
            if each != {"type": "null"}:
                return f"{self._kind(each)} ou nulo"
        there = self._there(schema)
        types = there.get("type", "object")
        names = [types] if isinstance(types, str) else [*types]
        said = _FORMATS.get(there.get("format", "")) or _TYPES[names[0]]
        choices = [each for each in there.get("enum", ()) if each is not None]
        if 0 < len(choices) <= _CHOICES_MAX:
            said = ", ".join(map(str, choices))
        if "maximum" in there:
            said += f" de {there.get('minimum', 0)} a {there['maximum']}"
        if names[0] == "array":
            said += f" ({self._kind(there['items'])})" if "items" in there else ""
        if "default" in there:
            said += f", padrão {_written(there['default'])}"
        return f"{said} ou nulo" if "null" in names[1:] else said

    def _refusals(self, responses: Mapping[int, Json]) -> Iterator[DescribedRefusal]:
        for status, response in responses.items():
            told = filter(None, map(_told, _named_examples(response)))
            said = dict(reversed([*told]))  # of several that have one code, the first
            for code in _codes(response):
                yield DescribedRefusal(status, code, said.get(code, ""))

    def _requests(
        self, path: str, method: str, told: Json, body: Json, *, keyed: bool
    ) -> Sequence[tuple[str, str]]:
        query = dict(_SOUGHT.get(path, {}))
        for each in told.get("parameters", ()):
            example = each.get("example", f"<{each['name']}>" if each["required"] else None)
            if each["in"] == "path":
                path = path.replace(f"{{{each['name']}}}", quote(str(example), safe="<>"))
            elif each["in"] == "query" and (each["required"] or each["name"] in _DOCUMENTS):
                query |= {each["name"]: str(example)} if example is not None else {}
        url = f"{self._address}{path}" + (f"?{urlencode(query, safe='<>')}" if query else "")
        if method == "GET" and keyed:
            return of_request(url)
        lines = [f"curl -sS -X {method}" if method != "GET" else "curl -sS"]
        lines += ['-H "x-api-key: $BALCAO_KEY"'] if keyed else []
        lines += [
            f'-H "{each["name"]}: {_EXAMPLE_KEY}"'
            for each in told.get("parameters", ())
            if each["in"] == "header" and each["required"]
        ]
        if body:
            kind = next(iter(body))
            lines.append(f'-H "Content-Type: {kind}"')
            sent = next((each["value"] for each in _named_examples({"content": body})), None)
            written = json.dumps(sent, ensure_ascii=False)
            lines.append(f"-d '{written}'" if sent is not None else "--data-binary @lista.csv")
        return [("curl", " \\\n  ".join((*lines, f'"{url}"')) + "\n")]


def _written(default: object) -> str:
    return default if isinstance(default, str) else json.dumps(default)


def _schema_of(content: Json) -> Json:
    """Return the schema of a JSON body; other bodies are not described by field."""
    schema: Json = content.get("application/json", {}).get("schema", {})
    return schema


def _codes(response: Json) -> Sequence[str]:
    """The codes that a response's description names; none: it is a result."""
    _, found, codes = response["description"].partition(_CODES_FOLLOW)
    return _CODE.findall(codes) if found else ()


def _named_examples(response: Json) -> Iterator[Json]:
    for content in islice(response.get("content", {}).values(), 1):
        if "example" in content:
            yield {"summary": "", "value": content["example"]}
        yield from content.get("examples", {}).values()


def _told(example: Json) -> tuple[str, str] | None:
    """Code and message of an error in our own form; faces have others."""
    match example["value"]:
        case {"error_message": {"code": str(code)}, "message": str(message)}:
            return code, message
    return None


def _examples(response: Json) -> Iterator[tuple[str, str]]:
    for example in _named_examples(response):
        value = example["value"]
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
        yield example.get("summary", ""), shown
