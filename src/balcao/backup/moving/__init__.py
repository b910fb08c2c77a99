"""Moving everything from one engine to the other: `docs/moving.md`. `move` tells the story."""
