"""Federal joint tax clearance."""
