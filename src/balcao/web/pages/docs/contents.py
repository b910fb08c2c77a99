"""The contents of the documentation: chapters, operations, error codes, guides, search index.

A page is a `Leaf` in its chapter, a route below `/docs` in `web/routes.py`, and a template that
extends `docs/frame.html` (blocks `title` and `content_of`), rendered by `pages.framed`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from balcao.operations.company.operation import CompanyLookup
from balcao.web.kit.snippets import SNIPPETS
from balcao.web.kit.tools import Tools
from balcao.web.pages.docs import codes, guides, navigation, reference
from balcao.web.pages.docs.codes import CodePage
from balcao.web.pages.docs.guides import Guide
from balcao.web.pages.docs.navigation import Chapter, Indexed, Leaf
from balcao.web.pages.docs.reference import Entry

_START = Chapter(
    "Começar",
    (
        Leaf(
            "/docs",
            "Primeira consulta",
            "Da chave à primeira resposta, em três passos.",
            "documento OpenAPI, para gerar clientes",
        ),
        Leaf(
            "/docs/chaves",
            "Chaves",
            "Chaves de teste e de produção, restrições e troca.",
        ),
        Leaf(
            "/docs/sandbox",
            "Documentos da sandbox",
            "CNPJs e CPFs fictícios com respostas conhecidas.",
            "teste homologação massa de dados cnpj de teste cpf de teste",
        ),
        Leaf("/docs/programas", "Programas prontos", "Em onze linguagens, para copiar."),
        *(
            Leaf(
                f"/docs/programas#programa-{each.name}",
                f"Programa em {each.title}",
                f"Consulta uma empresa e a certidão federal dela, em {each.title}"
                f" ({each.needs}): programa completo, com tratamento de erros e repetição.",
                each.file,
                listed=False,
            )
            for each in SNIPPETS.values()
        ),
        Leaf(
            "/docs/programas#clientes",
            "Clientes para Python e TypeScript",
            "Bibliotecas com tipos, todas as operações e repetição correta, para instalar.",
            "balcao_client balcao-client pip npm biblioteca JavaScript Node",
            listed=False,
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Documentation:
    """The contents, made once from the OpenAPI document of this service."""

    chapters: Sequence[Chapter]  # in the order of the navigation
    entries: Mapping[str, Entry]  # operations, by the name in the page's address
    codes: Mapping[str, CodePage]  # of errors
    guides: Mapping[str, Guide]  # by the name in the page's address
    indexed: Sequence[Indexed]

    @property
    def first(self) -> Entry:
        """The lookup to begin with, which needs no explanation."""
        return self.entries[CompanyLookup.path]


async def documentation_of(tools: Tools) -> Documentation:
    """Return the documentation of this service, made at the first call."""
    return await tools.once_in_thread(_built)


def build(document: Mapping[str, Any], address: str) -> Documentation:
    """Make the documentation from the OpenAPI document of the service at this address."""
    entries = reference.entries(document, address)
    code_pages = codes.pages(entries)
    guide_pages = guides.guides(document, address)
    lookups, *others = reference.chapters(document, entries)
    chapters = [_START, lookups, guides.chapter(guide_pages), codes.chapter(code_pages), *others]
    return Documentation(chapters, entries, code_pages, guide_pages, navigation.index(chapters))


def _built(tools: Tools) -> Documentation:
    return build(tools.document, tools.settings.address)
