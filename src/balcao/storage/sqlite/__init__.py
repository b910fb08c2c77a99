"""SQLite: the embedded engine. Reads in place, one writer thread, many changes per commit."""

from balcao.storage.statements import queries

QUERIES = queries("sqlite")
