"""The guides: the sections of the OpenAPI document's introduction, and the texts in `texts/`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from importlib import resources
from typing import Any

from markupsafe import Markup

from balcao.batches.column_texts import columns_text
from balcao.core.deprecations import FEATURES
from balcao.core.writing import day
from balcao.web.pages.docs import markdown
from balcao.web.pages.docs.language import ENGLISH, PORTUGUESE, Language
from balcao.web.pages.docs.navigation import Chapter, Leaf

_ADDRESS = "/docs/guias"
_ELSEWHERE = ("Chave",)  # sections of the introduction that have a page of another kind
_HERE = "ENDERECO"  # the placeholder of this service's address in the texts
_COLUMNS = "COLUNAS"  # that of the columns of batches' results
_DEPRECATED = "OBSOLETOS"  # that of the rows of deprecated features
_RECEIVERS = "RECEPTORES"  # that of the programs that receive webhooks
RECEIVERS: Mapping[str, str] = {
    "receber.py": "Python",
    "receber.mjs": "Node",
    "receber.php": "PHP",
    "receber.go": "Go",
}


@dataclass(frozen=True, slots=True)
class Guide:
    """One guide, rendered."""

    title: str
    text: Markup
    leaf: Leaf


def guides(
    document: Mapping[str, Any], address: str, language: Language = PORTUGUESE
) -> Mapping[str, Guide]:
    """Return all guides, by the name in the page's address; first those of the introduction."""
    found = {}
    for name, source in sources(document).items():
        text = source
        if not language.is_source:
            text = ENGLISH.joinpath("guides", f"{name}.md").read_text("utf-8")
        text = text.replace(_HERE, address).replace(_COLUMNS, columns_text(language.say))
        text = text.replace(_DEPRECATED, _deprecated_rows(language))
        if _RECEIVERS in text:
            text = text.replace(_RECEIVERS, _receivers())
        title, _, body = text.partition("\n")
        found[name] = _guide(name, title.removeprefix("# "), body, language)
    return found


def _receivers() -> str:
    """Return the programs that receive webhooks, each under its language."""
    folder = resources.files(__package__).joinpath("receivers")
    return "\n\n".join(
        f"### {title}\n\n```{name.rpartition('.')[2]}\n"
        f"{folder.joinpath(name).read_text('utf-8')}```"
        for name, title in RECEIVERS.items()
    )


def _deprecated_rows(language: Language) -> str:
    """Return the rows of the table of deprecated features."""
    written = day if language.is_source else date.isoformat
    rows = (
        (
            language.say(each.title),
            f"`{each.code}`",
            written(each.since),
            written(each.last_day),
            language.say(each.replacement),
        )
        for each in FEATURES.values()
    )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def sources(document: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the Portuguese text of every guide, by name, with its title in the first line.

    A text continues the section of the introduction that has the same name.
    """
    texts = {markdown.anchor(title): (title, text) for title, text in _sections(document)}
    for file in sorted(resources.files(__package__).joinpath("texts").iterdir(), key=str):
        name = file.name.removesuffix(".md")
        title, _, text = file.read_text("utf-8").partition("\n")
        before = texts.get(name, ("", ""))[1]
        texts[name] = title.removeprefix("# "), before + text
    return {name: f"# {title}\n{text}" for name, (title, text) in texts.items()}


def _sections(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for section in document["info"]["description"].split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        if title not in _ELSEWHERE:
            yield title, text


def _guide(name: str, title: str, text: str, language: Language) -> Guide:
    leaf = Leaf(
        language.href(f"{_ADDRESS}/{name}"),
        title.partition(":")[0],
        markdown.first_sentence(text),
        markdown.plain(text),
    )
    return Guide(title, markdown.article(text, language), leaf)


def chapter(made: Mapping[str, Guide], language: Language = PORTUGUESE) -> Chapter:
    """Return the chapter of the guides, for the navigation and the search."""
    return Chapter(language.say("Guias"), [each.leaf for each in made.values()])
