"""PostgreSQL: any number of nodes share one database (docs/adr/0019)."""

from balcao.storage.statements import queries

QUERIES = queries("postgresql")
