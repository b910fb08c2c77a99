"""The application put together, started, kept and stopped."""
