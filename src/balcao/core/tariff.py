"""Tariff rules: a code is stored and compared, its texts are for people (contract 9.10).

Operations decide prices (`operations/`); this module has only names.

A code consists of an operation and the basis of the price, `federal_certificate/cache`; if nothing
was charged, it is the reason. Each operation has its own table; all together are in
`operations/tariff.py`. The meaning of a code never changes, since the ledger is permanent; its
texts may (ADR 0030).
"""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec


class Rule(msgspec.Struct, frozen=True):
    """The texts of one rule, in Portuguese."""

    sentence: str  # short: the API's `regra`
    meaning: str  # complete, for the pages of the application
    with_addresses: bool = False  # one of the credits is for addresses


Rules: TypeAlias = Mapping[str, Rule]

SEARCH_PAGE = "search/page"
SEARCH_COUNT = "search/count"
SEARCH_PARTNERS = "search/partners"

# Searches are not in `operations/`: they have no source and no document.
SEARCHES: Rules = {
    SEARCH_PAGE: Rule(
        "busca de empresas: por página com resultados",
        "O preço da busca por página com resultados. Páginas vazias não são cobradas.",
    ),
    SEARCH_COUNT: Rule(
        "contagem de empresas: por contagem",
        "O preço da busca por contagem com resultados. Contagens sem resultado não são cobradas.",
    ),
    SEARCH_PARTNERS: Rule(
        "busca de sócios: por resposta com resultados",
        "O preço da busca por resposta com sócios. Respostas sem sócios não são cobradas.",
    ),
}

ERROR = "error"
REFUSED = "refused"
INTERRUPTED = "interrupted"

# Rules of requests that cost nothing, in every operation.
NOT_CHARGED: Rules = {
    ERROR: Rule("erro", "Erros não são cobrados."),
    REFUSED: Rule(
        "recusa", "A consulta foi recusada antes de ser feita. Recusas não são cobradas."
    ),
    INTERRUPTED: Rule(
        "processo interrompido",
        "O serviço parou no meio da consulta. A reserva foi liberada por inteiro quando ele"
        " voltou.",
    ),
}
