"""Shared parts of the two operations about tax clearance certificates."""
