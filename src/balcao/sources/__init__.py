"""Sources: `contract` defines them, `router` asks them, `upstream` alone sends requests."""
