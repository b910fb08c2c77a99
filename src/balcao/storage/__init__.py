"""Where things are kept. `contract` says what every engine promises."""
