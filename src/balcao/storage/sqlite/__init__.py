"""SQLite: the embedded engine. Synchronous reads, one writer thread, many changes per commit."""

from balcao.storage.statements import queries

QUERIES = queries("sqlite")
