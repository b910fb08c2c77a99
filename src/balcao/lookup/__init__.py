"""The execution of one lookup, and its parts."""
