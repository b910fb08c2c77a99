"""PostgreSQL: any number of nodes share one database (docs/decisions/0019)."""
