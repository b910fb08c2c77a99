"""What can be seen from outside: one event per request, measurements. Never personal data."""
