"""PostgreSQL: the engine for any number of nodes on one database (docs/adr/0019)."""

from balcao.storage.statements import queries

QUERIES = queries("postgresql")
