"""`/docs/guias/{name}`: what is told at length.

The sections of the OpenAPI document's introduction, each a page, and the texts that stand in
`web/pages/docs/texts`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from markupsafe import Markup
from starlette.responses import Response

from balcao.web.kit.context import PageContext
from balcao.web.pages.docs import frame, markdown
from balcao.web.pages.docs.leaves import Chapter, Leaf

_ADDRESS = "/docs/guias"
_ELSEWHERE = ("Chave",)  # sections of the introduction that have a page of another kind
_HERE = "ENDERECO"  # what stands in the texts where this service's address belongs


@dataclass(frozen=True, slots=True)
class Guide:
    """One of them."""

    title: str
    text: Markup
    leaf: Leaf


def guides(document: Mapping[str, Any], address: str) -> Mapping[str, Guide]:
    """All, by the name in the page's address. Those of the introduction first, as they stand.

    A text of the same name goes on where a section of the introduction ends.
    """
    told = {markdown.anchor(title): (title, text) for title, text in _sections(document)}
    for file in sorted(resources.files(__package__).joinpath("texts").iterdir(), key=str):
        name = file.name.removesuffix(".md")
        title, _, text = file.read_text("utf-8").replace(_HERE, address).partition("\n")
        before = told.get(name, ("", ""))[1]
        told[name] = title.removeprefix("# "), before + text
    return {name: _guide(name, *each) for name, each in told.items()}


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
    """Their place in the navigation."""
    return Chapter("Guias", [each.leaf for each in made.values()])


async def show(context: PageContext) -> Response:
    """One guide."""
    guide = context.tools.documentation.guides.get(context.request.path_params["name"])
    if guide is None:
        raise context.missing("Guia não encontrado", "Não há guia com este nome.")
    return frame.page(context, "docs/guia.html", guide=guide)
