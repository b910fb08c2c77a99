"""Several processes at one port: fronts take what is at hand, the house has all the rest (0046)."""
