"""Batches: one operation asked of every row of a file (decision 0045)."""
