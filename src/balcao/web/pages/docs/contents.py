"""The contents of the documentation: chapters, operations, error codes, guides, search index.

A page is a `Leaf` in its chapter, a route below `/docs` in `web/routes.py`, and a template that
extends `docs/frame.html` (blocks `title` and `content_of`), rendered by `pages.framed`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from balcao.operations.company.operation import CompanyLookup
from balcao.web.kit.snippets import SNIPPETS, Snippet
from balcao.web.kit.tools import Tools
from balcao.web.pages.docs import codes, event_pages, guides, navigation, reference
from balcao.web.pages.docs.codes import CodePage
from balcao.web.pages.docs.event_pages import EventPage
from balcao.web.pages.docs.guides import Guide
from balcao.web.pages.docs.language import PORTUGUESE, Language, english
from balcao.web.pages.docs.navigation import Chapter, Indexed, Leaf
from balcao.web.pages.docs.reference import Entry


def _start(language: Language) -> Chapter:
    say, href = language.say, language.href
    return Chapter(
        say("Começar"),
        (
            Leaf(
                language.root,
                say("Primeira consulta"),
                say("Da chave à primeira resposta, em três passos."),
                say("documento OpenAPI, para gerar clientes"),
            ),
            Leaf(
                href("/docs/chaves"),
                say("Chaves"),
                say("Chaves de teste e de produção, restrições e troca."),
            ),
            Leaf(
                href("/docs/sandbox"),
                say("Documentos da sandbox"),
                say("CNPJs e CPFs fictícios com respostas conhecidas."),
                say("teste homologação massa de dados cnpj de teste cpf de teste"),
            ),
            Leaf(
                href("/docs/programas"),
                say("Programas prontos"),
                say("Em onze linguagens, para copiar."),
            ),
            *(_program(each, language) for each in SNIPPETS.values()),
            Leaf(
                href("/docs/programas#clientes"),
                say("Clientes para Python e TypeScript"),
                say(
                    "Bibliotecas com tipos, todas as operações e repetição correta, para instalar."
                ),
                "balcao_client balcao-client pip npm JavaScript Node",
                listed=False,
            ),
        ),
    )


def _program(snippet: Snippet, language: Language) -> Leaf:
    return Leaf(
        language.href(f"/docs/programas#programa-{snippet.name}"),
        language.say("Programa em {}").format(snippet.title),
        language.say(
            "Programa completo em {}, com tratamento de erros e repetição. Consulta uma empresa e a"
            " certidão federal dela."
        ).format(snippet.title),
        snippet.file,
        listed=False,
    )


@dataclass(frozen=True, slots=True)
class Documentation:
    """The contents, made once from the OpenAPI document of this service."""

    chapters: Sequence[Chapter]  # in the order of the navigation
    entries: Mapping[str, Entry]  # operations, by the name in the page's address
    codes: Mapping[str, CodePage]  # of errors
    guides: Mapping[str, Guide]  # by the name in the page's address
    events: Mapping[str, EventPage]  # by the type's name
    indexed: Sequence[Indexed]

    @property
    def first(self) -> Entry:
        """The lookup to begin with, which needs no explanation."""
        return self.entries[CompanyLookup.path]


async def documentation_of(tools: Tools, language: Language = PORTUGUESE) -> Documentation:
    """Return the documentation of this service, made at the first call."""
    return await tools.once_in_thread(_portuguese if language.is_source else _english)


def build(
    document: Mapping[str, Any], address: str, language: Language = PORTUGUESE
) -> Documentation:
    """Make the documentation from the OpenAPI document of the service at this address."""
    entries = reference.entries(document, address, language)
    code_pages = codes.pages(entries, language)
    guide_pages = guides.guides(document, address, language)
    events = event_pages.pages(document, language)
    lookups, *others = reference.chapters(document, entries, language)
    chapters = [
        _start(language),
        lookups,
        guides.chapter(guide_pages, language),
        codes.chapter(code_pages, language),
        event_pages.chapter(events, language),
        *others,
    ]
    indexed = navigation.index(chapters)
    return Documentation(chapters, entries, code_pages, guide_pages, events, indexed)


def _portuguese(tools: Tools) -> Documentation:
    return build(tools.document, tools.settings.address)


def _english(tools: Tools) -> Documentation:
    return build(tools.document, tools.settings.address, english())
