"""Batches: one operation asked of every row of a file (ADR 0045)."""
