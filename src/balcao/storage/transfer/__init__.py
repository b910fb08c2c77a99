"""Rows of the desk as lines, the same for both engines: for backups, restores and moves."""
