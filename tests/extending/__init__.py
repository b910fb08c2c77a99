"""A new operation and a new provider: a folder and one line each, no other change."""
