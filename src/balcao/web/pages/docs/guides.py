"""The guides: the sections of the OpenAPI document's introduction, and the texts in `texts/`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from markupsafe import Markup

from balcao.batches.column_texts import columns_text
from balcao.web.pages.docs import markdown
from balcao.web.pages.docs.navigation import Chapter, Leaf

_ADDRESS = "/docs/guias"
_ELSEWHERE = ("Chave",)  # sections of the introduction that have a page of another kind
_HERE = "ENDERECO"  # the placeholder of this service's address in the texts
_COLUMNS = "COLUNAS"  # that of the columns of batches' results


@dataclass(frozen=True, slots=True)
class Guide:
    """One guide, rendered."""

    title: str
    text: Markup
    leaf: Leaf


def guides(document: Mapping[str, Any], address: str) -> Mapping[str, Guide]:
    """Return all guides, by the name in the page's address; first those of the introduction.

    A text continues the section of the introduction that has the same name.
    """
    texts = {markdown.anchor(title): (title, text) for title, text in _sections(document)}
    for file in sorted(resources.files(__package__).joinpath("texts").iterdir(), key=str):
        name = file.name.removesuffix(".md")
        text = file.read_text("utf-8").replace(_HERE, address)
        title, _, text = text.replace(_COLUMNS, columns_text()).partition("\n")
        before = texts.get(name, ("", ""))[1]
        texts[name] = title.removeprefix("# "), before + text
    return {name: _guide(name, *each) for name, each in texts.items()}


def _sections(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for section in document["info"]["description"].split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        if title not in _ELSEWHERE:
            yield title, text


def _guide(name: str, title: str, text: str) -> Guide:
    leaf = Leaf(
        f"{_ADDRESS}/{name}",
        title.partition(":")[0],
        markdown.first_sentence(text),
        markdown.plain(text),
    )
    return Guide(title, markdown.article(text), leaf)


def chapter(made: Mapping[str, Guide]) -> Chapter:
    """Return the chapter of the guides, for the navigation and the search."""
    return Chapter("Guias", [each.leaf for each in made.values()])
