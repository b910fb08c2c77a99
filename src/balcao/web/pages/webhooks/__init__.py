"""Pages of the webhooks of an account (contract 19.4)."""
