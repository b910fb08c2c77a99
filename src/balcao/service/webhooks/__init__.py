"""Delivery of events to webhooks: planning, and the jobs that send them (contract 19.4)."""
