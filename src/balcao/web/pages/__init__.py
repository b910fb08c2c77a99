"""The pages. Each imports another page only through that page's package."""
