"""The public status page, its history, its feeds and its badge."""
