"""What is run by hand or by make, and is no part of the service."""
