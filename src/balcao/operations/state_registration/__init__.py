"""State tax registrations of a company."""
