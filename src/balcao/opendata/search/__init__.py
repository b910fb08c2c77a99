"""Company search over a month: the index, and pages read from the index and the month."""
