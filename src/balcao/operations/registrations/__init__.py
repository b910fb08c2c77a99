"""What the two operations about state registrations share."""
