"""The desk in SQL that is the same on both engines."""
