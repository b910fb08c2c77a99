"""Compatible faces: the company lookup in the shapes of other services (decisions 16)."""
