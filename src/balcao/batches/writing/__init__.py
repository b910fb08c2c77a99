"""Results of a batch as files, written row by row: CSV, XLSX, JSONL, and a ZIP of receipts."""
