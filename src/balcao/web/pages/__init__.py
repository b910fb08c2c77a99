"""The pages. Each imports another page only through the package of that page."""
