"""State tax registrations of a rural producer."""
