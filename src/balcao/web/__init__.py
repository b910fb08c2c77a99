"""The web application: pages for people, on the same lookups as the API."""
