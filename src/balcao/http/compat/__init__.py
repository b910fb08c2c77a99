"""Compatible APIs: the company lookup in the shapes of other services (contract 16)."""
