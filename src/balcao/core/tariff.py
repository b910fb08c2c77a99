"""Tariff rules: a code is what is kept and compared, its words are for people (contract 9.10).

What is charged is decided where an operation concludes (`operations/`); here are only its names.

A code names an operation and what its price follows, `federal_certificate/cache`; where nothing
was charged, why. Each operation has a table of its own; all of them together are in
`operations/tariff.py`. A code that was written once is never given another meaning, since the
ledger is for ever; its words may change (ADR 0030).
"""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec


class Rule(msgspec.Struct, frozen=True):
    """The words of one rule, in Portuguese."""

    sentence: str  # in short: the API's `regra`
    meaning: str  # in full, for the pages of the application
    with_addresses: bool = False  # one of the credits is for addresses


Rules: TypeAlias = Mapping[str, Rule]

SEARCH_PAGE = "search/page"
SEARCH_COUNT = "search/count"
SEARCH_PARTNERS = "search/partners"

# Searches are no operations of `operations/`: nobody is asked, and no document is asked about.
SEARCHES: Rules = {
    SEARCH_PAGE: Rule(
        "busca de empresas: por página com resultados",
        "O preço da busca, por página que traz ao menos um resultado; páginas vazias não custam"
        " nada.",
    ),
    SEARCH_COUNT: Rule(
        "contagem de empresas: por contagem",
        "O preço da busca, por contagem que encontra ao menos um; contar nenhum não custa nada.",
    ),
    SEARCH_PARTNERS: Rule(
        "busca de sócios: por resposta com resultados",
        "O preço da busca, por resposta que traz ao menos um sócio; sem nenhum não custa nada.",
    ),
}

ERROR = "error"
REFUSED = "refused"
INTERRUPTED = "interrupted"

# What stands in a rule's place where nothing was charged, in every operation.
NOT_CHARGED: Rules = {
    ERROR: Rule("erro", "Erros não custam nada: sem resultado não há cobrança."),
    REFUSED: Rule("recusa", "A consulta foi recusada antes de ser feita; recusas não custam nada."),
    INTERRUPTED: Rule(
        "processo interrompido",
        "O serviço parou no meio da consulta. O que estava reservado foi devolvido por inteiro"
        " quando ele voltou.",
    ),
}
