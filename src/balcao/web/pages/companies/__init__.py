"""The company's page: what an account has of one company, and what the rest would cost (0018)."""
