"""What the two operations about tax clearance certificates share."""
