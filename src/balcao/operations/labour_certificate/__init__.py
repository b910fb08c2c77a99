"""Labour debt certificate (CNDT)."""
