"""Keys, one-time links and statements."""
