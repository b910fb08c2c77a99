"""PostgreSQL: any number of nodes share one database (docs/decisions/0019)."""

from balcao.storage.statements import queries

QUERIES = queries("postgresql")
