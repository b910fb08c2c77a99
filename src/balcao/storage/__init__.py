"""Storage of accounts, ledger, caches and receipts. `contract`: the guarantees of every engine."""
