"""SQLite: the embedded engine. Reads in place, one writer thread, many changes per commit."""
