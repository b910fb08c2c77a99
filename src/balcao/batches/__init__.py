"""Batches: one operation applied to every row of a file (ADR 0045)."""
