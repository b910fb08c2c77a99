"""Building blocks shared by the pages. They import no page."""
