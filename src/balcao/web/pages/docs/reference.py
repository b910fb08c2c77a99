"""A page for each operation of the OpenAPI document: its parameters, answers and errors.

The pages are made once, from that document alone. Facts about lookups are added when a page is
shown.
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
from balcao.web.kit.snippets.one_request import Value, of_clients, of_request
from balcao.web.pages.docs import markdown
from balcao.web.pages.docs.language import PORTUGUESE, Language
from balcao.web.pages.docs.navigation import Chapter, Leaf

Json: TypeAlias = Mapping[str, Any]

# Titles of tags, which are ASCII in the document.
_TITLES: Mapping[str, str] = {
    texts.TAG_BUDGETS: "Orçamentos",
    texts.TAG_FACES: "Compatibilidade",
    texts.TAG_QUOTES: "Preços",
}
_PLACES: Mapping[str, str] = {"path": "no caminho", "query": "na consulta", "header": "cabeçalho"}
TYPES: Mapping[str, str] = {
    "string": "texto",
    "integer": "inteiro",
    "number": "número",
    "boolean": "sim ou não",
    "array": "lista",
    "object": "objeto",
}
FORMATS: Mapping[str, str] = {
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
# One of these two is sent, so neither is marked as required.
_DOCUMENTS = ("cnpj", "cpf")
# Example queries of operations that require some parameter, but no specific one.
_EXAMPLE_QUERIES: Mapping[str, Mapping[str, str]] = {
    "/buscas/v1/empresas": {"uf": "SP", "nome": "padaria"},
    "/buscas/v1/empresas/contagem": {"uf": "SP", "nome": "padaria"},
    "/buscas/v1/socios": {"nome": "maria silva"},
    "/conta/v1/operacoes": {"referencia": "pedido-123"},
}
# Of the sandbox, for lookups of a person.
_PERSON: Mapping[str, str] = {"cpf": "90010000100", "data_nascimento": "19800101"}
_COMPATIBLE = "/compat/"  # addresses that our clients leave out
_CHOICES_MAX = 6
# Example of the one header that some operations require, `Idempotency-Key`.
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
    """The documented response with one status."""

    status: int
    text: Markup
    kinds: Sequence[str]  # media types
    examples: Sequence[tuple[str, str]]  # summary and body
    fields: Sequence[Described]


@dataclass(frozen=True, slots=True)
class DescribedRefusal:
    """An error code that the operation may answer with."""

    status: int
    code: str
    text: str  # a message; empty: the document has no example


@dataclass(frozen=True, slots=True)
class Sample:
    """The example request of an operation, and the same request with other values."""

    address: str
    name: str  # the operation's id
    method: str
    path: str
    types: Mapping[str, str]  # JSON types of the parameters of path and query, by name
    values: Mapping[str, str]  # of the example
    options: Sequence[str]  # of curl, where it is the only language
    keyed: bool

    def requests(self, values: Mapping[str, str] | None = None) -> Sequence[tuple[str, str]]:
        """Return the request in each language.

        `values` replace those of the example, which fill in for empty ones.
        """
        given = dict(self.values)
        if values is not None:
            given = {name: text for name, text in given.items() if self._in_path(name)}
            given |= {name: text or self._example(name) for name, text in values.items()}
        given = {name: text for name, text in given.items() if text}
        path, query = self.path, {}
        for name, text in given.items():
            if self._in_path(name):
                path = path.replace(f"{{{name}}}", quote(text, safe="<>"))
            else:
                query[name] = text
        url = f"{self.address}{path}" + (f"?{urlencode(query, safe='<>')}" if query else "")
        if self.method == "GET" and self.keyed:
            arguments = {name: self._typed(name, text) for name, text in given.items()}
            clients = of_clients(self.address, self.name, arguments)
            return [*of_request(url), *(() if self.path.startswith(_COMPATIBLE) else clients)]
        curl = "curl -sS" if self.method == "GET" else f"curl -sS -X {self.method}"
        return [("curl", " \\\n  ".join((curl, *self.options, f'"{url}"')) + "\n")]

    def _example(self, name: str) -> str:
        return self.values.get(name) or _PERSON.get(name, "")

    def _in_path(self, name: str) -> bool:
        return f"{{{name}}}" in self.path

    def _typed(self, name: str, text: str) -> Value:
        match self.types.get(name):
            case "integer" if text.isdecimal():
                return int(text)
            case "boolean" if text in ("true", "false"):
                return text == "true"
        return text


@dataclass(frozen=True, slots=True)
class Entry:
    """One operation, for its page."""

    name: str
    title: str
    tag: str
    chapter: str  # the title of its tag
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
    sample: Sample
    root: str  # the first page in its language
    translated: bool = True  # else its texts are in Portuguese

    @property
    def leaf(self) -> Leaf:
        """Its place in the navigation."""
        found_by = (self.parameters, self.body, *(each.fields for each in self.answers))
        names = dict.fromkeys(one.name for each in found_by for one in each)
        codes = dict.fromkeys(each.code for each in self.refusals)
        words = " ".join((self.path, self.text.striptags(), *names, *codes))
        return Leaf(
            f"{self.root}/operacoes/{self.name}", self.title, f"{self.method} {self.path}", words
        )


def entries(document: Json, address: str, language: Language = PORTUGUESE) -> Mapping[str, Entry]:
    """Return the operations of the document, by the name in the page's address."""
    reader = _Reader(document, address, language)
    found = {}
    for path, methods in document["paths"].items():
        for method, node in methods.items():
            entry = reader.entry(path, method.upper(), node)
            found[entry.name] = entry
    return found


def chapters(
    document: Json, found: Mapping[str, Entry], language: Language = PORTUGUESE
) -> Sequence[Chapter]:
    """Return one chapter for each tag, in the document's order; only the lookups are expanded."""
    return [
        Chapter(
            language.say(_title(tag["name"])),
            [each.leaf for each in found.values() if each.tag == tag["name"]],
            folded=tag["name"] != texts.TAG_LOOKUPS,
        )
        for tag in document["tags"]
    ]


def fields_of(document: Json, schema: Json) -> Sequence[Described]:
    """Return the fields of a schema, with their texts in Portuguese."""
    return [*_Reader(document, "", PORTUGUESE)._fields(schema)]


def _title(tag: str) -> str:
    return _TITLES.get(tag, tag)


class _Reader:
    def __init__(self, document: Json, address: str, language: Language) -> None:
        self._document = document
        self._address = address
        self._language = language
        self._say = language.say

    def _line(self, text: str) -> Markup:
        return markdown.line(self._say(text), self._links_of(text))

    def _links_of(self, text: str) -> Language:
        """Return the language of the pages that a text links to: its own."""
        return self._language if self._language.has(text) else PORTUGUESE

    def entry(self, path: str, method: str, node: Json) -> Entry:
        responses = {int(status): self._resolve(each) for status, each in node["responses"].items()}
        results = {status: each for status, each in responses.items() if not _codes(each)}
        body = node.get("requestBody", {"content": {}})["content"]
        keyed = bool(node.get("security"))
        description = node.get("description", "")
        return Entry(
            node["operationId"].replace("_", "-"),
            self._say(node["summary"]),
            node["tags"][0],
            self._say(_title(node["tags"][0])),
            method,
            path,
            markdown.article(self._say(description), self._links_of(description)),
            keyed,
            [self._parameter(each) for each in node.get("parameters", ())],
            [*body],
            [*self._fields(_schema_of(body))],
            [
                DescribedAnswer(
                    status,
                    self._line(each["description"]),
                    [*each.get("content", ())],
                    [(self._say(name), text) for name, text in _examples(each)],
                    [*self._fields(_schema_of(each.get("content", {})))],
                )
                for status, each in results.items()
            ],
            [*self._refusals(responses)],
            [
                self._header(name, self._resolve(header))
                for name, header in next(iter(results.values()))["headers"].items()
            ],
            self._sample(path, method, node, body, keyed=keyed),
            self._language.root,
            self._language.has(description),
        )

    def _resolve(self, node: Json) -> Json:
        """Resolve a reference; return anything else unchanged."""
        if "$ref" not in node:
            return node
        found: Any = self._document
        for name in node["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        return self._resolve(found)

    def _parameter(self, node: Json) -> Described:
        return Described(
            node["name"],
            self._kind(node["schema"]),
            self._line(node["description"]),
            self._say(_PLACES[node["in"]]),
            node["required"],
            bool(node.get("deprecated")),
        )

    def _header(self, name: str, node: Json) -> Described:
        """Describe a header of an answer, with an example where the document has one."""
        examples = node["schema"].get("examples")
        kind = examples[0] if examples else self._kind(node["schema"])
        return Described(name, kind, self._line(node["description"]))

    def _fields(
        self, schema: Json, above: str = "", within: frozenset[str] = frozenset()
    ) -> Iterator[Described]:
        """Yield every field; those of inner objects with their whole path."""
        name = schema.get("$ref", "")
        if name in within:  # recursive schema
            return
        within |= {name} if name else frozenset()
        resolved = self._resolve(schema)
        for field, node in resolved.get("properties", {}).items():
            text = node.get("description") or self._resolve(node).get("description", "")
            whole = f"{above}{field}"
            yield Described(whole, self._kind(node), self._line(text))
            yield from self._fields(*self._inside(node, whole), within)

    def _inside(self, node: Json, name: str) -> tuple[Json, str]:
        """Return the schema of a field's content, and the prefix of its own fields' names."""
        for each in node.get("anyOf", ()):
            if each != {"type": "null"}:
                return self._inside(each, name)
        items = self._resolve(node).get("items")
        return (items, f"{name}[].") if items else (node, f"{name}.")

    def _kind(self, schema: Json) -> str:
        for each in schema.get("anyOf", ()):
            if each != {"type": "null"}:
                return self._say("{} ou nulo").format(self._kind(each))
        resolved = self._resolve(schema)
        types = resolved.get("type", "object")
        names = [types] if isinstance(types, str) else [*types]
        text = self._say(FORMATS.get(resolved.get("format", "")) or TYPES[names[0]])
        choices = [each for each in resolved.get("enum", ()) if each is not None]
        if 0 < len(choices) <= _CHOICES_MAX:
            text = ", ".join(map(str, choices))
        if "maximum" in resolved:
            bounds = self._say("de {} a {}").format(resolved.get("minimum", 0), resolved["maximum"])
            text = f"{text} {bounds}"
        if names[0] == "array":
            text += f" ({self._kind(resolved['items'])})" if "items" in resolved else ""
        if "default" in resolved:
            text += ", " + self._say("padrão {}").format(_written(resolved["default"]))
        return self._say("{} ou nulo").format(text) if "null" in names[1:] else text

    def _refusals(self, responses: Mapping[int, Json]) -> Iterator[DescribedRefusal]:
        for status, response in responses.items():
            found = filter(None, map(_code_and_message, _named_examples(response)))
            messages = dict(reversed([*found]))  # if several have one code, the first
            for code in _codes(response):
                yield DescribedRefusal(status, code, messages.get(code, ""))

    def _sample(self, path: str, method: str, node: Json, body: Json, *, keyed: bool) -> Sample:
        parameters = node.get("parameters", ())
        addressed = [each for each in parameters if each["in"] in ("path", "query")]
        values = dict(_EXAMPLE_QUERIES.get(path, {}))
        for each in addressed:
            example = each.get("example", f"<{each['name']}>" if each["required"] else None)
            if example is not None and (each["required"] or each["name"] in _DOCUMENTS):
                values[each["name"]] = str(example)
        options = ['-H "x-api-key: $BALCAO_KEY"'] if keyed else []
        options += [
            f'-H "{each["name"]}: {_EXAMPLE_KEY}"'
            for each in parameters
            if each["in"] == "header" and each["required"]
        ]
        if body:
            kind = next(iter(body))
            options.append(f'-H "Content-Type: {kind}"')
            sent = next((each["value"] for each in _named_examples({"content": body})), None)
            written = json.dumps(sent, ensure_ascii=False)
            options.append(f"-d '{written}'" if sent is not None else "--data-binary @lista.csv")
        return Sample(
            self._address,
            node["operationId"],
            method,
            path,
            {each["name"]: self._resolve(each["schema"]).get("type", "") for each in addressed},
            values,
            options,
            keyed,
        )


def _written(default: object) -> str:
    return default if isinstance(default, str) else json.dumps(default)


def _schema_of(content: Json) -> Json:
    """Return the schema of a JSON body; other bodies are not described by field."""
    schema: Json = content.get("application/json", {}).get("schema", {})
    return schema


def _codes(response: Json) -> Sequence[str]:
    """Return the codes named in a response's description; none: it is a result."""
    _, found, codes = response["description"].partition(_CODES_FOLLOW)
    return _CODE.findall(codes) if found else ()


def _named_examples(response: Json) -> Iterator[Json]:
    for content in islice(response.get("content", {}).values(), 1):
        if "example" in content:
            yield {"summary": "", "value": content["example"]}
        yield from content.get("examples", {}).values()


def _code_and_message(example: Json) -> tuple[str, str] | None:
    """Return code and message of an error in our own format; compatible APIs have others."""
    match example["value"]:
        case {"error_message": {"code": str(code)}, "message": str(message)}:
            return code, message
    return None


def _examples(response: Json) -> Iterator[tuple[str, str]]:
    for example in _named_examples(response):
        value = example["value"]
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
        yield example.get("summary", ""), shown
