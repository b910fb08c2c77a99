"""Background work: periodic work of a process, and durable jobs that survive it."""
