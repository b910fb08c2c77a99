"""*Consultas*: the form of each operation, its progress, its result and its receipt."""
