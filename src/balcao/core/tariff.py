"""Tariff rules: a code is what is kept and compared, its words are for people (decisions 9.10).

What is charged is decided where an operation concludes (`operations/`); here are only its names.

A code names an operation and what its price follows, `federal_certificate/cache`; where nothing
was charged, why. Each operation has a table of its own; all of them together are in
`operations/tariff.py`. A code that was written once is never given another meaning, since the
ledger is for ever; its words may change (decision 0030).
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
