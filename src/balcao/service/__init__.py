"""The service process: composition, start, background work and stop."""
