"""Free-trade-zone registry record."""
