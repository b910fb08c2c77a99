"""Each end of a move: its tables, and their rows as lines that are the same on both engines."""
