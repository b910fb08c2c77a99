"""Who can answer. `contract` says what a source is, `call` is the only place that sends."""
