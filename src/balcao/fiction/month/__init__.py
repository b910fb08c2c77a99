"""Which documents a generated month of open data holds, and how their rows are written."""
