"""Converts Markdown of our own texts to HTML; HTML within them is escaped."""

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from balcao.core.problems import PAGES
from balcao.core.text import unaccented
from balcao.web.kit.words.vocabulary import CODES
from balcao.web.pages.docs.language import PORTUGUESE, ROOT, Language

if TYPE_CHECKING:  # slow to import, and needed only by pages of the documentation
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict


@cache
def _reader() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # noqa: PLC0415

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.add_render_rule("code_inline", _code)
    return reader


def _code(
    renderer: "RendererHTML",
    tokens: "Sequence[Token]",
    at: int,
    options: "OptionsDict",
    env: "EnvType",
) -> str:
    """Render code; an error code links to its page, unless it is in another link."""
    text = tokens[at].content
    shown = f"<code>{escape(text)}</code>"
    links = [each.nesting for each in tokens[:at] if each.tag == "a"]
    if text not in CODES or sum(links) > 0:
        return shown
    return f'<a href="{PAGES}{text}">{shown}</a>'


@cache  # the same parameters and fields are on many pages
def line(text: str, language: Language = PORTUGUESE) -> Markup:
    """Return the HTML of a text without paragraphs, with links to pages in this language."""
    return _safe(_reader().renderInline(text.replace("\n", " ")), language)


def article(text: str, language: Language = PORTUGUESE) -> Markup:
    """Return the HTML of paragraphs, lists, tables and headings with anchors.

    Each table scrolls sideways by itself, and is labelled by its heading.
    """
    tokens = _reader().parse(text)
    heading, tables = "", 0
    for place, token in enumerate(tokens):
        match token.type:
            case "heading_open":
                heading, tables = plain(tokens[place + 1].content), 0
                token.attrSet("id", anchor(heading))
            case "th_open":
                token.attrSet("scope", "col")
            case "table_open":
                tables += 1
                label = escape(heading or language.say("Tabela")) + (
                    f" ({tables})" if tables > 1 else ""
                )
                tokens[place] = _html(
                    f'<div class="scroll" role="region" tabindex="0" aria-label="{label}"><table>'
                )
            case "table_close":
                tokens[place] = _html("</table></div>")
    return _safe(_reader().renderer.render(tokens, _reader().options, {}), language)


def first_sentence(text: str) -> str:
    """Return the first sentence of the first paragraph, not of a list or table."""
    tokens = _reader().parse(text)
    for place, token in enumerate(tokens):
        if token.type == "paragraph_open" and token.level == 0:
            words = " ".join(plain(tokens[place + 1].content).split())
            return re.split(r"(?<=[.?!]) ", words, maxsplit=1)[0]
    return ""


def plain(text: str) -> str:
    """Return the text without Markdown marks."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)|[`*|#]", r"\1", text).strip()


def anchor(heading: str) -> str:
    """Return the fragment of links to a heading."""
    return "-".join(re.findall(r"[a-z0-9]+", unaccented(heading)))


def _safe(html: str, language: Language) -> Markup:
    html = html.replace(f'href="{ROOT}/', f'href="{language.root}/')
    return Markup(html)  # noqa: S704 - the reader escapes whatever looks like HTML


def _html(text: str) -> "Token":
    from markdown_it.token import Token  # noqa: PLC0415

    return Token("html_block", "", 0, content=text)
