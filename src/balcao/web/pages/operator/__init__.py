"""Pages for operators: all accounts, the sources, the open data, the audit log."""
