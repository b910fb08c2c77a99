"""Shared parts of the operations about certificates."""
