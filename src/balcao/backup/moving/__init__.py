"""Moving all data from one engine to the other: `docs/moving.md`. Start with `move`."""
