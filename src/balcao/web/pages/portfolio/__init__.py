"""Pages of an account's portfolio: items, their changes, lists, settings."""
