"""Backups of all irreplaceable data: made while serving, verified, restored."""
