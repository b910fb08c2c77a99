"""Decisions. No I/O, no clock, no chance: what they need comes in as arguments."""
