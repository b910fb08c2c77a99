"""The short names of operations and searches for people, by their paths."""

from collections.abc import Mapping

from balcao.operations import ALL_OPERATIONS

SEARCHES: Mapping[str, str] = {
    "busca-de-empresas": "Busca de empresas",
    "contagem-de-empresas": "Contagem de empresas",
    "busca-de-socios": "Busca de sócios",
}
SHORT: Mapping[str, str] = {each.path: each.form.title for each in ALL_OPERATIONS} | dict(SEARCHES)
