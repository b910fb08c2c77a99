"""Who can answer. `contract` says what a source is, `upstream` is the only place that sends."""
