"""Signing in and out, invitations, and the page of the signed-in person."""
