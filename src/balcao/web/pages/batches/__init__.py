"""*Lotes*: an operation asked of every row of a list, page by page (decisions 13)."""
