"""Programs run by hand or by make, not part of the service."""
