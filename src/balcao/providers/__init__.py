"""Those whom we can ask."""
