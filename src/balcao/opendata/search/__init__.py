"""Company search over a month: its index, built beside it, and pages read from both."""
