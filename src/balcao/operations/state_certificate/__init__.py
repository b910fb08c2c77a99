"""State tax clearance."""
