"""Tests of three real servers on one PostgreSQL, under faults."""
