"""Three real servers on one PostgreSQL, and everything that can happen to them."""
