"""Work beside the requests: what is done now and then, and what a commit left to be done."""
