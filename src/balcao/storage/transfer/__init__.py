"""Rows of the desk as text lines, the same for both engines: for backups, restores and moves."""
