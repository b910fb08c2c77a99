"""Company registry data."""
