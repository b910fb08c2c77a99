"""The parts of the cache that are the same on every engine."""
