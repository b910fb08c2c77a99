"""The story of one lookup, and what it is told with."""
