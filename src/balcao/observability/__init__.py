"""Metrics, logs and traces. They never contain personal data."""
