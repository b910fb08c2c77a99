"""Webhooks of accounts: their addresses are resolved and checked, and their secrets sealed."""
