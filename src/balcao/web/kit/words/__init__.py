"""Portuguese words for the codes that the service stores and answers."""
