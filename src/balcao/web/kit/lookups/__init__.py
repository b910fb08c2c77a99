"""Building blocks of pages that make lookups: forms, advice on a document, prices and refusals."""
