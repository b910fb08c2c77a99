"""Receipts of certificates: checking and storing their bytes."""
