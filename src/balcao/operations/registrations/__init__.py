"""Shared parts of the two operations about state registrations."""
