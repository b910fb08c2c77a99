"""Generation of a month of open data: its documents and the rows of its files."""
