"""Receipts of certificates: their bytes checked, kept and found again."""
