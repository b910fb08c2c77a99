"""The half of a cache that is the same on every engine."""
